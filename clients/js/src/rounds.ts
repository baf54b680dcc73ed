/** Rounds: one randomization of a value, for every family of protocols. */
import {
  bytes, count, has, hash, hashed, histogram, integerOf, isTidy, ones, plan, size, subset, symbol,
  table, unary, uniform, width, type Table,
} from "./draws.js";
import { SpecError, refuseSmall, type Budget } from "./errors.js";
import {
  WORD, chance, choose, compare, divide, multiply, of, power as raise, rest, subtract,
  type Fraction,
} from "./exact.js";
import type { Loss } from "./mechanism.js";
import { bestRange, nextPrime } from "./ranges.js";
import type { Reading } from "./reading.js";
import type { Source } from "./source.js";
import {
  bitRatio, noiseWeight, power, setWeight, symbolWeights, type Weights,
} from "./weights.js";

/** The fake reports of RS+FD: reports of a uniform value, or of no value. */
export interface Fake {
  readonly uniform: boolean;
  /** The least and the largest of the lower ratios of a real report's probability to a fake's. */
  readonly lows: readonly [Fraction, Fraction];
  /** The probability of a fake report. */
  chance(report: Uint8Array): Fraction;
}

/** Everything about a protocol that its probabilities decide. */
export interface Constants {
  readonly weights: readonly bigint[];
  readonly second?: Weights;
  readonly g?: number;
  readonly prime?: number;
  readonly omega?: number;
  readonly threshold?: bigint;
}

/** One randomization of a value: the content of a protocol of one round. */
export interface Round {
  readonly bytes: number;
  readonly loss: Loss;
  readonly constants: Constants;
  readonly fake?: (zero: boolean) => Fake;
  readonly reading: Reading;
  draw(source: Source, user: number, value: number): Uint8Array;
}

export const ratio = (of: Fraction): Loss => ({ ratio: of });
const same = (low: Fraction): readonly [Fraction, Fraction] => [low, low];

export function concat(...parts: Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

export function symbols(k: number, own: Budget): Round {
  const weights = symbolWeights(k, own), length = size(k);
  return {
    bytes: length,
    constants: { weights },
    loss: ratio(weights),
    fake: () => ({
      uniform: true, lows: same([BigInt(k) * weights[1], WORD]), chance: () => of(1, k),
    }),
    reading: {
      accepts: (report) => integerOf(report) < k,
      level: (report, value) => +(integerOf(report) === BigInt(value)),
      chance: (_, level, p, q) => (level ? p : q),
    },
    draw: (source, user, value) => bytes(symbol(source, user, value, k, weights), length),
  };
}

export function bits(k: number, constants: Constants & { readonly weights: Weights }): Round {
  const { weights } = constants, [p, q] = [chance(weights[0]), chance(weights[1])];
  const odds = bitRatio(p, q);
  let others: Table | undefined;
  // With m ones, a fake of a uniform value is (m·odds + k − m)/k times as likely as a fake of none
  const low = (m: number): Fraction => [
    BigInt(k) * odds[1],
    BigInt(m) * odds[0] + BigInt(k - m) * odds[1],
  ];
  const without = divide(rest(p), rest(q));
  /** The probability of a row with ones at m out of some places. */
  const row = (m: number, places: number, each: Fraction): Fraction =>
    multiply(raise(each, m), raise(rest(each), places - m));
  const empty = (report: Uint8Array): Fraction => row(count(report), k, q);
  return {
    bytes: width(k),
    constants,
    loss: ratio(odds),
    fake: (zero) =>
      zero
        ? { uniform: false, lows: same(without), chance: empty }
        : {
          uniform: true, lows: [low(k - 1), low(1)],
          chance: (report) => divide(multiply(empty(report), without), low(count(report))),
        },
    reading: {
      accepts: (report) => isTidy(report, k),
      level: (report, value) => +has(report, value),
      chance: (report, level, own, other) =>
        multiply(row(count(report) - level, k - 1, other), level ? own : rest(own)),
    },
    draw: (source, user, value) =>
      unary(source, user, value, k, weights[0], (others ??= table(weights[1]))),
  };
}

export function sets(own: Budget): Round {
  const { k } = own, { omega, weight } = setWeight(own);
  const p = chance(weight), without = multiply(rest(p), of(k, k - omega));
  let how: ReturnType<typeof plan> | undefined;
  return {
    bytes: width(k),
    constants: { weights: [weight], omega },
    loss: ratio(divide(multiply(p, of(k, omega)), without)),
    fake: () => ({
      uniform: true, lows: same(without), chance: () => of(1, choose(k, omega)),
    }),
    reading: {
      accepts: (report) => isTidy(report, k) && count(report) === omega,
      level: (report, value) => +has(report, value),
      chance: (_, level, own) =>
        divide(level ? own : rest(own), of(choose(k - 1, omega - level))),
    },
    draw: (source, user, value) => subset(source, user, value, weight, (how ??= plan(k, omega))),
  };
}

/** A hash function and a symbol, in bytes. */
export const pack = (prime: number, g: number, [function_, sent]: readonly [bigint, number]): Uint8Array =>
  concat(bytes(function_, size(BigInt(prime) * BigInt(prime - 1))), bytes(sent, size(g)));

export function hashing(g: number, own: Budget): Round {
  const prime = nextPrime(own.k), weights = symbolWeights(g, own);
  const functions = BigInt(prime) * BigInt(prime - 1), edge = size(functions);
  const parts = (report: Uint8Array): [bigint, bigint] =>
    [integerOf(report.subarray(0, edge)), integerOf(report.subarray(edge))];
  return {
    bytes: pack(prime, g, [0n, 0]).length,
    constants: { weights, g, prime },
    loss: ratio(weights),
    fake: () => ({
      uniform: false, lows: same([BigInt(g) * weights[1], WORD]),
      chance: () => of(1, functions * BigInt(g)),
    }),
    reading: {
      accepts(report) {
        const [function_, sent] = parts(report);
        return function_ < functions && sent < g;
      },
      level(report, value) {
        const [function_, sent] = parts(report);
        return +(hash(function_, value, prime, g) === Number(sent));
      },
      chance: (_, level, p, q) => divide(level ? p : q, of(functions)),
    },
    draw: (source, user, value) =>
      pack(prime, g, hashed(source, user, value, prime, g, weights)),
  };
}

/** The number of symbols of least variance for a budget. */
export function bestSymbols(own: Budget): number {
  const excess = subtract(power(own.epsilon), of(1));
  if (compare(multiply(excess, of(WORD)), of(1)) < 0n) refuseSmall(own);
  return bestRange(nextPrime(own.k), excess);
}

export function hadamard(own: Budget): Round {
  const rows = 2 ** (32 - Math.clz32(own.k)), length = size(rows);
  const [keep] = symbolWeights(2, { ...own, k: 2 });
  const p = chance(keep), coin: Weights = [keep, WORD - keep];
  return {
    bytes: length,
    constants: { weights: [keep, WORD / 2n] },
    loss: ratio(divide(p, rest(p))),
    fake: () => ({
      uniform: false, lows: same(multiply(of(2), rest(p))), chance: () => of(1, rows),
    }),
    reading: {
      accepts: (report) => integerOf(report) < rows,
      level: (report, value) => 1 - (ones(Number(integerOf(report)) & (value + 1)) % 2),
      chance: (_, level) => multiply(of(2, rows), level ? p : rest(p)),
    },
    draw(source, user, value) {
      const line = value + 1;
      let index = uniform(source.part("index"), user, rows);
      const odd = symbol(source.part("parity"), user, 0, 2, coin);
      if (ones(index & line) % 2 !== odd) index ^= line & -line;
      return bytes(index >>> 0, length);
    },
  };
}

export function histograms(own: Budget): Round {
  const weight = noiseWeight(own);
  return {
    bytes: 4 * own.k,
    constants: { weights: [weight] },
    loss: { log: [2n * weight, 2n ** 32n] },
    reading: {
      accepts: (report) =>
        new Int32Array(Uint8Array.from(report).buffer).every((entry) => entry > -(2 ** 31)),
      level: () => 0,
      chance() {
        throw new SpecError("the likelihood of SHE is not a fraction: its noise is unbounded");
      },
    },
    draw: (source, user, value) =>
      new Uint8Array(histogram(source, user, value, own.k, weight).buffer),
  };
}
