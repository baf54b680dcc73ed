/** The form of every mechanism, and of what it loses and remembers. */
import { subkey } from "./blake2b.js";
import { SpecError, quote, refuse } from "./errors.js";
import type { Fraction } from "./exact.js";
import { Float, type Json } from "./json.js";
import type { Readable } from "./reading.js";
import { keyed, type Source } from "./source.js";

export const LARGEST_DOMAIN = 2 ** 32 - 5;

/** A privacy loss: the largest ratio of probabilities, or its logarithm where that is rational. */
export type Loss = { readonly ratio: Fraction } | { readonly log: Fraction };

/** A budget that a report spends: the account, and the memo class or null if charged every time. */
export type Charge = readonly [account: number, memoClass: number | null];

/** The permanent state behind a report over time. */
export interface Recalled {
  readonly charges: readonly Charge[];
  /** The permanent answer of a protocol over time. */
  readonly permanent?: Uint8Array;
  /** Draws a report. `fresh(i)` gives 32 new random bytes for attribute i. */
  report(fresh: (attribute: number) => Uint8Array): Uint8Array;
}

/** What all mechanisms have. */
export interface Base {
  /** The text from which all keys are derived. */
  readonly label: string;
  /** The length of a report. */
  readonly bytes: number;
  /** The domain size of each attribute. */
  readonly ks: readonly number[];
  /**
   * The loss between two inputs that differ in one attribute, or between any two; of one report,
   * or of any number of reports about one input. Null if the last one has no bound.
   */
  loss(attribute: boolean, lifetime: boolean): Loss | null;
  /** The loss over all rounds, whatever the values do. Null if it has no bound. */
  history(): Loss | null;
  /** The number of accounts that a client keeps, and the price of a charge on each. */
  readonly accounts: number;
  prices(): Loss[];
}

/** A protocol or a solution whose every report stands alone, or repeats permanent answers. */
export interface Plain extends Base, Readable {
  /** Draws the report of a user for a record with one value per attribute. */
  draw(source: Source, user: number, record: readonly number[]): Uint8Array;
  /** Derives the permanent state of the device for a record. */
  recall(memory: Source, record: readonly number[]): Recalled;
}

/** The state of a history: all that depends on the values so far. */
export interface State {
  /** The first round in which the user takes part, and the last one that was asked. */
  readonly first: number;
  readonly last: number;
  readonly told: number;
  readonly stopped: boolean;
  readonly starts: readonly number[];
  readonly asked: readonly number[];
  /** The report of the last round, in hexadecimal digits, or null if there was none. */
  readonly answer: string | null;
  readonly restorable: boolean;
}

/** The state of a history, or of a record of histories. */
export type Kept = State | { readonly parts: readonly (State | null)[] };

export interface Asked {
  readonly kept: Kept;
  readonly report: Uint8Array | null;
  readonly charges: readonly Charge[];
}

/** A mechanism with a fixed number of rounds. A device asks it once in each. */
export interface Timed extends Base {
  readonly rounds: number;
  /** Returns the state before the first round. */
  begin(memory: Source, first: number, restorable: boolean): Kept;
  /** Answers a round. The same round asked again has the same answer, whatever the record. */
  ask(memory: Source, kept: Kept, record: readonly number[], round: number): Asked;
  /** Returns a state that was stored, or throws. */
  check(memory: Source, given: Json): Kept;
}

export type Mechanism = Plain | Timed;

export const isTimed = (mechanism: Mechanism): mechanism is Timed => "rounds" in mechanism;

/** Fields as they come from outside, not checked yet. */
export type Given<T> = { readonly [name in keyof T]: unknown };

/** Returns the source of the report that fresh bytes make. */
export const fresh = (bytes: Uint8Array, label: string): Source => keyed(subkey(bytes, label));

/** Returns the state of a mechanism without memory: every report is new and is charged. */
export const forget = (mechanism: Plain, record: readonly number[]): Recalled => ({
  charges: [[0, null]],
  report: (bytes) => mechanism.draw(fresh(bytes(0), mechanism.label), 0, record),
});

/** Returns the label of a class: its written fields, sorted by name. */
export const labelOf = (
  kind: "protocol" | "history", name: string, fields: Readonly<Record<string, string | number>>,
): string => {
  const written = Object.entries(fields).map(([field, each]) => `"${field}": ${each}`);
  return `{${[...written, `"${kind}": "${name}"`].sort().join(", ")}}`;
};

/** Returns an integer within limits. */
export function integer(field: string, value: unknown, low: number, high: number): number {
  const number = value as number, fits = Number.isInteger(number) && number >= low && number <= high;
  return fits ? number : refuse(field, `an integer from ${low} to ${high}`, show(value));
}

/** Returns a budget, which is a finite number greater than 0. */
export function budget(field: string, value: unknown): number {
  const number = value instanceof Float ? value.value : value;
  const found = typeof number === "bigint" ? Number(number) : number;
  if (typeof found === "number" && found > 0 && found < Infinity) return found;
  return refuse(field, "a finite number greater than 0", show(value));
}

const show = (value: unknown): unknown => (value instanceof Float ? value.value : value);

/** Returns a spec as fields, whether it is an object or was read from text. */
export function entries(what: string, spec: unknown): Map<string, unknown> {
  if (spec instanceof Map) return spec as Map<string, unknown>;
  if (typeof spec === "object" && spec && !Array.isArray(spec)) return new Map(Object.entries(spec));
  return refuse(what, "an object", spec);
}

/** Refuses other fields than those that belong to a spec. */
export function requireFields(what: string, given: Map<string, unknown>, wanted: string[]): void {
  const found = [...given.keys()];
  if (found.length !== wanted.length || !wanted.every((field) => given.has(field))) {
    throw new SpecError(`${what} must have the fields ${wanted.join(", ")}, not ${quote(found)}`);
  }
}
