/** Senders: one report per round, whatever the service, the network and the store do. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import test from "node:test";
import { inspect } from "node:util";
import { Client, Survey } from "multi-freq-ldpy";
import { Sender } from "multi-freq-ldpy/sender";
import { hex, readOutbox, reportId } from "multi-freq-ldpy/testing";
import { memoryStore } from "multi-freq-ldpy/stores/memory";
import { Service, hexOf, problem, say } from "./service.mjs";
import { LARGE, TEXT, surveyText } from "./surveys.mjs";

const ANSWERS = { number: 7 };
const WEEKLY = surveyText(
  { number: Array.from({ length: 64 }, (_, i) => i) }, { protocol: "LOSUE", eps_perm: 2.0, eps_1: 1.0 },
);
const STEPS = surveyText({ number: [0, 1, 2] }, {
  history: "Steps", epsilon: 1.0, rounds: 8, changes: 7, protocol: "SS", encoding: "unary", values: 0.5,
});
const digestOf = (text) => Survey.parse(text).digest;
const peek = (store) => store.update((kept) => [kept, kept]);
const outboxOf = async (store) => readOutbox((await peek(store)).slice(65));
const entriesOf = async (store) => (await outboxOf(store)).reports;

/** Runs a test with a service that has three open surveys, and an empty store. */
const withService = (name, run) => test(name, async () => {
  const service = await new Service().start(), store = memoryStore();
  try {
    service.open("large", LARGE, digestOf(LARGE));
    service.open("weekly", WEEKLY, digestOf(WEEKLY), { accepted: [2, 3] });
    service.open("steps", STEPS, digestOf(STEPS), { accepted: [0] });
    await run(service, store, new Sender(service.url, store));
  } finally {
    await service.stop();
  }
});

withService("a round is answered once, with the bytes that the service expects", async (service, store, sender) => {
  const sent = await sender.answer("large", ANSWERS);
  assert.deepEqual([sent.round, sent.state, sent.report.length], [0, "sent", 32]);
  const [request, ...others] = service.requests, secret = (await peek(store)).slice(0, 64);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [request.magic, request.version, request.digest, request.round, request.id, request.report],
    ["MFLB", 1, digestOf(LARGE), 0,
      reportId(Buffer.from(secret, "hex"), "large", digestOf(LARGE), 0), hex(sent.report)],
  );
  assert.equal(request.headers["content-type"], "application/octet-stream");
  for (const header of ["authorization", "cookie", "referer"]) assert.equal(request.headers[header], undefined);
  for (const own of [sender, new Sender(`${service.url}/`, store)]) {
    const again = await own.answer("large", { number: 8 });
    assert.deepEqual(again, { round: 0, report: null, state: "sent before" });
  }
  assert.equal(service.requests.length, 1);
  assert.equal(await sender.flush(), 0);
  const [entry] = await entriesOf(store);
  assert.deepEqual([entry.state, entry.report], ["sent", null]);
});

const destroy = ({ request }) => request.socket.destroy();
const status = (code, content = {}, headers = {}) => ({ answer }) => say(answer, code, content, headers);
const FAILURES = {
  "a connection that breaks before the report is counted": destroy,
  "a connection that breaks after it": (given) => given.count() && destroy(given),
  "a fault of the service": status(500, problem("fault", 500)),
  "a busy service": status(503, problem("too-busy", 503), { "Retry-After": "1" }),
  "a limit of requests": status(429, problem("too-many", 429), { "Retry-After": "0" }),
  "a slow request": status(408),
  "a page of a hotel": status(200, "<html>Please log in</html>"),
  "an answer in another form": status(200, { counted: 7, duplicates: 0 }),
  "an answer with another status": status(202, { counted: 1, duplicates: 0 }),
  "an answer without a body": status(204, ""),
  "an answer cut in the middle": ({ answer, count }) => {
    answer.writeHead(200, { "Content-Length": "100" });
    answer.write(JSON.stringify(count()));
    setTimeout(() => answer.destroy(), 20);
  },
  "an answer that is not UTF-8": status(200, Buffer.from([0x22, 0xff, 0x22]).toString("latin1")),
};

for (const [name, fail] of Object.entries(FAILURES)) {
  withService(`after ${name}, the same bytes are sent again and count once`, async (service, store, sender) => {
    service.plan.push(fail);
    const { state } = await sender.answer("large", ANSWERS);
    assert.equal(state, "sent");
    assert.equal(service.requests.length, 2);
    const [first, second] = service.requests;
    assert.equal(hexOf(first.body), hexOf(second.body));
    assert.equal(service.counted.size, 1);
    assert.equal((await entriesOf(store))[0].state, "sent");
  });
}

// Status and kind of a refusal, and what becomes of the report
const REFUSALS = [
  [409, "round-closed", "refused"], [409, "wrong-survey", "refused"], [422, "not-a-report", "refused"],
  [413, "too-large", "refused"], [409, "not-open", "waiting"], [401, "no-token", "waiting"],
  [403, "forbidden", "waiting"], [404, "not-found", "waiting"], [415, "media-type", "waiting"],
  [400, "malformed", "waiting"], [413, "", "waiting"], [404, "", "waiting"], [451, "", "waiting"],
];

for (const [code, kind, state] of REFUSALS) {
  withService(`${code} ${kind || "of something else"}: the report is ${state}`, async (service, store, sender) => {
    const content = kind ? problem(kind, code) : "<html>no</html>";
    service.plan.push(status(code, content));
    const message = kind ? `This is ${kind}.` : `the service answered with status ${code}`;
    await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused", status: code, kind, message });
    assert.equal(service.requests.length, 1);
    const [entry] = await entriesOf(store);
    assert.deepEqual([entry.state, typeof entry.report], [state, state === "waiting" ? "string" : "object"]);
    if (state === "waiting") {
      assert.equal(await sender.flush(), 1);
      const [first, second] = service.requests;
      assert.equal(hexOf(first.body), hexOf(second.body));
    } else {
      await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused", status: 0, kind: "" });
      assert.equal(await sender.flush(), 0);
      assert.equal(service.requests.length, 1);
    }
  });
}

withService("only problems of this kind of service give a report up", async (service, store, sender) => {
  const foreign = ["about:blank", "/problemx/round-closed", "https://a.b/problems/round-closed", 7, null];
  for (const type of foreign) {
    service.plan.push(status(409, { ...problem("", 409), type }));
    await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused", status: 409, kind: "" });
    assert.equal((await entriesOf(store))[0].state, "waiting");
  }
});

withService("a redirect is not followed, and the report is kept", async (service, store, sender) => {
  const asked = [], other = createServer((request, answer) => asked.push(request.url) && answer.end("{}"));
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  try {
    const address = { Location: `http://127.0.0.1:${other.address().port}/` };
    service.plan.push(status(404, problem("not-found", 404)));
    await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused" });
    for (const code of [301, 302, 303, 307, 308]) {
      service.plan = Array.from({ length: 20 }, () => status(code, "", address));
      const sending = sender.answer("large", ANSWERS, { round: 0, timeout: 0.1 });
      await assert.rejects(sending, { name: "NotDelivered", message: /will be sent by flush/ });
    }
    assert.deepEqual(asked, []);
    service.plan = [];
    assert.equal(await sender.flush(), 1);
    assert.equal(new Set(service.requests.map(({ body }) => hexOf(body))).size, 1);
  } finally {
    other.close();
  }
});

withService("a service that never answers is given up at the end of the time", async (service, store, sender) => {
  await sender.answer("weekly", ANSWERS, { client: await Client.begin(Survey.parse(WEEKLY), memoryStore()) });
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  service.look = () => {};
  service.plan = Array.from({ length: 20 }, () => () => {});
  await assert.rejects(sender.answer("large", ANSWERS, { timeout: 0.2 }), { name: "NoAnswer" });
  const sending = sender.answer("weekly", ANSWERS, { client, round: 4, timeout: 0.4 });
  await assert.rejects(sending, { name: "NotDelivered" });
  service.plan = [status(503, {}, { "Retry-After": "100" })];
  await assert.rejects(sender.flush({ timeout: 30 }), { name: "NotDelivered" });
  assert.equal(await sender.flush(), 1);
});

withService("offline, nothing is drawn before the survey is known", async (service, store, sender) => {
  await service.stop();
  await assert.rejects(sender.answer("large", ANSWERS, { timeout: 0.1 }), { name: "NoAnswer" });
  await assert.rejects(sender.survey("large", { timeout: 0.1 }), { name: "NoAnswer" });
  assert.equal(await peek(store), null);
  await service.start();
});

withService("offline, a survey that was looked at is answered, and sent later", async (service, store, sender) => {
  const port = service.server.address().port, later = { timeout: 0.1 };
  for (const name of ["large", "weekly"]) await sender.survey(name);
  assert.equal(await peek(store), null);
  await service.stop();
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  await assert.rejects(sender.answer("large", ANSWERS, later), { name: "NotDelivered" });
  await assert.rejects(sender.answer("weekly", ANSWERS, { client, round: 3, ...later }), { name: "NotDelivered" });
  // Its rounds are opened by hand, so only the caller can know them
  await assert.rejects(sender.answer("weekly", ANSWERS, { client, ...later }), { name: "NoAnswer" });
  assert.deepEqual((await entriesOf(store)).map(({ round }) => round), [0, 3]);
  await service.start(port);
  assert.equal(await new Sender(service.url, store).flush(), 2);
  assert.deepEqual([...service.bodies.values()].map((each) => each.size), [1, 1]);
});

withService("a survey that changed after it was looked at is not answered", async (service, store, sender) => {
  await sender.survey("large");
  service.open("large", STEPS, digestOf(STEPS));
  await assert.rejects(sender.answer("large", ANSWERS), { name: "SpecError", message: /is now the survey with/ });
  assert.equal(await peek(store), null);
});

withService("offline, a pinned schedule and the clock give the round", async (service, store, sender) => {
  const now = Math.floor(Date.now() / 1000), day = 86_400;
  const schedule = { starts: now - 3 * day - day / 2, period: day, grace: 100 };
  service.open("weekly", WEEKLY, digestOf(WEEKLY), { accepted: [1], schedule });
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  assert.equal((await sender.answer("weekly", ANSWERS, { client })).round, 1);
  await sender.answer("steps", { number: 0 }, { client: await Client.begin(Survey.parse(STEPS), memoryStore()) });
  const port = service.server.address().port;
  await service.stop();
  const offline = { name: "NotDelivered" };
  await assert.rejects(sender.answer("weekly", ANSWERS, { client, timeout: 0.1 }), offline);
  await assert.rejects(sender.answer("weekly", ANSWERS, { client, timeout: 0.1, round: 9 }), offline);
  const rounds = (await entriesOf(store)).filter(({ survey }) => survey === "weekly");
  assert.deepEqual(rounds.map(({ round, state }) => [round, state]), [[1, "sent"], [3, "waiting"], [9, "waiting"]]);
  // Rounds that are opened by hand are not known offline
  const before = await peek(store);
  await assert.rejects(sender.answer("steps", { number: 0 }, { timeout: 0.1 }), { name: "NoAnswer" });
  assert.equal(await peek(store), before);
  await service.start(port);
  assert.equal(await sender.flush(), 2);
});

withService("another survey under the same name draws nothing and sends nothing", async (service, store, sender) => {
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  await sender.answer("weekly", ANSWERS, { client });
  const before = await peek(store), { length } = service.requests;
  service.open("weekly", LARGE, digestOf(LARGE), { accepted: [4] });
  const changed = { name: "SpecError", message: /weekly is now the survey with digest/ };
  await assert.rejects(sender.answer("weekly", ANSWERS), changed);
  await assert.rejects(sender.answer("weekly", ANSWERS, { client, round: 4 }), changed);
  await assert.rejects(sender.submit("weekly", new Uint8Array(32), { round: 4 }), changed);
  assert.equal(await peek(store), before);
  assert.equal(service.requests.length, length);
  assert.equal(await client.spent(), 2);
  assert.equal((await sender.survey("weekly")).digest, digestOf(WEEKLY));
});

withService("what a service says of a survey must fit", async (service, store, sender) => {
  const digest = digestOf(LARGE), open = (more) => service.open("large", LARGE, digest, more);
  const closed = (kind, message) => ({ name: "Refused", status: 409, kind, message });
  const tried = async (error, options = {}) => {
    await assert.rejects(sender.answer("large", ANSWERS, options), error);
    assert.equal(await peek(store), null);
  };
  open({ state: "closed", accepted: [] });
  await tried(closed("not-open", /is "closed"/));
  open({ accepted: [] });
  await tried(closed("round-closed", /no round takes reports/));
  await tried(closed("round-closed", /round 0 takes no reports now, only \[\]/), { round: 0 });
  open();
  await tried({ name: "SpecError", message: /round must be an integer from 0 to 0, not 1/ }, { round: 1 });
  open({ digest: digestOf(TEXT) });
  await tried({ name: "SpecError", message: /does not fit the spec/ });
  const garbage = [{ digest: 1 }, { digest: "00" }, { state: null }, { accepted: 0 }, { accepted: [-1] },
    { accepted: [0.5] }, { schedule: { starts: 0 } }, { schedule: { starts: 0, period: 0, grace: 0 } }];
  for (const more of garbage) {
    open(more);
    await tried({ name: "NoAnswer" }, { timeout: 0.1 });
  }
  service.look = (_, answer) => say(answer, 200, "[]");
  await tried({ name: "NoAnswer" }, { timeout: 0.1 });
  service.look = undefined;
  service.surveys.delete("large");
  await tried({ name: "Refused", status: 404, kind: "not-found" });
  assert.equal(service.requests.length, 0);
});

withService("1 and 1.0 are different categories, and stay so in the outbox", async (service, store, sender) => {
  const texts = [TEXT, TEXT.replace("20,40,60", "20.0,40.0,1e-7"), TEXT.replace("20,40,60", "20,40.0,9007199254740992")];
  assert.equal(new Set(texts.map(digestOf)).size, 3);
  for (const [i, text] of texts.entries()) {
    service.open(`s-${i}`, text, digestOf(text));
    const [, , age] = Survey.parse(text).attributes[1].categories;
    await sender.answer(`s-${i}`, { smokes: "no", age });
    const { spec, digest } = (await outboxOf(store)).surveys.get(`s-${i}`);
    assert.equal(digest, digestOf(text));
    assert.equal(digestOf(spec), digest);
  }
});

withService("answers that cannot be used change nothing", async (service, store, sender) => {
  const weekly = Survey.parse(WEEKLY), client = await Client.begin(weekly, memoryStore(), { limit: 2 });
  const other = await Client.begin(Survey.parse(STEPS), memoryStore());
  const begun = await client.export();
  const refused = [
    [["large", { number: 256 }], { name: "AnswerError" }],
    [["large", {}], { name: "AnswerError" }],
    [["large", ANSWERS, { client }], { name: "SpecError", message: /client must be one of the survey/ }],
    [["weekly", ANSWERS], { name: "SpecError", message: /client must be given/ }],
    [["weekly", { number: 64 }, { client }], { name: "AnswerError" }],
    [["weekly", ANSWERS, { client: other }], { name: "SpecError", message: /client must be one of/ }],
    [["weekly", ANSWERS, { client, round: -1 }], { message: /round must be an integer/ }],
    [["weekly", ANSWERS, { client, round: 2 ** 32 }], { message: /round must be an integer/ }],
    [["weekly", ANSWERS, { client, timeout: 0 }], { message: /timeout must be/ }],
    [["weekly", ANSWERS, { client, timeout: "1" }], { message: /timeout must be/ }],
    ...["", "A", "a/b", "..", "a".repeat(65), "é", "a\n", null].map((name) =>
      [[name, ANSWERS], { name: "SpecError", message: /name must be 1 to 64/ }]),
  ];
  for (const [given, error] of refused) await assert.rejects(sender.answer(...given), error);
  assert.equal(await peek(store), null);
  assert.equal(await client.export(), begun);
  await sender.answer("weekly", ANSWERS, { client, round: 2 });
  const before = await peek(store);
  await assert.rejects(sender.answer("weekly", { number: 8 }, { client }), { name: "LimitReached" });
  assert.equal(await peek(store), before);
  assert.equal(await client.spent(), 2);
  assert.equal((await sender.answer("weekly", ANSWERS, { client })).round, 3);
});

withService("answers that change later are those of the call", async (service, store, sender) => {
  const bits = surveyText({ number: [0, 1] }, { protocol: "GRR", epsilon: 40.0 }), given = { number: 1 };
  service.open("bits", bits, digestOf(bits));
  const sending = sender.answer("bits", given);
  given.number = 0;
  assert.deepEqual([...(await sending).report], [1]); // another report has a probability below e^-40
});

withService("a history that is silent in a round is done with it", async (service, store, sender) => {
  const states = new Set();
  for (let device = 0; device < 40 && states.size < 2; device++) {
    const own = memoryStore(), client = await Client.begin(Survey.parse(STEPS), memoryStore());
    const sender = new Sender(service.url, own), { length } = service.requests;
    const first = await sender.answer("steps", { number: 1 }, { client });
    const again = await sender.answer("steps", { number: 2 }, { client });
    const [entry] = await entriesOf(own);
    const silent = first.state === "silent";
    assert.deepEqual([entry.state, again.state], silent ? ["silent", "silent"] : ["sent", "sent before"]);
    assert.deepEqual([entry.report, again.report], [null, null]);
    assert.equal(service.requests.length - length, silent ? 0 : 1);
    assert.equal(first.report === null, silent);
    states.add(first.state);
  }
  assert.deepEqual([...states].sort(), ["sent", "silent"]);
});

withService("a report of the caller is sent, unless the round has one", async (service, store, sender) => {
  const grr = surveyText({ a: [0, 1, 2] }, { protocol: "GRR", epsilon: 1.0 });
  service.open("grr", grr, digestOf(grr));
  for (const wrong of [Uint8Array.of(3), new Uint8Array(2), new Uint8Array(), [1], "01", null]) {
    const error = { name: "SpecError", message: /report must be a report of this survey, of 1 bytes/ };
    await assert.rejects(sender.submit("grr", wrong), error);
  }
  assert.equal(await peek(store), null);
  service.plan.push(status(404, problem("not-found", 404)));
  const given = Uint8Array.of(2), sending = sender.submit("grr", given);
  given[0] = 0; // too late
  await assert.rejects(sending, { name: "Refused" });
  const sent = await sender.submit("grr", Uint8Array.of(1));
  assert.deepEqual([sent.state, [...sent.report]], ["sent", [2]]);
  assert.deepEqual(service.requests.map(({ report }) => report), ["02", "02"]);
  assert.equal((await sender.answer("grr", { a: 0 })).state, "sent before");
});

withService("flush sends all that waits, in order, and raises the first refusal at the end", async (service, store, sender) => {
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  const fail = () => (service.plan = [status(403, problem("forbidden", 403))]);
  for (const round of [3, 2]) {
    fail();
    await assert.rejects(sender.answer("weekly", ANSWERS, { client, round }), { name: "Refused" });
  }
  fail();
  await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused" });
  service.requests.length = 0;
  service.plan = [status(404, problem("not-found", 404)), status(409, problem("round-closed", 409))];
  await assert.rejects(sender.flush(), { name: "Refused", kind: "not-found" });
  const sent = service.requests.map(({ name, round }) => [name, round]);
  assert.deepEqual(sent, [["large", 0], ["weekly", 2], ["weekly", 3]]);
  const states = (await entriesOf(store)).map(({ state }) => state);
  assert.deepEqual(states, ["waiting", "refused", "sent"]);
  assert.equal(await sender.flush(), 1);
});

withService("flush of one survey sends nothing of another", async (service, store, sender) => {
  service.open("other", LARGE, digestOf(LARGE));
  const forbidden = status(403, problem("forbidden", 403));
  for (const name of ["large", "other"]) {
    service.plan = [forbidden];
    await assert.rejects(sender.answer(name, ANSWERS), { name: "Refused" });
  }
  const own = new Sender(service.url, store, { token: "invite-of-a-person" });
  service.requests.length = 0;
  assert.equal(await own.flush({ survey: "weekly" }), 0);
  assert.equal(await own.flush({ survey: "large" }), 1);
  assert.deepEqual(service.requests.map(({ name }) => name), ["large"]);
  for (const wrong of ["", "A", null, 7]) {
    await assert.rejects(own.flush({ survey: wrong }), { name: "SpecError", message: /name must be/ });
  }
  assert.equal(await sender.flush(), 1);
});

withService("reports says what became of each, and draws and sends nothing", async (service, store, sender) => {
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  assert.deepEqual(await sender.reports("weekly"), []);
  assert.equal(await peek(store), null);
  for (const [round, kind] of [[3, "forbidden"], [2, "round-closed"]]) {
    service.plan = [status(403, problem(kind, 403))];
    await assert.rejects(sender.answer("weekly", ANSWERS, { client, round }), { kind });
  }
  await sender.answer("large", ANSWERS);
  const before = await peek(store), { length } = service.requests, { looks } = service;
  const [refused, waiting, ...others] = await sender.reports("weekly");
  assert.deepEqual([refused, others], [{ round: 2, state: "refused", report: null }, []]);
  assert.deepEqual([waiting.round, waiting.state], [3, "waiting"]);
  assert.equal(hex(waiting.report), service.requests[0].report);
  assert.deepEqual(await sender.reports("large"), [{ round: 0, state: "sent", report: null }]);
  assert.deepEqual(await sender.reports("steps"), []);
  await assert.rejects(sender.reports("A"), { name: "SpecError", message: /name must be/ });
  assert.equal(await peek(store), before);
  assert.deepEqual([service.requests.length, service.looks], [length, looks]);
});

withService("a report that was counted stays so, whatever another tab hears", async (service, store) => {
  const [one, two] = [new Sender(service.url, store), new Sender(service.url, store)];
  let release;
  const held = new Promise((done) => (release = done));
  service.plan = [
    async ({ answer }) => say(answer, 409, problem("round-closed", 409), await held),
    async ({ answer, count }) => say(answer, 200, count()),
  ];
  const first = one.answer("large", ANSWERS);
  while (!service.requests.length) await new Promise((done) => setTimeout(done, 5));
  assert.equal((await two.answer("large", ANSWERS)).state, "sent");
  release({});
  await assert.rejects(first, { kind: "round-closed" });
  assert.equal((await entriesOf(store))[0].state, "sent");
});

/** Stores of tabs whose first updates are in step: all read that a round is open before one draws. */
function inStep(store, tabs, updates) {
  const arrived = Array(updates).fill(0), go = [];
  const all = arrived.map((_, i) => new Promise((done) => (go[i] = done)));
  return Array.from({ length: tabs }, () => {
    let i = 0;
    return {
      async update(change) {
        const own = i++;
        if (own < updates) {
          if (++arrived[own] === tabs) go[own]();
          await all[own];
        }
        return store.update(change);
      },
    };
  });
}

withService("tabs that all see an open round draw one report", async (service, store) => {
  const kept = memoryStore(), weekly = Survey.parse(WEEKLY);
  const begun = await Client.begin(weekly, kept, { limit: 2 });
  const clients = await Promise.all(Array.from({ length: 4 }, () => Client.open(weekly, kept, { limit: 2 })));
  // Three updates: the pinned survey, the entry of the round, and the draw
  const once = inStep(store, 4, 3).map((own, i) => new Sender(service.url, own).answer("large", { number: i }));
  await Promise.all(once);
  const again = inStep(store, 4, 3).map((own, i) =>
    new Sender(service.url, own).answer("weekly", { number: i }, { client: clients[i] }));
  await Promise.all(again);
  assert.deepEqual([...service.bodies.values()].map((each) => each.size), [1, 1]);
  assert.equal(await begun.spent(), 2);
});

withService("senders that answer at once draw one report, and spend one charge", async (service, store) => {
  const kept = memoryStore(), weekly = Survey.parse(WEEKLY);
  const begun = await Client.begin(weekly, kept, { limit: 2 });
  const tabs = await Promise.all(Array.from({ length: 8 }, async () => ({
    sender: new Sender(service.url, store), client: await Client.open(weekly, kept, { limit: 2 }),
  })));
  await Promise.all(tabs.map(({ sender }, i) => sender.answer("large", { number: i })));
  // Only one of the different answers fits into the limit
  await Promise.all(tabs.map(({ sender, client }, i) => sender.answer("weekly", { number: i }, { client })));
  assert.deepEqual([...service.bodies.values()].map((each) => each.size), [1, 1]);
  assert.equal(service.counted.size, 2);
  assert.equal(await begun.spent(), 2);
});

/** A store that fails when `fails` says so of the text. */
function faulty(store, fails) {
  return {
    update: (change) => store.update((kept) => {
      const [after, result] = change(kept);
      if (after !== kept && fails(after)) throw new Error("quota");
      return [after, result];
    }),
  };
}

withService("a failed write is no report, and nothing is sent", async (service, store) => {
  const sender = new Sender(service.url, faulty(store, () => true));
  await assert.rejects(sender.answer("large", ANSWERS), /quota/);
  assert.equal(await peek(store), null);
  assert.equal(service.requests.length, 0);
});

withService("a mark that cannot be written leaves the same bytes for the next time", async (service, store) => {
  const full = faulty(store, (text) => text.includes('"sent"'));
  await assert.rejects(new Sender(service.url, full).answer("large", ANSWERS), /quota/);
  assert.equal((await new Sender(service.url, store).answer("large", { number: 9 })).state, "sent");
  assert.deepEqual([...service.bodies.values()].map((each) => each.size), [1]);
});

withService("an old copy of an outbox sends its report again, and it counts once", async (service, store, sender) => {
  service.plan.push(status(403, problem("forbidden", 403)));
  await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused" });
  const old = await peek(store);
  assert.equal(await sender.flush(), 1);
  await store.update(() => [old, null]);
  assert.equal((await sender.answer("large", { number: 9 })).state, "sent");
  assert.deepEqual([...service.bodies.values()].map((each) => each.size), [1]);
  assert.equal(service.counted.size, 1);
});

withService("a store that was cleared is an error for who has used it", async (service, store, sender) => {
  await sender.answer("large", ANSWERS);
  await store.update(() => [null, null]);
  for (const action of [() => sender.answer("large", ANSWERS), () => sender.flush()]) {
    await assert.rejects(action(), /the outbox is gone/);
  }
  await new Sender(service.url, store).answer("large", ANSWERS);
  await assert.rejects(sender.flush(), /the outbox is gone/);
  assert.equal(service.counted.size, 2);
});

withService("a damaged or foreign outbox is an error, and never a new one", async (service, store, sender) => {
  service.plan.push(status(404, problem("not-found", 404)));
  await assert.rejects(sender.answer("large", ANSWERS), { name: "Refused" });
  const text = await peek(store), [secret] = text.split("\n"), { report } = (await entriesOf(store))[0];
  const client = await Client.begin(Survey.parse(WEEKLY), memoryStore());
  const flipped = (secret[0] === "0" ? "1" : "0") + text.slice(1);
  const altered = ["", "left\n", text.slice(65), text.slice(0, -1), text.slice(0, 65), flipped, `${text} `,
    text.toUpperCase(), text.replace("\n", ""), await client.export(), `${secret}\n${await client.export()}`];
  for (const wrong of altered) {
    const other = memoryStore(wrong), own = new Sender(service.url, other);
    for (const action of [() => own.answer("large", ANSWERS), () => own.flush(), () => own.survey("large")]) {
      await assert.rejects(action(), (error) => {
        assert.match(error.message, /^the outbox cannot be used: /);
        return error.name === "SpecError" && !inspect(error).includes(report) && !inspect(error).includes(secret);
      });
    }
    assert.equal(await peek(other), wrong);
  }
  assert.equal(service.requests.length, 1);
});

withService("a token goes with reports only, and into no error", async (service, store) => {
  const token = "T0ken-of_a~person", sender = new Sender(service.url, store, { token }), seen = [];
  service.look = (request, answer, about) => {
    seen.push(request.headers["authorization"]);
    say(answer, 200, about);
  };
  service.plan.push(status(403, problem("forbidden", 403)));
  await assert.rejects(sender.answer("large", ANSWERS), (error) => !inspect(error).includes(token));
  assert.deepEqual(seen, [undefined]);
  assert.equal(service.requests[0].headers["authorization"], `Bearer ${token}`);
  assert.ok(!inspect(sender, { depth: 9, showHidden: true }).includes(token));
  assert.ok(!JSON.stringify(sender).includes(token));
  for (const wrong of ["", "a b", "canary\n", "canäry", 7, null]) {
    assert.throws(() => new Sender(service.url, store, { token: wrong }), (error) =>
      error.name === "SpecError" && /^token must be/.test(error.message) && !/can/.test(error.message));
  }
});

test("an address is one of HTTP, and without a password", () => {
  const store = memoryStore();
  for (const url of ["", "example.org", "ftp://example.org", "https://a.b/?q", "https://a.b/#f", "data:,a", null, 7]) {
    assert.throws(() => new Sender(url, store), { name: "SpecError", message: /url must be an address/ });
  }
  for (const url of ["https://user:canary@a.b", "https://canary@a.b"]) {
    assert.throws(() => new Sender(url, store), (error) =>
      /without a name and a password/.test(error.message) && !/canary/.test(error.message));
  }
});

withService("an address may have a path", async (service, store) => {
  const asked = [], sender = new Sender("https://example.org/collect/", store), own = globalThis.fetch;
  globalThis.fetch = async (url, options) => {
    asked.push([url, options]);
    return Response.json({});
  };
  try {
    await assert.rejects(sender.survey("large", { timeout: 0.01 }), { message: /at https:\/\/example.org\/collect$/ });
  } finally {
    globalThis.fetch = own;
  }
  const [[url, { redirect, credentials, cache, referrerPolicy, signal }]] = asked;
  assert.equal(url, "https://example.org/collect/v1/surveys/large");
  assert.deepEqual([redirect, credentials, cache, referrerPolicy], ["error", "omit", "no-store", "no-referrer"]);
  assert.ok(signal instanceof AbortSignal);
});
