/**
 * BLAKE2b (RFC 7693), with and without a key.
 *
 * A word of 64 bits is two entries of an array of 32-bit words, low half first.
 */

const IV = new Uint32Array([
  0xf3bcc908, 0x6a09e667, 0x84caa73b, 0xbb67ae85, 0xfe94f82b, 0x3c6ef372, 0x5f1d36f1, 0xa54ff53a,
  0xade682d1, 0x510e527f, 0x2b3e6c1f, 0x9b05688c, 0xfb41bd6b, 0x1f83d9ab, 0x137e2179, 0x5be0cd19,
]);
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => Array.from(row, (digit) => parseInt(digit, 16)));
const MIXED = ["048c", "159d", "26ae", "37bf", "05af", "16bc", "278d", "349e"].map((row) =>
  Array.from(row, (digit) => 2 * parseInt(digit, 16)),
);

const BLOCK = 128;
const v = new Uint32Array(32);
const m = new Uint32Array(32);

/** Adds the word at b, and a word of the message if one is given, to the word at a. */
function add(a: number, b: number, x?: number): void {
  const low = v[a]! + v[b]! + (x === undefined ? 0 : m[x]!);
  v[a + 1]! += v[b + 1]! + (x === undefined ? 0 : m[x + 1]!) + Math.floor(low / 2 ** 32);
  v[a] = low;
}

/** Replaces the word at a by its exclusive or with the word at b, rotated to the right. */
function turn(a: number, b: number, bits: number): void {
  const low = v[a]! ^ v[b]!, high = v[a + 1]! ^ v[b + 1]!;
  const [from, to, n] = bits < 32 ? [low, high, bits] : [high, low, bits - 32];
  v[a] = n ? (from >>> n) | (to << (32 - n)) : from;
  v[a + 1] = n ? (to >>> n) | (from << (32 - n)) : to;
}

/** Mixes the next block of at most 128 bytes into the state; `end` is the number of bytes so far. */
function compress(h: Uint32Array, block: Uint8Array, end: number, last: boolean): void {
  m.fill(0);
  block.forEach((byte, i) => (m[i >> 2]! |= byte << (8 * (i & 3))));
  v.set(h);
  v.set(IV, 16);
  v[24]! ^= end;
  if (last) v.set([~v[28]!, ~v[29]!], 28);
  for (let round = 0; round < 12; round++) {
    const order = SIGMA[round % 10]!;
    for (let i = 0; i < 8; i++) {
      const [a, b, c, d] = MIXED[i] as [number, number, number, number];
      add(a, b, 2 * order[2 * i]!);
      turn(d, a, 32);
      add(c, d);
      turn(b, c, 24);
      add(a, b, 2 * order[2 * i + 1]!);
      turn(d, a, 16);
      add(c, d);
      turn(b, c, 63);
    }
  }
  for (let i = 0; i < 16; i++) h[i]! ^= v[i]! ^ v[i + 16]!;
}

/** Returns the digest of a message of less than 2^32 bytes, keyed if there is a key. */
export function blake2b(message: Uint8Array, size: number, key: Uint8Array = new Uint8Array()): Uint8Array {
  const padded = key.length ? BLOCK : 0;
  const data = new Uint8Array(padded + message.length);
  data.set(key);
  data.set(message, padded);
  const h = IV.slice();
  h[0]! ^= 0x01010000 ^ (key.length << 8) ^ size;
  let start = 0;
  for (; start + BLOCK < data.length; start += BLOCK) {
    compress(h, data.subarray(start, start + BLOCK), start + BLOCK, false);
  }
  compress(h, data.subarray(start), data.length, true);
  return new Uint8Array(new Uint32Array(h).buffer, 0, size).slice();
}

/** Returns the bytes of a text of ASCII characters. */
export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (c) => c.charCodeAt(0));

/** Returns the key of 32 bytes for one purpose. */
export const subkey = (key: Uint8Array, purpose: string): Uint8Array =>
  blake2b(ascii(purpose), 32, key);

/** Returns bytes as hexadecimal digits. */
export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Returns the bytes of hexadecimal digits. */
export const unhex = (text: string): Uint8Array =>
  Uint8Array.from(text.match(/../g) ?? [], (two) => parseInt(two, 16));
