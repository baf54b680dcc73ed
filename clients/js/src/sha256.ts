/** SHA-256 (FIPS 180-4), and HMAC with it (RFC 2104). Synchronous, for ids inside an update of a store. */
import { concat } from "./rounds.js";

// First bits of the fractions of roots of the first primes: square roots, and cube roots
const START = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const ROUNDS = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

const BLOCK = 64;
const expanded = new Uint32Array(64);

const turn = (x: number, bits: number): number => (x >>> bits) | (x << (32 - bits));

/** Mixes the next block into the state. */
function compress(state: Uint32Array, block: DataView): void {
  for (let i = 0; i < 64; i++) {
    if (i < 16) {
      expanded[i] = block.getUint32(4 * i);
      continue;
    }
    const early = expanded[i - 15]!, late = expanded[i - 2]!;
    const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    expanded[i] = expanded[i - 16]! + first + expanded[i - 7]! + second;
  }
  let [a, b, c, d, e, f, g, h] = [...state] as [
    number, number, number, number, number, number, number, number,
  ];
  for (let i = 0; i < 64; i++) {
    const chosen = (e & f) ^ (~e & g), most = (a & b) ^ (a & c) ^ (b & c);
    const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + chosen + ROUNDS[i]! + expanded[i]!;
    const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + most;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((each, i) => (state[i]! += each));
}

/** Returns the digest of a message of less than 2^29 bytes: 32 bytes. */
export function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(Math.ceil((message.length + 9) / BLOCK) * BLOCK);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer), state = Uint32Array.from(START);
  view.setUint32(padded.length - 4, 8 * message.length);
  for (let at = 0; at < padded.length; at += BLOCK) compress(state, new DataView(padded.buffer, at, BLOCK));
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setUint32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

/** Returns the code of a message under a key: 32 bytes. */
export function hmac(key: Uint8Array, message: Uint8Array): Uint8Array {
  const own = new Uint8Array(BLOCK);
  own.set(key.length > BLOCK ? sha256(key) : key);
  const mask = (byte: number): Uint8Array => own.map((each) => each ^ byte);
  return sha256(concat(mask(0x5c), sha256(concat(mask(0x36), message))));
}
