/** Clients: what is charged, what is refused, and what lives and dies together. */
import assert from "node:assert/strict";
import test from "node:test";
import { blake2b } from "@noble/hashes/blake2.js";
import { Client, Survey, mechanism } from "multi-freq-ldpy";
import { hex } from "multi-freq-ldpy/testing";
import { memoryStore } from "multi-freq-ldpy/stores/memory";
import { surveyText } from "./surveys.mjs";

const WEEKLY = { version: 1, protocol: "LOSUE", k: 4, eps_perm: 2, eps_1: 1 };
const ONCE = { version: 1, protocol: "GRR", k: 4, epsilon: 1 };
const STEPS = {
  version: 1, history: "Steps", k: 2, epsilon: 1, rounds: 8, changes: 7, protocol: "SS",
  encoding: "unary", values: 0.5,
};
const own = mechanism(WEEKLY);
const sealed = (line) => `${line}\n${hex(blake2b(new TextEncoder().encode(`${line}\n`), { dkLen: 16 }))}\n`;

test("nobody has begun: open returns null and makes nothing", async () => {
  const store = memoryStore();
  assert.equal(await Client.open(own, store), null);
  assert.equal(await store.update((kept) => [kept, kept]), null);
});

test("a memo class is charged once, and a new report of one round every time", async () => {
  for (const [spec, values, spent] of [[WEEKLY, [0, 0, 1, 0], 4], [ONCE, [0, 0, 1], 3]]) {
    const client = await Client.begin(mechanism(spec), memoryStore());
    for (const value of values) await client.report(value);
    assert.equal(await client.spent(), spent);
  }
});

test("cost says what a report would add, and changes nothing", async () => {
  const { version, ...weekly } = WEEKLY, small = { ...weekly, eps_perm: 0.1, eps_1: 0.05 };
  const two = { version, protocol: "SPL", protocols: [small, weekly] };
  for (const [spec, values, costs] of [
    [WEEKLY, [0, 0, 1, 0], [2, 0, 2, 0]], [ONCE, [0, 0], [1, 1]],
    [two, [[0, 0], [1, 0], [1, 1], [0, 1]], [2.1, 0.1, 2, 0]],
  ]) {
    const client = await Client.begin(mechanism(spec), memoryStore());
    for (const [i, value] of values.entries()) {
      const before = await client.export();
      assert.equal(await client.cost(value), costs[i]);
      assert.equal(await client.export(), before);
      await client.report(value);
    }
  }
  const limited = await Client.begin(own, memoryStore(), { limit: 2 });
  await limited.report(0);
  assert.equal(await limited.cost(1), 2); // the limit is for reports
  await assert.rejects(limited.cost(9), /value must be below k=4/);
  await assert.rejects(limited.cost(0, { round: 0 }), /round must be given/);
  await limited.leave();
  await assert.rejects(limited.cost(0), /gone/);
});

test("the cost of a history is that of its first report", async () => {
  for (let device = 0; device < 8; device++) {
    const client = await Client.begin(mechanism(STEPS), memoryStore());
    for (let round = 0; round < 8; round++) {
      const [cost, before] = [await client.cost(round % 2, { round }), await client.spent()];
      await client.report(round % 2, { round });
      assert.equal(await client.spent(), before + cost);
      assert.equal(await client.cost(1, { round }), 0);
    }
    assert.ok((await client.spent()) > 0);
  }
  await assert.rejects((await Client.begin(mechanism(STEPS), memoryStore())).cost(0), /round must be given/);
});

test("a limit refuses a new charge, changes nothing, and lets old answers pass", async () => {
  const store = memoryStore(), client = await Client.begin(own, store, { limit: 4 });
  for (const value of [0, 1]) await client.report(value);
  const before = await client.export();
  await assert.rejects(client.report(2), { name: "LimitReached", message: /from 4 to 6, above limit=4/ });
  assert.equal(await client.export(), before);
  assert.equal((await client.report(1)).length, 1);
});

test("a failed write is no report", async () => {
  const store = memoryStore(), client = await Client.begin(own, store);
  const full = {
    update(change) {
      return store.update((kept) => {
        const [after, result] = change(kept);
        if (after !== kept) throw new Error("quota");
        return [kept, result];
      });
    },
  };
  const other = await Client.open(own, full);
  await assert.rejects(other.report(0), /quota/);
  assert.equal(await client.spent(), 0);
  await assert.rejects(client.report(9), /value must be below k=4/);
});

test("leaving deletes the secret, and to begin again must be said", async () => {
  const store = memoryStore(), client = await Client.begin(own, store);
  const secret = JSON.parse((await client.export()).split("\n")[0]).secret;
  await client.leave();
  assert.ok(!(await store.update((kept) => [kept, kept])).includes(secret));
  assert.equal(await Client.open(own, store), null);
  await assert.rejects(client.report(0), /gone/);
  await assert.rejects(Client.begin(own, store), /again: true/);
  const next = await Client.begin(own, store, { again: true });
  assert.notEqual(JSON.parse((await next.export()).split("\n")[0]).secret, secret);
  await assert.rejects(Client.begin(own, store, { again: true }), /open it/);
  // A client that was opened before somebody left does not report for the next one
  for (const call of [() => client.report(0), () => client.leave(), () => client.export()]) {
    await assert.rejects(call(), /another client's/);
  }
  assert.equal(await next.spent(), 0);
});

test("a record moves to another store with all its charges", async () => {
  const client = await Client.begin(own, memoryStore());
  await client.report(3);
  const text = await client.export(), store = memoryStore();
  const moved = await Client.import(text, own, store, { limit: 2 });
  assert.equal(await moved.export(), text);
  assert.equal(await moved.spent(), 2);
  await assert.rejects(moved.report(2), { name: "LimitReached" });
  await assert.rejects(Client.import(text, own, store), /open it/);
  const context = new Uint8Array(1);
  await assert.rejects(Client.import(text, own, memoryStore(), { context }), /context/);
});

test("a record with rounds moves with its state", async () => {
  const history = mechanism(STEPS), client = await Client.begin(history, memoryStore());
  const ask = (own, rounds, value) => Promise.all(rounds.map(async (round) => {
    const report = await own.report(value(round), { round });
    return report && hex(report);
  }));
  const before = await ask(client, [0, 1, 2, 3], (round) => round % 2);
  const text = await client.export(), store = memoryStore();
  assert.equal(JSON.parse(text.split("\n")[0]).version, 2);
  const moved = await Client.import(text, history, store);
  assert.equal(await moved.export(), text);
  assert.deepEqual(await ask(moved, [3], () => 0), before.slice(3));
  await assert.rejects(moved.report(0, { round: 2 }), /round=2 is over/);
  const later = [4, 5, 6, 7], value = (round) => Number(round > 5);
  assert.deepEqual(await ask(moved, later, value), await ask(client, later, value));
  assert.equal(await moved.export(), await client.export());
  assert.equal(await moved.spent(), await client.spent());
});

test("the record has the options of its beginning", async () => {
  const context = Uint8Array.from([7, 8]), store = memoryStore();
  const options = { context, firstRound: 3, restorable: false };
  const client = await Client.begin(mechanism(STEPS), store, options);
  const found = JSON.parse((await client.export()).split("\n")[0]);
  const { first, restorable } = found.history;
  assert.deepEqual([found.context, first, restorable], ["0708", 3, false]);
  await assert.rejects(Client.open(mechanism(STEPS), store), /context/);
  assert.ok(await Client.open(mechanism(STEPS), store, { context }));
  for (const wrong of [{ firstRound: 3 }, { restorable: false }]) {
    await assert.rejects(Client.begin(own, memoryStore(), wrong), /with rounds/);
  }
});

test("a damaged record, or one of another client, is an error and never a new secret", async () => {
  const client = await Client.begin(own, memoryStore()), text = await client.export();
  const altered = [
    text.slice(0, -2), text.replace("version\": 1", "version\": 3"), "", "left",
    text.replace(/"secret": "../, '"secret": "zz'), `${text} `, text.toUpperCase(),
  ];
  const { secret } = JSON.parse(text.split("\n")[0]);
  const silent = ({ name, message }) => name === "SpecError" && !message.includes(secret.slice(4, 12));
  for (const wrong of altered) {
    const store = memoryStore(wrong);
    await assert.rejects(Client.open(own, store), silent);
    await assert.rejects(Client.import(wrong, own, memoryStore()), silent);
    await assert.rejects(Client.begin(own, store), /open it/);
    assert.equal(await store.update((kept) => [kept, kept]), wrong);
  }
  await assert.rejects(Client.open(mechanism(ONCE), memoryStore(text)), /is of .*LOSUE/);
  await assert.rejects(Client.open(own, memoryStore(text), { context: new Uint8Array(1) }), /context/);
});

test("the record of another history is refused before its answers are read", async () => {
  const store = memoryStore(), large = mechanism({ ...STEPS, k: 9, values: 0.5 });
  const client = await Client.begin(large, store);
  await client.report(7, { round: 0 });
  const text = await client.export(), small = mechanism({ ...STEPS, k: 3 });
  for (const opened of [Client.open(small, store), Client.import(text, small, memoryStore())]) {
    await assert.rejects(opened, (error) => /the record is of/.test(error.message));
  }
  const [line] = text.split("\n"), body = JSON.parse(line);
  for (const starts of [[47], [1.5], [], 47, null]) {
    const altered = sealed(line.replace(/"starts": \[\d+\]/, `"starts": ${JSON.stringify(starts)}`));
    await assert.rejects(Client.open(large, memoryStore(altered)), (error) =>
      /starts must be one value below k=9/.test(error.message) && !/47/.test(error.message));
  }
  assert.deepEqual(body.history.starts.length, 1);
});

/** Gives a test a browser whose storage promises something. */
function promise(context, storage) {
  const own = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  Object.defineProperty(globalThis, "navigator", { value: { storage }, configurable: true });
  context.after(() => {
    delete globalThis.navigator;
    if (own) Object.defineProperty(globalThis, "navigator", own);
  });
}

test("a browser that refuses to promise anything loses no record", async (context) => {
  const refuse = () => Promise.reject(new Error("not allowed"));
  promise(context, { persist: refuse, persisted: refuse });
  const { update } = memoryStore(), other = { update: memoryStore().update };
  const client = await Client.begin(own, { update });
  assert.equal(client.persistent, false);
  assert.equal((await Client.open(own, { update })).persistent, false);
  const moved = await Client.import(await client.export(), own, other);
  assert.equal(await moved.export(), await client.export());
});

test("to begin or to import asks for a promise, and to open does not", async (context) => {
  const asked = [], answer = (name) => async () => Boolean(asked.push(name));
  promise(context, { persist: answer("persist"), persisted: answer("persisted") });
  const { update } = memoryStore(), other = { update: memoryStore().update };
  const client = await Client.begin(own, { update });
  const opened = await Client.open(own, { update });
  const moved = await Client.import(await client.export(), own, other);
  assert.deepEqual([client, opened, moved].map((each) => each.persistent), [true, true, true]);
  assert.deepEqual(asked, ["persist", "persisted", "persist"]);
  assert.equal((await Client.open(own, { update, persistent: false })).persistent, false);
  assert.equal(asked.length, 3);
});

test("a history answers a round once, whatever is asked again", async () => {
  const history = mechanism(STEPS), client = await Client.begin(history, memoryStore());
  const sent = [];
  for (let round = 0; round < 8; round++) {
    const report = await client.report(round % 2, { round });
    const again = await client.report((round + 1) % 2, { round });
    assert.equal(again && hex(again), report && hex(report));
    sent.push(report);
  }
  assert.equal(await client.spent(), sent.some(Boolean) ? 1 : 0);
  await assert.rejects(client.report(0, { round: 3 }), /round=3 is over/);
  await assert.rejects(client.report(0), /round must be given/);
});

test("a survey over time takes answers by name", async () => {
  const { protocol, eps_perm, eps_1 } = WEEKLY;
  const survey = Survey.parse(surveyText({ a: ["x", "y"] }, { protocol, eps_perm, eps_1 }));
  const client = await Client.begin(survey, memoryStore(), { limit: 2 });
  assert.equal((await client.report({ a: "x" })).length, survey.solution.bytes);
  await assert.rejects(client.report({ a: "z" }), { name: "AnswerError" });
  await assert.rejects(client.report({ a: "y" }), { name: "LimitReached" });
});
