/** The set-up of the playground: its limits, its presets, and its form in an address. */
import { GRR, OLH, OUE, SS, SUE } from "./ldp.mjs";

export const PROTOCOLS = { GRR, SUE, OUE, OLH, SS };
export const LIMITS = {
  k: { min: 2, max: 20, step: 1 },
  epsilon: { min: 0.05, max: 8, step: 0.05 },
  n: { min: 100, max: 100_000, step: 1 },
  weight: { min: 0, max: 100, step: 1 },
};
export const START = { protocol: "GRR", k: 4, epsilon: 1, n: 10_000, shares: "decreasing" };
/** Weights of the answers. A rare answer has one per cent. */
export const PRESETS = {
  decreasing: (k) => Array.from({ length: k }, (_, i) => 5 * (k - i)),
  even: (k) => Array(k).fill(50),
  rare: (k) => [...Array(k - 1).fill(99), k - 1],
};

/** Returns the name of an answer: a letter. */
export const letter = (value) => String.fromCharCode(65 + value);

/** Returns the weights of the true answers. */
export const weightsOf = ({ k, shares }) => (Array.isArray(shares) ? shares : PRESETS[shares](k));

/** Returns the shares of the true answers. */
export function sharesOf(setup) {
  const weights = weightsOf(setup), total = weights.reduce((sum, each) => sum + each);
  return weights.map((each) => each / total);
}

/** Returns a number as it is written in a field or an address, or null if it is outside the limits. */
export function readNumber(text, { min, max, step }) {
  const number = /^\d{1,6}(\.\d{1,2})?$/.test(text) ? Number(text) : NaN;
  const steps = number / step;
  return number >= min && number <= max && Math.abs(steps - Math.round(steps)) < 1e-6 ? number : null;
}

const oneOf = (names) => (text) => (Object.hasOwn(names, text) ? text : null);

function readShares(text, { k }) {
  if (oneOf(PRESETS)(text)) return text;
  const weights = text.split("-").map((each) => readNumber(each, LIMITS.weight));
  return weights.length === k && !weights.includes(null) && weights.some((each) => each) ? weights : null;
}

const READ = {
  protocol: oneOf(PROTOCOLS),
  k: (text) => readNumber(text, LIMITS.k),
  epsilon: (text) => readNumber(text, LIMITS.epsilon),
  n: (text) => readNumber(text, LIMITS.n),
  shares: readShares,
};

/** Returns the set-up of an address, and the names of its fields that are not valid. */
export function readSetup(fragment) {
  const given = new URLSearchParams(fragment), setup = { ...START }, wrong = [];
  for (const [field, read] of Object.entries(READ)) {
    if (!given.has(field)) continue;
    const found = read(given.get(field), setup);
    if (found === null) wrong.push(field);
    else setup[field] = found;
  }
  return { setup, wrong };
}

/** Returns a set-up as the part of an address behind "#". */
export const writeSetup = ({ shares, ...fields }) =>
  String(new URLSearchParams({ ...fields, shares: Array.isArray(shares) ? shares.join("-") : shares }));
