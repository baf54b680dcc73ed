/** The times at which requests are repeated, on a clock of the test. */
import assert from "node:assert/strict";
import test from "node:test";
import { Sender } from "multi-freq-ldpy/sender";
import { memoryStore } from "multi-freq-ldpy/stores/memory";

/** Asks a service that always gives these answers. Returns the waits in seconds, and the attempts. */
async function ask(context, timeout, answers, duration = 0) {
  let now = 1000, asked = 0;
  const waits = [], times = [];
  context.mock.method(performance, "now", () => now);
  context.mock.method(AbortSignal, "timeout", (time) => void times.push(time));
  context.mock.method(globalThis, "setTimeout", (done, wait) => {
    waits.push(wait / 1000);
    now += wait;
    queueMicrotask(done);
  });
  context.mock.method(globalThis, "fetch", async () => {
    now += 1000 * duration;
    return answers[asked++ % answers.length]();
  });
  const sender = new Sender("https://example.org", memoryStore());
  await assert.rejects(sender.survey("a", { timeout }), { name: "NoAnswer" });
  context.mock.restoreAll();
  return { waits, asked, times, passed: (now - 1000) / 1000 };
}

const failing = (headers = {}, status = 503) => () => new Response("", { status, headers });

test("delays are uniform below half a second, which doubles up to a minute", async (context) => {
  const most = [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60], low = most.map(() => 0), high = [...low];
  for (let run = 0; run < 64; run++) {
    const { waits, asked } = await ask(context, 300, [failing()]);
    assert.equal(asked, waits.length + 1);
    most.forEach((limit, i) => {
      assert.ok(waits[i] >= 0 && waits[i] <= limit, `${waits[i]} s after attempt ${i}`);
      if (waits[i] < limit / 2) low[i]++;
      else high[i]++;
    });
    assert.ok(waits.every((wait) => wait <= 60));
  }
  // Each half is missed with a probability of 2^-64
  assert.ok([...low, ...high].every((times) => times > 0), `${low} and ${high}`);
});

test("a service may ask for a longer delay, in seconds or by a date", async (context) => {
  const { waits } = await ask(context, 1000, [failing({ "Retry-After": "90" }, 429)]);
  assert.ok(waits.length === 11 && waits.every((wait) => wait === 90), waits.join());
  const date = new Date(Math.ceil(Date.now() / 1000 + 300) * 1000).toUTCString();
  const { waits: dated } = await ask(context, 400, [failing({ "Retry-After": date })]);
  assert.ok(dated.length === 1 && dated[0] > 250 && dated[0] <= 301, dated.join());
  const odd = ["soon", "-5", "1e9", "0", new Date(0).toUTCString(), ""].map((each) => failing({ "Retry-After": each }));
  const { waits: short } = await ask(context, 1000, odd);
  assert.ok(short.slice(0, 6).every((wait, i) => wait <= 0.5 * 2 ** i), short.join());
});

test("a delay that would end too late is not begun", async (context) => {
  const { asked, passed } = await ask(context, 30, [failing({ "Retry-After": "31" })]);
  assert.deepEqual([asked, passed], [1, 0]);
  for (let run = 0; run < 20; run++) {
    const { passed: whole, asked: many } = await ask(context, 60, [failing()]);
    assert.ok(whole < 60 && many > 3);
  }
});

test("one attempt takes 20 seconds at most, and never more than what is left", async (context) => {
  const hang = () => Promise.reject(new DOMException("", "TimeoutError"));
  const { times, asked } = await ask(context, 50, [hang], 20);
  assert.ok(asked === 3 || asked === 2, `${asked}`);
  assert.deepEqual(times.slice(0, 2), [20_000, 20_000]);
  assert.ok(times.every((time) => Number.isInteger(time) && time >= 1));
  const { times: one } = await ask(context, 0.0105, [hang], 1);
  assert.deepEqual(one, [11]);
});

test("an answer that is too long is not read to its end", async (context) => {
  let read = 0;
  const endless = () => new Response(new ReadableStream({
    pull(controller) {
      read += 2 ** 20;
      controller.enqueue(new Uint8Array(2 ** 20).fill(0x20));
    },
  }));
  await ask(context, 0.001, [endless], 1);
  assert.ok(read <= 2 ** 24 + 2 ** 22, `${read} bytes`);
});
