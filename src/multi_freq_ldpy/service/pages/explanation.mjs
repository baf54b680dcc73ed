/** What one report says: in words, in bars and in bytes. */
import { bar } from "./chart.mjs";
import { factor, hexOf, make, say, textOf } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const MOST_SHOWN = 12; // answers of a question that get a bar of their own

/**
 * Returns the explanation of a report: one part per question, then the bytes.
 *
 * `explained` is what `survey.explain(report, answers)` returned. `answers` stay on the device. They
 * are `{}` where nobody knows them any more.
 */
export function showReport(report, explained, answers, questionOf = textOf) {
  return make("div", {},
    explained.map((each) => showQuestion(
      each, Object.hasOwn(answers, each.attribute) ? answers[each.attribute] : undefined, questionOf(each.attribute),
    )),
    showBytes(report),
  );
}

/** Returns the bytes of a report under their heading. */
export function showBytes(report) {
  const title = TEXT.report.bytes(report.length);
  return [
    make("h3", {}, title),
    make("code", { class: "bytes", tabindex: 0, role: "group", "aria-label": title }, hexOf(report)),
  ];
}

/** Returns one sentence that says what a report says of a question. */
export function sentenceOf({ sent, supports, odds }, question) {
  const named = supports.map((label) => TEXT.common.quoted(textOf(label)));
  if (sent === false) return TEXT.report.notAsked(question);
  if (!named.length) return TEXT.report.supportsNone(question);
  const many = named.length > MOST_SHOWN ? TEXT.report.many(named.length, odds.length) : TEXT.common.list(named);
  if (sent === null) return TEXT.report.hidden(question, many);
  return named.length === 1 ? TEXT.report.says(question, many) : TEXT.report.supports(question, many);
}

function showQuestion(explained, own, question) {
  const { sent, odds } = explained;
  const parts = [make("h3", {}, question), say(sentenceOf(explained, question))];
  if (sent !== false) parts.push(showOdds(odds, own));
  if (sent !== false && own !== undefined) parts.push(say(compare(odds, own), "quiet"));
  return parts;
}

/** Returns the odds as a table whose bars have the length of the probabilities. */
export function showOdds(odds, own) {
  const most = Math.max(...odds.map(({ times }) => times)), shown = pick(odds, own);
  const rows = shown.map(({ label, times }) => make("tr", {},
    make("th", { scope: "row" }, textOf(label), label === own ? make("small", {}, ` ${TEXT.report.yours}`) : null),
    make("td", { class: "bar" }, bar(times / most, { kind: label === own ? "own" : "share" })),
    make("td", { class: "number" }, TEXT.report.times(factor(times / most)))));
  const rest = odds.length - shown.length;
  return make("div", {},
    make("table", { class: "odds" },
      make("caption", {}, TEXT.report.caption),
      make("thead", {}, make("tr", {},
        [TEXT.report.trueAnswer, "", TEXT.report.likely].map((text, i) =>
          (text ? make("th", { scope: "col", class: i === 2 ? "number" : null }, text) : make("td", {}))))),
      make("tbody", {}, rows)),
    rest ? say(TEXT.report.rest(rest), "quiet") : null);
}

/** Returns the answers that get a bar: the own one, and the likeliest and least likely others. */
function pick(odds, own) {
  if (odds.length <= MOST_SHOWN) return odds;
  const order = [...odds].sort((a, b) => Number(b.label === own) - Number(a.label === own) || b.times - a.times);
  const chosen = new Set([...order.slice(0, MOST_SHOWN - 3), ...order.slice(-3)]);
  return odds.filter((each) => chosen.has(each));
}

/** Returns a sentence that compares the own answer with the one that differs most from it. */
function compare(odds, own) {
  const mine = odds.find(({ label }) => label === own).times;
  const away = ({ times }) => Math.abs(Math.log(times / mine));
  const far = odds.reduce((best, each) => (away(each) > away(best) ? each : best));
  if (far.label === own || far.times === mine) return TEXT.report.same;
  const label = TEXT.common.quoted(textOf(far.label));
  return far.times > mine
    ? TEXT.report.moreOften(label, factor(far.times / mine))
    : TEXT.report.lessOften(label, factor(mine / far.times));
}
