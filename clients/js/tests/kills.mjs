/**
 * Kills of processes that keep their records in files: nothing is lost, and nothing is told twice.
 *
 * `node tests/kills.mjs 1000` kills a thousand times and prints what it found, as JSON.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client, mechanism } from "multi-freq-ldpy";
import { fileStore } from "multi-freq-ldpy/stores/file";
import { HELD, ROUNDS, STEPS } from "./device.mjs";

const DEVICE = new URL("device.mjs", import.meta.url).pathname;

/** Starts processes on one folder, and kills them at random times. */
async function killAll(folder, first, fault, processes) {
  await Promise.all(Array.from({ length: processes }, async () => {
    const given = [DEVICE, folder, String(first), ...(fault ? [fault] : [])];
    const child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise((done) => child.on("exit", (code) => done(code)));
    child.stdout.once("data", () => setTimeout(() => child.kill("SIGKILL"), randomInt(150)));
    if (await ended) throw new Error("a device failed");
  }));
}

/** Reads a log: what was tried, and every answer by its question. */
function readLog(folder) {
  const tried = new Set(), answers = new Map(), sent = new Set();
  let round = 0, reports = 0;
  for (const line of readFileSync(`${folder}/log`, "utf8").split("\n").slice(0, -1)) {
    const [what, question, answer] = line.split(" ");
    if (what === "try") {
      tried.add(Number(question));
      continue;
    }
    reports++;
    const key = `${what} ${question}`;
    answers.set(key, (answers.get(key) ?? new Set()).add(answer));
    if (what === "held") sent.add(Number(question));
    else round = Math.max(round, Number(question));
  }
  return { tried, answers, sent, round, reports };
}

/**
 * Kills at least `times` processes, until there are `least` reports: on a busy machine, some processes
 * are killed before their first one. Returns the numbers of reports, and of what went wrong.
 */
export async function kill(times, fault, processes = 2, least = 0) {
  const total = { kills: 0, reports: 0, lost: 0, invented: 0, twice: 0 };
  const enough = () => total.kills >= times && total.reports >= least;
  while (!enough()) {
    const folder = mkdtempSync(join(tmpdir(), "kills-"));
    try {
      writeFileSync(`${folder}/log`, "");
      const specs = { held: HELD, steps: STEPS };
      for (const [name, spec] of Object.entries(specs)) {
        await Client.begin(mechanism(spec), fileStore(`${folder}/${name}`));
      }
      let found = readLog(folder);
      for (let kills = 0; kills < 20 && !enough() && found.round < ROUNDS - 1; kills += processes) {
        await killAll(folder, found.round, fault, processes);
        total.kills += processes;
        found = readLog(folder);
      }
      // The record is read after the kill: it holds every class that was told, and no other
      const client = await Client.open(mechanism(HELD), fileStore(`${folder}/held`));
      const { classes } = JSON.parse((await client.export()).split("\n")[0]);
      const charged = new Set((classes[0] ?? []).map((memoClass) => memoClass - 1));
      await Client.open(mechanism(STEPS), fileStore(`${folder}/steps`));
      total.reports += found.reports;
      total.lost += [...found.sent].filter((value) => !charged.has(value)).length;
      total.invented += [...charged].filter((value) => !found.tried.has(value)).length;
      total.twice += [...found.answers.values()].filter((each) => each.size > 1).length;
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  return total;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(JSON.stringify(await kill(Number(process.argv[2]), process.argv[3])));
}
