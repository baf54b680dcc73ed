/** Reports that reach a service: drawn once per round, kept until an answer, and sent again unchanged. */
import { writeBatch } from "./batch.js";
import { hex, unhex } from "./blake2b.js";
import type { Client, Store } from "./client.js";
import { SpecError, refuse } from "./errors.js";
import { reportId } from "./ids.js";
import type { JsonObject } from "./json.js";
import { integer, isTimed } from "./mechanism.js";
import { choose, look, surveyOf, type Chosen } from "./looking.js";
import {
  EMPTY, LARGEST_ROUND, find, readOutbox, requireName, withEntry, writeOutbox, type Entry, type Fate,
  type Outbox, type Pin,
} from "./outbox.js";
import { randomBytes } from "./random.js";
import { NoAnswer, Refused, Remote, endOf } from "./remote.js";
import type { Answers, Survey } from "./survey.js";

export { NoAnswer, Refused } from "./remote.js";

const PATIENCE = 60; // seconds

/** Problems that no later attempt can mend. */
const FINAL = ["round-closed", "wrong-survey", "not-a-report", "too-large"];

/** The report is kept, and `flush` will send it. */
export class NotDelivered extends NoAnswer {
  override name = "NotDelivered";
}

export interface Sending {
  /** The round. Without it, the latest one that takes reports. */
  readonly round?: number | undefined;
  /** The seconds that all attempts together may take. */
  readonly timeout?: number | undefined;
}

export interface Answering extends Sending {
  /** The client of the survey, where answers are permanent or where there is a limit. */
  readonly client?: Client | undefined;
}

/** What became of a report. */
export interface Delivery {
  readonly round: number;
  /** The bytes that were sent. Null if they were sent before, and if there were none. */
  readonly report: Uint8Array | null;
  /** "silent": a history does not report in this round. */
  readonly state: "sent" | "sent before" | "silent";
}

/** What became of a report that this device drew. Its bytes are here as long as it waits. */
export interface Kept {
  readonly round: number;
  readonly state: Fate;
  readonly report: Uint8Array | null;
}

export interface Flushing extends Pick<Sending, "timeout"> {
  /** Only the reports of this survey. A token goes with each report, and could link surveys. */
  readonly survey?: string | undefined;
}

/** Makes a report of a round, or null where a history is silent. Called once at most, in the store. */
type Draw = () => Uint8Array | null;

export class Sender {
  readonly #remote: Remote;
  readonly #store: Store;
  /** Surveys that were looked at, so that a person who has read one can answer it offline. */
  readonly #seen = new Map<string, Pin>();
  #secret: string | null = null;

  /** Sends to the service at a URL. The store holds the outbox and the secret of its ids. */
  constructor(url: string, store: Store, { token }: { token?: string | undefined } = {}) {
    this.#remote = new Remote(url, token);
    this.#store = store;
  }

  /** Returns a survey: as it was first answered here, or as the service has it. Stores nothing. */
  async survey(name: string, { timeout = PATIENCE }: Pick<Sending, "timeout"> = {}): Promise<Survey> {
    const end = endOf(timeout), known = (await this.#read()).surveys.get(requireName(name));
    const pin = known ?? (await look(this.#remote, name, end)).pin;
    this.#seen.set(name, pin);
    return surveyOf(pin);
  }

  /**
   * Answers a round of a survey: draws one report, stores it, and sends it. If the round was answered
   * before, nothing is drawn, and the stored bytes are sent if they still wait.
   *
   * Throws `NotDelivered` if no service answers. Then the report is kept.
   */
  answer(name: string, answers: Answers, { client, ...options }: Answering = {}): Promise<Delivery> {
    const own = { ...answers }; // the caller may change its object while the service is asked
    return this.#deliver(name, options, async (survey, round): Promise<Draw> => {
      if (client) {
        if (client.survey?.digest !== survey.digest) {
          refuse("client", `one of the survey with digest ${survey.digest}`, client.survey?.digest);
        }
        return client.charge(own, isTimed(survey.solution) ? { round } : {});
      }
      if (survey.longitudinal) throw new SpecError("client must be given: this survey has permanent answers");
      survey.encode(own); // refuses answers before anything is stored
      return () => survey.randomize(own);
    });
  }

  /** Sends a report that was drawn elsewhere. If the round has a report, that one is sent instead. */
  submit(name: string, report: Uint8Array, options: Sending = {}): Promise<Delivery> {
    const own = report instanceof Uint8Array ? report.slice() : new Uint8Array();
    return this.#deliver(name, options, async ({ solution }): Promise<Draw> => {
      if (own.length !== solution.bytes || !(isTimed(solution) || solution.accepts(own))) {
        throw new SpecError(`report must be a report of this survey, of ${solution.bytes} bytes`);
      }
      return () => own;
    });
  }

  /** Returns what became of the reports of a survey, round by round. Draws and sends nothing. */
  async reports(name: string): Promise<Kept[]> {
    requireName(name);
    const { reports } = await this.#read();
    return reports.filter(({ survey }) => survey === name).map(({ round, state, report }) =>
      ({ round, state, report: report === null ? null : unhex(report) }));
  }

  /** Sends what waits, and returns how many were sent. Throws the first refusal at the end. */
  async flush({ survey, timeout = PATIENCE }: Flushing = {}): Promise<number> {
    const end = endOf(timeout), only = survey === undefined ? null : requireName(survey);
    const { reports } = await this.#read();
    const waiting = reports.filter((each) =>
      each.state === "waiting" && (only === null || each.survey === only));
    let sent = 0, refused: Refused | undefined;
    for (const entry of waiting) {
      try {
        await this.#send(entry, end);
        sent++;
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        refused ??= error;
      }
    }
    if (refused) throw refused;
    return sent;
  }

  async #deliver(
    name: string, { round, timeout = PATIENCE }: Sending,
    prepare: (survey: Survey, round: number) => Promise<Draw>,
  ): Promise<Delivery> {
    if (round !== undefined) integer("round", round, 0, LARGEST_ROUND);
    const end = endOf(timeout), { surveys } = await this.#read();
    const pin = surveys.get(requireName(name)) ?? this.#seen.get(name);
    const known = async (digest: string, at: number): Promise<Entry | undefined> =>
      find(await this.#read(), { survey: name, digest, round: at });
    let entry = pin && round !== undefined ? await known(pin.digest, round) : undefined;
    if (entry) return this.#finish(entry, end);
    const found = await choose(this.#remote, name, round, pin, end), { digest } = found.pin;
    entry = await known(digest, found.round);
    if (!entry) {
      let draw: Draw | undefined;
      try {
        draw = await prepare(found.survey, found.round);
      } catch (error) {
        entry = await known(digest, found.round); // another tab may have spent the limit on it
        if (!entry) throw error;
      }
      if (draw) entry = await this.#keep(name, found, draw);
    }
    return this.#finish(entry!, end);
  }

  /** Draws a report and stores it in one step, unless the round has one. */
  #keep(name: string, { pin, round }: Chosen, draw: Draw): Promise<Entry> {
    return this.#update((outbox, secret) => {
      const place = { survey: name, digest: pin.digest, round }, before = find(outbox, place);
      if (before) return [outbox, before];
      if ((outbox.surveys.get(name) ?? pin).digest !== pin.digest) {
        throw new SpecError(`${name} was answered with another digest at the same time`);
      }
      const report = draw(), id = reportId(secret, name, pin.digest, round);
      const entry: Entry = {
        ...place, id, report: report && hex(report), state: report ? "waiting" : "silent",
      };
      const surveys = new Map([[name, pin], ...outbox.surveys]); // the first one stays
      return [withEntry({ ...outbox, surveys }, entry), entry];
    });
  }

  /** Sends an entry if it waits, and says what became of it. */
  async #finish(entry: Entry, end: number): Promise<Delivery> {
    const { round, report, state } = entry;
    if (state === "refused") {
      throw new Refused(0, "", `the report of round ${round} was refused before, and is not sent again`);
    }
    if (state === "silent") return { round, report: null, state };
    if (state === "sent") return { round, report: null, state: "sent before" };
    await this.#send(entry, end);
    return { round, report: unhex(report!), state: "sent" };
  }

  async #send(entry: Entry, end: number): Promise<void> {
    const { survey, digest, round, id, report } = entry;
    try {
      const body = writeBatch(digest, round, id, report!);
      await this.#remote.post(`/v1/surveys/${survey}/reports`, body, readCounted, end);
    } catch (error) {
      if (error instanceof NoAnswer) {
        throw new NotDelivered(`${error.message}: the report is kept and will be sent by flush()`);
      }
      if (error instanceof Refused && FINAL.includes(error.kind)) await this.#mark(entry, "refused");
      throw error;
    }
    await this.#mark(entry, "sent");
  }

  /** Notes a final answer, and drops the bytes. A report that was counted stays so. */
  #mark(entry: Entry, state: "sent" | "refused"): Promise<null> {
    return this.#update((outbox) => {
      const now = find(outbox, entry), done = now?.state === "sent" || now?.state === state;
      return [done || !now ? outbox : withEntry(outbox, { ...now, state, report: null }), null];
    });
  }

  #read(): Promise<Outbox> {
    return this.#update((outbox) => [outbox, outbox]);
  }

  /** Replaces the outbox by the first result, in one update of the store. */
  async #update<T>(
    change: (outbox: Outbox, secret: Uint8Array) => readonly [Outbox, T],
  ): Promise<T> {
    const [secret, result] = await this.#store.update((text) => {
      const kept = text === null ? { secret: null, outbox: EMPTY } : readKept(text);
      if (this.#secret !== null && kept.secret !== this.#secret) {
        throw new Error("the outbox is gone: what was sent is not known any more");
      }
      const own = kept.secret ?? hex(randomBytes());
      const [after, made] = change(kept.outbox, unhex(own));
      if (after === kept.outbox) return [text, [kept.secret, made] as const];
      return [`${own}\n${writeOutbox(after)}`, [own, made] as const];
    });
    this.#secret ??= secret;
    return result;
  }
}

/** Reads what the store of a sender holds: the secret of the ids, and the outbox. */
function readKept(text: string): { secret: string; outbox: Outbox } {
  const secret = text.slice(0, 64);
  if (!/^[0-9a-f]{64}$/.test(secret) || text[64] !== "\n") {
    throw new SpecError("the outbox cannot be used: it does not begin with a secret");
  }
  const outbox = readOutbox(text.slice(65)), bytes = unhex(secret);
  const own = ({ survey, digest, round, id }: Entry): boolean =>
    reportId(bytes, survey, digest, round) === id;
  if (!outbox.reports.every(own)) {
    throw new SpecError("the outbox cannot be used: its ids belong to another secret");
  }
  return { secret, outbox };
}

/** Reads the answer to a report. Returns null if it does not say that the report was counted. */
function readCounted(answer: JsonObject): true | null {
  const [counted, duplicates] = ["counted", "duplicates"].map((field) => answer.get(field));
  const known = (counted === 1 && duplicates === 0) || (counted === 0 && duplicates === 1);
  return known || null;
}
