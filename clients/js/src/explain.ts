/** What a report says, and how likely exactly these bytes were under every answer. */
import { hex } from "./blake2b.js";
import { SpecError, refuse } from "./errors.js";
import { compare, divide, double, largest, reduce, type Fraction } from "./exact.js";
import { isTimed, type Mechanism, type Plain } from "./mechanism.js";
import { recordOf } from "./random.js";
import { once } from "./reading.js";
import type { Label } from "./survey.js";

/** What a report says of one attribute, for values or for labels. */
export interface Explanation<L = Label> {
  readonly attribute: string;
  /** Whether the report is about this attribute. Null: it hides that, as RS+FD does. */
  readonly sent: boolean | null;
  /** The answers that the report supports. It supports none of an attribute that was not sent. */
  readonly supports: L[];
  /**
   * For each answer, how many times as likely these bytes were as under the given answer. Without
   * answers: as under the least likely one.
   */
  readonly odds: { readonly label: L; readonly times: number }[];
  /** The largest ratio of these probabilities between two answers. */
  readonly ratio: number;
}

/** Returns the mechanism, if its reports can be read one by one, and refuses invalid reports. */
function requireReport(mechanism: Mechanism, report: Uint8Array): Plain {
  if (isTimed(mechanism)) {
    throw new SpecError("a report of a whole history depends on the earlier rounds: it is not explained");
  }
  const size = mechanism.bytes;
  if (!(report instanceof Uint8Array) || report.length !== size) {
    refuse("report", `a Uint8Array of ${size} bytes`, report?.length);
  }
  if (!mechanism.accepts(report)) {
    refuse("report", "one that a device sends", hex(report.subarray(0, 100)));
  }
  return mechanism;
}

/** Returns the exact probability of a report under a value or a record, as a reduced fraction. */
export const likelihood = (
  mechanism: Mechanism, report: Uint8Array, value: number | readonly number[],
): Fraction =>
  shorten(requireReport(mechanism, report).likelihood(report, recordOf(mechanism, value)));

/** Reduces a fraction. Powers of two, which most denominators are, are divided out at once. */
function shorten([a, b]: Fraction): Fraction {
  const twos = (x: bigint): bigint => BigInt((x & -x).toString(16).length - 1) * 4n;
  const common = a ? [twos(a), twos(b)].reduce((x, y) => (x < y ? x : y)) : 0n;
  return reduce([a >> common, b >> common]);
}

/** Explains a report, with one entry per attribute. RS+FD needs the answers, as a record. */
export function explain<L>(
  mechanism: Mechanism, attributes: readonly { name: string; categories: readonly L[] }[],
  report: Uint8Array, record: readonly number[] | null,
): Explanation<L>[] {
  return requireReport(mechanism, report).read(report, record).map((said, j) => {
    const { name, categories } = attributes[j]!;
    const chances = categories.map((_, value) => said.chance(value));
    const different = [...new Set(chances)]; // equal ones are one object
    const least = different.reduce((low, each) => (compare(each, low) < 0n ? each : low));
    const given = record ? chances[record[j]!]! : least;
    const times = once((chance: Fraction) => double(divide(chance, given)));
    return {
      attribute: name,
      sent: said.sent,
      supports: categories.filter((_, value) => said.supports(value)),
      odds: categories.map((label, value) => ({ label, times: times(chances[value]!) })),
      ratio: double(divide(largest(different), least)),
    };
  });
}
