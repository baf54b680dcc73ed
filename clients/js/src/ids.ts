/** The id of a report, by which a service counts it once however often it is sent. */
import { ascii, hex, unhex } from "./blake2b.js";
import { bytes } from "./draws.js";
import { concat } from "./rounds.js";
import { hmac } from "./sha256.js";

export const ID_BYTES = 16;

/** Returns the id of the report of a round, as hexadecimal digits. It tells nothing about the device. */
export function reportId(secret: Uint8Array, survey: string, digest: string, round: number): string {
  const name = ascii(survey), length = Uint8Array.of(name.length);
  const asked = concat(ascii("report id\0"), length, name, unhex(digest), bytes(round, 4));
  return hex(hmac(secret, asked).subarray(0, ID_BYTES));
}
