/** Controls of forms: fields with their errors, buttons that work, and texts to copy. */
import { explainError, make } from "./page.mjs";
import { TEXT } from "./strings.mjs";

let made = 0;
const nextId = () => `f${++made}`;

/**
 * Returns a field: a label, a control, perhaps a hint, and a place for an error.
 *
 * `control` is an element. The element that is returned has `fail(text)`, which "" takes back.
 */
export function field(label, control, hint) {
  control.id = nextId();
  const error = make("p", { class: "error", id: nextId(), hidden: true });
  const small = hint ? make("small", { id: nextId() }, hint) : null;
  const told = [small?.id, error.id].filter(Boolean).join(" ");
  control.setAttribute("aria-describedby", told);
  const element = make("div", { class: "field" },
    make("span", {}, make("label", { for: control.id }, label)), control, small, error);
  element.fail = (text) => {
    error.textContent = text;
    error.hidden = !text;
    if (text) control.setAttribute("aria-invalid", "true");
    else control.removeAttribute("aria-invalid");
  };
  control.addEventListener("input", () => element.fail(""));
  return element;
}

/** Says what is wrong beside each field, and returns the controls with faults. */
export function checkAll(checks) {
  for (const [asked, , problem] of checks) asked.fail(problem || "");
  return checks.filter(([, , problem]) => problem).map(([, control]) => control);
}

/** Returns a group of choices, of which one holds. `choices` are triples of value, text and hint. */
export function choose(legend, name, choices, chosen) {
  return make("fieldset", { class: "choices" }, make("legend", {}, legend),
    choices.map(([value, text, hint]) => make("label", { class: "choice" },
      make("input", { type: "radio", name, value, checked: value === chosen }),
      make("span", {}, text, hint ? make("small", {}, ` ${hint}`) : null))));
}

/** Returns a box to tick, with its text and a hint. */
export function tick(text, hint, attributes = {}) {
  return make("label", { class: "choice" },
    make("input", { type: "checkbox", ...attributes }),
    make("span", {}, text, hint ? make("small", {}, ` ${hint}`) : null));
}

/** Returns a button that does some work once at a time, and says below what went wrong. */
export function action(text, work, kind) {
  const said = make("p", { class: "error", role: "alert" });
  let busy = false;
  const click = async () => {
    if (busy) return;
    busy = true;
    said.textContent = "";
    try {
      await work();
    } catch (error) {
      said.textContent = explainError(error);
    }
    busy = false;
  };
  const button = make("button", { type: "button", class: kind, on: { click } }, text);
  return make("div", {}, button, said);
}

/** Returns a text that can be copied, such as a link. */
export function copyable(label, text) {
  const own = make("input", { readonly: true, value: text, on: { focus: () => own.select() } });
  const said = make("span", { role: "status" });
  const copy = async () => {
    own.select();
    const done = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    said.textContent = done ? TEXT.form.copied : TEXT.form.copyByHand;
  };
  return make("div", { class: "copyable" }, field(label, own),
    make("div", { class: "row" }, make("button", { type: "button", on: { click: copy } }, TEXT.form.copy), said));
}

/** Returns a form for a token, which never gets into an address. `use` takes it. */
export function tokenForm(use, problem) {
  const input = make("input", { type: "password", autocomplete: "off", spellcheck: "false" });
  const asked = field(TEXT.form.token, input, TEXT.form.tokenHint);
  if (problem) asked.fail(problem);
  const submit = (event) => {
    event.preventDefault();
    const given = input.value.trim();
    if (given) use(given);
    else asked.fail(TEXT.form.tokenMissing);
  };
  return make("form", { class: "card", novalidate: true, on: { submit } },
    asked, make("button", { class: "main" }, TEXT.form.useToken));
}

/** Returns a box with a heading, as one part of a page. */
export const card = (heading, ...parts) => make("section", { class: "card" }, make("h3", {}, heading), parts);
