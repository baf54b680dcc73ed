/** What a device keeps for a survey: the outbox, and the record and the limit of a survey over time. */
import {
  Client, NoAnswer, Refused, Sender, SpecError, indexedDBStore, memoryStore, testing,
} from "./ldp.mjs";
import { ORIGIN, takeTokens } from "./page.mjs";

const WORD = /^[!-~]+$/;
const ANY = "any";

const peek = (store) => store.update((kept) => [kept, kept]);
const put = (store, text) => store.update(() => [text, null]);

/** Storage that is missing, blocked or full. Nothing was drawn. */
export class NoStorage extends Error {}

/** A record or an outbox that was altered. It is never replaced without the person. */
export class Damaged extends Error {}

/** Does something with storage, and says which of the two errors it was. */
async function store(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof NoAnswer || error instanceof Refused) throw error;
    throw error instanceof SpecError ? new Damaged(error.message) : new NoStorage(String(error));
  }
}

const keysOf = (name) => ({ invite: `invite of ${name}`, token: `token of ${name}` });

/** Takes the invite or the token out of the address, before anything else. */
export function takeLink(name) {
  try {
    takeTokens(keysOf(name));
  } catch (error) {
    throw new NoStorage(String(error));
  }
}

/** Returns the token of a person by the rule of the survey, or undefined if there is none. */
export function tokenOf(name, rule) {
  const keys = keysOf(name);
  if (rule === "open") { // a token would tell whose report it is
    for (const key of Object.values(keys)) sessionStorage.removeItem(key);
    return undefined;
  }
  const token = sessionStorage.getItem(keys[rule]) ?? "";
  return WORD.test(token) ? token : undefined;
}

/**
 * Returns the device of a person who answers a survey.
 *
 * An invite is a person: two people who share a device share no report, and no report of the one is
 * ever sent with the invite of the other.
 */
export function deviceOf(name, rule, token) {
  const person = rule === "invite" && token ? ` ${fingerprint(token)}` : "", place = `${name}${person}`;
  const sender = new Sender(ORIGIN, indexedDBStore(`outbox ${place}`), { token });
  const record = indexedDBStore(`client ${place}`), choice = indexedDBStore(`changes ${place}`);
  const open = async (survey) => {
    const changes = await peek(choice);
    return Client.open(survey, record, limitOf(survey, changes));
  };
  return {
    sender,
    /** Returns the survey that this device answers at this address. */
    survey: () => store(() => sender.survey(name)),
    /** Returns the reports of the survey on this device. */
    reports: () => store(() => sender.reports(name)),
    /** Returns the client, or "new" or "left" where there is none. */
    client: (survey) => store(async () =>
      (await open(survey)) ?? ((await peek(record)) === null ? "new" : "left")),
    /** Makes a client, after consent. `changes` is a number, or null without a limit. */
    begin: (survey, { changes, round, again }) => store(async () => {
      const begun = await open(survey); // in another tab
      if (begun) return begun;
      await put(choice, changes === null ? ANY : String(changes));
      const options = { ...limitOf(survey, String(changes ?? ANY)), ...(again && { again: true }) };
      return Client.begin(survey, record, { ...options, ...(isHistory(survey) && { firstRound: round }) });
    }),
    /** Returns how often answers may change, or null without a limit. */
    changes: () => store(async () => readChanges(await peek(choice))),
    /** Deletes a record that cannot be used. */
    forget: () => store(() => put(record, null)),
  };
}

const fingerprint = (token) => testing.hex(testing.blake2b(testing.ascii(token), 16));

/** Returns whether a survey protects all rounds together. */
export const isHistory = ({ solution }) => "rounds" in solution;

/** Reads the choice of a person. Where it is lost, answers may not change. */
const readChanges = (text) => (text === ANY ? null : Number(text ?? 0));

/** Returns the limit of a client as an option. A history has a bound of its own. */
function limitOf(survey, text) {
  const changes = readChanges(text);
  return changes === null || isHistory(survey) ? {} : { limit: (1 + changes) * survey.privacy.lifetime };
}

/** Draws a report that nobody sends. Null: the device is silent in this round. */
export async function drawExample(survey, answers, round) {
  if (!survey.longitudinal) return survey.randomize(answers);
  const client = await Client.begin(survey, memoryStore(), isHistory(survey) ? { firstRound: round } : {});
  return client.report(answers, isHistory(survey) ? { round } : {});
}

/** Returns a survey as the service has it, without any storage. */
export const readSurvey = (name) => new Sender(ORIGIN, memoryStore()).survey(name);

/** Returns whether the browser has promised to keep what this page stores. */
export async function isPersistent() {
  try {
    return Boolean(await navigator.storage?.persisted?.());
  } catch {
    return false;
  }
}
