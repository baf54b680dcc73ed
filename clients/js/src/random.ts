/** Reports from random bytes of the platform. There is no other source, and no seed. */
import { SpecError, quote } from "./errors.js";
import { fresh, isTimed, type Mechanism } from "./mechanism.js";

// Taken once: a page that replaces it later cannot choose the noise
const generator = globalThis.crypto?.getRandomValues?.bind(globalThis.crypto);

/** Returns 32 new random bytes. */
export function randomBytes(): Uint8Array {
  if (!generator) {
    throw new Error(
      'crypto.getRandomValues is missing: React Native needs "react-native-get-random-values"',
    );
  }
  const bytes = new Uint8Array(32);
  generator(bytes);
  return bytes;
}

/** Returns a value, or one value per attribute, as a record that the mechanism can draw. */
export function recordOf({ ks }: Mechanism, value: number | readonly number[]): readonly number[] {
  const record = [value].flat();
  const fits = (each: number, j: number): boolean =>
    Number.isInteger(each) && each >= 0 && each < ks[j]!;
  if (record.length === ks.length && record.every(fits)) return record;
  throw new SpecError(`value must be below k=${ks.join(", ")}, not ${quote(value)}`);
}

/** Draws a report of a mechanism of one round, from new random bytes. */
export function randomize(mechanism: Mechanism, value: number | readonly number[]): Uint8Array {
  const { label } = mechanism, record = recordOf(mechanism, value);
  if (isTimed(mechanism) || mechanism.loss(false, true)) {
    throw new SpecError(`permanent answers need a Client, not randomize: ${label}`);
  }
  return mechanism.draw(fresh(randomBytes(), label), 0, record);
}
