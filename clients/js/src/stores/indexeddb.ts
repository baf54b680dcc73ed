/**
 * A store in IndexedDB, for pages, workers and service workers.
 *
 * Each update is one `readwrite` transaction, so updates of all tabs and workers follow each other.
 */
import type { Store } from "../client.js";

const DATABASE = "multi-freq-ldpy";
const RECORDS = "records";

/** Returns the store of a name, such as the digest of a survey. */
export function indexedDBStore(name: string): Store {
  let connection: Promise<IDBDatabase> | undefined;
  const forget = (): void => void (connection = undefined);

  function connect(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(RECORDS);
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const database = request.result;
        database.onclose = forget; // the storage was cleared
        database.onversionchange = () => {
          database.close();
          forget();
        };
        resolve(database);
      };
    });
  }

  /** Begins a transaction, on a new connection if the old one was closed. */
  async function begin(): Promise<IDBTransaction> {
    for (let again = false; ; again = true) {
      try {
        const database = await (connection ??= connect());
        return database.transaction(RECORDS, "readwrite", { durability: "strict" });
      } catch (error) {
        forget();
        if (again) throw error;
      }
    }
  }

  return {
    async update<T>(change: (kept: string | null) => readonly [string | null, T]): Promise<T> {
      const transaction = await begin(), records = transaction.objectStore(RECORDS);
      return new Promise<T>((resolve, reject) => {
        let result: T, failure: unknown;
        const request = records.get(name);
        request.onsuccess = () => {
          const found: unknown = request.result, kept = found === undefined ? null : `${found}`;
          try {
            const [after, made] = change(kept);
            result = made;
            if (after === null) records.delete(name);
            else if (after !== kept) records.put(after, name);
          } catch (error) {
            failure = error;
            transaction.abort();
          }
        };
        transaction.oncomplete = () => resolve(result);
        transaction.onabort = () => {
          reject(failure ?? transaction.error ?? new Error("the browser took the write back"));
        };
      });
    },
  };
}
