/**
 * Exact arithmetic: fractions of integers, and e^x and ln x to 80 digits.
 *
 * Probabilities are integers over 2^64, rounded once, toward privacy. No double is ever a
 * probability.
 */

export const WORD = 2n ** 64n;
const DIGITS = 80;
const BITS = 448n; // of the fractions in which e^x and ln x are computed
const ONE = 1n << BITS;
const SLACK = 10n ** 70n;

/** A fraction with a positive denominator. It is not reduced. */
export type Fraction = readonly [above: bigint, below: bigint];

export const of = (above: bigint | number, below: bigint | number = 1n): Fraction => [
  BigInt(above),
  BigInt(below),
];
export const add = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d + c * b, b * d];
export const subtract = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d - c * b, b * d];
export const multiply = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * c, b * d];
/** The quotient by a positive fraction. */
export const divide = ([a, b]: Fraction, [c, d]: Fraction): Fraction => [a * d, b * c];
/** The rest to 1: the probability of the opposite. */
export const rest = ([a, b]: Fraction): Fraction => [b - a, b];
/** Negative, zero or positive, as a is below, equal to or above b. */
export const compare = ([a, b]: Fraction, [c, d]: Fraction): bigint => a * d - c * b;
export const largest = (all: readonly Fraction[]): Fraction =>
  all.reduce((most, each) => (compare(each, most) > 0n ? each : most));
export const floor = ([a, b]: Fraction): bigint => (a < 0n && a % b ? a / b - 1n : a / b);
export const ceil = ([a, b]: Fraction): bigint => -floor([-a, b]);
/** The weight over 2^64 as a probability. */
export const chance = (weight: bigint): Fraction => [weight, WORD];

export const power = ([a, b]: Fraction, n: number): Fraction => [a ** BigInt(n), b ** BigInt(n)];

/** The number of sets of k out of n. */
export function choose(n: number, k: number): bigint {
  let found = 1n;
  for (let i = 0; i < k; i++) found = (found * BigInt(n - i)) / BigInt(i + 1);
  return found;
}

export function reduce([a, b]: Fraction): Fraction {
  let [x, y] = [a < 0n ? -a : a, b];
  while (y) [x, y] = [y, x % y];
  return [a / x, b / x];
}

/** The nearest integer to a fraction; a tie goes to the even one. */
export function nearest(x: Fraction): bigint {
  const whole = floor(x), more = compare(subtract(x, of(whole)), [1n, 2n]);
  return more > 0n || (more === 0n && whole & 1n) ? whole + 1n : whole;
}

/** The exact value of a double. */
export function fraction(x: number): Fraction {
  let below = 1n;
  for (; !Number.isInteger(x); x *= 2) below *= 2n;
  return [BigInt(x), below];
}

/** The double nearest to a fraction that is neither negative nor tiny. */
export function double([a, b]: Fraction): number {
  const shift = BigInt(Math.max(0, b.toString(2).length - a.toString(2).length + 66));
  const scaled = (a << shift) / b;
  return Number(scaled | (scaled * b === a << shift ? 0n : 1n)) / 2 ** Number(shift);
}

/** A fraction rounded to 80 significant digits; a tie goes to the even digit. */
function round([a, b]: Fraction): Fraction {
  if (a <= 0n) return a ? negate(round([-a, b])) : [0n, 1n];
  let exponent = a.toString().length - b.toString().length - DIGITS;
  const scale = (e: number): Fraction => [a * ten(-e), b * ten(e)];
  if (compare(scale(exponent), [ten(DIGITS), 1n]) >= 0n) exponent++;
  return [nearest(scale(exponent)) * ten(exponent), ten(-exponent)];
}

const ten = (exponent: number): bigint => (exponent > 0 ? 10n ** BigInt(exponent) : 1n);
const negate = ([a, b]: Fraction): Fraction => [-a, b];

/** e^x with a relative error below 10^-110. */
function exponential([a, b]: Fraction): Fraction {
  if (a < 0n) return divide([1n, 1n], exponential([-a, b]));
  const x = (a << BITS) / (b << 20n);
  let sum = ONE;
  for (let term = x, n = 2n; term; term = ((term * x) >> BITS) / n++) sum += term;
  for (let i = 0; i < 20; i++) sum = (sum * sum) >> BITS;
  return [sum, ONE];
}

/** Fractions just below and just above e^x. */
export function exp(x: Fraction): { low: Fraction; high: Fraction } {
  const value = round(exponential(round(x)));
  const times = (n: bigint): Fraction => multiply(value, [n, SLACK]);
  return { low: times(SLACK - 1n), high: times(SLACK + 1n) };
}

/** The natural logarithm of a positive fraction, to 80 digits. */
export function ln(ratio: Fraction): Fraction {
  const [a, b] = round(ratio);
  const shift = b.toString(2).length - a.toString(2).length;
  const near = double(shift > 0 ? [a << BigInt(shift), b] : [a, b << BigInt(-shift)]);
  const [c, d] = fraction(Math.log(near) - shift * Math.LN2);
  let y = (c << BITS) / d;
  for (let i = 0; i < 2; i++) {
    const [e, f] = exponential([y, ONE]);
    y += ((a * f - e * b) << (BITS + 1n)) / (a * f + e * b);
  }
  return round([y, ONE]);
}
