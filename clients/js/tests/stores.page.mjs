/** The functions that the tests of stores call in pages and workers. */
import * as ldp from "/ldp.mjs";
import { indexedDBStore } from "/stores/indexeddb.js";
import { localStore } from "/stores/local.js";

const { Client, mechanism } = ldp, { hex } = ldp.testing;
const SPEC = { version: 1, protocol: "DBitFlipPM", k: 256, eps_perm: 2, b: 256, d_bits: 256 };
const STORES = { indexeddb: indexedDBStore, local: localStore };
const own = mechanism(SPEC);
let client, store;

/** The result of an action, or the name of its error. */
const attempt = (action) =>
  action().then((value) => ({ value }), (error) => ({ error: `${error.name}: ${error.message}` }));

const actions = {
  async begin(kind, options = {}) {
    store = STORES[kind]("test");
    client = await Client.begin(own, store, options);
    return client.persistent;
  },
  async open(kind, options = {}) {
    store = STORES[kind]("test");
    client = await Client.open(own, store, options);
    return client !== null;
  },
  report: async (value) => hex(await client.report(value)),
  spent: () => client.spent(),
  leave: () => client.leave(),
  export: () => client.export(),
  kept: () => store.update((kept) => [kept, kept]),
  put: (text) => store.update(() => [text, null]),
  /** Reports values one after the other. Returns those that were told, and those that were refused. */
  async many(values) {
    const told = [], refused = [];
    for (const value of values) {
      const { value: report, error } = await attempt(() => client.report(value));
      if (report) told.push(value);
      else if (error.startsWith("LimitReached")) refused.push(value);
      else throw new Error(error);
      globalThis.window?.console.log(`told ${report ? value : -1}`);
    }
    return { told, refused };
  },
};

const call = (name, ...given) => attempt(() => actions[name](...given));

if (globalThis.window) {
  globalThis.call = call;
  globalThis.startWorker = () => {
    const worker = new Worker("/page.mjs", { type: "module" });
    globalThis.callWorker = (...given) => new Promise((done) => {
      worker.onmessage = ({ data }) => done(data);
      worker.postMessage(given);
    });
    return new Promise((done) => (worker.onmessage = done)).then(() => true);
  };
  document.title = "ready";
} else {
  globalThis.onmessage = async ({ data }) => postMessage(await call(...data));
  postMessage("ready");
}
