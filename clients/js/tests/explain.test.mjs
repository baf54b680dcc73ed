/** Explanations and estimates: hostile input, and surveys of many categories. */
import assert from "node:assert/strict";
import test from "node:test";
import { OUE, SHE, Survey, likelihood, randomize } from "multi-freq-ldpy";
import { addCounts, estimate } from "multi-freq-ldpy/aggregate";
import { TEXT, surveyText } from "./surveys.mjs";

const survey = Survey.parse(TEXT);

test("reports that no device sends are refused in one short sentence", () => {
  const wrong = [undefined, null, "00", [0, 0], new Uint8Array(1), new Uint8Array(3),
    new Uint8Array(2 ** 27), Uint8Array.from([9, 9])];
  for (const report of wrong) {
    assert.throws(() => survey.explain(report), (error) =>
      error.name === "SpecError" && error.message.length < 300);
  }
  const noisy = SHE({ k: 4, epsilon: 1 });
  const pooled = Buffer.from([7, ...randomize(noisy, 1)]).subarray(1);
  assert.throws(() => likelihood(noisy, pooled, 1), /not a fraction/);
});

test("a survey of thousands of categories is explained", () => {
  const number = Array.from({ length: 4000 }, (_, i) => i);
  const large = Survey.parse(surveyText({ number }, { protocol: "OUE", epsilon: 1 }));
  const report = large.randomize({ number: 7 });
  const [{ odds, supports, ratio }] = large.explain(report, { number: 7 });
  assert.equal(odds[7].times, 1);
  assert.equal(odds.length, 4000);
  assert.ok(Math.abs(ratio - Math.E) < 1e-9);
  const own = supports.includes(7);
  for (const { label, times } of odds) {
    const wanted = supports.includes(label) === own ? 1 : own ? 1 / Math.E : Math.E;
    assert.ok(Math.abs(times - wanted) < 1e-9);
  }
});

test("counts and numbers that no reports have are refused", () => {
  const protocol = OUE({ k: 3, epsilon: 1 });
  for (const [counts, n] of [[[1, 2], 3], [[1, 2, 4], 3], [[1, 2, -1], 3], [[0, 0, 0], -1],
    [[0, 0, 0], "3"], [[0, NaN, 0], 3], [[0, 0.5, 0], 3]]) {
    assert.throws(() => estimate(protocol, counts, n), { name: "SpecError" });
  }
  assert.throws(() => addCounts(protocol, [1], new Float64Array(3)), { name: "SpecError" });
  assert.throws(() => addCounts(protocol, Uint8Array.from([1, 8]), new Float64Array(3)),
    /report 1 must be one that a device sends/);
});
