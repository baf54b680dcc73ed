/** The example of the README runs as it is written. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import test from "node:test";
import { surveyText } from "./surveys.mjs";

const root = new URL("../", import.meta.url);
const text = readFileSync(new URL("README.md", root), "utf8");
const [, example] = text.match(/```js\n([\s\S]*?)```/);

test("the example of the README sends one report", async (context) => {
  assert.ok(example.trim().split("\n").length <= 10);
  const status = ["single", "married", "divorced", "widowed"];
  const survey = surveyText({ smokes: ["yes", "no"], status }, { protocol: "GRR", epsilon: 2.0 },
    { protocol: "SMP" });
  const sent = [], printed = [];
  context.mock.method(console, "log", (line) => printed.push(line));
  context.mock.method(globalThis, "fetch", async (path, options) => {
    if (path === "/survey.json") return new Response(survey);
    sent.push([path, options.method, options.body]);
    return new Response();
  });
  const file = new URL("dist/readme.mjs", root); // inside the package, which then finds itself
  context.after(() => rmSync(file));
  writeFileSync(file, example);
  await import(file);
  assert.equal(sent.length, 1);
  const [[path, method, body]] = sent;
  assert.deepEqual([path, method], ["/reports", "POST"]);
  assert.ok(body instanceof Uint8Array);
  assert.equal(body.length, 2);
  assert.match(printed[0], /^[0-9a-f]{32}$/);
  assert.equal(printed[1], 2);
});

const guide = readFileSync(new URL("../../docs/devices.md", root), "utf8");
const examples = [...guide.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code);

test("the example of estimates in the guide prints the frequency of the value", async (context) => {
  const [code] = examples.filter((each) => each.includes("/aggregate"));
  const printed = [], file = new URL("dist/guide.mjs", root);
  context.mock.method(console, "log", (line) => printed.push(line));
  context.after(() => rmSync(file));
  writeFileSync(file, code);
  await import(file);
  const [{ frequency, std }] = printed;
  assert.ok(Math.abs(frequency - 1) < 6 * std && std < 0.1);
});

test("the examples of the guide use names that the package exports", async () => {
  assert.equal(examples.length, 6);
  for (const [, names, from] of examples.join("").matchAll(/import \{ (.*?) \} from "(.*?)"/g)) {
    const found = await import(from);
    for (const name of names.split(", ")) assert.equal(typeof found[name], "function", name);
  }
});

test("the sizes of the README are those of the tests", () => {
  const limits = readFileSync(new URL("sizes.test.mjs", import.meta.url), "utf8");
  const listed = [...text.matchAll(/^\| .* \| (\d+),(\d+) \|$/gm)].map(([, a, b]) => a + b);
  assert.equal(listed.length, 6);
  for (const each of listed) assert.match(limits, new RegExp(`, ${each},\\s`));
});
