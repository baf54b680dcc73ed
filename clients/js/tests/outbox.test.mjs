/** The text of an outbox: literal examples, and what is refused. */
import assert from "node:assert/strict";
import test from "node:test";
import { blake2b } from "@noble/hashes/blake2.js";
import fc from "fast-check";
import { hex, readOutbox, writeOutbox } from "multi-freq-ldpy/testing";
import { dueRound } from "../dist/outbox.js";

const sealed = (line) => `${line}\n${hex(blake2b(new TextEncoder().encode(`${line}\n`), { dkLen: 16 }))}\n`;

// As Python's json.dumps writes it, with sorted keys
const EMPTY = sealed('{"reports": [], "surveys": {}, "version": 1}');
const D = "00112233445566778899aabbccddeeff", ID = "0f".repeat(16);
const entry = (survey, digest, round, report, state) =>
  `{"digest": "${digest}", "id": "${ID}", "report": ${report}, "round": ${round}, "state": "${state}", `
  + `"survey": "${survey}"}`;
const SPEC = String.raw`"{\"a\": \"\\u00e9\", \"b\": [1, 1.0]}"`;
const FULL = `{"reports": [${[
  entry("a", D, 0, '"00ff"', "waiting"), entry("a", D, 10, "null", "sent"),
  entry("a", D, 4294967295, "null", "silent"), entry("a-b", D, 2, "null", "refused"),
].join(", ")}], "surveys": {"10": {"digest": "${D}", "schedule": null, "spec": ""}, "2": {"digest": "${D}",`
  + ` "schedule": {"grace": 60480, "period": 604800, "starts": 1767225600}, "spec": ${SPEC}},`
  + ` "a-b": {"digest": "${D}", "schedule": null, "spec": "{}"}}, "version": 1}`;

test("an outbox is written as it was read", () => {
  assert.equal(writeOutbox({ surveys: new Map(), reports: [] }), EMPTY);
  assert.equal(EMPTY.split("\n")[1], "d5880a5e720f7483c9c73b7b0dcccd46");
  const { surveys, reports } = readOutbox(sealed(FULL));
  assert.equal(writeOutbox({ surveys, reports }), sealed(FULL));
  assert.deepEqual([...surveys.keys()], ["10", "2", "a-b"]);
  assert.equal(surveys.get("2").spec, String.raw`{"a": "\u00e9", "b": [1, 1.0]}`);
  assert.deepEqual(surveys.get("2").schedule, { starts: 1767225600, period: 604800, grace: 60480 });
  assert.deepEqual(reports[0], { survey: "a", digest: D, round: 0, id: ID, report: "00ff", state: "waiting" });
});

const CHANGES = {
  "another version": ['"version": 1', '"version": 2'],
  "a version that is a float": ['"version": 1', '"version": 1.0'],
  "a further field": ['"version": 1', '"version": 1, "y": 0'],
  "a key twice": ['"version": 1', '"version": 1, "version": 1'],
  "other spaces": ['"version": 1', '"version":  1'],
  "another order of fields": [`"digest": "${D}", "id": "${ID}"`, `"id": "${ID}", "digest": "${D}"`],
  "a waiting report without bytes": ['"00ff"', "null"],
  "a waiting report of no bytes": ['"00ff"', '""'],
  "half a byte": ['"00ff"', '"00f"'],
  "large digits": ['"00ff"', '"00FF"'],
  "bytes of a report that was sent": ['null, "round": 10', '"00", "round": 10'],
  "another state": ['"sent"', '"lost"'],
  "a round below 0": ['"round": 0', '"round": -1'],
  "a round that is a float": ['"round": 10', '"round": 10.0'],
  "a round beyond 32 bits": ["4294967295", "4294967296"],
  "a round twice": ['"round": 10', '"round": 0'],
  "another order of rounds": ['"round": 10', '"round": 4294967295'],
  "another name": ['"survey": "a-b"', '"survey": "A"'],
  "another name of a survey": ['"10": {', '"_": {'],
  "a short digest": [`"digest": "${D}", "id"`, '"digest": "00", "id"'],
  "a short id": [ID, ID.slice(2)],
  "a spec that is no text": ['"spec": ""', '"spec": {}'],
  "a schedule without a period": ['"period": 604800', '"period": 0'],
  "a schedule of too long a period": ['"period": 604800', '"period": 2147483649'],
  "a schedule with more grace than its period": ['"grace": 60480', '"grace": 604801'],
  "a schedule before 1970": ['"starts": 1', '"starts": -1'],
  "a schedule that starts too late": ["1767225600", "1099511627777"],
  "a schedule with a fraction": ['"grace": 60480', '"grace": 0.5'],
};

for (const [name, [before, after]] of Object.entries(CHANGES)) {
  test(`an outbox with ${name} is refused`, () => {
    assert.ok(FULL.includes(before));
    const text = sealed(FULL.replace(before, after));
    assert.throws(() => readOutbox(text), {
      name: "SpecError", message: "the outbox cannot be used: its form or its version is another",
    });
  });
}

test("a text without its digest is refused", () => {
  const text = sealed(FULL);
  for (const wrong of ["", "\n", FULL, `${FULL}\n`, text.slice(0, -1), `${text}\n`, text.replace("sent", "Sent")]) {
    assert.throws(() => readOutbox(wrong), { message: /it is truncated or was altered/ });
  }
  for (const line of ["", "{}", "[]", "null", "é", "{".repeat(5000), '"secret"']) {
    assert.throws(() => readOutbox(sealed(line)), (error) =>
      /^the outbox cannot be used: /.test(error.message) && error.name === "SpecError");
  }
});

test("any change of one character is refused", () => {
  const text = sealed(FULL);
  fc.assert(fc.property(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, each) => {
    const changed = text.slice(0, at) + each + text.slice(at + 1);
    if (changed !== text) assert.throws(() => readOutbox(changed), { name: "SpecError" });
  }), { numRuns: 500 });
});

test("the clock gives the latest round that takes reports", () => {
  const schedule = { starts: 1000, period: 100, grace: 10 };
  const rounds = [[999.9, null], [1000, 0], [1099.9, 0], [1100, 1], [1105, 1], [1299.9, 2], [1300, 2], [1309.9, 2],
    [1310, null], [1405, null]];
  for (const [now, wanted] of rounds) assert.equal(dueRound(schedule, 2, now), wanted, `${now}`);
  assert.equal(dueRound({ ...schedule, grace: 0 }, 2, 1300), null);
});
