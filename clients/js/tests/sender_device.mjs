/**
 * A device that answers round after round until it is killed, for `sender_kills.mjs`.
 *
 * Its outbox and the records of its two clients are files, which other processes use too.
 */
import { randomInt } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { Client } from "multi-freq-ldpy";
import { Sender } from "multi-freq-ldpy/sender";
import { fileStore } from "multi-freq-ldpy/stores/file";
import { surveyText } from "./surveys.mjs";

export const ROUNDS = 64;
const NUMBERS = Array.from({ length: 64 }, (_, i) => i), FEW = NUMBERS.slice(0, 9);
const ONE = {
  history: "Steps", epsilon: 1.0, rounds: ROUNDS, changes: 1, protocol: "GRR", encoding: "unary", values: 0.5,
};
/** A survey with permanent answers, whose reports have new noise, and one of two histories. */
export const SURVEYS = {
  weekly: surveyText({ a: NUMBERS }, { protocol: "LOSUE", eps_perm: 2.0, eps_1: 1.0 }),
  steps: surveyText({ a: FEW, b: FEW }, ONE),
};

/** A store with a fault: it returns before it has written. */
function lateStore(path) {
  return {
    async update(change) {
      const kept = existsSync(path) ? readFileSync(path, "utf8") : null, [after, result] = change(kept);
      if (after !== kept) {
        setTimeout(() => {
          writeFileSync(`${path}.${process.pid}`, after, { mode: 0o600 });
          renameSync(`${path}.${process.pid}`, path);
        }, 20);
      }
      return result;
    },
  };
}

/** A sender with a fault: what waits is drawn again, with the same secret and so the same id. */
async function drawAgain(path, url) {
  const empty = '{"reports": [], "surveys": {}, "version": 1}\nd5880a5e720f7483c9c73b7b0dcccd46\n';
  await fileStore(path).update((kept) => [kept && kept.slice(0, 65) + empty, null]);
  return new Sender(url, fileStore(path));
}

async function run(folder, url, first, fault) {
  const outbox = `${folder}/outbox`;
  const sender = fault === "again"
    ? await drawAgain(outbox, url)
    : new Sender(url, (fault === "late" ? lateStore : fileStore)(outbox));
  const clients = [];
  for (const name of Object.keys(SURVEYS)) {
    const survey = await sender.survey(name);
    clients.push([name, survey, await Client.open(survey, fileStore(`${folder}/${name}`))]);
  }
  for (let round = Number(first); round < ROUNDS; round++) {
    for (const [name, { attributes }, client] of clients) {
      writeSync(1, ".");
      const answers = Object.fromEntries(attributes.map((each) => [each.name, randomInt(each.categories.length)]));
      try {
        await sender.answer(name, answers, { client, round, timeout: 0.2 });
      } catch (error) {
        // The service fails on purpose, and another process may be ahead
        const expected = error.name === "NotDelivered" || error.name === "NoAnswer" || /is over/.test(error.message);
        if (!expected) throw error;
      }
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await run(...process.argv.slice(2));
}
