/**
 * The checks of all vectors, for any engine: no file access, no console, no test runner.
 *
 * `ldp` is the module under test, with the names of `multi-freq-ldpy/testing` and `Survey`.
 */

const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
const KEY = Uint8Array.from({ length: 32 }, (_, i) => i);
const GOLDEN = Uint8Array.from("golden", (c) => c.charCodeAt(0));
const weight = (text) => BigInt(text);

/** A source with given words instead of a key. Reading anything else is an error. */
function given(main, on) {
  return {
    number(address, size) {
      let number = 0;
      for (let i = size; i--; ) {
        if (!(address + i < main.length)) throw new Error(`byte ${address + i} is not owned`);
        number = number * 256 + main[address + i];
      }
      return number;
    },
    on(address) {
      let next = 0;
      return () => {
        const word = on[address]?.[next++];
        if (word === undefined) throw new Error(`word ${next - 1} at ${address} is not given`);
        return BigInt(word);
      };
    },
    part() {
      throw new Error("a draw with given words has no parts");
    },
  };
}

/** Everything about a mechanism that other languages must derive alike. */
export function derived(ldp, mechanism) {
  const { label, bytes: length, parts, weights, constants = {} } = mechanism;
  const found = { label, bytes: length };
  if (parts) found.parts = parts.map((each) => derived(ldp, each));
  const own = { ...constants, weights: weights ?? constants.weights };
  for (const name of ["weights", "second"]) if (own[name]) found[name] = own[name].map(String);
  for (const name of ["g", "prime", "omega"]) if (own[name]) found[name] = own[name];
  if (own.threshold) found.threshold = String(own.threshold);
  return found;
}

const loss = (number) => (number === Infinity ? null : number);
export function losses(ldp, mechanism) {
  const { report, lifetime, reportAttribute, lifetimeAttribute } = ldp.privacyOf(mechanism);
  return [report, lifetime, reportAttribute, lifetimeAttribute].map(loss);
}

/** Text of a value with sorted keys, to compare two values. */
function text(value) {
  if (Array.isArray(value)) return `[${value.map(text).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  return `{${Object.keys(value).sort().map((key) => `${key}:${text(value[key])}`).join()}}`;
}

/** The fields of an entry that `derived` and `losses` give. */
function expected(entry) {
  const { label, bytes: length, parts, weights, second, g, prime, omega, threshold } = entry;
  const all = { label, bytes: length, parts, weights, second, g, prime, omega, threshold };
  return Object.fromEntries(Object.entries(all).filter(([, each]) => each !== undefined));
}

const DRAWS = {
  symbol: (d, s, e) => d.symbol(s, 0, e.value, e.m, e.weights.map(weight)),
  uniform: (d, s, e) => d.uniform(s, 0, e.m),
  seed: (d, s, e) => String(d.seed(s, 0, e.prime)),
  bits: (d, s, e, hex) =>
    hex(d.unary(s, 0, e.value, e.k, weight(e.weights[0]), d.table(weight(e.weights[1])))),
  again: (d, s, e, hex) =>
    hex(d.again(s, 0, bytes(e.permanent), e.k, e.half, d.table(weight(e.weight)))),
  set: (d, s, e, hex) => hex(d.subset(s, 0, e.value, weight(e.weight), d.plan(e.k, e.omega))),
  hashing(d, s, e) {
    const [seed, symbol] = d.hashed(s, 0, e.value, e.prime, e.g, e.weights.map(weight));
    return { seed: String(seed), symbol };
  },
  noise: (d, s, e) => [...d.histogram(s, 0, e.value, e.k, weight(e.weight))],
  sampled: (d, s, e) => d.sampled(s, 0, e.weights.map(weight)),
};

/** One function per kind of file: what is computed, and what is expected. */
const CHECKS = {
  draws(ldp, entry) {
    const source = given(bytes(entry.main), entry.on);
    return [DRAWS[entry.draw](ldp.draws, source, entry, ldp.hex), entry.result];
  },
  weights(ldp, entry) {
    const mechanism = ldp.mechanism(entry.spec);
    return [
      [derived(ldp, mechanism), losses(ldp, mechanism)],
      [expected(entry), entry.losses],
    ];
  },
  refused(ldp, entry) {
    try {
      if (entry.kind === "survey") ldp.Survey.parse(entry.text);
      else ldp.mechanism(ldp.parse(entry.text));
    } catch (error) {
      const named = entry.field === null || error.message.includes(entry.field);
      return [[error.name, named], ["SpecError", true]];
    }
    return ["accepted", "refused"];
  },
  again(ldp, entry) {
    const [secret, context] = [bytes(entry.secret), bytes(entry.context)];
    const found = entry.reports.map(({ value, fresh }) => {
      const { report, charges } = ldp.reportAs(entry.spec, secret, context, fresh.map(bytes), value);
      return { value, fresh, report: ldp.hex(report), charges };
    });
    return [found, entry.reports];
  },
  surveys(ldp, entry) {
    const survey = ldp.Survey.parse(entry.text);
    const codes = entry.answers.map(({ answers }) => {
      try {
        return survey.encode(answers);
      } catch (error) {
        if (error.name !== "AnswerError") throw error;
        return null;
      }
    });
    const { report, lifetime, reportAttribute, lifetimeAttribute, history } = survey.privacy;
    const over = entry.losses.length > 4 ? [history] : [];
    const found = {
      digest: survey.digest,
      longitudinal: survey.longitudinal,
      losses: [report, lifetime, reportAttribute, lifetimeAttribute, ...over].map(loss),
      codes,
    };
    const wanted = {
      digest: entry.digest,
      longitudinal: entry.longitudinal,
      losses: entry.losses,
      codes: entry.answers.map((each) => each.codes),
    };
    return [found, wanted];
  },
  /** Explanations of reports: in doubles, and the likelihood under every change of one answer. */
  explanations(ldp, { text: given, reports }) {
    const survey = ldp.Survey.parse(given), { solution } = survey;
    const found = reports.map(({ report, answers }) => {
      const data = bytes(report), same = { report, answers };
      let explained;
      try {
        explained = survey.explain(data, answers ?? undefined);
      } catch (error) {
        if (error.name !== "SpecError") throw error;
        return { ...same, refused: true };
      }
      const explanations = explained.map(({ odds, ...each }, j) => {
        const labels = odds.map(({ label }) => label);
        if (text(labels) !== text(survey.attributes[j].categories)) throw new Error("other labels");
        return { ...each, times: odds.map(({ times }) => times) };
      });
      const likelihoods = answers && survey.attributes.map(({ name, categories }) =>
        categories.map((label) => {
          const record = survey.encode({ ...answers, [name]: label });
          return ldp.likelihood(solution, data, record).join("/");
        }));
      return { ...same, explanations, likelihoods };
    });
    return [found, reports];
  },
  /** Ids of reports. */
  ids(ldp, { secret, survey, digest, round, id }) {
    return [ldp.reportId(bytes(secret), survey, digest, round), id];
  },
  /** Devices with their client files, step by step. */
  clients(ldp, entry) {
    const mechanism = ldp.mechanism(entry.spec), limit = entry.limit ?? undefined;
    const prices = ldp.pricesOf(mechanism), steps = [];
    let kept = entry.file;
    for (const { value, round, fresh } of entry.steps) {
      let report = null, refused = false;
      try {
        const own = { round, limit, fresh: (i) => bytes(fresh[i]) };
        const now = ldp.read(kept, mechanism, null);
        const [after, draw] = ldp.respond(mechanism, now, [value].flat(), own);
        kept = after;
        report = draw();
      } catch (error) {
        if (error.name !== "LimitReached") throw error;
        refused = true;
      }
      const spent = ldp.spentBy(ldp.read(kept, mechanism, null).ledger, prices);
      steps.push({ value, round, fresh, report: report && ldp.hex(report), refused, file: kept, spent });
    }
    const wanted = entry.steps.map((step) => ({ round: undefined, refused: false, ...step }));
    return [{ prices, steps }, { prices: entry.prices, steps: wanted }];
  },
  /** The vectors of a history: states and reports of a device, round by round. */
  histories(ldp, entry) {
    const mechanism = ldp.mechanism(entry.spec);
    const memory = ldp.memoryOf(mechanism, bytes(entry.secret), GOLDEN);
    let kept = mechanism.begin(memory, entry.first ?? 0, entry.restorable ?? true);
    const states = [], reports = [];
    entry.values.forEach((value, i) => {
      const asked = mechanism.ask(memory, kept, [value], entry.rounds?.[i] ?? i);
      const other = (value + 1) % mechanism.ks[0];
      const again = mechanism.ask(memory, asked.kept, [other], entry.rounds?.[i] ?? i);
      if (text(again) !== text(asked)) throw new Error("a round asked again has another answer");
      kept = mechanism.check(memory, asked.kept);
      states.push(kept);
      reports.push(asked.report && ldp.hex(asked.report));
    });
    const found = {
      label: mechanism.label, bytes: mechanism.bytes, states, reports,
      losses: [...losses(ldp, mechanism), loss(ldp.privacyOf(mechanism).history)],
    };
    const { label, bytes: length, states: wanted, reports: sent, losses: lost } = entry;
    return [found, { label, bytes: length, states: wanted, reports: sent, losses: lost }];
  },
  /** The vectors of a class: reports of a stream, permanent answers and charges. */
  classes(ldp, entry) {
    const mechanism = ldp.mechanism(entry.spec);
    const memory = ldp.memoryOf(mechanism, KEY, GOLDEN);
    const recalled = entry.values.map((value) => mechanism.recall(memory, [value].flat()).charges);
    const found = {
      derived: derived(ldp, mechanism),
      losses: losses(ldp, mechanism),
      reports: entry.values
        .map((value, i) => ldp.hex(ldp.drawAs(entry.spec, KEY, entry.position + i, value)))
        .join(""),
    };
    const wanted = { derived: expected(entry), losses: entry.losses, reports: entry.reports };
    if (entry.classes) {
      Object.assign(found, {
        classes: recalled.map(([[, memoClass]]) => memoClass),
        permanent: entry.values
          .map((value) => ldp.hex(ldp.permanentOf(mechanism, memory, value)))
          .join(""),
      });
      Object.assign(wanted, { classes: entry.classes, permanent: entry.permanent });
    }
    if (entry.charges) {
      found.charges = recalled;
      wanted.charges = entry.charges;
    }
    return [found, wanted];
  },
};

/** Files of mechanisms that are not for devices. */
export const LEFT_OUT = ["Bloom", "DDRM"];

/** Checks one file. Returns the number of entries, and a message for each that differs. */
export function checkFile(ldp, name, entries) {
  const failures = [];
  const timed = entries[0]?.spec && "history" in entries[0].spec && name !== "clients";
  const check = CHECKS[name] ?? (timed ? CHECKS.histories : CHECKS.classes);
  entries.forEach((entry, i) => {
    let message;
    try {
      const [found, wanted] = check(ldp, entry).map(text);
      if (found !== wanted) message = `found ${found}, not ${wanted}`;
    } catch (error) {
      message = `${error.stack ?? error}`;
    }
    if (message) failures.push(`${name}[${i}]: ${message}`.slice(0, 1000));
  });
  return { checked: entries.length, failures };
}
