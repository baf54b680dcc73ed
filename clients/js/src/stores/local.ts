/**
 * A store in localStorage, for pages where IndexedDB is not available.
 *
 * Web Locks make the updates of all tabs follow each other. But a tab may see the writes of another
 * tab late, even after it got the lock. So records are numbered. Every tab holds a shared lock that
 * names the last number it has seen, and whoever updates waits for the largest of these numbers.
 *
 * Browsers write localStorage to the disk some seconds later. IndexedDB is the better choice.
 */
import type { Store } from "../client.js";

/** The waits for the writes of other tabs, in milliseconds: two seconds together. */
const WAITS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SEEN = "multi-freq-ldpy-seen";

/** Returns the store of a name, such as the digest of a survey. */
export function localStore(name: string): Store {
  const key = `multi-freq-ldpy ${name}`;
  let release = (): void => {};

  /** Returns the number of the record, and its text. */
  function read(): [number, string | null] {
    const text = localStorage.getItem(key);
    const found = /^(\d{1,15})\n([^]+)$/.exec(text ?? "");
    return found ? [Number(found[1]), found[2]!] : [0, text]; // a damaged text is refused later
  }

  /** Returns the largest number that any tab has seen. */
  async function largest(locks: LockManager): Promise<number> {
    const { held = [] } = await locks.query();
    const numbers = held.map((lock) => {
      const [what, number, ...rest] = lock.name!.split(" ");
      return what === SEEN && rest.join(" ") === name ? Number(number) : 0;
    });
    return Math.max(0, ...numbers);
  }

  /** Lets other tabs know a number that this tab has seen, as long as the tab lives. */
  function show(locks: LockManager, number: number): Promise<void> {
    const before = release;
    return new Promise((shown) => {
      void locks.request(`${SEEN} ${number} ${name}`, { mode: "shared" }, () => {
        shown();
        before();
        return new Promise<void>((done) => (release = done));
      });
    });
  }

  return {
    async update<T>(change: (kept: string | null) => readonly [string | null, T]): Promise<T> {
      const { locks } = navigator;
      if (!locks) throw new Error("Web Locks are missing: they need https or a newer browser");
      return locks.request(key, async () => {
        const wanted = await largest(locks);
        for (const wait of WAITS) {
          if (read()[0] >= wanted) break;
          await new Promise((done) => setTimeout(done, wait));
        }
        const [number, kept] = read();
        if (number < wanted && kept !== null) {
          throw new Error("a write of another tab has not arrived here: try again");
        }
        const [after, result] = change(kept), next = Math.max(number, wanted) + 1;
        if (after === null) {
          localStorage.removeItem(key);
        } else if (after !== kept) {
          localStorage.setItem(key, `${next}\n${after}`);
          await show(locks, next);
        }
        return result;
      }) as Promise<T>;
    },
  };
}
