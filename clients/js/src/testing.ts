/**
 * Draws with given keys, for vectors and for checks by other people. Never for reports of a person.
 */
import { ascii, blake2b, hex, subkey } from "./blake2b.js";
import { write, writeFloat } from "./canonical.js";
import * as draws from "./draws.js";
import { SpecError, quote } from "./errors.js";
import { parse } from "./json.js";
import { fresh, isTimed, type Charge, type Plain } from "./mechanism.js";
import { privacyOf } from "./privacy.js";
import { recordOf } from "./random.js";
import { memoryOf } from "./client.js";
import { mechanism } from "./registry.js";
import { keyed, type Source } from "./source.js";

export { Survey } from "./survey.js";
export { ascii, blake2b, draws, hex, keyed, mechanism, parse, privacyOf, subkey, write, writeFloat };
export { chacha } from "./chacha.js";
export { likelihood } from "./explain.js";
export { memoryOf, pricesOf, read, respond } from "./client.js";
export { reportId } from "./ids.js";
export { readOutbox, writeOutbox } from "./outbox.js";
export { spentBy } from "./record.js";
export { hmac, sha256 } from "./sha256.js";

/** Returns the report of a user of a stream with this key, as `wire.encode` gives it in Python. */
export function drawAs(
  spec: unknown, key: Uint8Array, user: number, value: number | readonly number[],
): Uint8Array {
  if (!(Number.isSafeInteger(user) && user >= 0 && user < 2 ** 40)) {
    throw new SpecError(`user must be an integer from 0 to 2^40, not ${quote(user)}`);
  }
  const own = plain(spec);
  return own.draw(fresh(keyOf(key), own.label), user, recordOf(own, value));
}

/** Returns a mechanism that draws single reports, not a history. */
function plain(spec: unknown): Plain {
  const own = mechanism(spec);
  if (isTimed(own)) throw new SpecError(`spec must be without rounds: ${own.label}`);
  return own;
}

function keyOf(key: Uint8Array | undefined): Uint8Array {
  if (key?.length === 32) return key;
  throw new SpecError(`a key must have 32 bytes, not ${quote(key?.length)}`);
}

/** Returns a report of a device over time, and its charges. `fresh` has one key per attribute. */
export function reportAs(
  spec: unknown, secret: Uint8Array, context: Uint8Array, keys: readonly Uint8Array[],
  value: number | readonly number[],
): { report: Uint8Array; charges: readonly Charge[] } {
  const own = plain(spec);
  const recalled = own.recall(memoryOf(own, keyOf(secret), context), recordOf(own, value));
  return { report: recalled.report((i) => keyOf(keys[i])), charges: recalled.charges };
}

/** Returns the permanent answer of a protocol over time. */
export const permanentOf = (
  own: Plain, memory: Source, value: number,
): Uint8Array | undefined => own.recall(memory, [value]).permanent;
