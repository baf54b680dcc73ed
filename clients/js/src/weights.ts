/**
 * The probabilities of every family of protocols, as integers over 2^64.
 *
 * They are rounded toward privacy: every ratio of probabilities is at most e^ε, exactly.
 */
import { SpecError, refuseSmall, type Budget } from "./errors.js";
import {
  WORD, add, ceil, chance, compare, divide, double, exp, floor, fraction, ln, multiply, of, rest,
  subtract, type Fraction,
} from "./exact.js";

/** The weights of the own value and of each other value. */
export type Weights = readonly [own: bigint, other: bigint];

const HALF = of(1, 2);

/** The exact value of a budget, at most 1000: no weight can tell larger budgets apart. */
const exactly = (epsilon: number): Fraction => fraction(Math.min(epsilon, 1000));

/** A fraction just below e^ε. */
export const power = (epsilon: number): Fraction => exp(exactly(epsilon)).low;

/** The weights of a symbol out of m. They add up to 2^64. */
export function symbolWeights(m: number, budget: Budget): Weights {
  const other = ceil(divide(of(WORD), add(power(budget.epsilon), of(m - 1))));
  const own = WORD - BigInt(m - 1) * other;
  return own <= other ? refuseSmall(budget) : [own, other];
}

function bitWeights(p: Fraction, q: Fraction, budget: Budget): Weights {
  const own = floor(multiply(p, of(WORD))), other = ceil(multiply(q, of(WORD)));
  const kept: Weights = [own < WORD ? own : WORD - 1n, other > 0n ? other : 1n];
  return kept[0] <= kept[1] ? refuseSmall(budget) : kept;
}

/** The weights of a 1 under symmetric unary encoding. */
export function symmetricWeights(budget: Budget): Weights {
  const root = exp(multiply(exactly(budget.epsilon), HALF)).low;
  const q = divide(of(1), add(root, of(1)));
  return bitWeights(rest(q), q, budget);
}

/** The weights of a 1 under optimized unary encoding. */
export const optimizedWeights = (budget: Budget): Weights =>
  bitWeights(HALF, divide(of(1), add(power(budget.epsilon), of(1))), budget);

/** The threshold θ of least variance over 2^32, and the weights of a 1. */
export function thresholdWeights(budget: Budget): { threshold: bigint; weights: Weights } {
  const half = multiply(exactly(budget.epsilon), HALF);
  const halved = (x: Fraction): Fraction => multiply(exp(x).high, HALF);
  const at = (theta: bigint): [Fraction, Fraction] => [
    rest(halved(multiply(half, [theta - 2n ** 32n, 2n ** 32n]))),
    halved(multiply(half, [-theta, 2n ** 32n])),
  ];
  const cost = (theta: bigint): Fraction => {
    const [p, q] = at(theta), gap = subtract(p, q);
    return divide(multiply(q, rest(q)), multiply(gap, gap));
  };
  let low = 2n ** 31n, high = 2n ** 32n;
  while (high - low > 2n) {
    const third = (high - low) / 3n;
    if (compare(cost(low + third), cost(high - third)) <= 0n) high -= third;
    else low += third;
  }
  let threshold = low > 2n ** 31n ? low : low + 1n;
  for (let theta = threshold + 1n; theta <= high; theta++) {
    if (compare(cost(theta), cost(threshold)) < 0n) threshold = theta;
  }
  return { threshold, weights: bitWeights(...at(threshold), budget) };
}

/** The size ω of a set, and the weight of the own value. */
export function setWeight(budget: Budget): { omega: number; weight: bigint } {
  const { epsilon, k } = budget, e = power(epsilon);
  const spread = (w: number): Fraction => add(multiply(of(w), e), of(k - w));
  const cost = (w: number): Fraction =>
    divide(multiply(spread(w), spread(w)), of(BigInt(w) * BigInt(k - w)));
  const near = Number(floor(divide(of(k), add(e, of(1)))));
  const [lower, upper] = [near, near + 1].map((w) => Math.min(Math.max(w, 1), k - 1));
  const omega = compare(cost(upper!), cost(lower!)) < 0n ? upper! : lower!;
  const own = floor(divide(multiply(of(WORD * BigInt(omega)), e), spread(omega)));
  const weight = own < WORD ? own : WORD - 1n;
  if (weight * BigInt(k) <= WORD * BigInt(omega)) refuseSmall(budget);
  return { omega, weight };
}

/** The exponent of the noise of summed histograms, over 2^32. */
export function noiseWeight({ field, epsilon }: Budget): bigint {
  const weight = floor(multiply(exactly(epsilon), of(2n ** 31n)));
  if (weight <= (60n * 2n ** 32n) / (2n ** 31n - 1n)) {
    throw new SpecError(
      `${field}=${epsilon} is too small to be realised: the noise would not fit into 32 bits`,
    );
  }
  return weight;
}

function unreachable(epsilon: number, ratio: Fraction): never {
  const most = double(ln(ratio));
  throw new SpecError(
    `eps_1=${epsilon} has no second round: the permanent round leaves less than eps_1=${most}`,
  );
}

/** The weights of keeping a symbol out of m in the second round, and of each other symbol. */
export function secondSymbols(m: number, first: Weights, budget: Budget): Weights {
  const c = power(budget.epsilon);
  const reached = multiply(add(c, of(m - 1)), chance(first[0] - first[1]));
  const gap = divide(subtract(c, of(1)), reached);
  if (compare(gap, of(1)) >= 0n) unreachable(budget.epsilon, first);
  const other = ceil(divide(multiply(of(WORD), rest(gap)), of(m)));
  const own = WORD - BigInt(m - 1) * other;
  return own <= other ? refuseSmall(budget) : [own, other];
}

/** The ratio of probabilities of two rows of bits that differ in two places. */
export const bitRatio = (own: Fraction, other: Fraction): Fraction =>
  divide(multiply(own, rest(other)), multiply(other, rest(own)));

/** The weights of keeping a 1 in the second round, and of setting a 0. */
export function secondBits(first: Weights, half: boolean, budget: Budget): Weights {
  const c = power(budget.epsilon);
  const ratio = (weight: bigint): Fraction => {
    const chances = throughBoth(first, [half ? WORD / 2n : WORD - weight, weight]);
    return bitRatio(...chances);
  };
  let low = 0n, high = WORD / 2n;
  if (compare(ratio(low), c) <= 0n) unreachable(budget.epsilon, ratio(low));
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (compare(ratio(middle), c) <= 0n) high = middle;
    else low = middle;
  }
  if (high === WORD / 2n) refuseSmall(budget);
  return [half ? WORD / 2n : WORD - high, high];
}

/** The probabilities of two rounds together. */
export function throughBoth(first: Weights, second: Weights): [Fraction, Fraction] {
  const through = (weight: bigint): Fraction => [
    weight * second[0] + (WORD - weight) * second[1],
    WORD * WORD,
  ];
  return [through(first[0]), through(first[1])];
}
