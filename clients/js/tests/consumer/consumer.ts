/** A program of a user, which is type-checked and not run. */
import {
  AnswerError, GRR, SPL, SpecError, Survey, mechanism, randomize,
  type Answers, type Attribute, type Label, type Mechanism, type Privacy,
} from "multi-freq-ldpy";
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
