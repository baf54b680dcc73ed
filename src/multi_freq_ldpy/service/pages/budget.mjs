/** The promise of a new survey: its budgets in words, and the errors that they bring. */
import { checkAll, choose, field } from "./fields.mjs";
import { ask, count, explainError, make, odds, percentAtMost, say } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const Z = 1.959963984540054; // of an interval of 95 %
const PAUSE = 300; // milliseconds without typing, before the errors are asked for
const TEXTS = TEXT.start;

/** Returns a slider for a budget ε, with its meaning as odds and as a guess. `texts` are its own. */
function makeSlider(texts, value, most) {
  const slider = make("input", { type: "range", min: 0.1, max: most, step: 0.1, value });
  const meaning = make("p"), guess = make("p", { class: "quiet" });
  const show = () => {
    const epsilon = Number(slider.value), sure = 1 / (1 + Math.exp(-epsilon));
    meaning.textContent = texts.odds(epsilon, odds(epsilon));
    guess.textContent = texts.guess(percentAtMost(sure));
    slider.setAttribute("aria-valuetext", meaning.textContent);
  };
  slider.addEventListener("input", show);
  show();
  const asked = field(texts.label, slider, texts.hint);
  const element = make("div", {}, asked, meaning, guess);
  return { element, slider, fail: asked.fail, read: () => Number(slider.value) };
}

/** Returns the fields of the budgets and of the times. `draft` has their values. */
export function makeBudget(draft) {
  const once = makeSlider(TEXTS.report, draft.epsilon, 6);
  const lifetime = makeSlider(TEXTS.lifetime, draft.lifetime, 10);
  const first = makeSlider({ ...TEXTS.report, hint: TEXTS.firstHint }, draft.first, 6);
  const days = make("input", { type: "number", min: 1, max: 10_000, value: draft.days, inputmode: "numeric" });
  const starts = make("input", { type: "datetime-local", value: draft.starts });
  const length = field(TEXTS.days, days), start = field(TEXTS.starts, starts, TEXTS.startsHint);
  const clock = make("div", {}, length, start);
  const rounds = choose(TEXTS.rounds, "rounds", TEXTS.roundChoices, draft.rounds);
  const again = make("div", {}, lifetime.element, first.element, rounds, clock);
  const often = choose(TEXTS.often, "often", TEXTS.oftenChoices, draft.often);
  const element = make("div", {}, often, once.element, again);
  const chosen = (name) => element.querySelector(`input[name="${name}"]:checked`).value;
  const show = () => {
    again.hidden = chosen("often") === "once";
    once.element.hidden = !again.hidden;
    clock.hidden = chosen("rounds") === "manual";
  };
  element.addEventListener("change", show);
  show();
  const read = () => ({
    often: chosen("often"), epsilon: once.read(), lifetime: lifetime.read(), first: first.read(),
    rounds: chosen("rounds"), days: days.value, starts: starts.value,
  });
  /** Says what is wrong beside its field, and returns the controls with faults. */
  const check = () => {
    const repeated = chosen("often") === "again", timed = repeated && chosen("rounds") === "timed";
    const many = Number(days.value);
    return checkAll([
      [first, first.slider, repeated && first.read() >= lifetime.read() && TEXTS.firstTooLarge],
      [length, days, timed && !(Number.isInteger(many) && many >= 1 && many <= 10_000) && TEXTS.daysWrong],
      [start, starts, timed && starts.validity.badInput && TEXTS.startsWrong],
    ]);
  };
  return { element, read, check };
}

/** Returns the budgets of what `read` returned, as a spec has them, or null if they do not go together. */
export function budgetsOf({ often, epsilon, lifetime, first }) {
  if (often === "once") return { epsilon };
  return first < lifetime ? { eps_perm: lifetime, eps_1: first } : null;
}

/** Returns the schedule of what `read` returned, or nothing where rounds begin by hand. */
export function scheduleOf({ often, rounds, days, starts }) {
  if (often === "once" || rounds === "manual") return {};
  const from = starts ? new Date(starts) : new Date();
  return { schedule: { starts: Math.floor(from / 1000), period: 86_400 * Number(days) } };
}

/** Returns the errors to expect. `update(spec)` asks for them, and null says that questions are missing. */
export function makePlan(draft, token) {
  const users = make("input", { type: "number", min: 1, value: draft.users, inputmode: "numeric" });
  const asked = field(TEXTS.users, users), shown = make("div", { role: "status" });
  let timer, wanted = null, latest = 0;
  const show = async () => {
    const many = Number(users.value), own = ++latest;
    const valid = Number.isSafeInteger(many) && many >= 1;
    asked.fail(valid ? "" : TEXTS.usersWrong);
    if (!wanted || !valid) return shown.replaceChildren(wanted ? "" : say(TEXTS.planMissing, "quiet"));
    let parts;
    try {
      const { attributes } = await ask("POST", "/v1/plan", { token, content: { spec: wanted, users: many } });
      parts = [showErrors(attributes, many), attributes.length > 1 ? say(TEXTS.sampled, "quiet") : ""];
    } catch (error) {
      parts = [say(explainError(error), "error")];
    }
    return own === latest ? shown.replaceChildren(...parts) : undefined;
  };
  const update = (spec) => {
    wanted = spec;
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  };
  return { element: make("div", {}, asked, shown), update, read: () => ({ users: users.value }) };
}

function showErrors(attributes, users) {
  const rows = attributes.map(({ name, largest }) => make("tr", {},
    make("th", { scope: "row" }, name),
    make("td", { class: "number" },
      largest === null ? TEXTS.errorUnknown : TEXTS.points((100 * Z * largest).toFixed(1)))));
  return make("table", {}, make("caption", {}, TEXTS.errors(count(users))),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, TEXTS.question),
      make("th", { scope: "col", class: "number" }, TEXTS.within))),
    make("tbody", {}, rows));
}
