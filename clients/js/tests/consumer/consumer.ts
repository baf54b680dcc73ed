/** A program of a user, which is type-checked and not run. */
import {
  AnswerError, Client, GRR, LimitReached, SPL, SpecError, Survey, likelihood, mechanism, randomize,
  type Answers, type Attribute, type Explanation, type Label, type Mechanism, type Privacy, type Store,
} from "multi-freq-ldpy";
import { addCounts, estimate, type Frequency } from "multi-freq-ldpy/aggregate";
import { NotDelivered, Refused, Sender, type Delivery } from "multi-freq-ldpy/sender";
import { fileStore } from "multi-freq-ldpy/stores/file";
import { indexedDBStore } from "multi-freq-ldpy/stores/indexeddb";
import { localStore } from "multi-freq-ldpy/stores/local";
import { memoryStore } from "multi-freq-ldpy/stores/memory";
import { drawAs } from "multi-freq-ldpy/testing";

const survey: Survey = Survey.parse("{}");
const answers: Answers = { smokes: "no", age: 40, told: true, other: null };
const report: Uint8Array = survey.randomize(answers);
const codes: number[] = survey.encode(answers);
const attributes: readonly Attribute[] = survey.attributes;
const labels: readonly Label[] = attributes[0]?.categories ?? [];
const privacy: Privacy = survey.privacy;
const losses: number[] = [privacy.report, privacy.lifetime, privacy.reportAttribute];
const protocol: Mechanism = GRR({ k: 5, epsilon: 1 });
const sent: Uint8Array = randomize(SPL([protocol, mechanism({})]), [1, 2]);
const drawn: Uint8Array = drawAs({}, new Uint8Array(32), 0, 1);
const errors: Error[] = [new SpecError("no"), new AnswerError("no")];
const explained: Explanation[] = survey.explain(report, answers);
const [first] = explained;
const told: (boolean | null | Label[] | number | undefined)[] =
  [first?.sent, first?.supports, first?.odds[0]?.times, first?.ratio];
const chance: readonly [bigint, bigint] = likelihood(protocol, report, 1);
const stores: Store[] = [
  indexedDBStore(survey.digest), localStore("a"), fileStore("/tmp/a"), memoryStore(),
];
export async function device(store: Store): Promise<Uint8Array | null> {
  const client: Client | null = await Client.open(survey, store, { limit: 6 });
  if (!client) await Client.begin(protocol, store, { context: report, again: true });
  const kept: string = await Client.import("", survey, store).then((own) => own.export());
  const spent: number | undefined = await client?.spent();
  await client?.leave();
  errors.push(new LimitReached(`${kept} ${spent} ${client?.persistent}`));
  return (await client?.report({ transport: "car" }, { round: 3 })) ?? null;
}
export async function deliver(store: Store): Promise<Delivery[]> {
  const sender = new Sender("https://example.org", store, { token: "token" });
  const asked: Survey = await sender.survey("weekly", { timeout: 10 });
  const client: Client | null = await Client.open(asked, store);
  const delivery: Delivery = await sender.answer("weekly", answers, { client: client ?? undefined, round: 3 });
  const states: ("sent" | "sent before" | "silent")[] = [delivery.state];
  const left: number = await sender.flush();
  errors.push(new NotDelivered(`${states} ${left}`), new Refused(409, "not-open", client?.survey?.digest ?? ""));
  return [delivery, await sender.submit("weekly", report, { round: 0, timeout: 1 })];
}
const n: number = addCounts(protocol, report, new Float64Array(5));
const frequencies: Frequency[] = estimate(protocol, [1, 2, 3, 4, 5], n, 0.9);
export const more = [frequencies, told, chance, stores];
export const all = [report, codes, labels, losses, sent, drawn, errors, survey.digest.length];

// @ts-expect-error: there is no seed
survey.randomize(answers, { rng: 1 });
// @ts-expect-error: an answer is a label
survey.randomize({ smokes: ["no"] });
// @ts-expect-error: a survey is read from text
new Survey({});
// @ts-expect-error: a budget is missing
GRR({ k: 5 });
// @ts-expect-error: attributes are not for change
survey.attributes.push({ name: "more", categories: [1, 2] });
