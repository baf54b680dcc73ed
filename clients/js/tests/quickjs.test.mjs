/** All vectors in QuickJS, an engine that shares no code with V8. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { getQuickJS } from "quickjs-emscripten";
import { LEFT_OUT } from "./vectors.mjs";

const folder = new URL("../../../spec/vectors/", import.meta.url);
const names = readdirSync(folder).map((file) => file.replace(".json", ""));
const modules = {
  ldp: readFileSync(new URL("../dist/ldp.mjs", import.meta.url), "utf8"),
  vectors: readFileSync(new URL("vectors.mjs", import.meta.url), "utf8"),
};
const START = `
  import * as ldp from "ldp";
  import { checkFile } from "vectors";
  globalThis.check = (name, text) =>
    JSON.stringify(checkFile({ ...ldp, ...ldp.testing }, name, JSON.parse(text)));
  globalThis.report = (text) => ldp.Survey.parse(text).randomize({ a: 0 });
`;

const runtime = (await getQuickJS()).newRuntime();
runtime.setModuleLoader((name) => modules[name]);
const context = runtime.newContext();
context.unwrapResult(context.evalCode(START, "start.mjs", { type: "module" })).dispose();

/** Calls a global function with strings, and returns its string. */
function call(name, ...given) {
  const handles = given.map((each) => context.newString(each));
  const own = context.getProp(context.global, name);
  try {
    return context.unwrapResult(context.callFunction(own, context.undefined, ...handles))
      .consume((found) => context.getString(found));
  } finally {
    [own, ...handles].forEach((each) => each.dispose());
  }
}

for (const name of names.filter((each) => !LEFT_OUT.includes(each))) {
  test(`vectors of ${name} in QuickJS`, () => {
    const text = readFileSync(new URL(`${name}.json`, folder), "utf8");
    const { checked, failures } = JSON.parse(call("check", name, text));
    assert.equal(checked, JSON.parse(text).length);
    assert.ok(checked > 0);
    assert.deepEqual(failures, []);
  });
}

test("an engine without random bytes draws no report", () => {
  const spec = { version: 1, protocol: "SPL", protocols: [{ protocol: "GRR", k: 2, epsilon: 1 }] };
  const attributes = [{ name: "a", categories: [0, 1] }];
  const survey = { version: 1, attributes, other: null, missing: null, solution: spec };
  assert.throws(
    () => call("report", JSON.stringify(survey)),
    { message: /^crypto\.getRandomValues is missing/ },
  );
});
