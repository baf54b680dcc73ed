/** What the playground shows: reports that arrive, estimates that form, and one report by itself. */
import { bar } from "./chart.mjs";
import { count, factor, hexOf, make, percent, percentWithin, say } from "./page.mjs";
import { letter } from "./playsetup.mjs";
import { TEXT } from "./strings.mjs";

const SCALES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1];

/** Returns a share as percentage points in two digits, such as "1.2" or "0.043". */
export const points = (share) => count(Number((100 * share).toPrecision(2)));

const columns = (texts, numbers) => make("thead", {}, make("tr", {}, texts.map((text, i) =>
  make("th", { scope: "col", class: numbers.includes(i) ? "number" : null }, text))));

const listed = (values) => (values.length ? values.map(letter).join(" ") : TEXT.play.none);

/** Returns the reports that came one by one as a table. */
export function showArrivals(arrivals, revealed) {
  const { play } = TEXT;
  return make("table", {},
    make("caption", {}, play.arrivalsCaption(arrivals.length)),
    columns(play.arrivals, []),
    make("tbody", {}, arrivals.map(({ user, value, report, supports }) => make("tr", {},
      make("td", {}, count(user)),
      make("td", {}, revealed ? letter(value) : make("span", { class: "quiet" }, play.hidden)),
      make("td", {}, make("code", {}, hexOf(report))),
      make("td", {}, listed(supports))))));
}

/** Returns the limit of the axis, such that the intervals to expect fit. */
export function scaleOf(shares, half) {
  const most = Math.max(...shares) + 2 * half;
  return SCALES.find((each) => each >= most) ?? 1;
}

/** Returns the estimates as a table, with a bar under each. */
export function showEstimates(estimates, scale) {
  const { play } = TEXT;
  return make("table", { class: "estimates" },
    make("caption", {}, play.estimatesCaption(percent(scale, 0))),
    columns(play.estimates, [1, 2]),
    make("tbody", {}, estimates.map((each, value) => make("tr", {},
      make("th", { scope: "row" }, letter(value)),
      make("td", { class: "number" }, count(each.count)),
      make("td", { class: "number" }, percent(known(each.truth))),
      make("td", {}, showEstimate(each, scale))))));
}

function showEstimate({ frequency, half, low, high, truth }, scale) {
  if (Number.isNaN(frequency)) return [TEXT.common.unknown, bar(null)];
  const missed = contains({ low, high, truth }) ? "" : ` ${TEXT.play.missed}`;
  const limits = { low: low / scale, high: high / scale, truth: truth / scale };
  return [percentWithin(frequency, half), make("small", {}, missed), bar(frequency / scale, limits)];
}

const known = (share) => (Number.isNaN(share) ? null : share);
const contains = ({ low, high, truth }) => low <= truth && truth <= high;

/** Returns sentences that compare the errors so far with those to expect. */
export function showErrors(estimates, done, halves) {
  const { play } = TEXT, expected = Object.fromEntries(
    Object.entries(halves).map(([name, half]) => [name, points(half)]));
  if (!done) return [say(play.planned(expected.users)), say(play.compared(expected), "quiet")];
  const errors = estimates.map(({ frequency, truth }) => Math.abs(frequency - truth));
  return [
    say(play.errors(points(Math.max(...errors)), expected.users)),
    say(play.covered(estimates.filter(contains).length, estimates.length)),
    say(play.compared(expected), "quiet"),
  ];
}

/** Returns one sentence about a report. */
export const tellOne = ({ supports }) => TEXT.play.drawn(listed(supports), supports.length);

/**
 * Returns how likely one report is for each true answer.
 *
 * `largest` is the largest ratio in `many` reports, and `bound` is e^ε. A `data` element has the whole number.
 */
export function showOne({ value, report, parts, ratio }, { bound, largest, many }) {
  const { play } = TEXT, exact = (number) => make("data", { value: number }, factor(number));
  return [
    make("code", { class: "bytes", tabindex: 0, "aria-label": TEXT.report.bytes(report.length) }, hexOf(report)),
    make("table", {},
      make("caption", {}, play.oneCaption(factor(1 / bound))),
      columns([TEXT.report.trueAnswer, play.chance, TEXT.report.likely], [2]),
      make("tbody", {}, parts.map((part, each) => make("tr", {},
        make("th", { scope: "row" }, letter(each), each === value ? make("small", {}, ` ${play.true}`) : null),
        make("td", { class: "bar" }, bar(part, { truth: 1 / bound, kind: each === value ? "own" : "share" })),
        make("td", { class: "number" }, "× ", exact(part)))))),
    make("p", {}, play.ratio[0], exact(ratio), play.ratio[1](factor(bound))),
    make("p", {}, play.largest(many), exact(largest), "."),
  ];
}
