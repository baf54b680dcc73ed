/** Everything in one file, for pages without a build step. `testing` is for checks only. */
export * from "./index.js";
export * as testing from "./testing.js";
