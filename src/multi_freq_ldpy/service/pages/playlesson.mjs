/** A short lesson: set-ups to try one after the other, each with the error that it leads to. */
import { make, say } from "./page.mjs";
import { PROTOCOLS, START, sharesOf } from "./playsetup.mjs";
import { expectedHalves } from "./playrun.mjs";
import { points } from "./playviews.mjs";
import { TEXT } from "./strings.mjs";

/** What the steps change in the first set-up. The first one is about a single report. */
const STEPS = [
  {},
  { epsilon: 0.1 },
  { epsilon: 3 },
  { n: 100 },
  { n: 100_000 },
  { k: 20 },
  { k: 20, protocol: "OUE" },
  { k: 5, protocol: "OUE", shares: "rare" },
];

/** Returns the lesson. `begin` gets the set-up of a step, and whether it runs. */
export function showLesson(begin) {
  const { play } = TEXT, shown = make("div", { "aria-live": "polite" }, say(play.lessonIntro));
  let at = -1;
  const go = (by) => () => {
    at += by;
    const setup = { ...START, ...STEPS[at] }, [action, question] = play.steps[at];
    shown.replaceChildren(
      make("h3", {}, play.lessonStep(at + 1, STEPS.length, action)), say(question(expectedHalf(setup))));
    next.textContent = play.next;
    back.hidden = false;
    back.disabled = at === 0;
    next.disabled = at === STEPS.length - 1;
    begin(setup, at > 0);
  };
  const next = make("button", { type: "button", on: { click: go(1) } }, play.startLesson);
  const back = make("button", { type: "button", hidden: true, on: { click: go(-1) } }, play.back);
  return make("section", { class: "card promise" },
    make("h2", {}, play.lesson), shown, make("div", { class: "row" }, next, back));
}

function expectedHalf(setup) {
  const { protocol, k, epsilon, n } = setup;
  return points(expectedHalves(PROTOCOLS[protocol]({ k, epsilon }), sharesOf(setup), n).users);
}
