/** What a survey has found: shares with their errors, one round or many. */
import { bar, lines } from "./chart.mjs";
import { count, make, percent, percentWithin, say, textOf } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const UNSURE = 100; // users below which shares are shown as unsure
const SCALES = [0.1, 0.25, 0.5, 1]; // tops of the charts over rounds

/** Returns the distance to the far end of the interval of a value, or null where it has none. */
const halfOf = ({ frequency, low, high }) =>
  (frequency === null || low === null ? null : Math.max(high - frequency, frequency - low));

/** Returns the questions of a survey by attribute. An attribute without one has its name. */
export function questionsOf({ spec, about }) {
  const given = new Map(Object.entries(about.questions));
  return Object.fromEntries(spec.attributes.map(({ name }) => [name, given.get(name) || name]));
}

/**
 * Returns the tables of a round, one per attribute, which are charts at the same time.
 *
 * `update(round)` changes figures in place, so that a reader of the table keeps the place.
 */
export function makeShares(survey) {
  const questions = questionsOf(survey);
  const tables = survey.spec.attributes.map((each) => makeTable(each, questions[each.name]));
  const sure = make("p", { class: "quiet" });
  const update = (round) => {
    sure.textContent = sureness(round);
    tables.forEach((table, a) => table.update(round.attributes[a].values, round.users < UNSURE));
  };
  const element = make("div", {}, sure, make("div", { class: "columns" }, tables.map((each) => each.element)));
  return { element, update };
}

/** Returns a sentence about how exact the shares of a round are. */
export function sureness({ users, needed }) {
  const TEXTS = TEXT.dashboard;
  const few = users ? TEXTS.unsure : TEXTS.noReports;
  const kind = users < UNSURE ? `${few} ` : "";
  if (needed === null) return kind + TEXTS.neededUnknown;
  return kind + (needed ? TEXTS.needed(count(needed)) : TEXTS.enough);
}

function makeTable({ name, categories }, question) {
  const rows = categories.map((label) => {
    const [number, chart] = [make("td", { class: "number" }), make("td", { class: "bar" })];
    return { number, chart, element: make("tr", {}, make("th", { scope: "row" }, textOf(label)), number, chart) };
  });
  const head = make("tr", {}, make("th", { scope: "col" }, TEXT.dashboard.answer),
    make("th", { scope: "col", class: "number" }, TEXT.dashboard.share), make("td"));
  const table = make("table", { class: "shares" },
    make("caption", { class: "hidden" }, question), make("thead", {}, head),
    make("tbody", {}, rows.map(({ element }) => element)));
  const update = (values, unsure) => {
    values.forEach((value, v) => {
      const { number, chart } = rows[v], { low, high } = value.frequency === null ? {} : value;
      const text = percentWithin(value.frequency, halfOf(value));
      if (number.textContent !== text) number.textContent = text;
      chart.replaceChildren(bar(value.frequency, { low, high, kind: unsure ? "share unsure" : "share" }));
    });
  };
  const heading = make("h3", {}, question, question === name ? null : make("small", {}, ` ${name}`));
  return { element: make("section", { "data-attribute": name }, heading, table), update };
}

/** Returns the charts over rounds, one small chart per answer, with their figures in tables. */
export function makeHistory(survey) {
  const questions = questionsOf(survey);
  const charts = make("div", { class: "columns" }), figures = make("div");
  const details = make("details", {}, make("summary", {}, TEXT.dashboard.figures), figures);
  const element = make("section", { hidden: true }, make("h2", {}, TEXT.dashboard.overRounds), charts, details);
  const update = (rounds) => {
    element.hidden = rounds.length < 2;
    if (element.hidden) return;
    const parts = survey.spec.attributes.map((each, a) => showAttribute(each, questions[each.name], a, rounds));
    charts.replaceChildren(...parts.map(({ small }) => small));
    figures.replaceChildren(...parts.map(({ table }) => table));
  };
  return { element, update };
}

function showAttribute({ categories }, question, a, rounds) {
  const series = categories.map((_, v) => rounds.map(({ attributes }) => pointOf(attributes[a].values[v])));
  const highest = Math.max(0, ...series.flat().map(({ high }) => high ?? 0));
  const most = SCALES.find((top) => highest <= top) ?? 1;
  const [first, last] = [rounds[0].round, rounds.at(-1).round];
  const small = make("section", {},
    make("h3", {}, question),
    say(TEXT.dashboard.scale(first, last, percent(most, 0)), "quiet"),
    make("div", { class: "small-charts" }, categories.map((label, v) => make("figure", {},
      make("figcaption", {}, textOf(label), make("strong", {}, percent(series[v].at(-1).share))),
      lines([series[v]], { height: 72, most })))));
  const rows = rounds.map(({ round, users, attributes }) => make("tr", {},
    make("th", { scope: "row" }, textOf(round)), make("td", { class: "number" }, count(users)),
    attributes[a].values.map((value) => make("td", { class: "number" },
      percentWithin(value.frequency, halfOf(value))))));
  const head = [TEXT.dashboard.round, TEXT.dashboard.reports, ...categories.map(textOf)].map((text, i) =>
    make("th", { scope: "col", class: i ? "number" : null }, text));
  const table = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": question },
    make("table", {}, make("caption", {}, question),
      make("thead", {}, make("tr", {}, head)),
      make("tbody", {}, rows)));
  return { small, table };
}

/** Returns a point of a chart: a share with the limits of its interval, where it has some. */
const pointOf = ({ frequency: share, low, high }) => ({ share, low: low ?? share, high: high ?? share });
