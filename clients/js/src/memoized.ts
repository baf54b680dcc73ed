/** The protocols over time: permanent answers, and noise for every report. */
import { writeFloat } from "./canonical.js";
import {
  again, bytes, count, has, hash, integerOf, isTidy, ones, plan, seed, size, subset, symbol, table, unary,
  width, type Table,
} from "./draws.js";
import { refuse, type Budget } from "./errors.js";
import { chance, choose, compare, divide, multiply, of, power, rest, type Fraction } from "./exact.js";
import {
  LARGEST_DOMAIN, budget, fresh, integer, labelOf, type Given, type Loss, type Recalled,
} from "./mechanism.js";
import type { Protocol } from "./protocols.js";
import { readable, type Reading } from "./reading.js";
import {
  bestSymbols, bits, concat, hashing, pack, ratio, symbols, type Round,
} from "./rounds.js";
import type { Source } from "./source.js";
import {
  bitRatio, optimizedWeights, secondBits, secondSymbols, symmetricWeights, throughBoth,
  type Weights,
} from "./weights.js";

/** The fields of a protocol of two rounds, and of dBitFlipPM. */
export interface Twice { k: number; eps_perm: number; eps_1: number }
export interface Held { k: number; eps_perm: number; b: number; d_bits: number }

/** How a protocol over time makes its answers: a permanent round, and noise for every report. */
interface Memory {
  readonly first: Round;
  readonly second?: Weights;
  readonly loss: Loss;
  /** Adds the noise of one report to a permanent answer. */
  again(source: Source, user: number, permanent: Uint8Array): Uint8Array;
  /** Draws a first report of a new user. */
  draw?(source: Source, user: number, value: number): Uint8Array;
  /** Returns the memo class and the permanent answer of the device for a value. */
  remember(memory: Source, value: number): readonly [number, Uint8Array];
}

/** Returns the protocol over time that a label and a memory make. */
function memoized(k: number, label: string, memory: Memory): Protocol {
  const { first, second, again: addNoise } = memory, weights = first.constants.weights as Weights;
  const chances = second ? throughBoth(weights, second) : weights.map(chance);
  const one = memory.draw ?? ((source: Source, user: number, value: number): Uint8Array =>
    addNoise(source.part("report"), user, first.draw(source.part("permanent"), user, value)));
  return {
    label,
    bytes: first.bytes,
    ...readable(first.reading, chances),
    ks: [k],
    constants: second ? { ...first.constants, second } : first.constants,
    accounts: 1,
    loss: (_, lifetime) => (lifetime ? first.loss : memory.loss),
    history: () => null,
    prices: () => [first.loss],
    one,
    draw: (source, user, [value]) => one(source, user, value!),
    recall(own, [value]): Recalled {
      const [memoClass, permanent] = memory.remember(own, value!);
      return {
        charges: [[0, memoClass]],
        permanent,
        report: (bytes_) => addNoise(fresh(bytes_(0), label).part("report"), 0, permanent),
      };
    },
  };
}

/** Returns a protocol of two rounds. */
function chain(
  name: string, given: Given<Twice>, make: (first: Budget, second: Budget) => Memory,
): Protocol {
  const k = integer("k", given.k, 2, LARGEST_DOMAIN);
  const eps_perm = budget("eps_perm", given.eps_perm), eps_1 = budget("eps_1", given.eps_1);
  return memoized(
    k,
    labelOf("protocol", name, { k, eps_perm: writeFloat(eps_perm), eps_1: writeFloat(eps_1) }),
    make({ field: "eps_perm", epsilon: eps_perm, k }, { field: "eps_1", epsilon: eps_1, k }),
  );
}

/** The loss of symbols after two rounds. */
const symbolLoss = (first: Weights, second: Weights): Loss => {
  const [p, q] = throughBoth(first, second);
  return ratio(divide(p, q));
};

function longSymbols(own: Budget, alone: Budget): Memory {
  const { k } = own, first = symbols(k, own);
  const weights = first.constants.weights as Weights, second = secondSymbols(k, weights, alone);
  return {
    first,
    second,
    loss: symbolLoss(weights, second),
    again: (source, user, permanent) =>
      bytes(symbol(source, user, number(permanent), k, second), permanent.length),
    remember: (memory, value) => [value, first.draw(memory, value, value)],
  };
}

const number = (of: Uint8Array): number => Number(integerOf(of));

function longBits(first: Round, half: boolean, { field, epsilon, k }: Budget): Memory {
  if (!Number.isSafeInteger(k * (2 * width(k) + 2))) {
    refuse("k", "small enough for addresses below 2^53", k);
  }
  const weights = first.constants.weights as Weights;
  const second = secondBits(weights, half, { field, epsilon, k });
  let noise: Table | undefined;
  return {
    first,
    second,
    loss: ratio(bitRatio(...throughBoth(weights, second))),
    again: (source, user, permanent) =>
      again(source, user, permanent, k, half, (noise ??= table(second[1]))),
    remember: (memory, value) => [value, first.draw(memory, value, value)],
  };
}

function longHashing(g: number, own: Budget, alone: Budget): Memory {
  const first = hashing(g, own), { prime } = first.constants as { prime: number };
  const weights = first.constants.weights as Weights, second = secondSymbols(g, weights, alone);
  return {
    first,
    second,
    loss: symbolLoss(weights, second),
    again(source, user, permanent) {
      const edge = permanent.length - size(g), kept = number(permanent.subarray(edge));
      const sent = symbol(source, user, kept, g, second);
      return concat(permanent.subarray(0, edge), bytes(sent, size(g)));
    },
    remember(memory, value) {
      const function_ = seed(memory.part("seed"), 0, prime);
      const bucket = hash(function_, value, prime, g);
      const kept = symbol(memory.part("symbol"), bucket, bucket, g, weights);
      return [bucket, pack(prime, g, [function_, kept])];
    },
  };
}

/** Bits for a few held buckets of values, drawn once for ever. */
function heldBits(k: number, b: number, d: number, weights: Weights): Memory {
  const [p, q] = [chance(weights[0]), chance(weights[1])];
  let tables: readonly [ReturnType<typeof plan>, Table] | undefined;
  const make = (): NonNullable<typeof tables> => (tables ??= [plan(b, d), table(weights[1])]);

  function hold(source: Source, user: number): Uint8Array {
    if (d < b) return subset(source, user, -1, 0n, make()[0]);
    const all = new Uint8Array(width(b)).fill(255);
    all[all.length - 1]! &= 255 >> (-b & 7);
    return all;
  }
  /** The index of the value's bucket among the held ones, or −1. */
  function rank(held: Uint8Array, value: number): number {
    const bucket = Number((BigInt(value) * BigInt(b)) / BigInt(k));
    if (!has(held, bucket)) return -1;
    const whole = bucket >>> 3;
    return count(held.subarray(0, whole)) + ones(held[whole]! & ((1 << (bucket & 7)) - 1));
  }
  const answer = (source: Source, user: number, own: number): Uint8Array =>
    unary(source, user, own, d, weights[0], make()[1]);

  const alone = (): Fraction => {
    const [up, down] = [divide(p, q), divide(rest(q), rest(p))];
    return compare(up, down) > 0n ? up : down;
  };
  const loss = ratio(d === 1 ? alone() : bitRatio(p, q));
  const split = (report: Uint8Array): [Uint8Array, Uint8Array] =>
    [report.subarray(0, width(b)), report.subarray(width(b))];
  const reading: Reading = {
    accepts(report) {
      const [held, answers] = split(report);
      return isTidy(held, b) && isTidy(answers, d) && count(held) === d;
    },
    level(report, value) {
      const [held, answers] = split(report), place = rank(held, value);
      return place < 0 ? place : +has(answers, place);
    },
    chance(report, level, own, other) {
      const own_ = [of(1), rest(own), own][level + 1]!, set = count(split(report)[1]) - +(level > 0);
      const zeros = d - set - +(level >= 0);
      const others = multiply(power(other, set), power(rest(other), zeros));
      return multiply(multiply(others, own_), of(1, choose(b, d)));
    },
  };
  const draw = (source: Source, user: number, value: number): Uint8Array => {
    const held = hold(source.part("positions"), user);
    return concat(held, answer(source.part("bits"), user, rank(held, value)));
  };
  return {
    first: { bytes: width(b) + width(d), constants: { weights }, loss, draw, reading },
    loss,
    draw,
    again: (_, __, permanent) => permanent,
    remember(memory, value) {
      const held = hold(memory.part("positions"), 0), own = rank(held, value);
      return [own + 1, concat(held, answer(memory.part("bits"), own + 1, own))];
    },
  };
}

export const LGRR = (given: Given<Twice>): Protocol => chain("LGRR", given, longSymbols);
const longUnary = (
  name: string, weights: (own: Budget) => Weights, half: boolean,
) => (given: Given<Twice>): Protocol =>
  chain(name, given, (own, alone) =>
    longBits(bits(own.k, { weights: weights(own) }), half, alone));
export const LSUE = longUnary("LSUE", symmetricWeights, false);
export const LOSUE = longUnary("LOSUE", optimizedWeights, false);
export const LOUE = longUnary("LOUE", optimizedWeights, true);
export const LSOUE = longUnary("LSOUE", symmetricWeights, true);
export const LBLH = (given: Given<Twice>): Protocol =>
  chain("LBLH", given, (own, alone) => longHashing(2, own, alone));
export const LOLH = (given: Given<Twice>): Protocol =>
  chain("LOLH", given, (own, alone) => longHashing(bestSymbols(alone), own, alone));

export function DBitFlipPM(given: Given<Held>): Protocol {
  const k = integer("k", given.k, 2, LARGEST_DOMAIN);
  const epsilon = budget("eps_perm", given.eps_perm);
  const b = integer("b", given.b ?? k, 2, LARGEST_DOMAIN);
  const d_bits = integer("d_bits", given.d_bits ?? b, 1, LARGEST_DOMAIN);
  if (b > k) refuse("b", `at most k=${k}, the number of values`, b);
  if (d_bits > b) refuse("d_bits", `at most b=${b}, the number of buckets`, d_bits);
  if (!Number.isSafeInteger((d_bits + 1) * (2 * width(d_bits) + 2))) {
    refuse("d_bits", "small enough for addresses below 2^53", d_bits);
  }
  const weights = symmetricWeights({ field: "eps_perm", epsilon, k });
  const eps_perm = writeFloat(epsilon);
  const label = labelOf("protocol", "DBitFlipPM", { k, b, d_bits, eps_perm });
  return memoized(k, label, heldBits(k, b, d_bits, weights));
}
