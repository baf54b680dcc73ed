/** A store in memory, for tests and for processes that keep the record elsewhere. */
import type { Store } from "../client.js";

export function memoryStore(kept: string | null = null): Store {
  return {
    persistent: false,
    update: async (change) => {
      const [after, result] = change(kept);
      kept = after;
      return result;
    },
  };
}
