/**
 * A service for tests: it counts each id of a round once, and fails as it is told.
 *
 * `plan` holds what happens to the next submissions: a function of the request, the answer and the
 * action that counts. Where it is empty, `always` happens, or submissions are counted and answered.
 */
import { once } from "node:events";
import { createServer } from "node:http";

const HEADER = 25;

export const hexOf = (bytes) => Buffer.from(bytes).toString("hex");

/** Reads the body of a submission of one report. */
export function readBatch(body) {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  return {
    magic: body.subarray(0, 4).toString("latin1"),
    version: body[4],
    digest: hexOf(body.subarray(5, 21)),
    round: view.getUint32(21, true),
    id: hexOf(body.subarray(HEADER, HEADER + 16)),
    report: hexOf(body.subarray(HEADER + 16)),
  };
}

/** Answers with JSON. */
export function say(answer, status, content, headers = {}) {
  const body = typeof content === "string" ? content : JSON.stringify(content);
  answer.writeHead(status, { "Content-Type": "application/json", ...headers }).end(body);
}

/** A refusal of the service. */
export const problem = (kind, status, more = {}) =>
  ({ type: `/problems/${kind}`, title: kind, status, detail: `This is ${kind}.`, ...more });

export class Service {
  surveys = new Map();
  plan = [];
  /** Every request of a submission, counted or not. */
  requests = [];
  /** The distinct bodies by round and id, which must be one each. */
  bodies = new Map();
  counted = new Map();
  looks = 0;

  /** Opens a survey: the text of its file, its digest, and what the service says of it. */
  open(name, text, digest, more = {}) {
    const about = { name, digest, state: "open", schedule: null, accepted: [0], ...more };
    const fields = Object.entries(about).map(([key, each]) => `"${key}":${JSON.stringify(each)}`);
    this.surveys.set(name, `{${[...fields, `"spec":${text}`].join()}}`);
  }

  async start(port = 0) {
    this.server = createServer((request, answer) => void this.#answer(request, answer));
    this.server.listen(port, "127.0.0.1");
    await once(this.server, "listening");
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  /** Counts a body, unless its id was counted in its round. */
  count(name, body) {
    const { round, id } = readBatch(body), key = `${name} ${round} ${id}`;
    const fresh = !this.counted.has(key);
    if (fresh) this.counted.set(key, hexOf(body));
    return { counted: Number(fresh), duplicates: Number(!fresh) };
  }

  async #answer(request, answer) {
    const [, name, reports] = /^\/v1\/surveys\/([^/]+)(\/reports)?$/.exec(request.url) ?? [];
    if (!reports) {
      this.looks++;
      if (this.look) return this.look(request, answer, this.surveys.get(name));
      const about = this.surveys.get(name);
      return about ? say(answer, 200, about) : say(answer, 404, problem("not-found", 404));
    }
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts), { round, id } = readBatch(body), key = `${name} ${round} ${id}`;
    const { method, headers } = request;
    this.requests.push({ name, method, headers, body, ...readBatch(body) });
    this.bodies.set(key, (this.bodies.get(key) ?? new Set()).add(hexOf(body)));
    const next = this.plan.shift() ?? this.always;
    if (next) return next({ request, answer, count: () => this.count(name, body) });
    say(answer, 200, this.count(name, body));
  }
}
