/** A device that is asked again and again, and remembers its permanent answers. */
import { ascii, blake2b } from "./blake2b.js";
import { SpecError, quote } from "./errors.js";
import { budget, isTimed, type Kept, type Mechanism } from "./mechanism.js";
import { inDouble } from "./privacy.js";
import { randomBytes, recordOf } from "./random.js";
import {
  addCharges, addedBy, readRecord, spentBy, writeRecord, type ClientRecord, type Ledger,
} from "./record.js";
import { concat } from "./rounds.js";
import { keyed, type Source } from "./source.js";
import { Survey, type Answers } from "./survey.js";

/** A place for one record. `change` is synchronous, and the whole update happens or none of it. */
export interface Store {
  /** Reads the record, and replaces it by the first result. Resolves when that is durable. */
  update<T>(change: (kept: string | null) => readonly [string | null, T]): Promise<T>;
  /** True if the place outlives the browser's clean-ups. */
  readonly persistent?: boolean;
}

/** The next report would exceed the limit. Nothing was charged. */
export class LimitReached extends Error {
  override name = "LimitReached";
}

export interface Options {
  /** The largest budget that this record may spend. */
  readonly limit?: number;
  /** Bytes that separate two uses of one secret. */
  readonly context?: Uint8Array;
}

export interface Beginning extends Options {
  /** Begin although somebody has left here. Everything told from now on costs as much again. */
  readonly again?: true;
  /** For histories: the first round, and whether a copy of the record may be used again. */
  readonly firstRound?: number;
  readonly restorable?: boolean;
}

const LEFT = "left\n";

/** Returns the memory of a device: the key of everything permanent. */
export const memoryOf = (
  { label }: Mechanism, secret: Uint8Array, context: Uint8Array,
): Source =>
  keyed(blake2b(concat(ascii(`client ${label.length} ${label}`), context), 32, secret));

export class Client {
  readonly #survey: Survey | null;
  readonly #mechanism: Mechanism;
  readonly #store: Store;
  readonly #limit: number | undefined;
  readonly #identity: string;
  /** True if the browser has promised to keep the record. */
  readonly persistent: boolean;

  private constructor(
    of: Survey | Mechanism, store: Store, limit: number | undefined, kept: ClientRecord,
    persistent: boolean,
  ) {
    this.#survey = of instanceof Survey ? of : null;
    this.#mechanism = of instanceof Survey ? of.solution : of;
    this.#store = store;
    this.#limit = limit;
    this.#identity = identityOf(kept);
    this.persistent = persistent;
  }

  /** Makes a secret and a record, after consent and nowhere else. */
  static async begin(
    of: Survey | Mechanism, store: Store, options: Beginning = {},
  ): Promise<Client> {
    const mechanism = of instanceof Survey ? of.solution : of, limit = limitOf(options);
    const { context = new Uint8Array(), again, firstRound = 0, restorable = true } = options;
    const persistent = await persist(store, true), secret = randomBytes();
    if (!isTimed(mechanism) && (firstRound || !restorable)) {
      throw new SpecError("firstRound and restorable are for mechanisms with rounds");
    }
    const made: ClientRecord = {
      secret, context,
      label: mechanism.label,
      ledger: { classes: new Map(), reports: new Map() },
      history: isTimed(mechanism)
        ? mechanism.begin(memoryOf(mechanism, secret, context), firstRound, restorable)
        : null,
    };
    await store.update((kept) => {
      if (kept === LEFT && !again) {
        throw new Error("somebody has left here: to begin again costs as much again, so say again: true");
      }
      if (kept !== null && kept !== LEFT) throw new Error("a client has begun here: open it");
      return [writeRecord(made), null];
    });
    return new Client(of, store, limit, made, persistent);
  }

  /** Opens a record, or returns null if nobody has begun here. */
  static async open(
    of: Survey | Mechanism, store: Store, options: Options = {},
  ): Promise<Client | null> {
    const limit = limitOf(options);
    const kept = await store.update((text) => [text, text]);
    if (kept === null || kept === LEFT) return null;
    const found = read(kept, of, options.context ?? new Uint8Array());
    return new Client(of, store, limit, found, await persist(store, false));
  }

  /** Puts a record that was exported into an empty store. */
  static async import(
    text: string, of: Survey | Mechanism, store: Store, options: Options = {},
  ): Promise<Client> {
    const limit = limitOf(options), found = read(text, of, options.context ?? null);
    const persistent = await persist(store, true);
    await store.update((kept) => {
      if (kept !== null && kept !== LEFT) throw new Error("a client has begun here: open it");
      return [text, null];
    });
    return new Client(of, store, limit, found, persistent);
  }

  /** The survey that the client answers, or null if it was begun for a bare mechanism. */
  get survey(): Survey | null {
    return this.#survey;
  }

  /** Makes a report, after its charge is stored. Null: a history is silent in this round. */
  async report(
    answers: Answers | number | readonly number[], options: { round?: number } = {},
  ): Promise<Uint8Array | null> {
    return (await this.charge(answers, options))();
  }

  /** Stores the charge of one report, and returns the function that draws it. Call it once. */
  async charge(
    answers: Answers | number | readonly number[], options: { round?: number } = {},
  ): Promise<() => Uint8Array | null> {
    const mechanism = this.#mechanism, record = this.#recordOf(answers, options), { round } = options;
    return this.#store.update((kept) =>
      respond(mechanism, this.#own(kept), record, { round, limit: this.#limit }));
  }

  /** What the next report would add to `spent`: 0 for answers that were told. Stores nothing. */
  async cost(
    answers: Answers | number | readonly number[], options: { round?: number } = {},
  ): Promise<number> {
    const mechanism = this.#mechanism, record = this.#recordOf(answers, options);
    const kept = await this.#read(), { ledger } = consult(mechanism, kept, record, options.round);
    return addedBy(kept.ledger, ledger, pricesOf(mechanism));
  }

  /** The budget that this record has spent. */
  async spent(): Promise<number> {
    return spentBy((await this.#read()).ledger, pricesOf(this.#mechanism));
  }

  /** Deletes the secret, and leaves a mark that somebody left. Sent reports stay sent. */
  async leave(): Promise<void> {
    await this.#store.update((kept) => {
      this.#own(kept);
      return [LEFT, null];
    });
  }

  /** The record as a client file, for a backup or another device. It holds the secret. */
  async export(): Promise<string> {
    return writeRecord(await this.#read());
  }

  /** Returns the record of answers, and refuses a round where there is none. */
  #recordOf(
    answers: Answers | number | readonly number[], { round }: { round?: number },
  ): readonly number[] {
    const record = this.#survey
      ? this.#survey.encode(answers as Answers)
      : recordOf(this.#mechanism, answers as number);
    if (isTimed(this.#mechanism) !== (round !== undefined)) {
      throw new SpecError(`round must be given for mechanisms with rounds only, not ${quote(round)}`);
    }
    return record;
  }

  #own(kept: string | null): ClientRecord {
    if (kept === null || kept === LEFT) throw new Error("the record of the client is gone");
    const found = read(kept, this.#mechanism, null);
    if (identityOf(found) !== this.#identity) throw new Error("the record is now another client's");
    return found;
  }

  #read(): Promise<ClientRecord> {
    return this.#store.update((kept) => [kept, this.#own(kept)]);
  }
}

export const pricesOf = (mechanism: Mechanism): number[] => mechanism.prices().map(inDouble);

/** Returns the ledger and the state after a report, and a function that draws the report. */
function consult(
  mechanism: Mechanism, kept: ClientRecord, record: readonly number[], round: number | undefined,
): { ledger: Ledger; history: Kept | null; report(fresh: (j: number) => Uint8Array): Uint8Array | null } {
  const memory = memoryOf(mechanism, kept.secret, kept.context);
  if (isTimed(mechanism)) {
    const { charges, kept: history, report } = mechanism.ask(memory, kept.history!, record, round!);
    return { ledger: addCharges(kept.ledger, charges), history, report: () => report };
  }
  const { charges, report } = mechanism.recall(memory, record);
  return { ledger: addCharges(kept.ledger, charges), history: null, report };
}

/**
 * Returns the text of the record after a report, and a function that draws the report. It is called
 * once the text is stored.
 *
 * Throws `LimitReached` if the report would spend too much.
 */
export function respond(
  mechanism: Mechanism, kept: ClientRecord, record: readonly number[],
  { round, limit, fresh = randomBytes }: {
    round: number | undefined; limit: number | undefined; fresh?: (attribute: number) => Uint8Array;
  },
): readonly [string, () => Uint8Array | null] {
  const { ledger, history, report } = consult(mechanism, kept, record, round);
  if (ledger !== kept.ledger && limit !== undefined) {
    const prices = pricesOf(mechanism), after = spentBy(ledger, prices);
    if (after > limit * (1 + 1e-12)) {
      const before = spentBy(kept.ledger, prices);
      throw new LimitReached(
        `a report would raise the spent budget from ${before} to ${after}, above limit=${limit}`,
      );
    }
  }
  return [writeRecord({ ...kept, ledger, history }), () => report(fresh)];
}

const identityOf = ({ secret, label, context }: ClientRecord): string =>
  [secret.join(), label, context.join()].join("|");

const limitOf = ({ limit }: Options): number | undefined =>
  limit === undefined ? undefined : budget("limit", limit);

/** Reads a record, and refuses one of another mechanism or context. */
export function read(text: string, of: Survey | Mechanism, context: Uint8Array | null): ClientRecord {
  const mechanism = of instanceof Survey ? of.solution : of;
  const found = readRecord(text, (own, history) => {
    if (own.label !== mechanism.label) {
      throw new SpecError(`the record is of ${own.label}, not of ${mechanism.label}`);
    }
    if (context && context.join() !== own.context.join()) {
      throw new SpecError("the record has another context");
    }
    if (isTimed(mechanism) === (history === null)) {
      throw new SpecError(`history must be in records of mechanisms with rounds only: ${own.label}`);
    }
    if (!isTimed(mechanism)) return null;
    return mechanism.check(memoryOf(mechanism, own.secret, own.context), history);
  });
  const accounts = [...found.ledger.classes.keys(), ...found.ledger.reports.keys()];
  if (accounts.some((j) => !(j < mechanism.accounts))) {
    throw new SpecError("the record has accounts that the mechanism does not have");
  }
  return found;
}

/** Asks the browser to keep the record, and returns whether it does. */
async function persist(store: Store, ask: boolean): Promise<boolean> {
  if (store.persistent !== undefined) return store.persistent;
  const storage = globalThis.navigator?.storage;
  try { // Workers cannot ask
    return Boolean(await (ask && storage?.persist ? storage.persist() : storage?.persisted?.()));
  } catch {
    return false; // no promise was made
  }
}
