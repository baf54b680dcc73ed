/** Parts that all pages use: elements, figures, tokens and requests. */
import { TEXT } from "./strings.mjs";

const SVG = "http://www.w3.org/2000/svg";
const TRIES = 5;
const LONGEST_WAIT = 10; // seconds

/** The service that gave this page, without a slash at its end. */
export const ORIGIN = location.origin;

/** Returns an element. `on` holds listeners, and children are elements or texts, never markup. */
export function make(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** Returns an element of a picture. */
export function draw(name, attributes = {}, ...children) {
  return build(document.createElementNS(SVG, name), attributes, children);
}

function build(element, { on = {}, ...attributes }, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  for (const [event, listener] of Object.entries(on)) element.addEventListener(event, listener);
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Returns a paragraph. */
export const say = (text, kind) => make("p", { class: kind }, text);

/** Returns a box with a message. `kind` is "warning", "good" or none. */
export const note = (text, kind = "") => make("div", { class: `card ${kind}`, role: "status" }, say(text));

/** Sets the title of the page, and its language. */
export function setTitle(text) {
  document.title = text;
  document.documentElement.lang = TEXT.language;
}

/** Returns a share as text, such as "34.5 %". */
export const percent = (share, digits = 1) =>
  share === null ? TEXT.common.unknown : `${(100 * share).toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−")} %`;

/** Returns a share and the half-width of its interval, such as "34.5 ± 1.2 %". */
export const percentWithin = (share, half) =>
  half === null ? percent(share) : `${percent(share).slice(0, -2)} ± ${(100 * half).toFixed(1)} %`;

/** Returns a number of things, such as "12,345". */
export const count = (number) => number.toLocaleString(TEXT.language);

/** Returns a factor in three digits, such as "7.39" or "0.0183". */
export function factor(number) {
  if (number === Infinity) return "∞";
  const digits = Number(number.toPrecision(3));
  const shown = digits >= 1e6 || (digits !== 0 && digits < 1e-3);
  return shown ? digits.toExponential().replace("e+", "·10^").replace("e", "·10^") : count(digits);
}

/** Rounds a bound up to a number of digits behind the point, so that it stays a bound. */
const roundUp = (bound, digits) => Math.ceil(bound * 10 ** digits - 1e-9) / 10 ** digits;

/** Returns a loss ε as odds in three digits, never too small: how many times as likely. */
export function odds(epsilon) {
  const times = epsilon === null ? Infinity : Math.exp(epsilon);
  return factor(times < Infinity ? roundUp(times, 2 - Math.floor(Math.log10(times))) : times);
}

/** Returns the largest share that something can reach, such as "88.1 %", never too small. */
export const percentAtMost = (share) => percent(roundUp(share, 3));

/** Returns bytes as pairs of hexadecimal digits. */
export const hexOf = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** Returns a label as text. */
export const textOf = (label) => String(label);

/** Returns the name of the survey that the address of the page has, such as "diet" of "/s/diet". */
export const nameOfPage = () => decodeURIComponent(location.pathname.split("/")[2] ?? "");

/**
 * Keeps the tokens that the address has behind "#" in this tab, each under the key of its field.
 *
 * The address loses them at once, so that nobody reads them over a shoulder or from the history.
 */
export function takeTokens(keys) {
  const given = new URLSearchParams(location.hash.slice(1));
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  for (const [field, key] of Object.entries(keys)) {
    if (given.get(field)) sessionStorage.setItem(key, given.get(field));
  }
}

/** Returns the token that the address has behind "#", or the one that this tab took before. */
export function takeToken(field, key) {
  takeTokens({ [field]: key });
  return sessionStorage.getItem(key) ?? undefined;
}

/** A service refused a request. `kind` is the word of the problem, and the message its sentence. */
export class Problem extends Error {
  constructor(status, kind, detail) {
    super(detail);
    this.status = status;
    this.kind = kind;
  }
}

/** The service did not answer. */
export class Unreachable extends Error {}

/**
 * Sends a request to the service, and returns its answer. Reading is tried again.
 *
 * `as` is "json", "text", "blob" or "response".
 */
export async function ask(method, path, { token, content, body, as = "json", headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (token) sent.Authorization = `Bearer ${token}`;
  if (content !== undefined) sent["Content-Type"] = "application/json";
  const request = {
    method, headers: sent, body: content === undefined ? body : JSON.stringify(content),
    credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", cache: "no-store", signal,
  };
  for (let tried = 1; ; tried++) {
    let answer;
    try {
      answer = await fetch(ORIGIN + path, request);
      if (answer.ok) return as === "response" ? answer : answer.status === 204 ? null : await answer[as]();
    } catch (error) {
      if (signal?.aborted) throw error;
      if (method !== "GET" || tried >= TRIES) throw new Unreachable(TEXT.common.unreachable);
      await wait(0.2 * 2 ** tried);
      continue;
    }
    const busy = answer.status === 429 || answer.status === 503;
    if (!busy || method !== "GET" || tried >= TRIES) throw await problemOf(answer);
    await wait(Math.min(LONGEST_WAIT, Number(answer.headers.get("Retry-After")) || 0.2 * 2 ** tried));
  }
}

async function problemOf(answer) {
  try {
    const { type, detail } = await answer.json();
    return new Problem(answer.status, type.slice("/problems/".length), detail);
  } catch {
    return new Problem(answer.status, "", TEXT.common.status(answer.status));
  }
}

/** Returns a number from 0 to 1, for pauses between attempts. */
export const chance = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;

/** Waits some seconds. */
export const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** Returns what went wrong as one sentence for a person. */
export const explainError = (error) =>
  error instanceof Problem || error instanceof Unreachable ? error.message : TEXT.common.fault(error?.message ?? String(error));

/** Asks a question in a dialog. Resolves to true if the person agrees. */
export function confirmBy(question, agree) {
  const dialog = make("dialog", { "aria-label": question });
  const close = (value) => () => dialog.close(value);
  dialog.append(
    say(question),
    make("div", { class: "row" },
      make("button", { class: "main", type: "button", on: { click: close("yes") } }, agree),
      make("button", { type: "button", autofocus: true, on: { click: close("") } }, TEXT.common.cancel)),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** Lets the person keep some data as a file. */
export function offerFile(name, data, type = "application/json") {
  const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Shows an error in a box, if the whole page fails. */
export function guard(main, work) {
  const fail = (error) => main.append(note(explainError(error), "warning"));
  return work().catch(fail);
}
