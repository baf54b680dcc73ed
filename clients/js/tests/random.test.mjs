/** Random bytes: only the platform's, 32 new ones for each report, and none without it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { Survey, mechanism, randomize } from "multi-freq-ldpy";
import { drawAs, hex, reportAs } from "multi-freq-ldpy/testing";
import { LARGE, TEXT, surveyText } from "./surveys.mjs";

/** Runs a module in a new process, and returns the JSON that it prints. */
function run(code) {
  const input = `const LARGE = ${JSON.stringify(LARGE)};\n${code}`;
  const options = { cwd: new URL("..", import.meta.url), input, encoding: "utf8" };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module"], options);
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

test("each report is new", () => {
  const survey = Survey.parse(LARGE);
  const seen = new Set(Array.from({ length: 100 }, () => hex(survey.randomize({ number: 7 }))));
  assert.equal(seen.size, 100);
  for (const report of seen) assert.equal(report.length, 64);
});

test("a report takes 32 random bytes, from the function that was there at the import", () => {
  const found = run(`
    const asked = [], own = crypto.getRandomValues.bind(crypto);
    let later = 0;
    crypto.getRandomValues = (array) => { asked.push(array.length); return own(array).fill(1); };
    const { Survey } = await import("multi-freq-ldpy");
    const { drawAs, hex } = await import("multi-freq-ldpy/testing");
    crypto.getRandomValues = (array) => { later++; return array; };
    const survey = Survey.parse(LARGE);
    const reports = [1, 2, 3].map(() => hex(survey.randomize({ number: 7 })));
    const { solution } = JSON.parse(LARGE);
    const wanted = hex(drawAs(solution, new Uint8Array(32).fill(1), 0, [7]));
    console.log(JSON.stringify({ asked, later, reports, wanted }));
  `);
  assert.deepEqual(found.asked, [32, 32, 32]);
  assert.equal(found.later, 0);
  assert.deepEqual(found.reports, [found.wanted, found.wanted, found.wanted]);
});

test("Math.random and the clock are never used", () => {
  const found = run(`
    const no = () => { throw new Error("a device must not use this"); };
    Math.random = no; Date.now = no; performance.now = no;
    const { Survey } = await import("multi-freq-ldpy");
    console.log(JSON.stringify(Survey.parse(LARGE).randomize({ number: 7 }).length));
  `);
  assert.equal(found, 32);
});

test("without random bytes of the platform there is no report", () => {
  for (const missing of ["undefined", "{}"]) {
    const found = run(`
      Object.defineProperty(globalThis, "crypto", { value: ${missing} });
      const { Survey } = await import("multi-freq-ldpy");
      const survey = Survey.parse(LARGE);
      let message = "a report was drawn";
      try { survey.randomize({ number: 7 }); } catch (error) { message = error.message; }
      console.log(JSON.stringify([survey.digest.length, message]));
    `);
    assert.deepEqual(found, [32, "crypto.getRandomValues is missing: "
      + 'React Native needs "react-native-get-random-values"']);
  }
});

test("a generator that returns nothing still gives new reports", () => {
  const found = run(`
    const own = crypto.getRandomValues.bind(crypto);
    crypto.getRandomValues = (array) => { own(array); };
    const { Survey } = await import("multi-freq-ldpy");
    const survey = Survey.parse(LARGE);
    const reports = [1, 2, 3].map(() => String(survey.randomize({ number: 7 })));
    console.log(JSON.stringify(reports));
  `);
  assert.equal(new Set(found).size, 3);
});

test("a generator that fails gives no report", () => {
  const found = run(`
    crypto.getRandomValues = () => { throw new Error("no entropy"); };
    const { Survey } = await import("multi-freq-ldpy");
    let message = "a report was drawn";
    try { Survey.parse(LARGE).randomize({ number: 7 }); } catch (error) { message = error.message; }
    console.log(JSON.stringify(message));
  `);
  assert.equal(found, "no entropy");
});

const LONG = { version: 1, protocol: "LOSUE", k: 3, eps_perm: 2, eps_1: 1 };

test("values that do not fit are refused, and so are permanent answers", () => {
  const own = mechanism({ version: 1, protocol: "GRR", k: 3, epsilon: 1 });
  for (const wrong of [-1, 3, 1.5, NaN, "1", null, undefined, [0, 0], [], true, 1n, {}]) {
    assert.throws(() => randomize(own, wrong), { name: "SpecError", message: /^value must be/ });
  }
  assert.equal(randomize(own, [2]).length, 1);
  assert.throws(() => randomize(mechanism(LONG), 0), { message: /Client/ });
  const { protocol, k, version, ...budgets } = LONG;
  const survey = Survey.parse(surveyText({ a: [1, 2, 3] }, { protocol, ...budgets }));
  assert.ok(survey.longitudinal);
  assert.throws(() => survey.randomize({ a: 1 }), { name: "SpecError", message: /Client/ });
});

test("errors never show secrets", () => {
  const secret = Uint8Array.from({ length: 32 }, (_, i) => 200 + i);
  const shown = [hex(secret), secret.join(), secret.join(", "), `${[...secret]}`,
    Buffer.from(secret).toString("base64")].map((each) => each.slice(0, 20));
  const attempts = [
    () => reportAs({ ...LONG, k: 1 }, secret, secret, [secret], 0),
    () => reportAs(null, secret, secret, [secret], 0),
    () => reportAs(LONG, null, secret, [secret], 0),
    () => drawAs(LONG, secret, 2 ** 60, 0),
    () => drawAs({ ...LONG, protocol: secret }, secret, 0, 0),
  ];
  for (const action of attempts.slice(0, -1)) {
    assert.throws(action, (error) => {
      const text = `${error.message}\n${error.stack}\n${JSON.stringify(error)}`;
      return !shown.some((part) => text.includes(part));
    });
  }
  // A control: a secret that is given as a field is shown, as every wrong field is
  assert.throws(attempts.at(-1), { name: "SpecError", message: /"0":200,"1":201/ });
});

test("answers that are not declared are refused by name", () => {
  const survey = Survey.parse(TEXT);
  for (const [answers, wanted] of [
    [{ smokes: "maybe", age: 20 }, /answer "smokes" is "maybe", which is not declared/],
    [{ smokes: "no", age: "20" }, /answer "age" is "20", which is not declared/],
    [{ smokes: "no", age: null }, /answer "age" is missing/],
    [{ smokes: "no" }, /answers must have "age"/],
  ]) {
    assert.throws(() => survey.randomize(answers), { name: "AnswerError", message: wanted });
  }
  assert.equal(survey.randomize({ smokes: "no", age: 60 }).length, 2);
});
