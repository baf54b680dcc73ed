/**
 * A strict reader of JSON. It keeps what JavaScript's own reader loses.
 *
 * `1` and `1.0` stay different, integers stay exact, and a key that occurs twice is refused.
 */
import { SpecError, quote, refuse } from "./errors.js";

/** A number that was written with a fraction or an exponent. */
export class Float {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

export type Json = null | boolean | string | number | bigint | Float | readonly Json[] | JsonObject;
export type JsonObject = ReadonlyMap<string, Json>;

const LONGEST = 2 ** 24;
const DEEPEST = 100;
const MOST_DIGITS = 4300;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const WORDS = new Map<string, Json>([["true", true], ["false", false], ["null", null]]);

/** Reads a text, or throws a `SpecError` that shows the place. */
export function parse(text: string): Json {
  if (typeof text !== "string" || text.length >= LONGEST) {
    refuse("text", `a string of less than ${LONGEST} characters`, text);
  }
  let at = 0;

  function fail(why = "is not JSON"): never {
    throw new SpecError(`text ${why} at character ${at}: ${quote(text.slice(at, at + 30))}`);
  }
  function match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at = pattern.lastIndex;
    return found;
  }
  /** Steps over white space, and over a character if it comes next. */
  function next(character: string): boolean {
    match(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  }
  function string(): string {
    const start = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    try {
      return JSON.parse(text.slice(start, ++at)) as string;
    } catch {
      at = start;
      return fail();
    }
  }
  function items(end: string, read: () => void): void {
    if (next(end)) return;
    do read();
    while (next(","));
    if (!next(end)) fail();
  }
  function value(depth: number): Json {
    if (depth > DEEPEST) fail(`is nested more than ${DEEPEST} deep`);
    if (next("{")) {
      const object = new Map<string, Json>();
      items("}", () => {
        match(SPACE);
        const key = text[at] === '"' ? string() : fail();
        if (!next(":")) fail();
        if (object.has(key)) fail(`has the key ${quote(key)} twice`);
        object.set(key, value(depth + 1));
      });
      return object;
    }
    if (next("[")) {
      const array: Json[] = [];
      items("]", () => array.push(value(depth + 1)));
      return array;
    }
    if (text[at] === '"') return string();
    for (const [name, each] of WORDS) {
      if (text.startsWith(name, at)) {
        at += name.length;
        return each;
      }
    }
    const [digits, fraction, exponent] = match(NUMBER) ?? fail();
    if (fraction ?? exponent) return new Float(Number(digits));
    if (digits.length > MOST_DIGITS) fail("has a number that is too long");
    const number = Number(digits);
    return Number.isSafeInteger(number) ? number || 0 : BigInt(digits);
  }

  const found = value(0);
  match(SPACE);
  return at < text.length ? fail() : found;
}
