/** Live estimates: the events of a survey, over connections that may break. */
import { Problem, ask, chance, wait } from "./page.mjs";

const SILENCE = 40; // seconds without any byte, after which a connection is given up: a ping comes every 15
const LONGEST_PAUSE = 10; // seconds between two tries

/**
 * Calls `tell.estimate` for each estimate of the latest round, until `signal` is aborted.
 *
 * `tell.connected` and `tell.lost` say how the connection is. `tell.ping` comes while nothing changes.
 * Resolves when the service refuses to go on, with its problem. EventSource cannot send a token.
 */
export async function follow(name, { token, method, signal, tell }) {
  const path = `/v1/surveys/${name}/events?method=${method}`;
  for (let last = null, failed = 0; !signal.aborted; failed++) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, 1000 * SILENCE);
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const answer = await ask("GET", path, { token, headers, as: "response", signal: attempt.signal });
      tell.connected();
      const heard = () => {
        clearTimeout(timer);
        timer = setTimeout(stop, 1000 * SILENCE);
        failed = 0;
      };
      for await (const { event, id, data } of readEvents(answer.body, heard)) {
        if (event === "estimate") last = id;
        if (!signal.aborted) tell[event]?.(data);
      }
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof Problem && error.status < 500 && error.status !== 429) return error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
    if (signal.aborted) return undefined;
    tell.lost();
    await wait(chance() * Math.min(LONGEST_PAUSE, 0.5 * 2 ** failed));
  }
  return undefined;
}

/** Yields the events of a stream. An event without its end is left out. */
async function* readEvents(stream, heard) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields.event) yield { event: fields.event, id: fields.id, data: JSON.parse(fields.data) };
    }
  }
}
