/** The names that the package exports. To remove or to add one is a decision, made here. */
import assert from "node:assert/strict";
import test from "node:test";
import * as bundle from "../dist/ldp.mjs";
import * as index from "multi-freq-ldpy";
import * as testing from "multi-freq-ldpy/testing";

const PUBLIC = [
  "AnswerError", "BLH", "Client", "DBitFlipPM", "GRR", "HR", "LBLH", "LGRR", "LOLH", "LOSUE", "LOUE",
  "LSOUE", "LSUE", "LimitReached", "OLH", "OUE", "Once", "RSFD", "SHE", "SMP", "SPL", "SS", "SUE",
  "SpecError", "Steps", "Survey", "THE", "Tree", "mechanism", "randomize",
];
const TESTING = [
  "Survey", "ascii", "blake2b", "chacha", "drawAs", "draws", "hex", "keyed", "mechanism",
  "memoryOf", "parse", "permanentOf", "pricesOf", "privacyOf", "read", "reportAs",
  "respond", "spentBy", "subkey", "write", "writeFloat",
];

test("the exported names are these and no others", () => {
  assert.deepEqual(Object.keys(index).sort(), PUBLIC);
  assert.deepEqual(Object.keys(testing).sort(), TESTING);
  assert.deepEqual(Object.keys(bundle).sort(), [...PUBLIC, "testing"]);
  assert.deepEqual(Object.keys(bundle.testing).sort(), TESTING);
});

test("a survey has these members and no others", () => {
  const members = Object.getOwnPropertyNames(index.Survey.prototype).sort();
  assert.deepEqual(members, ["constructor", "encode", "longitudinal", "privacy", "randomize"]);
  const own = Object.getOwnPropertyNames(index.Survey)
    .filter((name) => !["length", "name", "prototype"].includes(name));
  assert.deepEqual(own, ["parse"]);
});

test("the import changes no global name", async () => {
  const before = Object.getOwnPropertyNames(globalThis).sort();
  await import("../dist/ldp.mjs?again");
  assert.deepEqual(Object.getOwnPropertyNames(globalThis).sort(), before);
});
