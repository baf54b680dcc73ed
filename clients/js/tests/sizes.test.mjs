/** Sizes that a page loads: minified by esbuild, compressed by gzip at its best. */
import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/** A plugin that leaves out the protocols over time, to measure the rest. */
const oneRound = {
  name: "one round",
  setup({ onLoad }) {
    const names = ["DBitFlipPM", "LBLH", "LGRR", "LOLH", "LOSUE", "LOUE", "LSOUE", "LSUE"];
    const contents = `export const ${names.map((name) => `${name} = undefined`).join()};`;
    onLoad({ filter: /[/\\]dist[/\\]memoized\.js$/ }, () => ({ contents }));
  },
};

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
  ["surveys", 'export { Survey } from "multi-freq-ldpy";', 12032, []],
  ["surveys of one round", 'export { Survey } from "multi-freq-ldpy";', 10496, [oneRound]],
];

for (const [name, contents, largest, plugins] of SIZES) {
  test(`${name}: at most ${largest} bytes`, async (context) => {
    const size = await measure(contents, plugins);
    context.diagnostic(`${name}: ${size} bytes`);
    assert.ok(size <= largest, `${size} bytes`);
    assert.ok(size > 0.75 * largest, `${size} bytes are much less: lower the limit`);
  });
}
