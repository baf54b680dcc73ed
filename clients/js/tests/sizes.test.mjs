/** Sizes that a page loads: minified by esbuild, compressed by gzip at its best. */
import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** A plugin that leaves out one module, to measure the rest. */
const without = (module, names) => ({
  name: module,
  setup({ onLoad }) {
    const contents = `export const ${names.map((name) => `${name} = undefined`).join()};`;
    onLoad({ filter: new RegExp(`[/\\\\]dist[/\\\\]${module}\\.js$`) }, () => ({ contents }));
  },
});
const noHistories = without("histories", ["Once", "Steps", "Tree"]);
const noRecords = without("over_time", ["histories = () => null, overTime"]);
const noMemory = without(
  "memoized", ["DBitFlipPM", "LBLH", "LGRR", "LOLH", "LOSUE", "LOUE", "LSOUE", "LSUE"],
);

/** The compressed size of a module that a page would write. */
async function measure(contents, plugins = []) {
  const resolveDir = new URL(".", import.meta.url).pathname;
  const stdin = { contents, resolveDir };
  const options = { bundle: true, minify: true, format: "esm", target: "es2022", write: false };
  const { outputFiles, warnings } = await build({ stdin, plugins, ...options });
  assert.deepEqual(warnings, []);
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

// The largest sizes that are allowed, in bytes
const SIZES = [
  ["OUE alone", 'export { OUE, randomize } from "multi-freq-ldpy";', 4096, []],
  ["clients", 'export { Client, Survey } from "multi-freq-ldpy";', 19968, []],
  ["clients without histories", 'export { Client, Survey } from "multi-freq-ldpy";', 15872,
    [noHistories, noRecords]],
  ["surveys of one round", 'export { Survey } from "multi-freq-ldpy";', 12288,
    [noMemory, noHistories, noRecords]],
  ["senders, clients and a store", `export { Client } from "multi-freq-ldpy";
    export { Sender } from "multi-freq-ldpy/sender";
    export { indexedDBStore } from "multi-freq-ldpy/stores/indexeddb";`, 25600, []],
  ["senders", 'export { Sender } from "multi-freq-ldpy/sender";', 23040, []],
];

for (const [name, contents, largest, plugins] of SIZES) {
  test(`${name}: at most ${largest} bytes`, async (context) => {
    const size = await measure(contents, plugins);
    context.diagnostic(`${name}: ${size} bytes`);
    assert.ok(size <= largest, `${size} bytes`);
    assert.ok(size > 0.75 * largest, `${size} bytes are much less: lower the limit`);
  });
}
