/** Administration of a survey: its state, who sees it, who may report, and its files. */
import { action, card, checkAll, copyable, field, tick } from "./fields.mjs";
import { ask, confirmBy, count, explainError, make, offerFile, say } from "./page.mjs";
import { showSharing } from "./sharing.mjs";
import { TEXT } from "./strings.mjs";

const TEXTS = TEXT.admin;
const MOST = 2 ** 31;

/** Returns the part of a dashboard for administrators. `refresh` reads the survey anew. */
export function makeAdmin(survey, token, refresh) {
  const path = `/v1/surveys/${survey.name}`;
  const parts = [
    makeState(path, token, refresh), makeAudience(survey, path, token, refresh), makeExport(survey, path, token),
  ];
  const sharing = card(TEXTS.sharing, showSharing(survey, token));
  const element = make("section", {}, make("h2", {}, TEXTS.heading),
    make("div", { class: "columns" },
      make("div", {}, parts.map(({ element: each }) => each)),
      make("div", {}, sharing, makeTokens(survey.name, token))));
  const update = (now, numbers) => {
    sharing.hidden = now.state === "closed";
    for (const part of parts) part.update(now, numbers);
  };
  return { element, update };
}

/** Returns the buttons that change the state of a survey. Each asks once more if it is final. */
function makeState(path, token, refresh) {
  const said = make("p"), buttons = make("div", { class: "row actions" });
  const change = (state) => async () => {
    if (state === "closed" && !(await confirmBy(TEXTS.closeQuestion, TEXTS.close))) return;
    await ask("PATCH", path, { token, content: { state } });
    await refresh();
  };
  const update = ({ name, state, schedule, privacy }, numbers) => {
    said.textContent = TEXTS.states[state];
    const next = (numbers.at(-1) ?? -1) + 1;
    const open = async () => {
      if (!(await confirmBy(TEXTS.nextQuestion(next), TEXTS.next(next)))) return;
      await ask("POST", `${path}/rounds`, { token, content: { number: next } });
      await refresh();
    };
    const remove = async () => {
      if (!(await confirmBy(TEXTS.deleteQuestion(name), TEXTS.delete))) return;
      await ask("DELETE", `${path}?confirm=${name}`, { token });
      location.assign("/");
    };
    buttons.replaceChildren(...[
      state === "draft" && action(TEXTS.open, change("open"), "main"),
      state === "open" && privacy.lifetime !== null && !schedule && action(TEXTS.next(next), open),
      state === "open" && action(TEXTS.close, change("closed")),
      state !== "open" && action(TEXTS.delete, remove),
    ].filter(Boolean));
  };
  return { element: card(TEXTS.state, said, buttons), update };
}

/** Returns the form that says what people without a token see. */
function makeAudience(survey, path, token, refresh) {
  const number = () => make("input", { type: "number", min: 1, max: MOST, inputmode: "numeric" });
  const seen = tick(TEXTS.public, TEXTS.publicHint), box = seen.querySelector("input");
  const least = number(), step = number();
  const fields = { min_users: field(TEXTS.minUsers, least), step: field(TEXTS.step, step, TEXTS.stepHint) };
  const said = make("p", { role: "status" });
  const save = async () => {
    said.textContent = "";
    const values = { min_users: Number(least.value), step: Number(step.value) };
    const wrong = (value) => !(Number.isInteger(value) && value >= 1 && value <= MOST) && TEXTS.wrongNumber;
    const [faulty] = checkAll([
      [fields.min_users, least, wrong(values.min_users)], [fields.step, step, wrong(values.step)],
    ]);
    if (faulty) return faulty.focus();
    await ask("PATCH", path, { token, content: { public: box.checked, ...values } });
    await refresh();
    said.textContent = TEXTS.saved;
    return undefined;
  };
  const update = (now) => {
    [box.checked, least.value, step.value] = [now.public, now.min_users, now.step];
  };
  update(survey);
  const element = card(TEXTS.audience, seen, fields.min_users, fields.step, action(TEXTS.save, save), said);
  return { element, update };
}

/** Returns the buttons that save the tally of a round, and its reports if they are kept. */
function makeExport(survey, path, token) {
  const chosen = make("select"), asked = field(TEXTS.round, chosen);
  const save = (file, suffix) => async () => {
    const data = await ask("GET", `${path}/rounds/${chosen.value}/${file}`, { token, as: "blob" });
    offerFile(`${survey.name}-round-${chosen.value}${suffix}`, data);
  };
  const element = card(TEXTS.export, asked,
    make("div", { class: "row actions" }, action(TEXTS.tally, save("tally", ".tally")),
      survey.kept ? action(TEXTS.reports, save("reports.parquet", ".parquet")) : null),
    say(survey.kept ? TEXTS.exportMeans : TEXTS.exportTally, "quiet"));
  const update = (_, numbers) => {
    element.hidden = !numbers.length;
    asked.hidden = numbers.length < 2;
    if (chosen.childElementCount === numbers.length) return;
    chosen.replaceChildren(...numbers.map((each) => make("option", { value: each }, count(each))));
    chosen.value = numbers.at(-1);
  };
  return { element, update };
}

/** Returns the tokens of a survey, with a form that makes one. */
function makeTokens(name, token) {
  const scopes = make("select", {},
    ["analyst", "submit"].map((each) => make("option", { value: each }, TEXTS.scopes[each])));
  const noted = make("input", { maxlength: 200, autocomplete: "off" });
  const made = make("div", { role: "status" }), list = make("ul", { class: "plain" });
  const create = async () => {
    const scope = scopes.value, own = scope === "submit" ? { survey: name } : {};
    const content = { scope, note: noted.value, ...own };
    const { token: fresh } = await ask("POST", "/v1/tokens", { token, content });
    made.replaceChildren(copyable(TEXTS.newToken, fresh), say(TEXTS.once, "quiet"));
    noted.value = "";
    await read();
  };
  const revoke = ({ hash, note }) => async () => {
    if (!(await confirmBy(TEXTS.revokeQuestion(note || TEXTS.noNote), TEXTS.revoke))) return;
    await ask("DELETE", `/v1/tokens/${hash}`, { token });
    await read();
  };
  const read = async () => {
    const found = await ask("GET", "/v1/tokens", { token });
    const own = found.filter(({ scope, survey, revoked }) => !revoked && (scope === "analyst" || survey === name));
    list.replaceChildren(...own.map((each) => make("li", { class: "row" },
      make("span", { class: "grow" }, each.note || TEXTS.noNote, " ", make("small", {}, TEXTS.scopes[each.scope])),
      action(TEXTS.revokeIt(each.note || TEXTS.noNote), revoke(each)))));
  };
  read().catch((error) => made.replaceChildren(say(explainError(error), "error")));
  return card(TEXTS.tokens, say(TEXTS.tokensMean), list,
    field(TEXTS.may, scopes), field(TEXTS.note, noted, TEXTS.noteHint), action(TEXTS.makeToken, create), made);
}
