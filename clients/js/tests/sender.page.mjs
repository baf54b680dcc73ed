/** The functions that the tests of senders call in pages and workers. */
import { Client, Sender, Survey, indexedDBStore, testing } from "/ldp.mjs";

const { hex } = testing, store = indexedDBStore("outbox");
const sender = new Sender(location.origin, store);

/** A delivery with its bytes in hexadecimal digits. */
const shown = ({ report, ...rest }) => ({ ...rest, report: report && hex(report) });

const actions = {
  async answer(name, answers, options = {}) {
    const survey = await sender.survey(name), records = indexedDBStore(survey.digest);
    const client = survey.longitudinal ? await Client.open(survey, records, { limit: options.limit }) : undefined;
    return shown(await sender.answer(name, answers, { ...options, client: client ?? undefined }));
  },
  async begin(name) {
    const survey = await sender.survey(name);
    await Client.begin(survey, indexedDBStore(survey.digest));
    return survey.digest;
  },
  async spent(name) {
    const survey = await sender.survey(name);
    return (await Client.open(survey, indexedDBStore(survey.digest))).spent();
  },
  submit: async (name, digits, options) =>
    shown(await sender.submit(name, Uint8Array.from(digits.match(/../g), (two) => parseInt(two, 16)), options)),
  flush: (options) => sender.flush(options),
  kept: () => store.update((kept) => [kept, kept]),
  put: (text) => store.update(() => [text, null]),
  digest: async (text) => Survey.parse(text).digest,
};

const call = (name, ...given) => actions[name](...given).then(
  (value) => ({ value }), (error) => ({ error: `${error.name}: ${error.message}` }),
);

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
