/**
 * The one way to write JSON from which labels and digests are made.
 *
 * Keys are sorted, and all characters are ASCII. It is not the canonical JSON of RFC 8785.
 */
import { Float } from "./json.js";

/** A double with the fewest digits that give it back, as labels write it. */
export function writeFloat(x: number): string {
  if (Object.is(x, -0)) return "-0.0";
  if (x < 0) return `-${writeFloat(-x)}`;
  const [digits, power] = x.toExponential().split("e") as [string, string];
  const exponent = Number(power);
  if (x && (exponent < -4 || exponent >= 16)) {
    return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  const text = String(x);
  return Number.isInteger(x) ? `${text}.0` : text;
}

const writeString = (text: string): string =>
  JSON.stringify(text).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A value as labels, digests and client files write it. Keys are sorted. */
export function write(value: unknown): string {
  if (value instanceof Float) return writeFloat(value.value);
  if (Array.isArray(value)) return `[${value.map(write).join(", ")}]`;
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? writeString(value) : String(value);
  }
  const given: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  const sorted = given.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, each]) => `${writeString(key)}: ${write(each)}`).join(", ")}}`;
}
