/** What a report says: the answers that it supports, and how likely it is under each answer. */
import type { Fraction } from "./exact.js";

/** How the reports of one randomization are read. */
export interface Reading {
  /** Whether a device can send this report. */
  accepts(report: Uint8Array): boolean;
  /** What the report tells of a value: 1 supports it, 0 does not, and −1 tells nothing. */
  level(report: Uint8Array, value: number): number;
  /** The probability at a level, given the probabilities of supporting the own value and another. */
  chance(report: Uint8Array, level: number, own: Fraction, other: Fraction): Fraction;
}

/** What a report says of one attribute. */
export interface Said {
  /** Null if the report hides whether this attribute is real. */
  readonly sent: boolean | null;
  supports(value: number): boolean;
  /** The probability of the report, up to a factor that all values of the attribute share. */
  chance(value: number): Fraction;
}

/** What all mechanisms of single reports have. */
export interface Readable {
  accepts(report: Uint8Array): boolean;
  /** The probability of a report under a record. */
  likelihood(report: Uint8Array, record: readonly number[]): Fraction;
  /** What a report says of each attribute. Where its parts belong together, it needs the record. */
  read(report: Uint8Array, record: readonly number[] | null): Said[];
}

/** Returns a function that computes each result once. */
export function once<K, T>(make: (key: K) => T): (key: K) => T {
  const known = new Map<K, T>();
  return (key) => {
    if (!known.has(key)) known.set(key, make(key));
    return known.get(key)!;
  };
}

/** Returns how a protocol reads its reports, given its probabilities. */
export function readable(
  { accepts, level, chance }: Reading, [own, other]: readonly Fraction[],
): Readable {
  const likely = (report: Uint8Array, at: number): Fraction => chance(report, at, own!, other!);
  return {
    accepts,
    likelihood: (report, [value]) => likely(report, level(report, value!)),
    read(report) {
      const at = once((found: number) => likely(report, found));
      return [{
        sent: true,
        supports: (value) => level(report, value) === 1,
        chance: (value) => at(level(report, value)),
      }];
    },
  };
}
