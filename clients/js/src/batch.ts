/** The body of a submission, with the report of one device: a header, an id and the report. */
import { ascii, unhex } from "./blake2b.js";
import { bytes } from "./draws.js";
import { concat } from "./rounds.js";

const MAGIC = "MFLB";
const VERSION = 1;

/** Returns the body of a report, given as hexadecimal digits like its digest and its id. */
export function writeBatch(
  digest: string, round: number, id: string, report: string,
): Uint8Array<ArrayBuffer> {
  const header = concat(ascii(MAGIC), Uint8Array.of(VERSION), unhex(digest), bytes(round, 4));
  const record = unhex(id + report), body = new Uint8Array(header.length + record.length);
  body.set(header);
  body.set(record, header.length);
  return body;
}
