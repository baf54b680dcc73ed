/** The form that makes a survey. Nothing that was typed is lost while the tab is open. */
import { budgetsOf, makeBudget, makePlan, scheduleOf } from "./budget.mjs";
import { checkAll, choose, field, tick } from "./fields.mjs";
import { attributesOf, derive, makeQuestions } from "./formquestions.mjs";
import { ask, explainError, make } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const DRAFT = "draft";
const MOST = 2 ** 31;
const TEXTS = TEXT.start;
const EMPTY = {
  title: "", asker: "", purpose: "", name: "", questions: [{ text: "", attribute: "", answers: "", none: false }],
  often: "once", epsilon: 2, lifetime: 3, first: 1.5, rounds: "manual", days: 7, starts: "", users: 1000,
  submission: "open", keep: false, public: false, min_users: 100, step: 20,
};

/** Returns the draft that this tab keeps, or an empty one. */
const readDraft = () => ({ ...EMPTY, ...JSON.parse(sessionStorage.getItem(DRAFT) ?? "{}") });

/** Returns true if this tab keeps a draft. */
export const hasDraft = () => sessionStorage.getItem(DRAFT) !== null;

/** Returns the form. `finish(survey)` is called with the survey that was made. */
export function makeForm(token, finish) {
  const draft = readDraft();
  const title = make("input", { value: draft.title, maxlength: 200, autocomplete: "off" });
  const asker = make("input", { value: draft.asker, maxlength: 200, autocomplete: "organization" });
  const purpose = make("textarea", { rows: 2, maxlength: 2000 }, draft.purpose);
  const name = make("input", { value: draft.name, maxlength: 64, autocomplete: "off", spellcheck: "false" });
  derive(title, name);
  const questions = makeQuestions(draft.questions, () => changed());
  const budget = makeBudget(draft), plan = makePlan(draft, token);
  const least = make("input", { type: "number", min: 1, value: draft.min_users, inputmode: "numeric" });
  const step = make("input", { type: "number", min: 1, value: draft.step, inputmode: "numeric" });
  const keep = tick(TEXTS.keep, TEXTS.keepHint, { checked: draft.keep });
  const open = tick(TEXTS.public, TEXTS.publicHint, { checked: draft.public });
  const fields = {
    title: field(TEXTS.titleOf, title), asker: field(TEXTS.asker, asker, TEXTS.askerHint),
    purpose: field(TEXTS.purpose, purpose, TEXTS.purposeHint), name: field(TEXTS.name, name, TEXTS.nameHint),
    least: field(TEXTS.minUsers, least), step: field(TEXTS.step, step, TEXTS.stepHint),
  };
  const releases = make("div", {}, fields.least, fields.step);
  const rule = choose(TEXTS.submission, "submission", TEXTS.submissions, draft.submission);
  const said = make("p", { class: "error", role: "alert" });

  const read = () => ({
    title: title.value.trim(), asker: asker.value.trim(), purpose: purpose.value.trim(), name: name.value.trim(),
    questions: questions.read(), ...budget.read(), ...plan.read(),
    submission: rule.querySelector(":checked").value, keep: keep.querySelector("input").checked,
    public: open.querySelector("input").checked, min_users: least.value, step: step.value,
  });
  const show = (now = read()) => {
    const asked = attributesOf(now.questions);
    releases.hidden = !now.public;
    const budgets = budgetsOf(now);
    plan.update(asked && budgets && { ...asked, ...budgets });
  };
  const changed = () => {
    const now = read();
    sessionStorage.setItem(DRAFT, JSON.stringify(now));
    said.textContent = "";
    show(now);
  };
  /** Says what is wrong beside its field, and returns the controls with faults. */
  const check = () => {
    const now = read();
    const whole = (value) => Number.isInteger(Number(value)) && value >= 1 && value <= MOST;
    return [
      ...checkAll([
        [fields.title, title, !now.title && TEXTS.titleMissing],
        [fields.name, name, !/^[a-z0-9-]{1,64}$/.test(now.name) && TEXTS.nameWrong],
      ]),
      ...questions.check(), ...budget.check(),
      ...checkAll([
        [fields.least, least, now.public && !whole(now.min_users) && TEXTS.numberWrong],
        [fields.step, step, now.public && !whole(now.step) && TEXTS.numberWrong],
      ]),
    ];
  };
  let busy = false;
  const submit = async (event) => {
    event.preventDefault();
    const [faulty] = check();
    said.textContent = faulty ? TEXTS.faults : "";
    if (faulty) return faulty.focus();
    if (busy) return undefined;
    busy = true;
    try {
      const made = await create(read(), event.submitter?.value !== "draft", token);
      sessionStorage.removeItem(DRAFT);
      finish(made);
    } catch (error) {
      const taken = error.kind === "name-taken";
      fields.name.fail(taken ? TEXTS.nameTaken : "");
      said.textContent = taken ? TEXTS.faults : explainError(error);
      if (taken) name.focus();
    }
    busy = false;
    return undefined;
  };

  const part = (heading, ...parts) => [make("h3", {}, heading), parts];
  const on = { submit, input: changed, change: changed };
  const form = make("form", { novalidate: true, autocomplete: "off", on },
    part(TEXTS.partAbout, fields.title, fields.asker, fields.purpose, fields.name),
    part(TEXTS.partQuestions, questions.element),
    part(TEXTS.partPrivacy, budget.element),
    part(TEXTS.partErrors, plan.element),
    part(TEXTS.partCollection, rule, keep, open, releases),
    said,
    make("div", { class: "row" },
      make("button", { class: "main", value: "open" }, TEXTS.createAndOpen),
      make("button", { value: "draft" }, TEXTS.createDraft)));
  show();
  return form;
}

/** Makes a survey, and opens it if wanted. To repeat this changes nothing more. */
async function create(given, open, token) {
  const { name, title, asker, purpose, submission, keep } = given;
  const questions = Object.fromEntries(given.questions.map(({ attribute, text }) => [attribute, text]));
  const content = {
    name, submission, keep, public: given.public,
    ...(given.public ? { min_users: Number(given.min_users), step: Number(given.step) } : {}),
    spec: { ...attributesOf(given.questions), ...budgetsOf(given) },
    about: { title, asker, purpose, questions },
    ...scheduleOf(given),
  };
  const made = await ask("POST", "/v1/surveys", { token, content });
  if (made.state !== "draft") return made;
  const { public: shown, min_users, step } = content; // an earlier try may have made it with others
  const change = { public: shown, ...(shown && { min_users, step }), ...(open && { state: "open" }) };
  return ask("PATCH", `/v1/surveys/${name}`, { token, content: change });
}
