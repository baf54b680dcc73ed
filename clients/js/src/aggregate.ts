/**
 * Estimates from reports, for pages that show how they arise: counts, frequencies and their errors.
 *
 * The Python package is the aggregator. This module covers GRR, SUE, OUE, OLH and SS.
 */
import { has, integerOf, size } from "./draws.js";
import { SpecError, refuse } from "./errors.js";
import {
  add, chance, divide, double, multiply, of, reduce, rest, subtract, type Fraction,
} from "./exact.js";
import type { Mechanism } from "./mechanism.js";
import type { Protocol } from "./protocols.js";

/** The estimated frequency of one value. */
export interface Frequency {
  readonly frequency: number;
  /** The standard error. */
  readonly std: number;
  /** The limits frequency ± z·std, cut to [0, 1]. */
  readonly low: number;
  readonly high: number;
}

/** How a protocol is counted, and with which probability a report supports another value. */
interface Counting {
  add(protocol: Protocol, report: Uint8Array, counts: Float64Array): void;
  other(protocol: Protocol): Fraction;
}

const ownOf = ({ constants }: Protocol): Fraction => chance(constants.weights[0]!);
const otherOf = ({ constants }: Protocol): Fraction => chance(constants.weights[1]!);

const symbols: Counting = {
  add: (_, report, counts) => void counts[Number(integerOf(report))]!++,
  other: otherOf,
};
function addBits(_: Protocol, report: Uint8Array, counts: Float64Array): void {
  for (let v = 0; v < counts.length; v++) counts[v]! += +has(report, v);
}
const bits: Counting = { add: addBits, other: otherOf };
const sets: Counting = {
  add: addBits,
  other: (protocol) =>
    divide(subtract(of(protocol.constants.omega!), ownOf(protocol)), of(protocol.ks[0]! - 1)),
};
const hashes: Counting = {
  add({ constants }, report, counts) {
    const prime = constants.prime!, g = constants.g!, P = BigInt(prime);
    const edge = size(P * (P - 1n)), seed = integerOf(report.subarray(0, edge));
    const sent = Number(integerOf(report.subarray(edge))), step = 1 + Number(seed / P);
    for (let v = 0, at = Number(seed % P); v < counts.length; v++, at = (at + step) % prime) {
      if (Math.floor((g * at) / prime) === sent) counts[v]!++;
    }
  },
  /** Another value supports the report as its own does if both fall into one bucket. */
  other(protocol) {
    const P = BigInt(protocol.constants.prime!), g = BigInt(protocol.constants.g!);
    const s = P / g, larger = P % g;
    const pairs = (g - larger) * s * (s - 1n) + larger * (s + 1n) * s;
    const together = of(pairs, P * (P - 1n));
    return add(multiply(together, ownOf(protocol)), multiply(rest(together), otherOf(protocol)));
  },
};
const COUNTED: Record<string, Counting> = {
  GRR: symbols, SUE: bits, OUE: bits, OLH: hashes, SS: sets,
};

function countingOf(mechanism: Mechanism): [Protocol, Counting] {
  const name = /"(?:protocol|history)": "(\w+)"/.exec(mechanism.label)![1]!;
  if (!Object.hasOwn(COUNTED, name)) {
    throw new SpecError(`estimates are for ${Object.keys(COUNTED).join(", ")}, not for ${name}: use Python`);
  }
  return [mechanism as Protocol, COUNTED[name]!];
}

/** Adds reports, one after the other in `reports`, to the counts. Returns the number of reports. */
export function addCounts(mechanism: Mechanism, reports: Uint8Array, counts: Float64Array): number {
  const [protocol, counting] = countingOf(mechanism), { bytes, ks: [k] } = protocol;
  if (!(reports instanceof Uint8Array)) refuse("reports", "a Uint8Array", typeof reports);
  const n = reports.length / bytes;
  if (!Number.isInteger(n)) refuse("reports", `a multiple of ${bytes} bytes long`, reports.length);
  if (counts.length !== k) refuse("counts", `one number for each of ${k} values`, counts.length);
  const at = (i: number): Uint8Array => reports.subarray(i * bytes, (i + 1) * bytes);
  for (let i = 0; i < n; i++) {
    if (!protocol.accepts(at(i))) refuse(`report ${i}`, "one that a device sends", [...at(i)]);
  }
  for (let i = 0; i < n; i++) counting.add(protocol, at(i), counts);
  return n;
}

/** Returns the frequency of each value, from the counts of n reports. */
export function estimate(
  mechanism: Mechanism, counts: ArrayLike<number>, n: number, level = 0.95,
): Frequency[] {
  const [protocol, counting] = countingOf(mechanism);
  const own = reduce(ownOf(protocol)), other = reduce(counting.other(protocol));
  const [p, q, slope] = [double(own), double(other), double(subtract(own, other))];
  const isCount = (each: number, most: number): boolean =>
    Number.isSafeInteger(each) && each >= 0 && each <= most;
  if (!(level > 0 && level < 1)) refuse("level", "between 0 and 1", level);
  if (!isCount(n, Infinity)) refuse("n", "a number of reports", n);
  if (counts.length !== protocol.ks[0] || !Array.from(counts).every((each) => isCount(each, n))) {
    refuse("counts", `one number from 0 to n=${n} for each of ${protocol.ks[0]} values`, [...Array.from(counts)]);
  }
  const z = normalQuantile((1 - level) / 2);
  return Array.from(counts, (count) => {
    if (!n) return { frequency: NaN, std: Infinity, low: 0, high: 1 };
    const frequency = (count / n - q) / slope, f = cut(frequency);
    const std = Math.sqrt((f * (p - p * p) + (1 - f) * (q - q * q)) / n) / slope;
    return { frequency, std, low: cut(frequency - z * std), high: cut(frequency + z * std) };
  });
}

const cut = (f: number): number => Math.min(1, Math.max(0, f));

/** The probability that a standard normal variable exceeds z, which is at least 0. */
function normalTail(z: number): number {
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z < 3) {
    let sum = 0;
    for (let term = z, i = 3; term > 1e-18; i += 2) {
      sum += term;
      term *= (z * z) / i;
    }
    return 0.5 - density * sum;
  }
  let fraction = z;
  for (let i = 100; i > 0; i--) fraction = z + i / fraction;
  return density / fraction;
}

/** The z that a standard normal variable exceeds with a probability of at most 1/2. */
function normalQuantile(tail: number): number {
  let low = 0, high = 40;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (normalTail(middle) > tail) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
