/**
 * Writes reports of one value to the standard output, drawn from fresh random bytes.
 *
 * The argument is a list in JSON: the spec, the value and the number of reports.
 */
import { writeSync } from "node:fs";
import { mechanism, randomize } from "multi-freq-ldpy";

const [spec, value, n] = JSON.parse(process.argv[2]);
const own = mechanism(spec);
const chunk = new Uint8Array(own.bytes * 1000);
for (let drawn = 0; drawn < n; ) {
  const many = Math.min(1000, n - drawn);
  for (let i = 0; i < many; i++) chunk.set(randomize(own, value), i * own.bytes);
  for (let start = 0; start < many * own.bytes; ) {
    start += writeSync(1, chunk, start, many * own.bytes - start);
  }
  drawn += many;
}
