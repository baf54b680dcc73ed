/** States of the respondent's page: one heading and some sentences each, and an error for each failure. */
import { Damaged, NoStorage } from "./device.mjs";
import { NoAnswer, Refused } from "./ldp.mjs";
import { heading } from "./overtime.mjs";
import { Problem, Unreachable, explainError, make, say } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const T = TEXT.answer;
/** States in which a person is busy. They stand below the explanations, and all others above them. */
const BUSY = ["consent", "questions", "sending", "sent", "waiting", "limit"];

const main = document.querySelector("main");
const notice = make("section"), work = make("section");

/** Returns the state that the page shows. */
export const stateOf = () => main.dataset.state;

/** Shows that the page loads. */
export function showLoading() {
  main.dataset.state = "loading";
  notice.replaceChildren(say(T.loading));
  main.replaceChildren(notice, work);
}

/** Puts the title, the explanations above the questions, and those below them, around the states. */
export function surround(title, above, below) {
  main.replaceChildren(...flat([title, notice, above, work, below]));
}

const flat = (parts) => parts.flat(Infinity).filter(Boolean);

/** Replaces what the page shows. After the first state, the heading of each state gets the focus. */
export function show(state, ...parts) {
  const first = main.dataset.ready === undefined;
  const [used, empty] = BUSY.includes(state) ? [work, notice] : [notice, work];
  empty.replaceChildren();
  used.replaceChildren(...flat(parts));
  main.dataset.state = state;
  main.dataset.ready = "";
  if (!first) used.querySelector("h1, h2")?.focus();
}

/** Returns a box with a title and sentences. */
export function box([title, ...texts], kind, ...more) {
  const head = main.querySelector("h1") ? heading(title) : make("h1", { tabindex: -1 }, title);
  return make("div", { class: `card ${kind}` }, head, texts.filter(Boolean).map((each) => say(each)), more);
}

/** Shows a state that is a box alone. */
export const tell = (state, sentences, ...more) => show(state, box(sentences, "warning", more));

/** Returns a button. Its errors are shown. */
export const button = (text, click, kind) =>
  make("button", { type: "button", class: kind, on: { click: () => void attempt(click) } }, text);

/** Shows an error. Nothing was drawn where it can come from. */
export function fail(error) {
  if (error instanceof Problem && error.status === 404) return tell("missing", T.missing);
  if (error instanceof NoStorage) return tell("storage", T.storage, say(T.storageSays(error.message), "quiet"));
  if (error instanceof Damaged) return tell("damaged", T.damaged);
  const retry = button(T.retry, () => location.reload());
  const lost = error instanceof Unreachable || error instanceof NoAnswer;
  if (lost) return tell("unreachable", T.unreachable, retry);
  const { title, undrawn } = T.refused;
  if (error instanceof Refused) return tell("refused", [title, reasonOf(error), undrawn], retry);
  console.error(error);
  return tell("fault", [T.fault, explainError(error)], retry);
}

/** Returns why the service refused a report. */
export const reasonOf = ({ kind, message }) =>
  (Object.hasOwn(T.refused.kinds, kind) ? T.refused.kinds[kind] : T.refused.other(message));

/** Does something, and shows the error if it fails. */
export async function attempt(action) {
  try {
    await action();
  } catch (error) {
    fail(error);
  }
}
