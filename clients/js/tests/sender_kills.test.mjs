/** Kills of senders that share an outbox, and faults that the same kills must find. */
import assert from "node:assert/strict";
import test from "node:test";
import { kill } from "./sender_kills.mjs";

test("kills lose no report, and draw none twice", async (context) => {
  const found = await kill(16, undefined, 2, 16);
  context.diagnostic(JSON.stringify(found));
  const { lost, invented, twice } = found;
  assert.deepEqual({ lost, invented, twice }, { lost: 0, invented: 0, twice: 0 });
});

const FAULTS = { late: "an outbox that is written too late", again: "a sender that draws again" };

for (const [fault, name] of Object.entries(FAULTS)) {
  test(`${name} is found`, async () => {
    let twice = 0;
    for (let tries = 0; tries < 8 && !twice; tries++) ({ twice } = await kill(6, fault));
    assert.ok(twice > 0);
  });
}
