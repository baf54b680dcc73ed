/** The names that the package exports. To remove or to add one is a decision, made here. */
import assert from "node:assert/strict";
import test from "node:test";
import * as bundle from "../dist/ldp.mjs";
import * as index from "multi-freq-ldpy";
import * as sender from "multi-freq-ldpy/sender";
import * as testing from "multi-freq-ldpy/testing";

const PUBLIC = [
  "AnswerError", "BLH", "Client", "DBitFlipPM", "GRR", "HR", "LBLH", "LGRR", "LOLH", "LOSUE", "LOUE",
  "LSOUE", "LSUE", "LimitReached", "OLH", "OUE", "Once", "RSFD", "SHE", "SMP", "SPL", "SS", "SUE",
  "SpecError", "Steps", "Survey", "THE", "Tree", "likelihood", "mechanism", "randomize",
];
const SENDER = ["NoAnswer", "NotDelivered", "Refused", "Sender"];
const TESTING = [
  "Survey", "ascii", "blake2b", "chacha", "drawAs", "draws", "hex", "hmac", "keyed", "likelihood",
  "mechanism", "memoryOf", "parse", "permanentOf", "pricesOf", "privacyOf", "read", "readOutbox", "reportAs",
  "reportId", "respond", "sha256", "spentBy", "subkey", "write", "writeFloat", "writeOutbox",
];

test("the exported names are these and no others", () => {
  assert.deepEqual(Object.keys(index).sort(), PUBLIC);
  assert.deepEqual(Object.keys(testing).sort(), TESTING);
  assert.deepEqual(Object.keys(sender).sort(), SENDER);
  const all = [...PUBLIC, ...SENDER, "aggregate", "indexedDBStore", "memoryStore", "testing"];
  assert.deepEqual(Object.keys(bundle).sort(), all.sort());
  assert.deepEqual(Object.keys(bundle.aggregate).sort(), ["addCounts", "estimate"]);
  assert.deepEqual(Object.keys(bundle.testing).sort(), TESTING);
});

test("surveys, clients and senders have these members and no others", () => {
  const members = ({ prototype }) => Object.getOwnPropertyNames(prototype).sort();
  const own = (each) => Object.getOwnPropertyNames(each)
    .filter((name) => !["length", "name", "prototype"].includes(name)).sort();
  assert.deepEqual(members(index.Survey),
    ["constructor", "encode", "explain", "longitudinal", "privacy", "randomize"]);
  assert.deepEqual(own(index.Survey), ["parse"]);
  assert.deepEqual(members(index.Client),
    ["charge", "constructor", "cost", "export", "leave", "report", "spent", "survey"]);
  assert.deepEqual(own(index.Client), ["begin", "import", "open"]);
  assert.deepEqual(members(sender.Sender), ["answer", "constructor", "flush", "reports", "submit", "survey"]);
  assert.deepEqual(Object.keys(new sender.Sender("http://a.b", { update() {} })), []);
});

test("the import changes no global name", async () => {
  const before = Object.getOwnPropertyNames(globalThis).sort();
  await import("../dist/ldp.mjs?again");
  assert.deepEqual(Object.getOwnPropertyNames(globalThis).sort(), before);
});
