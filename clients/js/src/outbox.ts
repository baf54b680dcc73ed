/**
 * The outbox of a sender: the surveys that it answers, and one entry per report.
 *
 * Its text is that of Python's outbox: a line of JSON and a line with its digest. No error shows a
 * report or a secret.
 */
import { ascii, blake2b, hex, unhex } from "./blake2b.js";
import { write } from "./canonical.js";
import { SpecError, quote } from "./errors.js";
import { ID_BYTES } from "./ids.js";
import { parse } from "./json.js";
import { entries, requireFields } from "./mechanism.js";

export const NAME = /^[a-z0-9-]{1,64}$/;
export const DIGEST = /^[0-9a-f]{32}$/;
export const LARGEST_ROUND = 2 ** 32 - 1;

/** The times of rounds, in seconds. */
export interface Schedule {
  readonly starts: number;
  readonly period: number;
  readonly grace: number;
}

/** A survey as it was when this device first answered it. */
export interface Pin {
  readonly digest: string;
  readonly spec: string;
  readonly schedule: Schedule | null;
}

/** What became of a report. Its bytes are kept as long as it waits. */
export type Fate = "waiting" | "sent" | "silent" | "refused";
const FATES: readonly unknown[] = ["waiting", "sent", "silent", "refused"];

export interface Entry {
  readonly survey: string;
  readonly digest: string;
  readonly round: number;
  readonly id: string;
  readonly report: string | null;
  readonly state: Fate;
}

export interface Outbox {
  readonly surveys: ReadonlyMap<string, Pin>;
  readonly reports: readonly Entry[];
}

export const EMPTY: Outbox = { surveys: new Map(), reports: [] };

type Place = Pick<Entry, "survey" | "digest" | "round">;

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const comparePlaces = (a: Place, b: Place): number =>
  compare(a.survey, b.survey) || compare(a.digest, b.digest) || a.round - b.round;

/** Returns the entry of a round of a survey. */
export const find = (outbox: Outbox, place: Place): Entry | undefined =>
  outbox.reports.find((each) => !comparePlaces(each, place));

/** Returns the outbox with an entry, in place of the one of the same round. */
export const withEntry = (outbox: Outbox, entry: Entry): Outbox => ({
  ...outbox,
  reports: [...outbox.reports.filter((each) => comparePlaces(each, entry)), entry].sort(comparePlaces),
});

/** Writes the text of an outbox. */
export function writeOutbox({ surveys, reports }: Outbox): string {
  const line = `${write({ version: 1, surveys: Object.fromEntries(surveys), reports })}\n`;
  return `${line}${hex(blake2b(ascii(line), 16))}\n`;
}

const damaged = (why: string): never => {
  throw new SpecError(`the outbox cannot be used: ${why}`);
};

/** Reads the text of an outbox. A damaged or foreign one is an error, and never an empty outbox. */
export function readOutbox(text: string): Outbox {
  const end = text.indexOf("\n") + 1, line = text.slice(0, end);
  if (!end || text.slice(end) !== `${hex(blake2b(ascii(line), 16))}\n`) {
    damaged("it is truncated or was altered");
  }
  let found: Outbox | undefined;
  try {
    found = readBody(entries("outbox", parse(line)));
  } catch {
    // The error could show what the text holds
  }
  return found && writeOutbox(found) === text ? found : damaged("its form or its version is another");
}

function readBody(body: Map<string, unknown>): Outbox {
  requireFields("outbox", body, ["version", "surveys", "reports"]);
  const { version, surveys, reports } = Object.fromEntries(body);
  need(version === 1 && Array.isArray(reports));
  const found = (reports as unknown[]).map(readEntry);
  need(found.every((each, i) => !i || comparePlaces(found[i - 1]!, each) < 0));
  const pins = [...entries("surveys", surveys)].map(([name, each]) => {
    need(NAME.test(name));
    return [name, readPin(each)] as const;
  });
  return { surveys: new Map(pins), reports: found };
}

function need(held: boolean): void {
  if (!held) throw new SpecError("another form");
}

function readPin(given: unknown): Pin {
  const { digest, spec, schedule } = fieldsOf(given, ["digest", "spec", "schedule"]);
  need(isDigest(digest) && typeof spec === "string");
  return { digest: digest as string, spec: spec as string, schedule: readSchedule(schedule) };
}

const isWithin = (number: unknown, low: number, high: number): boolean =>
  Number.isSafeInteger(number) && (number as number) >= low && (number as number) <= high;
const isDigest = (given: unknown): boolean => typeof given === "string" && DIGEST.test(given);

/** Reads the schedule of a survey, or null where rounds are opened by hand. */
export function readSchedule(given: unknown): Schedule | null {
  if (given === null) return null;
  const schedule = fieldsOf(given, ["starts", "period", "grace"]);
  const { starts, period, grace } = schedule as unknown as Schedule;
  need(isWithin(starts, 0, 2 ** 40) && isWithin(period, 1, 2 ** 31) && isWithin(grace, 0, period));
  return { starts, period, grace };
}

function readEntry(given: unknown): Entry {
  const entry = fieldsOf(given, ["survey", "digest", "round", "id", "report", "state"]);
  const { survey, digest, round, id, report, state } = entry;
  const isHex = (digits: unknown): boolean =>
    typeof digits === "string" && /^(?:[0-9a-f]{2})+$/.test(digits);
  need(typeof survey === "string" && NAME.test(survey) && isDigest(digest));
  need(isWithin(round, 0, LARGEST_ROUND));
  need(isHex(id) && unhex(id as string).length === ID_BYTES && FATES.includes(state));
  need(state === "waiting" ? isHex(report) : report === null);
  return entry as unknown as Entry;
}

function fieldsOf(given: unknown, wanted: string[]): Record<string, unknown> {
  const found = entries("outbox", given);
  requireFields("outbox", found, wanted);
  return Object.fromEntries(found);
}

/** Returns the latest round that takes reports by the clock, or null if there is none. */
export function dueRound({ starts, period, grace }: Schedule, last: number, now: number): number | null {
  const present = Math.floor((now - starts) / period);
  const late = now - starts - present * period < grace;
  const due = present > last && late ? present - 1 : present;
  return due >= 0 && due <= last ? due : null;
}

/** Refuses a name that no survey of a service has. */
export function requireName(name: unknown): string {
  if (typeof name === "string" && NAME.test(name)) return name;
  throw new SpecError(`name must be 1 to 64 of a to z, 0 to 9 and "-", not ${quote(name)}`);
}
