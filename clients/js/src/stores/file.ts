/**
 * A store in a file of Node, in the format of Python's client files.
 *
 * A new record is written beside the old one, made durable and renamed over it. So after a kill the
 * file is the old one or the new one. A lock of the operating system, which ends with its process,
 * makes the updates of all processes follow each other.
 */
import { createHash } from "node:crypto";
import {
  closeSync, constants, fstatSync, fsyncSync, openSync, readFileSync, realpathSync, renameSync,
  rmSync, statSync, writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import type { Store } from "../client.js";

const PATIENCE = 30_000; // milliseconds
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const EXCLUSIVE_LOCK = 0x20; // O_EXLOCK of macOS and BSD

const code = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Takes a lock, and returns its release. Null: another process holds it. */
function tryLock(path: string, name: string): Promise<(() => void) | null> {
  if (process.platform !== "linux" && process.platform !== "win32") {
    const { O_RDWR, O_CREAT, O_NONBLOCK } = constants;
    try {
      const flags = O_RDWR | O_CREAT | O_NONBLOCK | NO_LINK | EXCLUSIVE_LOCK;
      const opened = openSync(`${path}.lock`, flags, 0o600);
      return Promise.resolve(() => closeSync(opened));
    } catch (error) {
      if (code(error) === "EAGAIN") return Promise.resolve(null);
      throw error;
    }
  }
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major! < 20 || (major === 20 && minor! < 8)) throw new Error("fileStore needs Node 20.8 or newer");
  // The name of a socket without a file belongs to one process, and is free when the process ends
  const address = process.platform === "win32" ? `\\\\.\\pipe\\${name}` : `\0${name}`;
  return new Promise((done, fail) => {
    // A stranger who connects must not keep the process alive
    const server = createServer((socket) => socket.destroy());
    server.on("error", (error) => (code(error) === "EADDRINUSE" ? done(null) : fail(error)));
    server.listen({ path: address, exclusive: true }, () => done(() => void server.close()));
  });
}

function read(path: string): string | null {
  let opened;
  try {
    opened = openSync(path, constants.O_RDONLY | NO_LINK);
  } catch (error) {
    if (code(error) === "ENOENT") return null;
    throw error;
  }
  try {
    const about = fstatSync(opened);
    const alone = process.getuid === undefined
      || (about.uid === process.getuid() && !(about.mode & 0o077));
    if (!about.isFile() || !alone) {
      throw new Error(`${path} must be a file of this user that no other user can access`);
    }
    return readFileSync(opened, "utf8");
  } finally {
    closeSync(opened);
  }
}

/** Makes a file or a folder durable. */
function sync(path: string): void {
  const opened = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** Makes the last rename or removal in the folder of a file durable. */
function syncFolder(path: string): void {
  if (process.platform !== "win32") sync(dirname(path));
}

function write(path: string, text: string | null): void {
  if (text === null) {
    rmSync(path, { force: true });
  } else {
    rmSync(`${path}.new`, { force: true }); // left by a process that was killed
    const opened = openSync(`${path}.new`, "wx", 0o600);
    try {
      writeFileSync(opened, text);
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    renameSync(`${path}.new`, path);
  }
}

/** The name of the lock of a file, which depends on its folder and not on links to it. */
function nameOf(path: string): string {
  const { dev, ino } = statSync(dirname(path));
  const place = `${dev} ${ino} ${basename(path).toLowerCase()}`;
  // With 107 characters, all releases of Node bind the same address
  return `multi-freq-ldpy ${createHash("sha512").update(place).digest("hex")}`.slice(0, 107);
}

/** Returns the store of a file. Its folder must exist. */
export function fileStore(path: string): Store {
  const whole = join(realpathSync(dirname(resolve(path))), basename(path));
  let synced: string | null | undefined; // the text whose name is known to be on the disk

  /** Takes the lock of the file, and returns its release. */
  async function lock(): Promise<() => void> {
    for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
      const name = nameOf(whole), release = await tryLock(whole, name);
      try {
        if (release && nameOf(whole) === name) return release;
      } catch (error) {
        release?.();
        throw error;
      }
      release?.(); // another folder has taken the place of this one
      await new Promise((done) => setTimeout(done, 2));
    }
    throw new Error(`${whole} is in use by another process for too long`);
  }

  return {
    persistent: true,
    async update<T>(change: (kept: string | null) => readonly [string | null, T]): Promise<T> {
      const release = await lock();
      try {
        const kept = read(whole), [after, result] = change(kept);
        if (after !== kept) write(whole, after);
        if (after !== synced) { // a process may be killed between its rename and this
          syncFolder(whole);
          synced = after;
        }
        return result;
      } finally {
        release();
      }
    },
  };
}
