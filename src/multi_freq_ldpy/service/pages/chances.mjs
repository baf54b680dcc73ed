/** How a survey treats answers, in figures: what chance does to 1,000 people. */

const WORD = 2 ** 64;
const PEOPLE = 1000;
const SUPPOSED = 300;
const Z = 1.959963984540054; // of an interval of 95 %

/**
 * Returns how likely a report fits the true answer, and how likely it fits another one.
 *
 * Null for protocols without one pair of chances.
 */
export function chancesOf({ label, constants, ks: [k] }) {
  const { weights = [], second, omega, g, prime } = constants ?? {};
  let [own, other] = weights.map((weight) => Number(weight) / WORD);
  if (omega) return [own, (omega - own) / (k - 1)];
  if (weights.length !== 2 || label.includes('"DBitFlipPM"')) return null;
  if (second) {
    const [kept, made] = second.map((weight) => Number(weight) / WORD);
    [own, other] = [own, other].map((chance) => chance * kept + (1 - chance) * made);
  }
  if (!g) return [own, other];
  const together = collisionOf(g, prime);
  return [own, together * own + (1 - together) * other];
}

/** Returns how likely two answers have the same hash: pairs within g groups of a prime number of places. */
function collisionOf(g, prime) {
  const size = Math.floor(prime / g), larger = prime % g;
  return ((g - larger) * size * (size - 1) + larger * (size + 1) * size) / (prime * (prime - 1));
}

/** Returns the figures of an example, in people and reports out of 1,000, or null. `low` and `high` are those of 95 %. */
export function exampleOf(part) {
  const chances = chancesOf(part);
  if (!chances) return null;
  const [p, q] = chances, [own, other] = chances.map((chance) => Math.round(PEOPLE * chance));
  const fitting = Math.round((SUPPOSED * own + (PEOPLE - SUPPOSED) * other) / PEOPLE);
  const variance = SUPPOSED * p * (1 - p) + (PEOPLE - SUPPOSED) * q * (1 - q);
  const half = Math.round((Z * Math.sqrt(variance)) / (p - q));
  const [low, high] = [Math.max(0, SUPPOSED - half), Math.min(PEOPLE, SUPPOSED + half)];
  return { people: PEOPLE, own, other, supposed: SUPPOSED, fitting, low, high };
}

/** Returns the largest certainty after a report, of somebody who was `before` sure of one of two answers. */
export const certaintyOf = (epsilon, before = 0.5) => before / (before + (1 - before) * Math.exp(-epsilon));
