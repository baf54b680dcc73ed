/**
 * A device that reports until it is killed, for `kills.mjs`.
 *
 * Two clients keep their records in files: one of a protocol over time, whose reports are permanent
 * answers, and one of a history. The log says what is tried, and what was returned.
 */
import { randomInt } from "node:crypto";
import { openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Client, mechanism } from "multi-freq-ldpy";
import { hex } from "multi-freq-ldpy/testing";
import { fileStore } from "multi-freq-ldpy/stores/file";

export const HELD = { version: 1, protocol: "DBitFlipPM", k: 32, eps_perm: 2, b: 32, d_bits: 32 };
const ONE = {
  history: "Steps", k: 9, epsilon: 1, rounds: 128, changes: 1, protocol: "GRR", encoding: "unary",
  values: 0.5,
};
/** Four histories side by side: some of them report in most rounds. */
export const STEPS = { version: 1, protocol: "SPL", protocols: Array(4).fill(ONE) };
export const ROUNDS = ONE.rounds;

/** A store with a fault: it returns before it has written. */
function lateStore(path) {
  return {
    async update(change) {
      const kept = readFileSync(path, "utf8"), [after, result] = change(kept);
      setTimeout(() => {
        writeFileSync(`${path}.${process.pid}`, after, { mode: 0o600 });
        renameSync(`${path}.${process.pid}`, path);
      }, 20);
      return result;
    },
  };
}

async function run(folder, first, fault) {
  const store = fault === "late" ? lateStore : fileStore;
  const open = async (name, spec) => {
    const own = mechanism(spec), path = `${folder}/${name}`;
    if (fault === "again") {
      await (await Client.open(own, fileStore(path))).leave();
      return Client.begin(own, fileStore(path), { again: true });
    }
    return Client.open(own, store(path));
  };
  const [held, steps] = [await open("held", HELD), await open("steps", STEPS)];
  const log = openSync(`${folder}/log`, "a");
  writeSync(1, "open\n");
  for (let round = first; round < ROUNDS; round++) {
    const value = randomInt(HELD.k);
    writeSync(log, `try ${value}\n`);
    writeSync(log, `held ${value} ${hex(await held.report(value))}\n`);
    try {
      const report = await steps.report(Array.from({ length: 4 }, () => randomInt(ONE.k)), { round });
      writeSync(log, `steps ${round} ${report && hex(report)}\n`);
    } catch (error) {
      // Another process is ahead
      if (!/is over/.test(error.message)) throw error;
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await run(process.argv[2], Number(process.argv[3]), process.argv[4]);
}
