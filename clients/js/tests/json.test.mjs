/** The strict reader and the writer: what they keep, and hostile texts. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import fc from "fast-check";
import { Survey } from "multi-freq-ldpy";
import { parse, write } from "multi-freq-ldpy/testing";
import { TEXT, surveyText } from "./surveys.mjs";

/** A value of the strict reader as JavaScript's own reader gives it. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) {
    const object = {};
    for (const [key, each] of value) {
      Object.defineProperty(object, key, {
        value: plain(each), enumerable: true, writable: true, configurable: true,
      });
    }
    return object;
  }
  if (typeof value === "bigint") return Number(value);
  return value !== null && typeof value === "object" ? value.value : value;
}

/** Values that strict JSON can hold, with names that are special in JavaScript. */
const special = fc.constantFrom("__proto__", "constructor", "toString", "", "\u2028", "\u{1f600}");
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 5 },
    fc.constantFrom(null, true, false), fc.integer(), fc.bigInt().map(Number),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((each) => !Object.is(each, -0)),
    fc.string({ unit: "binary" }), special,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(fc.oneof(fc.string(), special), tie("value")), { maxLength: 4 })
      .map((pairs) => Object.fromEntries(pairs))),
}));

test("the reader gives what JavaScript's own reader gives", () => {
  fc.assert(fc.property(value, fc.constantFrom(0, 2, "\t"), (given, indent) => {
    const text = JSON.stringify(given, null, indent);
    assert.deepEqual(plain(parse(text)), JSON.parse(text));
  }), { numRuns: 2000 });
});

const flat = value.filter((each) => !JSON.stringify(each).includes("{"));

test("the writer writes ASCII, and the reader reads it back", () => {
  fc.assert(fc.property(flat, (given) => {
    const read = parse(JSON.stringify(given)), text = write(read);
    assert.match(text, /^[ -~]*$/);
    assert.deepEqual(parse(text), read);
    assert.equal(write(parse(text)), text);
  }), { numRuns: 2000 });
});

test("integers stay exact, and differ from numbers with a point", () => {
  const kept = ["1", "1.0", "-0.0", "9007199254740993", `${10n ** 400n}`, "1e+16", "1e-07",
    "0.0001", "1e+22", "5e-324", "1.7976931348623157e+308", "[1, 1.0]",
    '"\\u00e9\\ud83d\\ude00\\u007f"'];
  for (const text of kept) assert.equal(write(parse(text)), text);
  for (const [text, wanted] of [["1E5", "100000.0"], ["10e-1", "1.0"], ["1e16", "1e+16"],
    ["-0", "0"], ["-0.0", "-0.0"], ["1e-400", "0.0"], ["0.00001", "1e-05"]]) {
    assert.equal(write(parse(text)), wanted);
  }
});

/** Runs an action. Returns its value, or the one kind of error that a text may cause. */
function attempt(action) {
  try {
    return action();
  } catch (error) {
    assert.equal(error.name, "SpecError", error.stack);
    assert.ok(error.message.length < 700, error.message);
    return error;
  }
}

const { refused, accepted } = JSON.parse(
  readFileSync(new URL("hostile.json", import.meta.url), "utf8"),
);

test("texts that are not strict JSON are refused", () => {
  assert.ok(refused.length > 40);
  for (const text of refused) assert.ok(attempt(() => parse(text)) instanceof Error, text);
  for (const text of accepted) assert.ok(!(attempt(() => parse(text)) instanceof Error), text);
});

test("long and deep texts are refused before they are read", () => {
  for (const text of ["[".repeat(200000), `${"[".repeat(101)}1${"]".repeat(101)}`,
    '{"a":'.repeat(100000), `"${"a".repeat(2 ** 24)}"`, "9".repeat(5000), "-".repeat(100000)]) {
    assert.ok(attempt(() => parse(text)) instanceof Error, text.slice(0, 20));
  }
  assert.ok(!(attempt(() => parse(`${"[".repeat(90)}1${"]".repeat(90)}`)) instanceof Error));
  for (const wrong of [undefined, null, 1, {}, [], new Uint8Array(3)]) {
    assert.ok(attempt(() => parse(wrong)) instanceof Error);
    assert.ok(attempt(() => Survey.parse(wrong)) instanceof Error);
  }
});

test("every shortened survey is refused", () => {
  for (let end = 0; end < TEXT.length; end++) {
    assert.ok(attempt(() => Survey.parse(TEXT.slice(0, end))) instanceof Error);
  }
});

const piece = fc.constantFrom('"', "\\", "{", "}", "[", "]", ":", ",", "0", "1", "-", ".", "e",
  "1e999", "null", "true", "NaN", "\ud800", "\\ud800", "\u0000", "\ufeff", '"__proto__":1,', "2.0",
  "9".repeat(400), "[[".repeat(60), "GRR", "SPL", "SHE", "DDRM", '"k":', "//", "\xa0");

test("a changed survey is read or refused, and nothing else happens", () => {
  let read = 0;
  fc.assert(fc.property(
    fc.array(fc.tuple(fc.nat(TEXT.length), fc.nat(8), piece), { minLength: 1, maxLength: 3 }),
    (changes) => {
      let text = TEXT;
      for (const [at, length, instead] of changes) {
        text = text.slice(0, at) + instead + text.slice(at + length);
      }
      if (!(attempt(() => Survey.parse(text)) instanceof Error)) read++;
    },
  ), { numRuns: 5000 });
  assert.ok(read < 1000);
});

test("names of JavaScript are only names", () => {
  const names = ["__proto__", "constructor", "hasOwnProperty", "toString"];
  const categories = Object.fromEntries(names.map((name) => [name, ["__proto__", "valueOf", "x"]]));
  Object.defineProperty(categories, "__proto__", {
    value: ["__proto__", "valueOf", "x"], enumerable: true,
  });
  const survey = Survey.parse(surveyText(categories, { protocol: "GRR", epsilon: 1.0 }));
  assert.equal(survey.attributes.length, names.length);
  const answers = JSON.parse(`{${names.map((name) => `"${name}": "valueOf"`).join()}}`);
  assert.deepEqual(survey.encode(answers), [1, 1, 1, 1]);
  for (const missing of [{}, [], "text", 1, null, undefined]) {
    assert.throws(() => survey.encode(missing), { name: "AnswerError" });
  }
  assert.equal({}.polluted, undefined);
  const polluted = TEXT.replace('"version":1,', '"version":1,"__proto__":{"polluted":1},');
  assert.ok(attempt(() => Survey.parse(polluted)) instanceof Error);
  assert.equal({}.polluted, undefined);
});
