/** Requests to a service. They are repeated until it answers, and never redirected. */
import { SpecError, quote } from "./errors.js";
import { parse, type JsonObject } from "./json.js";
import { randomBytes } from "./random.js";

const LONGEST_ANSWER = 2 ** 24;
const PATIENCE = 20_000; // milliseconds that one attempt may take
const LONGEST_DELAY = 60; // seconds
const FIRST_DELAY = 0.5;

/** A service refused a request. The message is its sentence. */
export class Refused extends Error {
  override name = "Refused";
  /** The status of the answer. It is 0 if an earlier request was refused. */
  readonly status: number;
  /** The word that names the problem, or "" if the answer was not of a service of this kind. */
  readonly kind: string;

  constructor(status: number, kind: string, detail: string) {
    super(detail);
    this.status = status;
    this.kind = kind;
  }
}

/** No service answered in time. */
export class NoAnswer extends Error {
  override name = "NoAnswer";
}

/** Returns the time, on the clock of `performance.now`, at which a number of seconds is over. */
export function endOf(timeout: unknown): number {
  if (typeof timeout === "number" && timeout > 0 && timeout < Infinity) {
    return performance.now() + 1000 * timeout;
  }
  throw new SpecError(`timeout must be a number of seconds above 0, not ${quote(timeout)}`);
}

/** Returns a number from 0 to 1, for delays. */
const randomFraction = (): number => new DataView(randomBytes().buffer).getUint32(0) / 2 ** 32;

/** Returns the seconds that a service asks to wait: a number or a date, or 0 if it asks nothing. */
function retryAfter({ headers }: Response): number {
  const asked = headers.get("Retry-After") ?? "";
  if (/^\d+$/.test(asked)) return Number(asked);
  return Math.max(0, (Date.parse(asked) - Date.now()) / 1000 || 0);
}

/** Reads the text of an answer, or throws if it is not UTF-8 or too long. */
async function readText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }), reader = body?.getReader();
  let text = "", read = 0;
  for (let part; reader && !(part = await reader.read()).done; ) {
    read += part.value.length;
    if (read > LONGEST_ANSWER) {
      await reader.cancel();
      throw new RangeError("the answer is too long");
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}

/** Reads an object, or returns null if the text is something else. */
function readObject(text: string): JsonObject | null {
  try {
    const found = parse(text);
    return found instanceof Map ? found : null;
  } catch {
    return null;
  }
}

function problemOf(status: number, text: string): Refused {
  const problem = readObject(text), type = problem?.get("type"), detail = problem?.get("detail");
  if (typeof type === "string" && typeof detail === "string" && type.startsWith("/problems/")) {
    return new Refused(status, type.slice("/problems/".length), detail.slice(0, 1000));
  }
  return new Refused(status, "", `the service answered with status ${status}`);
}

export class Remote {
  /** The address of the service, without a slash at its end. */
  readonly url: string;
  readonly #token: string | undefined;

  constructor(url: unknown, token: unknown) {
    let found: URL | undefined;
    try {
      found = new URL(String(url));
    } catch {
      // It is refused below
    }
    if (!found || !/^https?:$/.test(found.protocol) || found.search || found.hash) {
      throw new SpecError(`url must be an address such as https://example.org, not ${quote(url)}`);
    }
    if (found.username || found.password) throw new SpecError("url must be without a name and a password");
    if (token !== undefined && !(typeof token === "string" && /^[!-~]+$/.test(token))) {
      throw new SpecError("token must be one word of printable ASCII characters");
    }
    this.url = `${found.origin}${found.pathname}`.replace(/\/+$/, "");
    this.#token = token;
  }

  /** Asks for an object. See `#ask`. */
  get<T>(path: string, read: (answer: JsonObject) => T | null, end: number, once = false): Promise<T> {
    return this.#ask(path, { method: "GET" }, read, end, once);
  }

  /** Sends a body, with the token. See `#ask`. */
  post<T>(
    path: string, body: Uint8Array<ArrayBuffer>, read: (answer: JsonObject) => T | null, end: number,
  ): Promise<T> {
    const headers: Record<string, string> = { "Content-Type": "application/octet-stream" };
    if (this.#token !== undefined) headers["Authorization"] = `Bearer ${this.#token}`;
    return this.#ask(path, { method: "POST", headers, body }, read, end, false);
  }

  /**
   * Returns what `read` makes of the answer, which is null for an answer of something else, such as
   * the page of a hotel. Such answers, errors of servers and broken connections are tried again
   * until the end, unless there is only one attempt.
   */
  async #ask<T>(
    path: string, request: RequestInit, read: (answer: JsonObject) => T | null, end: number, once: boolean,
  ): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      const [found, asked] = await this.#try(path, request, read, end);
      if (found !== null) return found;
      const delay = randomFraction() * Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** attempt);
      const wait = 1000 * Math.max(delay, asked);
      if (once || performance.now() + wait >= end) {
        throw new NoAnswer(`no service answers at ${this.url}`);
      }
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  /** Tries once. Returns what was read or null, and the seconds to wait before the next attempt. */
  async #try<T>(
    path: string, request: RequestInit, read: (answer: JsonObject) => T | null, end: number,
  ): Promise<[T | null, number]> {
    let answer, text;
    try {
      const time = Math.min(PATIENCE, Math.max(1, Math.ceil(end - performance.now())));
      answer = await fetch(this.url + path, {
        ...request, redirect: "error", credentials: "omit", cache: "no-store",
        referrerPolicy: "no-referrer", signal: AbortSignal.timeout(time),
      });
      text = await readText(answer);
    } catch {
      return [null, 0];
    }
    const { status } = answer;
    if (status === 408 || status === 429 || status >= 500) return [null, retryAfter(answer)];
    if (status >= 400) throw problemOf(status, text);
    const found = status === 200 ? readObject(text) : null;
    return [found && read(found), 0];
  }
}
