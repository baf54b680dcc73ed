/** The package as it is published: fields, files and types. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import test from "node:test";

const root = new URL("../", import.meta.url);
const read = (name) => readFileSync(new URL(name, root), "utf8");
const manifest = JSON.parse(read("package.json"));

/** Runs a program of the development dependencies or of Node. */
function run(command, ...given) {
  const { status, stdout, stderr } = spawnSync(command, given, { cwd: root, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  return stdout;
}

test("nothing is installed with the package", () => {
  for (const field of ["dependencies", "peerDependencies", "optionalDependencies"]) {
    assert.equal(manifest[field], undefined, field);
  }
  for (const step of ["preinstall", "install", "postinstall", "prepare"]) {
    assert.equal(manifest.scripts[step], undefined, step);
  }
  for (const version of Object.values(manifest.devDependencies)) {
    assert.match(version, /^\d+\.\d+\.\d+$/, "development dependencies are pinned");
  }
  assert.equal(manifest.type, "module");
  assert.equal(manifest.sideEffects, false);
  assert.equal(manifest.license, "MIT");
  assert.equal(manifest.engines.node, ">=20");
});

test("every export exists, with its types first", () => {
  const exported = Object.entries(manifest.exports).filter(([, each]) => typeof each !== "string");
  assert.deepEqual(exported.map(([name]) => name), [".", "./stores/*", "./sender", "./aggregate", "./testing"]);
  for (const [name, conditions] of exported) {
    assert.deepEqual(Object.keys(conditions), ["types", "default"], name);
    for (const file of Object.values(conditions)) {
      for (const store of ["memory", "indexeddb", "local", "file"]) {
        assert.ok(existsSync(new URL(file.replace("*", store), root)), file);
      }
    }
  }
  assert.equal(manifest.exports["./package.json"], "./package.json");
});

test("every module has types, and imports only other modules of the package", () => {
  const names = readdirSync(new URL("src/", root), { recursive: true })
    .filter((each) => each.endsWith(".ts")).map((each) => each.replace(/\.ts$/, ""));
  assert.ok(names.length > 15);
  for (const name of names) {
    assert.ok(existsSync(new URL(`dist/${name}.d.ts`, root)), name);
    for (const [, from] of read(`dist/${name}.js`).matchAll(/from "([^"]*)"/g)) {
      const allowed = name === "stores/file" ? /^node:\w+$/ : /^\.{1,2}\/[\w/]+\.js$/;
      assert.match(from, allowed, name);
    }
    assert.doesNotMatch(read(`dist/${name}.js`), /\beval\b|new Function|Math\.random|WebAssembly/);
    assert.ok(read(`src/${name}.ts`).split("\n").length <= 301, `${name} has more than 300 lines`);
  }
});

test("a package has the built files, the sources and the license", () => {
  const [{ files }] = JSON.parse(run("npm", "pack", "--dry-run", "--json", "--ignore-scripts"));
  const paths = files.map((each) => each.path);
  for (const wanted of ["LICENSE", "README.md", "package.json", "dist/index.js", "dist/index.d.ts",
    "dist/ldp.mjs", "src/index.ts"]) {
    assert.ok(paths.includes(wanted), wanted);
  }
  const allowed = /^(LICENSE|README\.md|package\.json|(dist|src)\/[\w/.]+)$/;
  for (const path of paths) assert.match(path, allowed);
  assert.equal(read("LICENSE"), readFileSync(new URL("../../LICENSE", root), "utf8"));
});

test("the types hold in a strict program of a user", () => {
  run(process.execPath, "node_modules/typescript/bin/tsc", "-p", "tests/consumer");
});
