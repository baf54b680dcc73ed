/** What a service says of a survey, and the round that a device answers. */
import { write } from "./canonical.js";
import { SpecError, quote } from "./errors.js";
import type { JsonObject } from "./json.js";
import { integer, isTimed } from "./mechanism.js";
import { DIGEST, LARGEST_ROUND, dueRound, readSchedule, type Pin } from "./outbox.js";
import { NoAnswer, Refused, type Remote } from "./remote.js";
import { Survey } from "./survey.js";

/** What a service says of a survey. */
interface About {
  readonly pin: Pin;
  readonly survey: Survey;
  readonly state: string;
  readonly accepted: readonly number[];
}

/** A survey and the round of an answer. */
export interface Chosen {
  readonly pin: Pin;
  readonly survey: Survey;
  readonly round: number;
}

/** Asks a service about a survey. */
export async function look(remote: Remote, name: string, end: number, once = false): Promise<About> {
  const about = await remote.get(`/v1/surveys/${name}`, readAbout, end, once);
  return { ...about, survey: surveyOf(about.pin) };
}

/**
 * Returns the survey and the round of an answer, before anything is drawn. If the service does not
 * answer, the pinned survey and its schedule decide, as far as they can.
 */
export async function choose(
  remote: Remote, name: string, round: number | undefined, pin: Pin | undefined, end: number,
): Promise<Chosen> {
  const own = pin && surveyOf(pin), schedule = pin?.schedule ?? null;
  const alone = own && (round !== undefined || schedule !== null || lastRound(own) === 0);
  let about: About;
  try {
    const now = performance.now();
    about = await look(remote, name, alone ? now + (end - now) / 4 : end, alone);
  } catch (error) {
    if (!alone || !(error instanceof NoAnswer)) throw error;
    const due = schedule ? dueRound(schedule, lastRound(own), Date.now() / 1000) : 0;
    return { pin: pin!, survey: own, round: check(own, round ?? due) };
  }
  const { survey, state, accepted } = about;
  if (pin && pin.digest !== survey.digest) {
    throw new SpecError(
      `${name} is now the survey with digest ${survey.digest}: this device answers ${pin.digest}`,
    );
  }
  if (state !== "open") throw new Refused(409, "not-open", `the survey is ${quote(state)}`);
  const chosen = check(survey, round ?? (accepted.length ? Math.max(...accepted) : null));
  if (!accepted.includes(chosen)) {
    throw new Refused(409, "round-closed", `round ${chosen} takes no reports now, only ${quote(accepted)}`);
  }
  return { pin: pin ?? about.pin, survey, round: chosen };
}

/** Returns a pinned survey. */
export function surveyOf({ spec, digest }: Pin): Survey {
  const survey = Survey.parse(spec);
  if (survey.digest !== digest) throw new SpecError(`the digest ${digest} does not fit the spec`);
  return survey;
}

const lastRound = (survey: Survey): number =>
  isTimed(survey.solution) ? survey.solution.rounds - 1 : survey.longitudinal ? LARGEST_ROUND : 0;

/** Returns a round that the survey has. */
function check(survey: Survey, round: number | null): number {
  if (round === null) throw new Refused(409, "round-closed", "no round takes reports now");
  return integer("round", round, 0, lastRound(survey));
}

/** Reads what a service says of a survey. Returns null if the answer is of something else. */
function readAbout(answer: JsonObject): Omit<About, "survey"> | null {
  const [digest, spec, state, accepted] =
    ["digest", "spec", "state", "accepted"].map((field) => answer.get(field));
  const isRound = (each: unknown): boolean =>
    Number.isSafeInteger(each) && (each as number) >= 0 && (each as number) <= LARGEST_ROUND;
  if (typeof digest !== "string" || !DIGEST.test(digest) || !(spec instanceof Map)) return null;
  if (typeof state !== "string" || !Array.isArray(accepted) || !accepted.every(isRound)) return null;
  try {
    const schedule = readSchedule(answer.get("schedule"));
    return { pin: { digest, spec: write(spec), schedule }, state, accepted };
  } catch {
    return null;
  }
}
