/** The questions of a survey: one card each, with nothing chosen before. */
import { make, textOf } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const T = TEXT.answer.ask;
const MOST_BUTTONS = 10;

/** Returns the text of a question: that of the survey, or the name of the attribute. */
export const questionsOf = ({ about }) => (attribute) =>
  (Object.hasOwn(about.questions, attribute) && about.questions[attribute]) || textOf(attribute);

/**
 * Returns the cards, and `read`: the answers that are chosen so far, by attribute.
 *
 * `changed` is called after each choice.
 */
export function askQuestions({ attributes }, questionOf, changed) {
  const asked = attributes.map(({ name, categories }, j) => {
    const ask = categories.length > MOST_BUTTONS ? offerList : offerButtons;
    return { name, ...ask(`question-${j}`, questionOf(name), categories.map(textOf), changed), categories };
  });
  const read = () => Object.fromEntries(asked.flatMap(({ name, chosen, categories }) =>
    (chosen() < 0 ? [] : [[name, categories[chosen()]]])));
  return { cards: asked.map(({ card }) => card), read };
}

function offerButtons(id, question, labels, changed) {
  const buttons = labels.map((_, value) =>
    make("input", { type: "radio", name: id, value, autocomplete: "off", on: { change: changed } }));
  return {
    card: make("fieldset", {},
      make("legend", {}, question),
      labels.map((label, i) => make("label", { class: "choice" }, buttons[i], make("span", {}, label)))),
    chosen: () => buttons.findIndex(({ checked }) => checked),
  };
}

function offerList(id, question, labels, changed) {
  const select = make("select", { id, autocomplete: "off", "aria-label": question, on: { change: changed } },
    make("option", { value: "" }, T.choose),
    labels.map((label, value) => make("option", { value }, label)));
  return {
    card: make("fieldset", {}, make("legend", {}, question), select),
    chosen: () => (select.value === "" ? -1 : Number(select.value)),
  };
}
