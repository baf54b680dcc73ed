/** The start page: what the service is, all its surveys, and the form that makes one. */
import { tokenForm } from "./fields.mjs";
import { hasDraft, makeForm } from "./form.mjs";
import { ask, explainError, guard, make, Problem, say, setTitle, takeToken } from "./page.mjs";
import { showSharing } from "./sharing.mjs";
import { TEXT } from "./strings.mjs";

const KEY = "token"; // of the tab's storage, for all dashboards and the start page
const TEXTS = TEXT.start;

const main = document.querySelector("main");
const token = takeToken("token", KEY);
addEventListener("hashchange", () => location.reload());

/** Shows the surveys, or asks for a token. */
async function start() {
  setTitle(TEXTS.title);
  if (!token) return welcome();
  let scope;
  try {
    ({ scope } = await ask("GET", "/v1/scope", { token }));
  } catch (error) {
    if (!(error instanceof Problem && error.status === 401)) throw error;
    return welcome(explainError(error));
  }
  if (scope === "submit") return welcome(TEXTS.cannotRead);
  return showSurveys(await ask("GET", "/v1/surveys", { token }), scope === "admin");
}

/** Notes what the page shows. */
function ready(state) {
  main.dataset.state = state;
  main.dataset.ready = "";
}

const linkToPlay = () => make("p", {}, make("a", { href: "/play" }, TEXTS.play));

/** Says what the service is, and asks for a token. */
function welcome(problem) {
  sessionStorage.removeItem(KEY);
  const use = (given) => {
    sessionStorage.setItem(KEY, given);
    location.reload();
  };
  main.replaceChildren(
    make("h1", {}, TEXTS.title), say(TEXTS.what), say(TEXTS.how), linkToPlay(),
    make("h2", {}, TEXTS.signIn), say(TEXTS.whereToken), tokenForm(use, problem));
  ready("welcome");
}

/** Returns a survey of the list, with links to its pages. */
function showSurvey({ name, state }) {
  const links = [
    make("a", { href: `/d/${name}`, "aria-label": TEXTS.resultsOf(name) }, TEXTS.results),
    state === "draft" ? null : make("a", { href: `/s/${name}`, "aria-label": TEXTS.pageOf(name) }, TEXTS.page),
  ];
  const kind = state === "open" ? "state live" : "state";
  return make("li", { class: "row" }, make("strong", { class: "grow" }, name),
    make("div", { class: "row" }, make("span", { class: kind }, TEXTS.states[state]), links));
}

/** Shows all surveys, and the form for administrators. */
function showSurveys(surveys, admin) {
  const list = make("ul", { class: "plain" }, surveys.map(showSurvey));
  const place = make("div");
  const details = make("details", { class: "card narrow", open: !surveys.length || hasDraft() },
    make("summary", {}, make("h2", {}, TEXTS.newSurvey)), place);
  if (admin) place.append(makeForm(token, (survey) => showMade(survey)));
  main.replaceChildren(
    make("h1", {}, TEXTS.title), surveys.length ? list : say(TEXTS.noSurveys), admin ? details : "",
    linkToPlay());
  ready("surveys");
}

/** Shows a survey that was just made: how people get to it, and where its results are. */
function showMade(survey) {
  const heading = make("h1", { tabindex: -1 }, TEXTS.made[survey.state](survey.about.title));
  main.replaceChildren(
    heading, say(TEXTS.madeNext[survey.state]), showSharing(survey, token),
    make("p", { class: "row" },
      make("a", { class: "button main", href: `/d/${survey.name}` }, TEXTS.toResults),
      make("a", { class: "button", href: "/" }, TEXTS.all)));
  ready("made");
  scrollTo(0, 0);
  heading.focus();
}

guard(main, start);
