/**
 * Kills of processes that answer rounds: each round has one report, which reaches the service once.
 *
 * `node tests/sender_kills.mjs 1000` kills a thousand times and prints what it found, as JSON.
 */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client, Survey } from "multi-freq-ldpy";
import { Sender } from "multi-freq-ldpy/sender";
import { readOutbox } from "multi-freq-ldpy/testing";
import { fileStore } from "multi-freq-ldpy/stores/file";
import { ROUNDS, SURVEYS } from "./sender_device.mjs";
import { Service, problem, say } from "./service.mjs";

const DEVICE = new URL("sender_device.mjs", import.meta.url).pathname;

/** Fails in a third of the requests: before the report is counted, or after it. */
function failOften({ request, answer, count }) {
  const chance = randomInt(12);
  if (chance === 0) return say(answer, 503, problem("too-busy", 503));
  if (chance === 1) return request.socket.destroy();
  const counted = count();
  return chance > 3 ? say(answer, 200, counted) : request.socket.destroy();
}

/** Starts processes on one outbox. Kills each after some rounds, at a random time. */
async function killAll(folder, url, first, fault, processes) {
  await Promise.all(Array.from({ length: processes }, async () => {
    const child = spawn(process.execPath, [DEVICE, folder, url, String(first), ...(fault ? [fault] : [])], {
      stdio: ["ignore", "pipe", fault ? "ignore" : "inherit"],
    });
    const ended = new Promise((done) => child.on("exit", (code) => done(code)));
    let left = randomInt(1, 12);
    child.stdout.on("data", ({ length }) => {
      if (left > 0 && (left -= length) <= 0) setTimeout(() => child.kill("SIGKILL"), randomInt(40));
    });
    if ((await ended) && !fault) throw new Error("a device failed");
  }));
}

/** Compares the outbox of a device with what its service has seen. */
async function compare(outbox, service, total) {
  const text = await fileStore(outbox).update((kept) => [kept, kept]);
  const { reports } = text === null ? { reports: [] } : readOutbox(text.slice(65));
  const rounds = new Map(), silent = reports.filter(({ state }) => state === "silent");
  for (const [key, bodies] of service.bodies) {
    const [name, round] = key.split(" "), at = `${name} ${round}`;
    rounds.set(at, [...(rounds.get(at) ?? []), ...bodies]);
  }
  const sent = new Set(reports.filter(({ state }) => state === "sent").map(({ survey, round }) => `${survey} ${round}`));
  const counted = new Set([...service.counted.keys()].map((key) => key.split(" ").slice(0, 2).join(" ")));
  total.reports += service.counted.size;
  total.silent += silent.length;
  total.lost += reports.length - silent.length - sent.size + [...sent].filter((at) => !counted.has(at)).length;
  total.invented += [...rounds.keys()].filter((at) => !sent.has(at)).length;
  total.twice += [...rounds.values()].filter((each) => each.length > 1).length;
  total.again += service.requests.length - service.bodies.size;
}

/**
 * Kills at least `times` processes, until there are `least` reports. Returns the numbers of reports,
 * of silent rounds and of repeated requests, and of what went wrong.
 */
export async function kill(times, fault, processes = 2, least = 0) {
  const total = { kills: 0, reports: 0, silent: 0, again: 0, lost: 0, invented: 0, twice: 0 };
  while (total.kills < times || total.reports < least) {
    const folder = mkdtempSync(join(tmpdir(), "senders-")), service = await new Service().start();
    const latest = () => Math.max(0, ...service.requests.map(({ round }) => round));
    try {
      service.always = failOften;
      for (const [name, text] of Object.entries(SURVEYS)) {
        const survey = Survey.parse(text), accepted = Array.from({ length: ROUNDS }, (_, i) => i);
        service.open(name, text, survey.digest, { accepted });
        await Client.begin(survey, fileStore(`${folder}/${name}`));
      }
      while (latest() < ROUNDS - 8 && total.kills < times) {
        await killAll(folder, service.url, Math.max(0, latest() - 1), fault, processes);
        total.kills += processes;
      }
      service.always = undefined;
      const outbox = `${folder}/outbox`;
      if (existsSync(outbox)) await new Sender(service.url, fileStore(outbox)).flush();
      await compare(outbox, service, total);
    } finally {
      await service.stop();
      rmSync(folder, { recursive: true });
    }
    if (total.kills >= times && total.reports < least) times += processes;
  }
  return total;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(JSON.stringify(await kill(Number(process.argv[2]), process.argv[3])));
}
