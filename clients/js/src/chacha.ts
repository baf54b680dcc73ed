/**
 * The ChaCha20 block function (RFC 8439, section 2.3).
 *
 * The last four words of the input are a block number and a nonce, of 64 bits each.
 */

const QUARTERS = [
  0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15,
  0, 5, 10, 15, 1, 6, 11, 12, 2, 7, 8, 13, 3, 4, 9, 14,
];

/** Returns 16 words of the key stream, for a key of 8 words and numbers below 2^53. */
export function chacha(key: Uint32Array, nonce: number, block: number): Uint32Array {
  const start = new Uint32Array(16);
  start.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]);
  start.set(key, 4);
  start.set([block, block / 2 ** 32, nonce, nonce / 2 ** 32], 12);
  const x = start.slice();
  for (let i = 0; i < 320; i += 4) {
    const a = QUARTERS[i & 31]!, b = QUARTERS[(i & 31) + 1]!;
    const c = QUARTERS[(i & 31) + 2]!, d = QUARTERS[(i & 31) + 3]!;
    let t = x[d]! ^ (x[a]! += x[b]!);
    x[d] = (t << 16) | (t >>> 16);
    t = x[b]! ^ (x[c]! += x[d]!);
    x[b] = (t << 12) | (t >>> 20);
    t = x[d]! ^ (x[a]! += x[b]!);
    x[d] = (t << 8) | (t >>> 24);
    t = x[b]! ^ (x[c]! += x[d]!);
    x[b] = (t << 7) | (t >>> 25);
  }
  return x.map((word, i) => word + start[i]!);
}
