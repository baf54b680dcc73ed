import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import * as ldp from "multi-freq-ldpy/testing";
import { LEFT_OUT, checkFile } from "./vectors.mjs";

const folder = new URL("../../../spec/vectors/", import.meta.url);
const names = readdirSync(folder).map((file) => file.replace(".json", ""));

test("every file of vectors is here", () => assert.equal(names.length, 34));

for (const name of names.filter((each) => !LEFT_OUT.includes(each))) {
  test(`vectors of ${name}`, () => {
    const entries = JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"));
    const { checked, failures } = checkFile(ldp, name, entries);
    assert.ok(checked > 0);
    assert.deepEqual(failures, []);
  });
}
