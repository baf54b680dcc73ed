/** Simulated users: their true answers, their reports, and the errors to expect. */
import { aggregate, likelihood, randomize } from "./ldp.mjs";
import { PROTOCOLS, weightsOf } from "./playsetup.mjs";

const Z = 1.959963984540054; // of intervals at the level 95 %
const WORDS = 4096; // random words that are fetched at once
const MANY = 2 ** 20;

/** Users with true answers, and the counts of their reports. */
export class Simulation {
  #limits;
  #words = new Uint32Array(WORDS);
  #next = WORDS;

  constructor(setup) {
    const { k, epsilon, n } = setup;
    this.n = n;
    this.done = 0;
    this.protocol = PROTOCOLS[setup.protocol]({ k, epsilon });
    this.truths = new Float64Array(k);
    this.counts = new Float64Array(k);
    let sum = 0;
    this.#limits = weightsOf(setup).map((weight) => (sum += weight));
  }

  /** Lets one user send a report, and returns it with all that the playground knows of it. */
  step() {
    const { value, report } = this.#draw();
    this.done++;
    return { user: this.done, value, report, supports: this.#count(report) };
  }

  /** Lets many users send a report, at most for some milliseconds. */
  run(many, milliseconds) {
    const end = performance.now() + milliseconds, most = Math.min(many, this.n - this.done);
    const size = this.protocol.bytes, reports = new Uint8Array(most * size);
    let drawn = 0;
    while (drawn < most && (drawn % 16 || performance.now() < end)) {
      reports.set(this.#draw().report, drawn++ * size);
    }
    this.done += aggregate.addCounts(this.protocol, reports.subarray(0, drawn * size), this.counts);
  }

  /** Returns the estimates with their limits, and with the true shares of the users so far. */
  estimates() {
    const found = aggregate.estimate(this.protocol, this.counts, this.done);
    return found.map((each, value) => ({
      ...each, half: Z * each.std, count: this.counts[value], truth: this.truths[value] / this.done,
    }));
  }

  #count(report) {
    const own = new Float64Array(this.counts.length);
    aggregate.addCounts(this.protocol, report, own);
    own.forEach((each, value) => (this.counts[value] += each));
    return valuesOf(own);
  }

  #draw() {
    if (this.#next === WORDS) {
      crypto.getRandomValues(this.#words);
      this.#next = 0;
    }
    const at = (this.#words[this.#next++] / 2 ** 32) * this.#limits.at(-1);
    const value = this.#limits.findIndex((limit) => at < limit);
    this.truths[value]++;
    return { value, report: randomize(this.protocol, value) };
  }
}

const valuesOf = (supports) => Array.from(supports.keys()).filter((value) => supports[value]);

/** Draws a report of a value, and returns how likely it is under each value, as parts of the most. */
export function drawOne(protocol, value) {
  const report = randomize(protocol, value), supports = new Float64Array(protocol.ks[0]);
  aggregate.addCounts(protocol, report, supports);
  const chances = Array.from(supports.keys(), (each) => likelihood(protocol, report, each));
  const most = chances.reduce((a, b) => (a[0] * b[1] >= b[0] * a[1] ? a : b));
  const parts = chances.map(([above, below]) => divide(above * most[1], below * most[0]));
  return { value, report, supports: valuesOf(supports), parts, ratio: 1 / Math.min(...parts) };
}

/** Returns a fraction up to 1 as a double. Both numbers may be beyond the range of doubles. */
function divide(above, below) {
  const shift = 2n ** 80n;
  return Number((above * shift) / below) / 2 ** 80;
}

/** Returns the probabilities that a report supports the true answer, and another one. */
export function chancesOf(protocol) {
  const counts = Array(protocol.ks[0]).fill(0);
  counts[0] = MANY;
  const [all, none] = aggregate.estimate(protocol, counts, MANY);
  const slope = 1 / (all.frequency - none.frequency), other = -none.frequency * slope;
  return { own: other + slope, other };
}

/**
 * Returns the largest half-widths of intervals to expect: about n users, about the population from
 * which they are drawn, and about this population if the users sent their true answers.
 */
export function expectedHalves(protocol, shares, n) {
  const { own, other } = chancesOf(protocol), slope = own - other;
  const halves = shares.map((share) => {
    const noise = (share * own * (1 - own) + (1 - share) * other * (1 - other)) / slope ** 2;
    const drawing = share * (1 - share);
    return [noise, noise + drawing, drawing].map((variance) => Z * Math.sqrt(variance / n));
  });
  const [users, population, open] = [0, 1, 2].map((i) => Math.max(...halves.map((each) => each[i])));
  return { users, population, open };
}
