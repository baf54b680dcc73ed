/** Surveys over time: consent and a limit before the first round, then what was spent, and leaving. */
import { isHistory } from "./device.mjs";
import { boundOf } from "./introduction.mjs";
import { confirmBy, make, odds, say } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const T = TEXT.answer;
const CHANGES = [0, 1, 2, 5, null]; // null: any number of times
const STRICTEST = "0";

/** Returns the form of consent. `agree` gets the number of changes, or null without a limit. */
export function askConsent(survey, agree) {
  const { consent } = T, history = isHistory(survey), one = survey.privacy.lifetime;
  const choices = history ? [] : CHANGES.map((changes) => ({
    changes,
    input: make("input", { type: "radio", name: "changes", value: changes ?? "any", autocomplete: "off" }),
  }));
  for (const { input } of choices) input.checked = input.value === STRICTEST;
  const chosen = () => choices.find(({ input }) => input.checked)?.changes ?? null;
  const points = [
    consent.stored, history ? consent.keepsHistory : consent.keeps,
    history ? consent.together(odds(boundOf(survey))) : consent.each(odds(one)),
    history ? null : consent.seen, consent.lost, consent.leave,
  ];
  return make("form", { autocomplete: "off", on: { submit: (event) => event.preventDefault() } },
    heading(consent.title),
    say(consent.lead),
    make("ul", {}, points.filter(Boolean).map((each) => make("li", {}, each))),
    history ? null : make("fieldset", { "aria-describedby": "changes-help" },
      make("legend", {}, consent.changes),
      make("p", { class: "quiet", id: "changes-help" }, consent.changesHelp(odds(one))),
      choices.map(({ changes, input }) => make("label", { class: "choice" }, input, make("span", {},
        consent.choice(changes),
        make("small", {}, ` (${changes === null ? consent.unlimited : consent.most(odds((1 + changes) * one))})`))))),
    make("button", { class: "main", type: "button", on: { click: () => agree(chosen()) } }, consent.agree));
}

/** Returns what this device has spent, its limit, and the button with which a person leaves. */
export async function showRecord(survey, client, changes, left) {
  const { record, leave } = T, spent = await client.spent();
  const click = async () => {
    if (await confirmBy(leave.question, leave.agree)) await left();
  };
  return make("section", { class: "card" },
    make("h3", {}, record.title),
    isHistory(survey) ? say(record.history(odds(boundOf(survey)))) : [
      say(spent ? record.spent(odds(spent)) : record.nothing),
      say(changes === null ? record.noLimit
        : record.limit(changes, odds((1 + changes) * survey.privacy.lifetime))),
    ],
    client.persistent ? null : say(record.weak, "quiet"),
    make("button", { class: "plain", type: "button", on: { click } }, leave.button));
}

/** Returns what the next report with these answers costs, in words. */
export async function tellCost(survey, client, changes, answers) {
  const { record } = T, cost = await client.cost(answers), spent = await client.spent();
  if (!cost) return record.costsNothing;
  const beyond = changes !== null && spent + cost > (1 + changes) * survey.privacy.lifetime * (1 + 1e-12);
  return beyond ? record.beyond : record.costs(odds(cost), odds(spent + cost));
}

/** Returns a heading that gets the focus when its state begins. */
export const heading = (text) => make("h2", { tabindex: -1 }, text);
