/** Clients: what is charged, what is refused, and what lives and dies together. */
import assert from "node:assert/strict";
import test from "node:test";
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
});

test("a record moves to another store with all its charges", async () => {
  const client = await Client.begin(own, memoryStore());
  await client.report(3);
  const text = await client.export(), store = memoryStore();
  const moved = await Client.import(text, own, store);
  assert.equal(await moved.export(), text);
  assert.equal(await moved.spent(), 2);
  await assert.rejects(Client.import(text, own, store), /open it/);
});

test("a damaged record, or one of another client, is an error and never a new secret", async () => {
  const client = await Client.begin(own, memoryStore()), text = await client.export();
  const altered = [
    text.slice(0, -2), text.replace("version\": 1", "version\": 3"), "", "left",
    text.replace(/"secret": "../, '"secret": "zz'), `${text} `, text.toUpperCase(),
  ];
  for (const wrong of altered) {
    const store = memoryStore(wrong);
    await assert.rejects(Client.open(own, store), { name: "SpecError" });
    await assert.rejects(Client.begin(own, store), /open it/);
    assert.equal(await store.update((kept) => [kept, kept]), wrong);
  }
  await assert.rejects(Client.open(mechanism(ONCE), memoryStore(text)), /is of .*LOSUE/);
  await assert.rejects(Client.open(own, memoryStore(text), { context: new Uint8Array(1) }), /context/);
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
