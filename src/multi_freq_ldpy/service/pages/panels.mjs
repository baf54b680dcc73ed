/** Panels of a dashboard: what malicious users could do, and what the survey promises. */
import { card } from "./fields.mjs";
import { count, make, odds, offerFile, percent, say } from "./page.mjs";
import { questionsOf } from "./results.mjs";
import { TEXT } from "./strings.mjs";

const NORMAL = 3; // the place of the stop of 1 % of the users

/** Returns the panel of malicious users. `update(round)` takes the figures of another round. */
export function makeRisk(survey) {
  const questions = questionsOf(survey), TEXTS = TEXT.risk;
  const slider = make("input", { type: "range", min: 0, step: 1, value: NORMAL, "aria-label": TEXTS.slider });
  const said = make("p"), shifts = make("ul"), none = say(TEXTS.none);
  const body = make("div", {}, slider, said, shifts);
  let round = null;
  const show = () => {
    const found = round?.influence ?? null;
    [body.hidden, none.hidden] = [!found, Boolean(found)];
    if (!found) return;
    slider.max = found.stops.length - 1;
    const { users, shift } = found.stops[Number(slider.value)];
    said.textContent = TEXTS.said(count(users), count(round.users), percent(users / round.users));
    slider.setAttribute("aria-valuetext", said.textContent);
    shifts.replaceChildren(...Object.entries(shift).map(([name, worst]) => make("li", {},
      TEXTS.shift(questions[name], (100 * Math.min(1, worst)).toFixed(1)))));
  };
  slider.addEventListener("input", show);
  const element = card(TEXTS.heading, say(TEXTS.means), body, none, say(TEXTS.rule[survey.submission], "quiet"));
  return { element, update: (shown) => { round = shown; show(); } };
}

/** Returns the promise of a survey: its losses as odds and numbers, its digest and its spec. */
export function showPromise({ name, digest, spec, privacy }) {
  const TEXTS = TEXT.promise, { report, lifetime, history } = privacy;
  // A loss without a bound says nothing. A history has one budget for all that a device sends.
  const losses = history !== null ? { history } : { report, lifetime };
  const facts = Object.entries(losses).filter(([, loss]) => loss !== null).map(([kind, loss]) =>
    [make("dt", {}, TEXTS[kind]), make("dd", {}, TEXTS.loss(odds(loss), loss))]);
  const download = () => offerFile(`${name}.json`, JSON.stringify(spec, null, 2));
  return card(TEXTS.heading, say(privacy.sentence),
    make("dl", { class: "facts" }, facts, make("dt", {}, TEXTS.digest), make("dd", {}, make("code", {}, digest))),
    say(TEXTS.digestMeans, "quiet"),
    make("button", { type: "button", on: { click: download } }, TEXTS.download));
}
