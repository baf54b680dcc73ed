/** The questions of a new survey: any number, each with its answers. */
import { checkAll, field, tick } from "./fields.mjs";
import { make } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const TEXTS = TEXT.start;
const EMPTY = { text: "", attribute: "", answers: "", none: false };
const MOST = 24; // letters of a derived name

/** Returns a text as a name for addresses and tables, such as "do-you-smoke". */
function nameFrom(text, most = 64) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = plain.split(/[^a-z0-9]+/).filter(Boolean);
  while (words.length > 1 && words.join("-").length > most) words.pop();
  return words.join("-").slice(0, most);
}

/** Lets the control `to` follow the control `from`, until somebody writes into it. */
export function derive(from, to, most) {
  const own = () => nameFrom(from.value, most);
  let free = to.value === "" || to.value === own();
  from.addEventListener("input", () => {
    if (!free) return;
    to.value = own();
    to.dispatchEvent(new Event("input", { bubbles: true }));
  });
  to.addEventListener("input", ({ isTrusted }) => {
    if (isTrusted) free = to.value === "";
  });
}

/** Returns the questions of a form. `change` is called when one is added or removed. */
export function makeQuestions(drafts, change) {
  const list = make("div");
  let questions = [];
  const number = () => questions.forEach((each, i) => each.number(i + 1, questions.length > 1));
  const add = (draft) => {
    const made = makeQuestion(draft, () => {
      const at = questions.indexOf(made);
      questions = questions.filter((each) => each !== made);
      made.element.remove();
      number();
      questions[Math.min(at, questions.length - 1)].focus();
      change();
    });
    questions.push(made);
    list.append(made.element);
    number();
    return made;
  };
  drafts.forEach(add);
  const another = () => {
    add(EMPTY).focus();
    change();
  };
  const button = make("button", { type: "button", on: { click: another } }, TEXTS.addQuestion);
  const element = make("div", {}, list, button);
  const read = () => questions.map((each) => each.read());
  const check = () => {
    const names = read().map(({ attribute }) => attribute);
    return questions.flatMap((each, i) => each.check(names.indexOf(names[i]) < i));
  };
  return { element, read, check };
}

function makeQuestion(draft, remove) {
  const text = make("input", { value: draft.text, maxlength: 200, autocomplete: "off" });
  const attribute = make("input", { value: draft.attribute, maxlength: 64, autocomplete: "off" });
  const answers = make("textarea", { rows: 4 }, draft.answers);
  const none = tick(TEXTS.none, TEXTS.noneHint, { checked: draft.none });
  const fields = {
    text: field(TEXTS.questionText, text), answers: field(TEXTS.answers, answers, TEXTS.answersHint),
    attribute: field(TEXTS.attribute, attribute, TEXTS.attributeHint),
  };
  derive(text, attribute, MOST);
  const button = make("button", { type: "button", class: "plain", on: { click: remove } });
  const legend = make("legend");
  const element = make("fieldset", {}, legend, fields.text, fields.answers, none, fields.attribute, button);
  const read = () => ({
    text: text.value.trim(), attribute: attribute.value.trim(), answers: answers.value,
    none: none.querySelector("input").checked,
  });
  const number = (own, several) => {
    legend.textContent = TEXTS.questionNumber(own);
    button.textContent = TEXTS.removeQuestion(own);
    button.hidden = !several;
  };
  /** Says what is wrong beside its field, and returns the controls with faults. */
  const check = (taken) => {
    const now = read(), labels = labelsOf(now);
    const twice = new Set(labels).size < labels.length;
    // Without a question, its own fault says enough
    const problem = now.attribute ? taken && TEXTS.attributeTaken : now.text && TEXTS.attributeMissing;
    return checkAll([
      [fields.text, text, !now.text && TEXTS.questionMissing],
      [fields.answers, answers, labels.length < 2 ? TEXTS.answersMissing : twice && TEXTS.answersTwice],
      [fields.attribute, attribute, problem],
    ]);
  };
  return { element, read, number, check, focus: () => text.focus() };
}

/** Returns the answers that a question offers. */
export const labelsOf = ({ answers, none }) =>
  [...answers.split("\n").map((line) => line.trim()).filter(Boolean), ...(none ? [TEXTS.noAnswer] : [])];

/** Returns the parts of a spec that come from questions, or null if one is not complete. */
export function attributesOf(questions) {
  const complete = questions.every((each) => {
    const labels = labelsOf(each);
    return each.attribute && labels.length > 1 && new Set(labels).size === labels.length;
  });
  const attributes = Object.fromEntries(questions.map((each) => [each.attribute, labelsOf(each)]));
  if (!complete || Object.keys(attributes).length < questions.length) return null;
  return { attributes, ...(questions.some(({ none }) => none) ? { missing: TEXTS.noAnswer } : {}) };
}
