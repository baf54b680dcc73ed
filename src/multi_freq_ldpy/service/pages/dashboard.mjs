/** The dashboard of a survey: live shares with their errors, the promise, the risk, administration. */
import { makeAdmin } from "./admin.mjs";
import { tokenForm } from "./fields.mjs";
import { follow } from "./live.mjs";
import {
  ask, count, explainError, guard, make, nameOfPage, note, Problem, say, setTitle, takeToken, Unreachable,
} from "./page.mjs";
import { makeRisk, showPromise } from "./panels.mjs";
import { makeHistory, makeShares } from "./results.mjs";
import { TEXT } from "./strings.mjs";

const KEY = "token"; // of the tab's storage, for all dashboards and the start page
const QUIET = 10; // seconds between two announcements
const AGAIN = 2; // seconds until the next try to read everything
const READERS = ["admin", "analyst"];
const LATEST = "latest";
const TEXTS = TEXT.dashboard;

const main = document.querySelector("main");
const name = nameOfPage(), token = takeToken("token", KEY);
addEventListener("hashchange", () => location.reload());

/** Shows the survey, or asks for a token. */
async function start() {
  setTitle(TEXTS.title(name));
  let survey, scope = null;
  try {
    if (token) ({ scope } = await ask("GET", "/v1/scope", { token }));
    survey = await ask("GET", `/v1/surveys/${name}`, { token });
  } catch (error) {
    if (!(error instanceof Problem && [401, 404].includes(error.status))) throw error;
    return askForToken(explainError(error));
  }
  const reads = READERS.includes(scope);
  if (!reads && !survey.public) return askForToken(token ? TEXTS.cannotRead : "");
  await new Dashboard(survey, reads, scope === "admin").show();
}

/** Shows a form for a token. */
function askForToken(problem) {
  sessionStorage.removeItem(KEY);
  const use = (given) => {
    sessionStorage.setItem(KEY, given);
    location.reload();
  };
  main.replaceChildren(make("h1", {}, TEXTS.title(name)), say(TEXTS.needsToken), tokenForm(use, problem));
  ready("token");
}

/** Notes what the page shows. */
function ready(state) {
  main.dataset.state = state;
  main.dataset.ready = "";
}

/** Returns the time of day. */
const now = () => new Date().toLocaleTimeString(TEXT.language);

/** Returns when the present round of a schedule ends, or when the first one begins. */
function describeTimes({ starts, period }) {
  const style = { dateStyle: "medium", timeStyle: "short" };
  const shown = (seconds) => new Date(1000 * seconds).toLocaleString(TEXT.language, style);
  const present = Math.floor((Date.now() / 1000 - starts) / period);
  if (present < 0) return TEXTS.scheduledFrom(shown(starts));
  return TEXTS.schedule(Math.round(period / 864) / 100, shown(starts + (present + 1) * period));
}

/** A survey as it is now, with the parts of the page that show it. */
class Dashboard {
  constructor(survey, reads, admin) {
    Object.assign(this, { survey, reads, rounds: [], chosen: LATEST, method: "raw", paused: false });
    this.status = make("span", { class: "state", role: "status" });
    this.changed = make("small");
    const press = () => this.setPaused(!this.paused);
    this.pause = make("button", { type: "button", on: { click: press } }, TEXTS.pause);
    this.facts = make("p", { class: "headline" });
    this.rules = make("dl", { class: "facts" });
    this.problem = make("div");
    this.said = make("div", { class: "hidden", "aria-live": "polite" });
    this.shares = makeShares(survey);
    this.history = makeHistory(survey);
    this.risk = makeRisk(survey);
    this.choices = this.makeChoices();
    this.results = make("div", { hidden: true },
      make("h2", {}, TEXTS.results), this.choices, this.shares.element, this.history.element);
    this.admin = admin ? makeAdmin(survey, token, () => this.refresh()) : null;
  }

  /** Shows all parts, and begins to follow the survey. */
  async show() {
    const { survey } = this;
    const title = survey.about.title || survey.name;
    setTitle(TEXTS.title(title));
    if (this.reads) document.body.prepend(make("header", { class: "site" }, make("a", { href: "/" }, TEXTS.all)));
    main.replaceChildren(
      make("h1", {}, title), this.facts,
      make("div", { class: "row" }, this.status, this.changed, this.pause),
      this.rules, this.problem, this.results,
      make("h2", {}, TEXTS.trust),
      make("div", { class: "columns" }, this.risk.element, showPromise(survey)),
      this.admin?.element ?? "", this.said);
    await this.refresh();
  }

  /** Reads everything anew, and follows the survey if it can still change. */
  async refresh() {
    this.survey = await ask("GET", `/v1/surveys/${name}`, { token });
    await this.readRounds();
    this.changed.textContent = TEXTS.loadedAt(now());
    this.render();
    this.admin?.update(this.survey, this.rounds.map(({ round }) => round));
    if (this.survey.state === "closed") this.end("ended", TEXTS.closed);
    else if (this.paused) this.setState("paused", TEXTS.paused);
    else this.follow();
  }

  async readRounds() {
    this.problem.replaceChildren();
    try {
      const found = await ask("GET", `/v1/surveys/${name}/rounds/all/estimate?method=${this.method}`, { token });
      this.rounds = found.rounds;
    } catch (error) {
      if (error.kind !== "too-few") throw error;
      this.rounds = [];
      this.problem.replaceChildren(note(error.message));
    }
  }

  /** Follows the events of the survey, and no longer those that it followed before. */
  follow() {
    this.following?.abort();
    const own = this.following = new AbortController(), { method } = this;
    const tell = {
      connected: () => this.setState("live", TEXTS.live),
      lost: () => this.setState("lost", TEXTS.lost),
      estimate: (data) => this.take(data, own).catch((error) => this.fail(error)),
      ping: () => this.checkState(own).catch(() => {}), // the next ping does better
    };
    follow(name, { token, method, signal: own.signal, tell })
      .then((error) => { if (error && this.following === own) this.fail(error); })
      .catch((error) => this.fail(error));
  }

  /** Shows an estimate of the latest round that has just come. */
  async take(data, own) {
    const [round] = data.rounds, latest = this.rounds.at(-1);
    const news = data.state !== this.survey.state || latest?.round !== round.round;
    if (news || this.survey.accepted.length > 1) {
      // Another round or another state, or late reports may still change the round before
      if (news) return this.refresh();
      await this.readRounds();
      if (own.signal.aborted) return undefined;
    }
    const old = this.rounds.at(-1)?.users;
    this.rounds = [...this.rounds.slice(0, -1), round];
    this.render();
    if (old === round.users) return undefined;
    this.changed.textContent = TEXTS.lastChange(now());
    this.announce(TEXTS.announced(count(round.users)));
    return undefined;
  }

  /** Looks whether the state has changed. A release that is too small has no event for it. */
  async checkState(own) {
    const { state } = await ask("GET", `/v1/surveys/${name}`, { token });
    if (state !== this.survey.state && !own.signal.aborted) await this.refresh();
  }

  retry() {
    return this.refresh().catch((error) => this.fail(error));
  }

  setState(state, text) {
    this.status.className = `state ${state}`;
    if (this.status.textContent !== text) this.status.textContent = text;
    ready(state);
  }

  setPaused(paused) {
    this.paused = paused;
    this.pause.textContent = paused ? TEXTS.resume : TEXTS.pause;
    if (!paused) return this.retry();
    this.following?.abort();
    return this.setState("paused", TEXTS.paused);
  }

  /** Stops to follow the survey for ever. */
  end(state, text) {
    this.following?.abort();
    this.pause.hidden = true;
    this.setState(state, text);
  }

  /** Says why the page cannot go on. It tries again where the service may answer later. */
  fail(error) {
    if (error instanceof Unreachable || error.status >= 500 || error.status === 429) {
      this.following?.abort();
      this.setState("lost", TEXTS.lost);
      setTimeout(() => this.retry(), 1000 * AGAIN);
      return;
    }
    const revoked = error.status === 401 && token;
    const text = error.status === 404 ? TEXTS.deleted : revoked ? TEXTS.revoked : explainError(error);
    this.end("ended", TEXTS.stopped);
    this.problem.replaceChildren(note(text, "warning"));
  }

  /** Announces a change to screen readers, at most every ten seconds. */
  announce(text) {
    this.unsaid = text;
    this.timer ??= setTimeout(() => {
      this.said.textContent = this.unsaid;
      this.timer = undefined;
    }, 1000 * QUIET);
  }

  /** Returns the choice of a round, and of raw shares or a distribution. */
  makeChoices() {
    this.select = make("select", { on: { change: () => {
      this.chosen = this.select.value;
      this.render();
    } } });
    const use = (method) => async () => {
      this.method = method;
      for (const each of this.methods) each.setAttribute("aria-pressed", each.value === method);
      this.explained.textContent = TEXTS.methods[method];
      await this.retry();
    };
    this.methods = ["raw", "norm_sub"].map((method) => make("button", {
      type: "button", value: method, "aria-pressed": String(method === this.method), on: { click: use(method) },
    }, TEXTS.methodNames[method]));
    this.explained = say(TEXTS.methods[this.method], "quiet");
    this.chooser = make("label", { class: "row", hidden: true }, TEXTS.chooseRound, this.select);
    return make("div", {},
      make("div", { class: "row" },
        make("div", { class: "row", role: "group", "aria-label": TEXTS.methodGroup }, this.methods), this.chooser),
      this.explained);
  }

  /** Shows the survey and the chosen round. */
  render() {
    const { survey, rounds } = this, latest = rounds.at(-1);
    const shown = rounds.find(({ round }) => String(round) === this.chosen) ?? latest;
    const round = survey.privacy.lifetime !== null && shown ? shown.round : null;
    this.facts.textContent = TEXTS.headline(count(shown?.users ?? 0), round, TEXTS.states[survey.state]);
    const rules = [
      [TEXTS.asker, survey.about.asker], [TEXTS.purpose, survey.about.purpose],
      [TEXTS.whoReports, TEXTS.submission[survey.submission]],
      [TEXTS.whenAsked, survey.schedule && describeTimes(survey.schedule)],
      [TEXTS.whatIsKept, survey.kept ? TEXTS.kept : TEXTS.notKept],
      [TEXTS.whatIsSeen, this.reads ? survey.public && TEXTS.public : TEXTS.releases(count(survey.step))],
    ];
    this.rules.replaceChildren(...rules.filter(([, text]) => text).flatMap(([kind, text]) =>
      [make("dt", {}, kind), make("dd", {}, text)]));
    this.results.hidden = !shown;
    this.risk.update(shown ?? null);
    if (!shown) return;
    this.chooser.hidden = rounds.length < 2;
    const past = rounds.slice(0, -1).map(({ round }) => [round, TEXTS.roundNumber(round)]);
    const options = [[LATEST, TEXTS.latestRound(latest.round)], ...past];
    if (options.length !== this.select.childElementCount || this.newest !== latest.round) {
      this.newest = latest.round;
      this.select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
      this.select.value = this.chosen;
    }
    this.shares.update(shown);
    this.history.update(rounds);
  }
}

guard(main, start);
