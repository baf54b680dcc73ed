/** Everything in one file, for pages without a build step. `testing` is for checks only. */
export * from "./index.js";
export * from "./sender.js";
export { indexedDBStore } from "./stores/indexeddb.js";
export { memoryStore } from "./stores/memory.js";
export * as aggregate from "./aggregate.js";
export * as testing from "./testing.js";
