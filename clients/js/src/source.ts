/**
 * The randomness of one purpose: a ChaCha20 key stream that is read by address.
 *
 * The main stream has the nonce 0. A draw that needs more than the bytes it owns reads on, in words
 * of 64 bits, under the nonce that is its address plus one.
 */
import { subkey } from "./blake2b.js";
import { chacha } from "./chacha.js";

export interface Source {
  /** The number of 1, 2 or 4 bytes at an address of the main stream. */
  number(address: number, size: number): number;
  /** The words that the draw at an address reads on, one at each call. */
  on(address: number): () => bigint;
  /** The randomness of a part of this purpose. */
  part(name: string | number): Source;
}

/** The word of 64 bits at an address of the main stream. */
export const word = (source: Source, address: number): bigint =>
  (BigInt(source.number(address + 4, 4)) << 32n) | BigInt(source.number(address, 4));

/** Returns the randomness under a key of 32 bytes. */
export function keyed(key: Uint8Array): Source {
  const words = new Uint32Array(key.slice().buffer);
  const parts = new Map<string, Source>();
  let at = -1;
  let block: Uint8Array = new Uint8Array();

  function byte(address: number): number {
    const wanted = Math.floor(address / 64);
    if (wanted !== at) {
      block = new Uint8Array(chacha(words, 0, wanted).buffer);
      at = wanted;
    }
    return block[address % 64]!;
  }

  return {
    number(address, size) {
      let number = 0;
      for (let i = size; i--; ) number = number * 256 + byte(address + i);
      return number;
    },
    on(address) {
      let next = 0;
      let view: DataView;
      return () => {
        if (next % 8 === 0) view = new DataView(chacha(words, address + 1, next / 8).buffer);
        return view.getBigUint64(8 * (next++ % 8), true);
      };
    },
    part(name) {
      let part = parts.get(`${name}`);
      if (!part) parts.set(`${name}`, (part = keyed(subkey(key, `${name}`))));
      return part;
    },
  };
}
