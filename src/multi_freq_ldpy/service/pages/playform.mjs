/** The controls of the playground. They always show one valid set-up. */
import { make, odds, percent, percentAtMost } from "./page.mjs";
import { LIMITS, PRESETS, PROTOCOLS, letter, readNumber, sharesOf, weightsOf } from "./playsetup.mjs";
import { TEXT } from "./strings.mjs";

const OWN = "own";

/** Makes the form. `change` gets every new set-up, and `show` shows one. */
export class Form {
  #setup;
  #change;
  #parts = {};

  constructor(change) {
    this.#change = change;
    const { fields, protocols, shapes } = TEXT.play, parts = this.#parts;
    const several = (names) => Object.entries(names).map(([value, text]) => make("option", { value }, text));
    parts.protocol = make("select", { on: this.#on("change", (text) => ({ protocol: text })) },
      several(Object.fromEntries(Object.keys(PROTOCOLS).map((name) => [name, protocols[name]]))));
    for (const field of ["k", "n"]) parts[field] = this.#number(field);
    parts.epsilon = make("input", { type: "range", ...LIMITS.epsilon,
      on: this.#on("input", (text) => ({ epsilon: Number(text) })) });
    parts.shares = make("select", { on: this.#on("change", (text) => {
      parts.edit.open ||= text === OWN;
      return { shares: text === OWN ? weightsOf(this.#setup) : text };
    }) }, several(shapes));
    parts.weights = make("div");
    parts.edit = make("details", {}, make("summary", {}, TEXT.play.editShares), parts.weights);
    parts.shown = make("span");
    parts.sent = make("p", { class: "quiet" });
    parts.reading = make("p", { class: "quiet" });
    this.element = make("form", { "aria-label": TEXT.play.setUp, on: { submit: (event) => event.preventDefault() } },
      make("label", { class: "field" }, make("span", {}, fields.protocol), parts.protocol), parts.sent,
      make("label", { class: "field" },
        make("span", {}, `${fields.epsilon} `, parts.shown), parts.epsilon), parts.reading,
      make("div", { class: "row" }, ["k", "n"].map((field) =>
        make("label", { class: "field grow" }, make("span", {}, fields[field]), parts[field]))),
      make("label", { class: "field" }, make("span", {}, fields.shares), parts.shares),
      parts.edit,
    );
  }

  /** Shows a set-up. The protocol is built from it, and `chances` are its probabilities. */
  show(setup, protocol, chances) {
    const parts = this.#parts, shares = sharesOf(setup);
    if (this.#setup?.k !== setup.k) this.#makeWeights(setup.k);
    this.#setup = setup;
    for (const field of ["protocol", "k", "n", "epsilon"]) write(parts[field], setup[field]);
    write(parts.shares, Array.isArray(setup.shares) ? OWN : setup.shares);
    parts.shown.textContent = setup.epsilon;
    parts.epsilon.setAttribute("aria-valuetext", TEXT.play.odds(setup.epsilon, odds(setup.epsilon)));
    parts.reading.textContent = TEXT.play.reading(odds(setup.epsilon), percentAtMost(raise(0.1, setup.epsilon)));
    parts.sent.textContent = TEXT.play.sent[setup.protocol](protocol, percent(chances.own), percent(chances.other));
    weightsOf(setup).forEach((weight, value) => {
      const [, input, share] = parts.weights.children[value].children;
      write(input, weight);
      input.setAttribute("aria-valuetext", percent(shares[value]));
      share.textContent = percent(shares[value]);
    });
  }

  #on(event, read) {
    return { [event]: ({ target }) => this.#change({ ...this.#setup, ...read(target.value) }) };
  }

  #number(field) {
    return make("input", { type: "number", required: true, inputmode: "numeric", ...LIMITS[field], on: {
      change: ({ target }) => {
        const found = readNumber(target.value, LIMITS[field]);
        if (found === null) return target.reportValidity();
        const kept = field === "k" && Array.isArray(this.#setup.shares) ? { shares: "decreasing" } : {};
        this.#change({ ...this.#setup, ...kept, [field]: found });
      },
    } });
  }

  #makeWeights(k) {
    const field = (_, value) => make("label", { class: "weight" },
      make("span", {}, TEXT.play.answer(letter(value))),
      make("input", { type: "range", ...LIMITS.weight, on: { input: () => this.#readWeights() } }),
      make("span", { class: "number", "aria-hidden": "true" }));
    this.#parts.weights.replaceChildren(...Array.from({ length: k }, field));
  }

  #readWeights() {
    const shares = Array.from(this.#parts.weights.querySelectorAll("input"), ({ value }) => Number(value));
    if (shares.some((each) => each)) this.#change({ ...this.#setup, shares });
    else this.#change({ ...this.#setup, shares: PRESETS.even(this.#setup.k) });
  }
}

/** Returns the largest probability to which a report can raise one. */
const raise = (share, epsilon) => share / (share + (1 - share) * Math.exp(-epsilon));

/** Sets a control, unless the person has just set it so: the place of the cursor stays. */
function write(control, value) {
  if (control.value !== String(value)) control.value = value;
}
