/** How a survey treats answers, in figures: what chance does to 1,000 people. */

const WORD = 2 ** 64;
const PEOPLE = 1000;
const SUPPOSED = 300;

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

/** Returns the figures of an example, in people and reports out of 1,000, or null. */
export function exampleOf(part) {
  const chances = chancesOf(part);
  if (!chances) return null;
  const [own, other] = chances.map((chance) => Math.round(PEOPLE * chance));
  const fitting = Math.round((SUPPOSED * own + (PEOPLE - SUPPOSED) * other) / PEOPLE);
  return { people: PEOPLE, own, other, supposed: SUPPOSED, fitting };
}

/** Returns the largest certainty after a report, of somebody who first thought: one to one. */
export const certaintyOf = (epsilon) => 1 / (1 + Math.exp(-epsilon));
