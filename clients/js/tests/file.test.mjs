/** The store in a file: kills, two processes, access by others, failed writes. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs, {
  chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync,
  rmSync, statSync, symlinkSync, writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import test from "node:test";
import { Client, mechanism } from "multi-freq-ldpy";
import { fileStore } from "multi-freq-ldpy/stores/file";
import { kill } from "./kills.mjs";

const WEEKLY = { version: 1, protocol: "DBitFlipPM", k: 64, eps_perm: 2, b: 64, d_bits: 64 };
const own = mechanism(WEEKLY);

/** Runs a test with the path of a record that does not exist yet. */
const withPath = (name, run) => test(name, async () => {
  const folder = mkdtempSync(join(tmpdir(), "store-"));
  try {
    await run(join(folder, "record"), folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("kills lose nothing and tell nothing twice", async (context) => {
  const found = await kill(50, undefined, 2, 200);
  context.diagnostic(JSON.stringify(found));
  const { kills, reports, ...wrong } = found;
  assert.deepEqual(wrong, { lost: 0, invented: 0, twice: 0 });
});

test("a store that writes too late, and a device with a new secret, are found", async () => {
  assert.ok((await kill(20, "late", 2, 80)).lost > 0);
  assert.ok((await kill(10, "again", 1, 40)).twice > 0);
});

withPath("a record is a file of this user alone, and the old copy is never half written", async (path, folder) => {
  const client = await Client.begin(own, fileStore(path));
  assert.equal(client.persistent, true);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  writeFileSync(`${path}.new`, "left by a process that was killed");
  await client.report(3);
  assert.ok(!existsSync(`${path}.new`));
  assert.equal(await (await Client.open(own, fileStore(path))).spent(), 2);
  assert.throws(() => fileStore(join(folder, "absent", "record")), /ENOENT/);
});

withPath("a record is durable before its name is, and its name before the report", async (path, folder) => {
  const client = await Client.begin(own, fileStore(path)), done = [];
  const { openSync, fsyncSync, renameSync } = fs, names = new Map();
  Object.assign(fs, {
    openSync(name, ...given) {
      const opened = openSync(name, ...given);
      names.set(opened, String(name));
      return opened;
    },
    fsyncSync(opened) {
      fsyncSync(opened);
      done.push(["sync", names.get(opened)]);
    },
    renameSync(...given) {
      renameSync(...given);
      done.push(["rename", ...given]);
    },
  });
  syncBuiltinESMExports();
  try {
    await client.report(3);
  } finally {
    Object.assign(fs, { openSync, fsyncSync, renameSync });
    syncBuiltinESMExports();
  }
  const whole = realpathSync(folder), record = join(whole, "record");
  const wanted = [["sync", `${record}.new`], ["rename", `${record}.new`, record], ["sync", whole]];
  assert.deepEqual(done, wanted);
});

withPath("a record that others can read, or a link, is refused", async (path) => {
  const client = await Client.begin(own, fileStore(path));
  chmodSync(path, 0o644);
  await assert.rejects(client.report(3), /must be a file of this user/);
  chmodSync(path, 0o600);
  renameSync(path, `${path}.moved`);
  symlinkSync(`${path}.moved`, path);
  await assert.rejects(client.report(3), /ELOOP/);
  rmSync(path);
  await assert.rejects(client.report(3), /record of the client is gone/);
});

withPath("a failed write is no report", async (path) => {
  const client = await Client.begin(own, fileStore(path)), before = readFileSync(path, "utf8");
  mkdirSync(`${path}.new`);
  await assert.rejects(client.report(3));
  assert.equal(readFileSync(path, "utf8"), before);
  rmSync(`${path}.new`, { recursive: true });
  await client.report(3);
  assert.equal(await client.spent(), 2);
});

withPath("a full disk is no report", async (path) => {
  await Client.begin(own, fileStore(path));
  const before = readFileSync(path, "utf8"), code = `
    import { Client, mechanism } from "multi-freq-ldpy";
    import { fileStore } from "multi-freq-ldpy/stores/file";
    const client = await Client.open(mechanism(${JSON.stringify(WEEKLY)}), fileStore(process.env.RECORD));
    await client.report(3).then(() => process.exit(3), (error) => process.exit(error.code === "EFBIG" ? 4 : 5));
  `;
  const command = ["-c", 'ulimit -f 0; exec "$0" --input-type=module -e "$CODE"', process.execPath];
  const env = { ...process.env, RECORD: path, CODE: code };
  const { status, stderr } = spawnSync("bash", command, { cwd: import.meta.dirname, env, encoding: "utf8" });
  assert.equal(status, 4, stderr);
  assert.equal(readFileSync(path, "utf8"), before);
});

withPath("a stranger who connects to the lock does not keep the process alive", async (path) => {
  if (process.platform !== "linux") return;
  await Client.begin(own, fileStore(path));
  const code = `
    import { connect } from "node:net";
    import { readFileSync } from "node:fs";
    import { fileStore } from "multi-freq-ldpy/stores/file";
    const store = fileStore(process.env.RECORD);
    const held = () => readFileSync("/proc/net/unix", "utf8").match(/@(multi-freq-ldpy \\w+)/);
    await store.update((kept) => {
      connect({ path: "\\0" + held()[1] }).on("error", () => {});
      return [kept, null];
    });
  `;
  const env = { ...process.env, RECORD: path };
  const options = { cwd: import.meta.dirname, env, encoding: "utf8", timeout: 20_000 };
  const { status, signal, stderr } = spawnSync(
    process.execPath, ["--input-type=module", "-e", code], options,
  );
  assert.equal(signal, null, "the process did not end");
  assert.equal(status, 0, stderr);
});

withPath("many reports at once in one process follow each other", async (path) => {
  const clients = [await Client.begin(own, fileStore(path), { limit: 20 })];
  for (let i = 0; i < 3; i++) clients.push(await Client.open(own, fileStore(path), { limit: 20 }));
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, value) => clients[value % 4].report(value)),
  );
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 10);
  assert.equal(await clients[0].spent(), 20);
});
