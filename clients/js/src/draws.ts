/**
 * The draws: pure functions of a source, the address or number of a user, and the user's value.
 *
 * Every draw owns some bytes of the main stream and reads on if these do not settle it. The value
 * −1 stands for no value, in fakes.
 */
import { WORD, floor } from "./exact.js";
import { word, type Source } from "./source.js";
import type { Weights } from "./weights.js";

const HALF = 2n ** 32n;

/** The number of bytes for k bits. */
export const width = (k: number): number => Math.ceil(k / 8);

/** The number of bytes, 1, 2, 4 or 8, for the numbers below m. */
export const size = (m: bigint | number): number =>
  m <= 256 ? 1 : m <= 65536 ? 2 : m <= 2 ** 32 ? 4 : 8;

/** A number in little-endian bytes. */
export function bytes(number: bigint | number, length: number): Uint8Array {
  let left = BigInt(number);
  return Uint8Array.from({ length }, () => {
    const byte = Number(left & 255n);
    left >>= 8n;
    return byte;
  });
}

/** The number in little-endian bytes. */
export const integerOf = (of: Uint8Array): bigint =>
  of.reduceRight((sum, byte) => 256n * sum + BigInt(byte), 0n);

/** A uniform number below m, or undefined if the word of some bits is rejected. */
function below(drawn: number, m: number, bits: number): number | undefined {
  const range = 2 ** bits;
  const product = BigInt(drawn) * BigInt(m);
  const low = Number(product % BigInt(range));
  return low < range % m ? undefined : Number(product >> BigInt(bits));
}

/** A uniform number below m, from four bytes. */
export function uniform(source: Source, user: number, m: number): number {
  const on = source.on(4 * user);
  let found = below(source.number(4 * user, 4), m, 32);
  while (found === undefined) found = below(Number(on() >> 32n), m, 32);
  return found;
}

/** A uniform number below m, from a word of 64 bits at an address. */
function uniformWord(source: Source, address: number, m: bigint): bigint {
  const on = source.on(address);
  let drawn = word(source, address);
  while (drawn < WORD % m) drawn = on();
  return drawn % m;
}

/** The number of an attribute, sampled with weights that add up to 2^64, from eight bytes. */
export function sampled(source: Source, user: number, weights: readonly bigint[]): number {
  let left = word(source, 8 * user), j = 0;
  while (left >= weights[j]!) left -= weights[j++]!;
  return j;
}

/** What a word adds to a symbol: 0 keeps it. */
const offset = (drawn: bigint, [own, other]: Weights): bigint =>
  drawn < own ? 0n : 1n + (drawn - own) / other;

/** A symbol out of m, randomized with four bytes. The low half is read only where it decides. */
export function symbol(
  source: Source, user: number, value: number, m: number, weights: Weights,
): number {
  const high = BigInt(source.number(4 * user, 4)) << 32n;
  let moved = offset(high, weights);
  if (moved !== offset(high | (HALF - 1n), weights)) {
    moved = offset(high | (source.on(4 * user)() >> 32n), weights);
  }
  return (value + Number(moved)) % m;
}

/** The number of ones in a row of bits. */
export const count = (bits: Uint8Array): number =>
  bits.reduce((sum, byte) => sum + ones(byte), 0);

/** Whether a row of k bits has no ones beyond the last place. */
export const isTidy = (bits: Uint8Array, k: number): boolean =>
  !(bits[bits.length - 1]! & ~(255 >> (-k & 7)));

/** The table from which eight bits of one probability are drawn together. */
export interface Table {
  /** For each byte, the first 16-bit word beyond its own. */
  readonly ends: Uint32Array;
  /** For each number of ones, the rest of the byte's probability, in eight words. */
  readonly digits: readonly (readonly bigint[])[];
}

/** The number of ones among 32 bits. */
export const ones = (bits: number): number => {
  let count = 0;
  for (let left = bits; left; left &= left - 1) count++;
  return count;
};

/** The table for bits that are 1 with probability weight/2^64. */
export function table(weight: bigint): Table {
  const chances = Array.from({ length: 9 }, (_, n) =>
    (weight ** BigInt(n) * (WORD - weight) ** BigInt(8 - n)) << 16n);
  const ends = new Uint32Array(256);
  for (let b = 0, end = 0; b < 256; b++) ends[b] = end += Number(chances[ones(b)]! >> 512n);
  const digits = chances.map((each) =>
    Array.from({ length: 8 }, (_, i) => (each >> BigInt(64 * (7 - i))) % WORD));
  return { ends, digits };
}

/** Eight bits, from the 16-bit word at an address. */
function eight(source: Source, address: number, { ends, digits }: Table): number {
  const drawn = source.number(address, 2);
  let low = 0, high = 256;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! > drawn) high = middle;
    else low = middle + 1;
  }
  if (low < 256) return low;
  for (const on = source.on(address); ; ) {
    const byte = Number(on() >> 56n);
    for (const digit of digits[ones(byte)]!) {
      const next = on();
      if (next < digit) return byte;
      if (next > digit) break;
    }
  }
}

/** A row of k bits, from two bytes for each byte. */
function row(source: Source, address: number, k: number, bits: Table): Uint8Array {
  const found = Uint8Array.from({ length: width(k) }, (_, i) => eight(source, address + 2 * i, bits));
  found[found.length - 1]! &= 255 >> (-k & 7);
  return found;
}

/** A bit of probability weight/2^64, from the 16-bit word at an address. */
function coin(source: Source, address: number, weight: bigint): boolean {
  const drawn = source.number(address, 2), digits = Number(weight >> 48n);
  if (drawn !== digits) return drawn < digits;
  return source.on(address)() >> 16n < weight % 2n ** 48n;
}

export const has = (bits: Uint8Array, place: number): boolean =>
  ((bits[place >>> 3]! >> (place & 7)) & 1) === 1;

function put(bits: Uint8Array, place: number, bit: boolean): void {
  bits[place >>> 3] = (bits[place >>> 3]! & ~(1 << (place & 7))) | (+bit << (place & 7));
}

/** Unary encoding: independent bits, of which the own one has another probability. */
export function unary(
  source: Source, user: number, value: number, k: number, own: bigint, others: Table,
): Uint8Array {
  const address = user * (2 * width(k) + 2), bits = row(source, address, k, others);
  if (value >= 0) put(bits, value, coin(source, address + 2 * width(k), own));
  return bits;
}

/** The second round of bits. With `half`, a 1 is kept with probability 1/2. */
export function again(
  source: Source, user: number, permanent: Uint8Array, k: number, half: boolean, noise: Table,
): Uint8Array {
  const w = width(k), address = user * (2 * w + (half ? w + (w & 1) : 0));
  return row(source, address, k, noise).map((byte, i) =>
    byte ^ (permanent[i]! & (half ? source.number(address + 2 * w + i, 1) : 255)));
}

/** How sets of w out of k values are drawn. */
export interface Plan {
  readonly k: number;
  readonly w: number;
  /** Corrections that a user owns bytes for, and the bits of each. */
  readonly corrections: number;
  readonly bits: number;
  /** The bits of the set at the start. */
  readonly start: Table;
}

const FEW = 6; // largest number of values that are drawn one by one

function root(n: bigint): bigint {
  let found = BigInt(Math.floor(Math.sqrt(Number(n))));
  while (found * found > n) found--;
  while ((found + 1n) * (found + 1n) <= n) found++;
  return found;
}

export function plan(k: number, w: number): Plan {
  const spread = Number(root((25n * BigInt(w) * BigInt(k - w)) / BigInt(k)));
  let fewer = Number(floor([BigInt(spread) * BigInt(k - 2 * w), 4n * BigInt(k)]));
  if (Math.min(w, k - w) <= FEW) fewer = w <= FEW ? w : w - k;
  const enter = (WORD * BigInt(w - fewer)) / BigInt(k);
  const corrections = Math.floor(spread / 2) + 2 + Math.abs(fewer);
  return { k, w, corrections, bits: k <= 4096 ? 16 : 32, start: table(enter) };
}

/** A set of w out of k values that holds the own value with probability own/2^64. */
export function subset(
  source: Source, user: number, value: number, own: bigint, { k, w, corrections, bits, start }: Plan,
): Uint8Array {
  const each = bits / 8, head = 2 * width(k) + 2, address = user * (head + each * corrections);
  const found = row(source, address, k, start);
  const held = value >= 0 && coin(source, address + head - 2, own);
  if (value >= 0) put(found, value, false);
  let missing = w - +held - count(found);
  const adds = missing > 0, on = source.on(address + head);
  for (let used = 0; missing; used++) {
    const drawn = used < corrections
      ? source.number(address + head + each * used, each)
      : Number(on() >> BigInt(64 - bits));
    const x = below(drawn, k, bits);
    if (x === undefined || x === value || has(found, x) === adds) continue;
    put(found, x, adds);
    missing += adds ? -1 : 1;
  }
  if (held) put(found, value, true);
  return found;
}

/** The seed of a hash function modulo a prime, from the eight bytes at an address. */
export const seed = (source: Source, address: number, prime: number): bigint =>
  uniformWord(source, address, BigInt(prime) * BigInt(prime - 1));

/** The symbol out of g to which a hash function maps a value. */
export function hash(of: bigint, value: number, prime: number, g: number): number {
  const P = BigInt(prime);
  return Number((BigInt(g) * (((1n + of / P) * BigInt(value) + (of % P)) % P)) / P);
}

/** Local hashing: a seed, and a symbol from the word after it. */
export function hashed(
  source: Source, user: number, value: number, prime: number, g: number, weights: Weights,
): [bigint, number] {
  const address = 16 * user, own = seed(source, address, prime);
  if (value < 0) return [own, Number(uniformWord(source, address + 8, BigInt(g)))];
  const moved = Number(offset(word(source, address + 8), weights));
  return [own, (hash(own, value, prime, g) + moved) % g];
}

/** A coin of probability e^(−gamma/2^32). */
function toss(next: () => bigint, gamma: bigint): boolean {
  for (let run = 1; ; ) {
    const drawn = next(), choice = below(Number(drawn >> 32n), run, 32);
    if (choice === undefined) continue;
    if (choice || drawn % HALF >= gamma) return run % 2 === 1;
    run++;
  }
}

const LARGEST = 2 ** 31 - 1;

/** Discrete Laplace noise: x has a probability proportional to e^(−weight·|x|/2^32). */
function noise(next: () => bigint, weight: bigint): number {
  for (;;) {
    const drawn = next();
    let whole = drawn >> 32n;
    if (!toss(next, whole)) continue;
    while (toss(next, HALF)) whole += HALF;
    const large = whole / weight, amount = large > LARGEST ? LARGEST + 1 : Number(large);
    if (amount || !(drawn & 1n)) return drawn & 1n ? -amount : amount;
  }
}

/** A histogram with the value as its only entry, with noise on every entry. */
export function histogram(
  source: Source, user: number, value: number, k: number, weight: bigint,
): Int32Array {
  const next = source.on(user);
  return Int32Array.from({ length: k }, (_, v) =>
    Math.max(-LARGEST, Math.min(LARGEST, noise(next, weight) + +(v === value))));
}
