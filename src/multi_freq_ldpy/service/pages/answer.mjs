/**
 * The page of a respondent. It explains a survey, asks, draws one report, stores it, and sends it.
 *
 * Each situation is a state with its own sentences, which `main[data-state]` names. The decision to
 * send comes before the draw, and nothing stands between the draw and the sending.
 */
import {
  Damaged, NoStorage, deviceOf, drawExample, isHistory, isPersistent, readSurvey, takeLink, tokenOf,
} from "./device.mjs";
import { showBytes, showReport } from "./explanation.mjs";
import { boundOf, endOf, entitle, explain, introduce, timeOf } from "./introduction.mjs";
import { LimitReached, NoAnswer, Refused, SpecError } from "./ldp.mjs";
import { askConsent, heading, showRecord, tellCost } from "./overtime.mjs";
import { ask, confirmBy, make, nameOfPage, odds, say, setTitle, wait } from "./page.mjs";
import { askQuestions, questionsOf } from "./questions.mjs";
import { attempt, box, button, fail, reasonOf, show, showLoading, stateOf, surround, tell } from "./states.mjs";
import { TEXT } from "./strings.mjs";

const T = TEXT.answer;
const PATIENCE = 10; // seconds for all attempts of one sending
const OFFLINE = 2; // seconds, where the browser knows that there is no network
const MOMENT = 1; // seconds in which another tab stores what it has charged
const AGAIN = 30_000; // milliseconds between attempts while the page is open

const name = nameOfPage();
let about, survey, device, round;
let client = null, changes = null; // of surveys over time
let held = null; // the report that waits, with its answers if this tab drew it
let trying = false;

/** Loads the survey, and shows what a person reads in all states. */
async function start() {
  showLoading();
  await attempt(async () => {
    takeLink(name);
    about = await ask("GET", `/v1/surveys/${name}`);
    setTitle(about.about.title || name);
    survey = await readSurvey(name);
    surround(entitle(about), introduce(survey, about), explain(survey, about));
    await choose();
  });
}

/** Decides in which state this device is. Draws and sends nothing new. */
async function choose() {
  const token = tokenOf(name, about.submission);
  device = deviceOf(name, about.submission, token);
  const reports = await device.reports();
  if ((await device.survey()).digest !== survey.digest || (await hasOlder())) return tell("changed", T.changed);
  if (survey.longitudinal && !(await openClient())) return;
  if (about.state === "closed") return showClosed(reports);
  if (about.submission !== "open" && !token) return tell("tokenless", T.tokenless[about.submission]);
  if (!about.accepted.length) return tell("between", [T.between.title, whenNext()], await recordBox());
  round = Math.max(...about.accepted);
  if (reports.some((each) => each.state === "waiting" && each.round !== round)) void sendOld();
  const entry = reports.find((each) => each.round === round);
  if (entry) return showFate(entry);
  if (client === "new") return showConsent(false);
  if (client === "left") return showLeft();
  return showQuestions();
}

/** Returns whether this browser has answered a survey of this name that had no invites. */
const hasOlder = async () =>
  about.submission === "invite" && (await deviceOf(name, "open").reports()).length > 0;

/** Opens the client of a survey over time. Returns false if its record is damaged, and says so. */
async function openClient() {
  try {
    [client, changes] = [await device.client(survey), await device.changes()];
    return true;
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    showDamagedRecord();
    return false;
  }
}

/** Sends reports of earlier rounds. The page tells nothing of them: a late round may be over. */
const sendOld = () => device.sender.flush({ survey: name, timeout: PATIENCE }).catch(() => {});

/** Says when the next round begins. */
function whenNext() {
  const { schedule } = about, last = (survey.solution.rounds ?? (survey.longitudinal ? Infinity : 1)) - 1;
  if (!schedule) return T.between.byHand;
  return Date.now() / 1000 < schedule.starts ? T.between.begins(timeOf(schedule.starts))
    : endOf(schedule, last) * 1000 <= Date.now() ? T.between.over : T.between.byHand;
}

/** Returns the box of a survey over time: what was spent, and the button to leave. */
async function recordBox() {
  if (client === null || typeof client === "string") return null;
  return showRecord(survey, client, changes, () => attempt(async () => {
    try {
      await client.leave();
    } catch (error) {
      return reconsider(error);
    }
    held = null;
    client = "left";
    showLeft();
  }));
}

async function showClosed(reports) {
  const { state } = reports.at(-1) ?? {};
  const own = { sent: T.closedSent, waiting: T.closedWaiting, refused: T.closedWaiting }[state];
  tell("closed", [...T.closed, own], await recordBox());
}

function showConsent(again) {
  show("consent", askConsent(survey, (wanted) => attempt(async () => {
    client = await device.begin(survey, { changes: wanted, round, again });
    changes = await device.changes();
    await showQuestions();
  })));
}

function showLeft() {
  const { title, text, cost, button: begin } = T.again;
  tell("left", [title, text, cost(odds(boundOf(survey)))], button(begin, () => showConsent(true)));
}

function showDamagedRecord() {
  const { title, text, cost, button: remove, question } = T.damagedRecord;
  tell("damaged-record", [title, text, cost(odds(boundOf(survey)))], button(remove, async () => {
    if (!(await confirmBy(question, remove))) return;
    await device.forget();
    await choose();
  }));
}

/** Shows the questions. Examples are drawn here, and the report is drawn by `send` only. */
async function showQuestions() {
  const { missing, complete, send: sendText, example, another, rule, weak } = T.ask;
  const many = survey.attributes.length, priced = client !== null && !isHistory(survey);
  const questionOf = questionsOf(about);
  const status = make("p", { id: "missing", role: "status", class: "quiet" });
  const price = make("p", { role: "status" }), examples = make("div", { "aria-live": "polite" });
  let shown = 0, asked = 0;
  const { cards, read } = askQuestions(survey, questionOf, () => void attempt(() => update().catch(reconsider)));
  const isComplete = () => Object.keys(read()).length === many;
  const sendButton = button(sendText, () => {
    if (isComplete()) return send(read());
  }, "main");
  const exampleButton = button(example, async () => {
    const answers = read(), report = await drawExample(survey, answers, round);
    examples.replaceChildren(showExample(++shown, report, answers));
    exampleButton.textContent = another;
  });
  const update = async () => {
    const answers = read(), turn = ++asked;
    const left = survey.attributes.filter((each) => !Object.hasOwn(answers, each.name));
    status.textContent = left.length ? missing(left.map((each) => questionOf(each.name)).join(" · ")) : complete;
    for (const each of [sendButton, exampleButton]) each.disabled = left.length > 0;
    examples.replaceChildren();
    const text = priced && !left.length ? await tellCost(survey, client, changes, answers) : "";
    if (turn === asked) price.textContent = text;
  };
  await update();
  const kept = client || (await isPersistent());
  show("questions",
    make("form", { autocomplete: "off", on: { submit: (event) => event.preventDefault() } },
      heading(T.ask.title),
      cards, status, priced ? price : null,
      make("div", { class: "row" }, sendButton, exampleButton),
      say(rule, "quiet"), kept ? null : say(weak, "quiet")),
    examples,
    await recordBox());
}

function showExample(number, report, answers) {
  const { exampleTitle, exampleLead, exampleSilent } = T.ask;
  return make("section", { class: "card example" },
    make("h2", {}, exampleTitle(number)),
    say(exampleLead, "quiet"),
    report ? explainReport(report, answers) : say(exampleSilent));
}

/** Returns what a report says. Without the answers, which only this tab knew, no bar is the own one. */
function explainReport(report, answers) {
  try {
    const explained = survey.explain(report, answers ?? undefined);
    return [
      showReport(report, explained, answers ?? {}, questionsOf(about)),
      survey.longitudinal ? say(T.ask.alone, "quiet") : null,
    ];
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    return [say(isHistory(survey) ? T.ask.noExplanation : T.ask.noOdds), ...showBytes(report)];
  }
}

const patience = () => (navigator.onLine ? PATIENCE : OFFLINE);

/** Draws the one report of this round, stores it and sends it. There is no other place that does. */
async function send(answers) {
  const { title, text } = T.sending;
  show("sending", box([title, text], "promise"));
  const byHand = survey.longitudinal && !about.schedule; // such rounds are not known offline
  const options = { timeout: patience(), ...(client && { client }), ...(byHand && { round }) };
  const known = (await device.reports()).map((each) => each.round);
  let done;
  try {
    done = await device.sender.answer(name, answers, options);
  } catch (error) {
    return error instanceof LimitReached ? showLimit() : follow(error, answers, known);
  }
  ({ round } = done);
  if (done.state === "sent") return showSent({ report: done.report, answers }, T.sent.counted);
  return showFate({ state: done.state === "silent" ? "silent" : "sent" });
}

/**
 * Shows what became of the report after an error, as the outbox has it. It may be of a round that began
 * meanwhile, and then it is not of the rounds that were `known` before.
 */
async function follow(error, answers, known = []) {
  let reports;
  try {
    reports = await device.reports();
  } catch (lost) {
    if (!(lost instanceof NoStorage || lost instanceof Damaged)) throw lost;
    return tell("unsure", T.unsure);
  }
  const isOwn = (each) => each.round === round, isNew = (each) => !known.includes(each.round);
  const entry = reports.find(isOwn) ?? reports.find(isNew);
  if (entry) ({ round } = entry);
  if (!entry && (error instanceof Refused || error instanceof NoAnswer)) throw error;
  if (!entry) return reconsider(error);
  if (entry.state === "waiting" && error instanceof Refused) {
    held = { report: entry.report, answers };
    return tell("refused", [T.refused.title, reasonOf(error), T.refused.kept]);
  }
  if (entry.state === "refused") {
    held = null;
    return tell("refused", [T.refused.title, reasonOf(error), T.refused.again], await recordBox());
  }
  return showFate(entry, answers);
}

/** Decides again after an error of the storage. Another tab may have left, or the survey is another one. */
function reconsider(error) {
  if (error instanceof SpecError || error?.constructor === Error) return choose();
  throw error instanceof DOMException ? new NoStorage(String(error)) : error;
}

/** Shows what became of a report. One that waits is sent at once. */
async function showFate({ state, report }, answers = null) {
  if (state === "waiting") {
    await showWaiting({ report, answers });
    if (!answers) void tryAgain();
  } else if (state === "sent") {
    const text = survey.longitudinal ? T.already.textRound : T.already.text;
    show("already", box([T.already.title, text], "good"), await recordBox());
  } else if (state === "silent") {
    show("silent", box([T.silent.title, T.silent.text, T.sent.next], "good"), await recordBox());
  } else {
    tell("refused", [T.refused.title, T.refused.before, T.refused.again], await recordBox());
  }
}

async function showWaiting(waiting) {
  held = waiting;
  tell("waiting", [T.waiting.title, T.waiting.text, T.waiting.retry, T.waiting.hidden]);
}

async function showSent({ report, answers }, text) {
  held = null;
  show("sent",
    box([T.sent.title, text, survey.longitudinal ? T.sent.next : null], "good"),
    say(T.sent.exactly[about.submission]), explainReport(report, answers),
    answers ? say(survey.longitudinal ? T.sent.goneTime : T.sent.gone, "quiet") : null, await recordBox());
}

/** Says that the limit is reached, unless another tab is about to store the report of this round. */
async function showLimit() {
  await wait(MOMENT);
  const entry = (await device.reports()).find((each) => each.round === round);
  if (entry) return showFate(entry);
  const { title, text, old, notice, back } = T.limit;
  tell("limit", [title, text, old, notice], button(back, showQuestions), await recordBox());
}

/** Sends the report that waits, once more, with the bytes it has. */
async function tryAgain() {
  if (!held || trying) return;
  trying = true;
  const sending = held;
  let refused = null;
  try {
    await device.sender.flush({ survey: name, timeout: patience() });
  } catch (error) {
    if (!(error instanceof Refused || error instanceof NoAnswer)) return fail(error);
    refused = error instanceof Refused ? error : null;
  } finally {
    trying = false;
  }
  await attempt(async () => {
    const entry = (await device.reports()).find((each) => each.round === round);
    if (entry?.state === "sent") return showSent(sending, T.sent.later);
    if (refused && stateOf() !== "refused") return follow(refused, sending.answers);
  });
}

addEventListener("hashchange", () => location.reload()); // such as the invite of another person
addEventListener("online", () => void tryAgain());
setInterval(() => void tryAgain(), AGAIN);
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload(); // a page that comes back must not show old answers
});
await start();
