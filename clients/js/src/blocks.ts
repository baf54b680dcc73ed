/** Blocks of noise: the symbols that tell changes of a value, drawn before the first round. */
import { refuseSmall, type Budget } from "./errors.js";
import {
  WORD, add, ceil, choose, compare, divide, floor, multiply, of, reduce, subtract, type Fraction,
} from "./exact.js";
import type { Source } from "./source.js";
import { power, symbolWeights } from "./weights.js";

export interface Block {
  readonly symbols: number;
  /** Base noise is 1 and −1 with probability 2^-bits each. */
  readonly bits: number;
  /** The density of a block whose entries have the sum m, against base noise. */
  density(m: number): Fraction;
}

/** For each sum from −s to s, how many of the 2^(bits·s) ways of base noise lead to it. */
function ways(s: number, bits: number): bigint[] {
  const idle = 2n ** BigInt(bits) - 2n;
  let found = [1n];
  for (let i = 0; i < s; i++) {
    found = Array.from({ length: found.length + 2 }, (_, m) =>
      (found[m] ?? 0n) + idle * (found[m - 1] ?? 0n) + (found[m - 2] ?? 0n));
  }
  return found;
}

/** The block of least variance: its density is one of two, above and below a sum. */
export function ball(s: number, budget: Budget): Block {
  const c = power(budget.epsilon), spread = multiply(of(s), subtract(c, of(1)));
  const most = ceil(subtract(compare(spread, of(2)) > 0n ? spread : of(2), of(1)));
  let best: { cost: Fraction; bits: number; edge: number; high: Fraction; low: Fraction } | undefined;
  for (let bits = 1; bits <= Math.min(60, most.toString(2).length + 1); bits++) {
    const all = 2n ** BigInt(bits * s), counts = ways(s, bits);
    let above = 0n, sums = 0n;
    for (let edge = s; edge > 0; edge--) {
      above += counts[s + edge]!;
      sums += BigInt(edge) * counts[s + edge]!;
      if (!above) continue;
      const below = all - above, told = multiply(c, of(above));
      const weight = floor(divide(multiply(of(WORD), told), add(told, of(below))));
      const gain = weight * below - (WORD - weight) * above;
      if (gain <= 0n) continue;
      const cost = of((above * below) ** 2n, (sums * gain) ** 2n * 2n ** BigInt(bits));
      if (best && compare(cost, best.cost) >= 0n) continue;
      best = {
        cost, bits, edge,
        high: reduce([weight * all, WORD * above]),
        low: reduce([(WORD - weight) * all, WORD * below]),
      };
    }
  }
  if (!best) return refuseSmall(budget);
  const { bits, edge, high, low } = best;
  return { symbols: s, bits, density: (m) => (m >= edge ? high : low) };
}

/** The block of Erlingsson et al.: only one of its symbols, drawn beforehand, is told. */
export function linear(s: number, budget: Budget): Block {
  const [weight] = symbolWeights(2, budget), gap = 2n * weight - WORD;
  const density = (m: number): Fraction => reduce([WORD * BigInt(s) + gap * BigInt(m), WORD * BigInt(s)]);
  return { symbols: s, bits: 1, density };
}

/** The mean density of blocks whose first n entries have the sum m. */
export function meanDensity({ symbols, bits, density }: Block, n: number, m: number): Fraction {
  const left = symbols - n;
  const total = ways(left, bits).reduce(
    (sum, count, i) => (count ? add(sum, multiply(of(count), density(m + i - left))) : sum),
    of(0),
  );
  return reduce(divide(total, of(2n ** BigInt(bits * left))));
}

/** Draws the entries of the block of a device. */
export function drawBlock({ symbols: s, bits, density }: Block, source: Source): number[] {
  const next = source.on(0), idle = 2n ** BigInt(bits) - 2n;
  const outcomes: { plus: number; minus: number; chance: Fraction }[] = [];
  for (let plus = 0; plus <= s; plus++) {
    for (let minus = 0; minus <= s - plus; minus++) {
      const count = choose(s, plus) * choose(s - plus, minus) * idle ** BigInt(s - plus - minus);
      if (count) outcomes.push({ plus, minus, chance: multiply(of(count), density(plus - minus)) });
    }
  }
  const common = outcomes.reduce((all, { chance: [, d] }) => all * reduce([all, d])[1], 1n);
  const weights = outcomes.map(({ chance: [a, d] }) => a * (common / d));
  const total = weights.reduce((sum, each) => sum + each, 0n), length = total.toString(2).length;
  let drawn = total;
  while (drawn >= total) {
    drawn = 0n;
    for (let i = 0; i < length; i += 64) drawn = drawn * WORD + next();
    drawn >>= BigInt(-length & 63);
  }
  let chosen = 0;
  while (drawn >= weights[chosen]!) drawn -= weights[chosen++]!;
  let { plus, minus } = outcomes[chosen]!;
  return Array.from({ length: s }, (_, i) => {
    const left = BigInt(s - i);
    let place = left > 1n ? next() : 0n;
    while (place >= WORD - (WORD % left)) place = next();
    const z = Number(place % left);
    if (z < plus) return plus--, 1;
    return z < plus + minus ? (minus--, -1) : 0;
  });
}
