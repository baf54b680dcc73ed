/** Surveys: names and labels around a solution. */
import { ascii, blake2b, hex } from "./blake2b.js";
import { write, writeFloat } from "./canonical.js";
import { quote, refuse } from "./errors.js";
import { explain, type Explanation } from "./explain.js";
import { Float, parse, type Json } from "./json.js";
import { entries, isTimed, requireFields, type Mechanism } from "./mechanism.js";
import { privacyOf, type Privacy } from "./privacy.js";
import { randomize } from "./random.js";
import { mechanism } from "./registry.js";

/** The label of a category. */
export type Label = string | number | boolean;

/** The answers of one person: one label for each attribute, or null where an answer is missing. */
export type Answers = Readonly<Record<string, Label | null | undefined>>;

export interface Attribute {
  readonly name: string;
  readonly categories: readonly Label[];
}

const VERSION = 1;
const LARGEST_LABEL = 2 ** 53;

/** An answer that cannot be used. */
export class AnswerError extends Error {
  override name = "AnswerError";
}

/** A label as JavaScript has it. Numbers must be finite, and texts must have no lone surrogate. */
function labelOf(field: string, given: Json): Label {
  const label = given instanceof Float ? given.value : given;
  const number = typeof label === "bigint" ? Number(label) : label;
  if (typeof label === "bigint" && BigInt(LARGEST_LABEL) < (label < 0n ? -label : label)) {
    refuse(field, "numbers within ±2^53", label);
  }
  if (typeof number === "string" && /[\ud800-\udfff]/u.test(number)) {
    refuse(field, "text that can be written as UTF-8", number);
  }
  if (typeof number === "string" || typeof number === "boolean") return number;
  if (typeof number === "number" && Number.isFinite(number)) return number;
  return refuse(field, "strings, numbers or truth values", number);
}

/** A label as text, by which categories must differ too. */
function textOf(given: Json): string {
  if (given instanceof Float) return writeFloat(given.value);
  return given === true ? "True" : given === false ? "False" : String(given);
}

function readAttribute(given: unknown): Attribute {
  const entry = entries("attributes", given);
  requireFields("each of attributes", entry, ["name", "categories"]);
  const name = entry.get("name"), categories = entry.get("categories");
  if (typeof name !== "string" || !name) refuse("names of attributes", "texts", name);
  const field = `categories of ${quote(labelOf("names of attributes", name))}`;
  if (!Array.isArray(categories)) return refuse(field, "a list", categories);
  const labels = categories.map((each: Json) => labelOf(field, each));
  const different = (all: unknown[]): boolean => new Set(all).size === all.length;
  const numbers = labels.map((each) => (typeof each === "boolean" ? Number(each) : each));
  if (labels.length < 2 || !different(categories.map(textOf)) || !different(numbers)) {
    refuse(field, "two or more, all different, also as text", labels);
  }
  return { name, categories: labels };
}

/** The solution of a survey, and the labels of its attributes. */
export class Survey {
  /** The digest of names, categories, their order, protocols and budgets. */
  readonly digest: string;
  readonly attributes: readonly Attribute[];
  readonly solution: Mechanism;
  readonly #other: Label | null;
  readonly #missing: Label | null;

  private constructor(spec: ReadonlyMap<string, Json>) {
    const given = new Map<string, unknown>(spec);
    if (given.get("version") !== VERSION) {
      refuse("version of the survey", `${VERSION}`, given.get("version"));
    }
    const fields = ["version", "attributes", "other", "missing", "solution"];
    requireFields("survey", given, fields);
    const list = spec.get("attributes")!;
    if (!Array.isArray(list)) refuse("attributes", "a list of names with categories", list);
    this.attributes = Object.freeze(list.map(readAttribute));
    const names = this.attributes.map((each) => each.name);
    if (!names.length || new Set(names).size < names.length) {
      refuse("attributes", "one or more, with different names", names);
    }
    this.solution = mechanism(spec.get("solution"));
    const sizes = this.attributes.map((each) => each.categories.length);
    if (!("parts" in this.solution) || this.solution.ks.join() !== sizes.join()) {
      refuse("solution", `over the declared categories, ${sizes.join(", ")}`, this.solution.label);
    }
    this.#other = this.#declared("other", spec.get("other")!);
    this.#missing = this.#declared("missing", spec.get("missing")!);
    if (this.#other !== null && this.#other === this.#missing) {
      refuse("other", "another category than missing", this.#other);
    }
    const named = list.map((each: ReadonlyMap<string, Json>) =>
      `{"categories": ${write(each.get("categories")!)}, "name": ${write(each.get("name")!)}}`);
    this.digest = hex(blake2b(ascii(
      `{"attributes": [${named.join(", ")}], "missing": ${write(spec.get("missing")!)}`
      + `, "other": ${write(spec.get("other")!)}`
      + `, "solution": ${this.solution.label.slice(0, -1)}, "version": 1}, "version": 1}`,
    ), 16));
  }

  /** Reads a survey file. Throws a `SpecError` that names the field and shows its value. */
  static parse(text: string): Survey {
    const spec = parse(text);
    if (!(spec instanceof Map)) return refuse("survey", "an object", spec);
    return new Survey(spec);
  }

  #declared(field: string, given: Json): Label | null {
    if (given === null) return null;
    const label = labelOf(field, given);
    const known = this.attributes.some(({ categories }) => categories.includes(label));
    return known ? label : refuse(field, "a declared category of some attribute", label);
  }

  /** The privacy losses, in natural logarithms. */
  get privacy(): Privacy {
    return privacyOf(this.solution);
  }

  /** True if answers are permanent: then a client has to remember, and `randomize` refuses. */
  get longitudinal(): boolean {
    return isTimed(this.solution) || this.solution.loss(false, true) !== null;
  }

  /** Returns the index of each answer among the categories of its attribute. */
  encode(answers: Answers): number[] {
    if (typeof answers !== "object" || !answers) {
      throw new AnswerError(`answers must map attributes to labels, not ${quote(answers)}`);
    }
    return this.attributes.map(({ name, categories }) => {
      if (!Object.hasOwn(answers, name)) {
        throw new AnswerError(`answers must have ${quote(name)}, not only ${quote(Object.keys(answers))}`);
      }
      const answer = answers[name], absent = answer == null || Number.isNaN(answer);
      const instead = absent ? this.#missing : this.#other;
      const found = absent ? -1 : categories.indexOf(answer);
      const index = found >= 0 || instead === null ? found : categories.indexOf(instead);
      if (index >= 0) return index;
      const what = absent ? "is missing" : `is ${quote(answer)}, which is not declared`;
      throw new AnswerError(`answer ${quote(name)} ${what}: the categories are ${quote(categories)}`);
    });
  }

  /** Draws a report from new random bytes. Its bytes are all that leaves the device. */
  randomize(answers: Answers): Uint8Array {
    return randomize(this.solution, this.encode(answers));
  }

  /**
   * Says what a report says, with one entry per attribute. With the answers, which stay on the
   * device, odds are relative to them. RS+FD needs the answers.
   */
  explain(report: Uint8Array, answers?: Answers): Explanation<Label>[] {
    return explain(this.solution, this.attributes, report, answers ? this.encode(answers) : null);
  }
}
