/** ChaCha20, BLAKE2b, SHA-256 and HMAC against their RFCs and against another implementation. */
import assert from "node:assert/strict";
import test from "node:test";
import { chacha20 } from "@noble/ciphers/chacha.js";
import { blake2b as other } from "@noble/hashes/blake2.js";
import { hmac as otherHmac } from "@noble/hashes/hmac.js";
import { sha256 as otherSha } from "@noble/hashes/sha2.js";
import fc from "fast-check";
import { ascii, blake2b, chacha, hex, hmac, keyed, sha256, subkey } from "multi-freq-ldpy/testing";

const bytes = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (two) => parseInt(two, 16));
const words = (data) => new Uint32Array(data.slice().buffer);
const stream = (block) => hex(new Uint8Array(block.buffer));

// RFC 8439, appendix A.1: key, nonce over 2^32, block number, first half of the key stream
const ZERO = "00".repeat(32), ONE = `${"00".repeat(31)}01`, FF = `00ff${"00".repeat(30)}`;
const RFC_8439 = [
  [ZERO, 0, 0, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"],
  [ZERO, 0, 1, "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"],
  [ONE, 0, 1, "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"],
  [FF, 0, 2, "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"],
  [ZERO, 0x02000000, 0, "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"],
];

test("ChaCha20 gives the key streams of RFC 8439", () => {
  for (const [key, nonce, block, wanted] of RFC_8439) {
    const found = chacha(words(bytes(key)), nonce * 2 ** 32, block);
    assert.equal(stream(found).slice(0, 64), wanted);
  }
});

// The other implementation refuses the last block number of 32 bits
const number = fc.maxSafeInteger().map(Math.abs).filter((each) => each % 2 ** 32 < 2 ** 32 - 1);
const key = fc.uint8Array({ minLength: 32, maxLength: 32 });

test("ChaCha20 agrees with another implementation on any key, nonce and block", () => {
  fc.assert(fc.property(key, number, number, (secret, nonce, block) => {
    const rest = new Uint8Array(new Uint32Array([block / 2 ** 32, nonce, nonce / 2 ** 32]).buffer);
    const wanted = chacha20(secret, rest, new Uint8Array(64), undefined, block % 2 ** 32);
    assert.equal(stream(chacha(words(secret), nonce, block)), hex(wanted));
  }), { numRuns: 2000 });
});

test("a source reads any address of the main stream, and the words after it", () => {
  fc.assert(fc.property(key, fc.nat(2 ** 20), fc.constantFrom(1, 2, 4), (secret, address, size) => {
    const all = chacha20(secret, new Uint8Array(12), new Uint8Array(address + size));
    const wanted = all.slice(address).reduceRight((sum, byte) => 256 * sum + byte, 0);
    const source = keyed(secret);
    assert.equal(source.number(address, size), wanted);
    const nonce = new Uint8Array(12);
    new DataView(nonce.buffer).setUint32(4, address + 1, true);
    const on = new DataView(chacha20(secret, nonce, new Uint8Array(128)).buffer);
    const next = source.on(address);
    for (let i = 0; i < 16; i++) assert.equal(next(), on.getBigUint64(8 * i, true));
  }), { numRuns: 100 });
});

test("BLAKE2b gives the digest of RFC 7693", () => {
  assert.equal(hex(blake2b(ascii("abc"), 64)), "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b7"
    + "4b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
});

test("BLAKE2b agrees with another implementation on all lengths to 400", () => {
  const message = Uint8Array.from({ length: 400 }, (_, i) => (7 * i + 1) % 256);
  for (let length = 0; length <= 400; length++) {
    const text = message.subarray(0, length);
    for (const [size, key_] of [[32, undefined], [32, message.slice(0, 32)], [16, undefined],
      [1 + (length % 64), message.slice(0, 1 + (length % 64))]]) {
      const wanted = other(text, key_ ? { dkLen: size, key: key_ } : { dkLen: size });
      assert.equal(hex(blake2b(text, size, key_)), hex(wanted), `${length} bytes`);
    }
  }
});

test("BLAKE2b agrees with another implementation on any message and key", () => {
  const secret = fc.uint8Array({ minLength: 1, maxLength: 64 });
  const text = fc.uint8Array({ maxLength: 1000 }), length = fc.integer({ min: 1, max: 64 });
  fc.assert(fc.property(text, secret, length, (message, own, size) => {
    assert.equal(hex(blake2b(message, size, own)), hex(other(message, { dkLen: size, key: own })));
  }), { numRuns: 1000 });
});

test("a key of a part is the keyed digest of its name", () => {
  const secret = Uint8Array.from({ length: 32 }, (_, i) => i);
  for (const name of ["0", "attribute", "fake 3", "permanent"]) {
    assert.equal(hex(subkey(secret, name)), hex(other(ascii(name), { dkLen: 32, key: secret })));
  }
});

test("SHA-256 gives the digests of FIPS 180-4", () => {
  const long = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  for (const [message, wanted] of [
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    [long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"],
  ]) {
    assert.equal(hex(sha256(ascii(message))), wanted);
  }
});

test("SHA-256 and HMAC agree with another implementation on all lengths to 400", () => {
  const message = Uint8Array.from({ length: 400 }, (_, i) => (7 * i + 1) % 256);
  for (let length = 0; length <= 400; length++) {
    const text = message.subarray(0, length);
    assert.equal(hex(sha256(text)), hex(otherSha(text)), `${length} bytes`);
    const secret = message.slice(3, 3 + (length % 200));
    assert.equal(hex(hmac(secret, text)), hex(otherHmac(otherSha, secret, text)), `${length} bytes`);
  }
});

test("SHA-256 and HMAC agree with another implementation on any message and key", () => {
  const secret = fc.uint8Array({ maxLength: 200 }), text = fc.uint8Array({ maxLength: 1000 });
  fc.assert(fc.property(text, secret, (message, own) => {
    assert.equal(hex(sha256(message)), hex(otherSha(message)));
    assert.equal(hex(hmac(own, message)), hex(otherHmac(otherSha, own, message)));
  }), { numRuns: 1000 });
});
