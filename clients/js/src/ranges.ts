/** Local hashing: the prime P of its hash functions, and the best number of symbols g. */
import { add, compare, divide, multiply, of, rest, type Fraction } from "./exact.js";

/** The least prime that is at least k. */
export function nextPrime(k: number): number {
  for (let prime = k; ; prime++) {
    let divisor = 2;
    while (divisor * divisor <= prime && prime % divisor) divisor++;
    if (divisor * divisor > prime) return prime;
  }
}

/**
 * The g from 2 to P of least variance, for a budget with e^ε − 1 = excess. The smaller of two wins.
 *
 * As long as s = P div g stays the same, the least cost is at the first or the last g. The search
 * goes outwards from the best g for even buckets, whose cost is a lower bound, until the bound
 * exceeds the best cost.
 */
export function bestRange(prime: number, excess: Fraction): number {
  const P = BigInt(prime), pairs = P * (P - 1n);
  const cost = (g: bigint, pair: Fraction): Fraction => {
    const apart = multiply(rest(pair), excess);
    const top = multiply(add(of(1), multiply(pair, excess)), add(of(g - 1n), apart));
    return divide(top, multiply(apart, apart));
  };
  const even = (g: bigint): Fraction => cost(g, [P - g, g * (P - 1n)]);
  const exactCost = (g: bigint): Fraction => {
    const s = P / g, larger = P % g;
    return cost(g, [(g - larger) * s * (s - 1n) + larger * (s + 1n) * s, pairs]);
  };

  let best: { g: bigint; cost: Fraction } | undefined;
  const consider = (g: bigint): void => {
    const own = exactCost(g), order = best ? compare(own, best.cost) : -1n;
    if (!best || order < 0n || (order === 0n && g < best.g)) best = { g, cost: own };
  };
  const search = (s: bigint): void => {
    const least = P / (s + 1n) + 1n, low = least > 2n ? least : 2n, high = P / s;
    consider(low);
    consider(high);
  };
  const mayWin = (g: bigint): boolean => compare(even(g), best!.cost) <= 0n;

  let low = 2n, high = P;
  while (high - low > 2n) {
    const middle = (low + high) / 2n;
    if (compare(even(middle), even(middle + 1n)) <= 0n) high = middle + 1n;
    else low = middle;
  }
  let near = low;
  for (let g = low + 1n; g <= high; g++) if (compare(even(g), even(near)) < 0n) near = g;
  const s = P / near;
  search(s);
  let below = P / (s + 1n), above = P / s + 1n;
  for (; below >= 2n && mayWin(below); below = P / (P / below + 1n)) search(P / below);
  for (; above <= P && mayWin(above); above = P / (P / above) + 1n) search(P / above);
  return Number(best!.g);
}
