/** What a respondent reads around the questions: who asks, the promise, how it works, and why. */
import { certaintyOf, exampleOf } from "./chances.mjs";
import { isHistory } from "./device.mjs";
import { count, make, odds, percent, percentAtMost, say, textOf } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const T = TEXT.answer;
const BEFORE = 0.9; // sureness of somebody before a report, as a second example
const UNITS = [["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** Returns a number of seconds in the largest unit that fits, such as "2 weeks". */
export function duration(seconds) {
  const [unit, size] = UNITS.find(([, size]) => seconds % size === 0);
  return T.duration(seconds / size, unit);
}

/** Returns a time, given in seconds since 1970, in the words of this place. */
export const timeOf = (seconds) =>
  new Date(1000 * seconds).toLocaleString(TEXT.language, { dateStyle: "long", timeStyle: "short" });

/** Returns when a round ends, in seconds since 1970. */
export const endOf = ({ starts, period }, round) => starts + (round + 1) * period;

/** Returns the bound of everything that is promised about unchanging answers: a number of times. */
export const boundOf = (survey) => {
  const { report, lifetime, history } = survey.privacy;
  return isHistory(survey) ? history : survey.longitudinal ? lifetime : report;
};

/** Returns the title of the survey, and its purpose. */
export const entitle = ({ name, about: { title, purpose } }) =>
  [make("h1", {}, title || name), purpose ? say(purpose, "lines") : null];

/** Returns what stands above the questions. */
export function introduce(survey, about) {
  return [
    showFacts(survey, about),
    showPromise(survey),
    showHow(survey, about),
  ];
}

/** Returns what stands below the questions. */
export function explain(survey, about) {
  const { faq } = T, { kept, submission } = about;
  const questions = faq.list({
    times: odds(boundOf(survey)), invite: submission === "invite", many: survey.attributes.length > 1,
    overTime: survey.longitudinal, kept, host: location.host,
  });
  return [
    make("h2", {}, T.links.title),
    showHandling(survey, about),
    make("details", {},
      make("summary", {}, faq.title),
      questions.map(([question, answer]) => [make("h3", {}, question), say(answer)])),
    about.public ? link(`../d/${about.name}`, T.links.results) : null,
    link("../play", T.links.play),
    list([[T.links.digest, make("code", {}, survey.digest)]]),
    say(T.links.same, "quiet"),
  ];
}

const link = (href, text) => make("p", {}, make("a", { href }, text));

/** Returns terms with what is said of them. */
export const list = (pairs) => make("dl", { class: "facts" },
  pairs.map(([term, ...texts]) => [make("dt", {}, term), make("dd", {}, texts.flatMap((each) => [each, " "]))]));

function showFacts(survey, about) {
  const { facts } = T;
  return list([
    [facts.asker, about.about.asker || facts.nobody(location.host)],
    [facts.time, timesOf(survey, about)],
    [facts.kept, about.kept ? facts.reports : facts.counts],
    [facts.results, about.public ? facts.everybody(count(about.min_users)) : facts.owner],
    [facts.who, facts[about.submission]],
  ]);
}

/** Returns how long the survey takes reports, in words. */
function timesOf(survey, { schedule, accepted }) {
  const { facts } = T, { rounds } = survey.solution;
  if (!survey.longitudinal) return schedule ? facts.until(timeOf(endOf(schedule, 0))) : facts.untilClosed;
  if (!schedule) return rounds ? facts.byHandOf(count(rounds)) : facts.byHand;
  const days = duration(schedule.period);
  const whole = rounds ? facts.roundsOf(count(rounds), days) : facts.rounds(days);
  if (!accepted.length) return whole;
  const round = Math.max(...accepted), ends = endOf(schedule, round);
  return `${whole} ${facts.presently(timeOf(ends))}`;
}

function showPromise(survey) {
  const { promise } = T, { privacy, attributes } = survey;
  const sure = percentAtMost(certaintyOf(boundOf(survey)));
  const said = isHistory(survey) ? promise.history(odds(privacy.history))
    : survey.longitudinal ? promise.repeated(odds(privacy.report), odds(privacy.lifetime))
      : (attributes.length > 1 ? promise.onceMany : promise.once)(odds(privacy.report));
  return make("section", { class: "card promise" },
    make("h2", {}, promise.title),
    say(said),
    say(survey.longitudinal ? promise.certainty(sure) : promise.certaintyOnce(sure)),
    say(promise.surer(percent(BEFORE, 0), percentAtMost(certaintyOf(boundOf(survey), BEFORE)))));
}

function showHow(survey, { submission, spec }) {
  const { how } = T, many = survey.attributes.length;
  const sent = isHistory(survey) ? how.sentHistory
    : many === 1 ? how.sentOne : how[`sent${spec.solution.protocol}`](many);
  return [
    make("h2", {}, how.title),
    list([
      [how.sent, sent],
      [how.notSent, how.never, { invite: how.invited, token: how.linked }[submission] ?? ""],
      [how.useful, how.many],
    ]),
    showExample(survey, spec),
  ];
}

/** Returns what chance does to 1,000 people, in the figures of the first question. */
function showExample(survey, { solution }) {
  const { example } = T, figures = isHistory(survey) ? null : exampleOf(survey.solution.parts[0]);
  if (!figures) return null;
  const { people, own, other, supposed, fitting, low, high } = figures;
  const label = TEXT.common.quoted(textOf(survey.attributes[0].categories[0]));
  const chosen = survey.attributes.length > 1 && solution.protocol !== "SPL";
  return make("details", {},
    make("summary", {}, example.title),
    chosen ? say(example.chosen, "quiet") : null,
    survey.longitudinal ? say(example.first, "quiet") : null,
    say(example.own(count(people), count(own), label)),
    say(example.other(count(people), count(other), label)),
    say(example.deny(label)),
    say(example.compute(count(people), count(supposed), count(fitting), label)),
    say(example.back(count(supposed), count(fitting), count(low), count(high))));
}

function showHandling(survey, { kept, submission }) {
  const { handling } = T;
  return make("details", {},
    make("summary", {}, handling.title),
    list([
      [handling.stored, handling.storedText(kept, submission === "invite")],
      [handling.address, handling.addressText, handling.rate, handling.proxy],
      [handling.network, handling.networkText(location.host), isSecureContext ? "" : handling.plain],
      [handling.device, survey.longitudinal ? handling.deviceTextTime : handling.deviceText],
    ]));
}
