/** Times of the JavaScript client, in milliseconds, in any engine. `ldp` is the module `ldp.mjs`. */

const one = (protocol, k) => ({ version: 1, protocol, k, epsilon: 1 });
const five = Array.from({ length: 5 }, () => ({ protocol: "OUE", k: 10, epsilon: 1 }));
const SECRET = Uint8Array.from({ length: 32 }, (_, i) => i);

/** What is measured: a function that is called again and again, for each name. */
function tasks({ mechanism, randomize, testing: { memoryOf } }) {
  const report = (spec, value) => {
    const own = mechanism(spec);
    return () => randomize(own, value);
  };
  const again = (spec, value) => {
    const own = mechanism(spec), memory = memoryOf(own, SECRET, SECRET);
    return () => own.recall(memory, [value])
      .report(() => globalThis.crypto.getRandomValues(new Uint8Array(32)));
  };
  const hidden = { version: 1, protocol: "RSFD", protocols: five, fake: "zero", balance: false };
  return {
    "GRR, k = 100": report(one("GRR", 100), 42),
    "SS, k = 100": report(one("SS", 100), 42),
    "OUE, k = 1000": report(one("OUE", 1000), 42),
    "OLH, k = 1000": report(one("OLH", 1000), 42),
    "RS+FD[OUE], five attributes, k = 10": report(hidden, [1, 2, 3, 4, 5]),
    "L-OSUE, k = 100, again":
      again({ version: 1, protocol: "LOSUE", k: 100, eps_perm: 2, eps_1: 1 }, 42),
    "THE, k = 100, probabilities": () => mechanism(one("THE", 100)),
  };
}

/** Returns the shortest time of each task, out of several turns of some milliseconds. */
export function measure(ldp, turns, milliseconds) {
  const found = {};
  for (const [name, task] of Object.entries(tasks(ldp))) {
    let calls = 0;
    const end = performance.now() + milliseconds;
    for (; performance.now() < end; calls++) task(); // compiles, too
    const times = Array.from({ length: turns }, () => {
      const start = performance.now();
      for (let i = 0; i < calls; i++) task();
      return (performance.now() - start) / calls;
    });
    found[name] = Math.min(...times);
  }
  return found;
}
