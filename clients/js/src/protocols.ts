/**
 * The protocols of one round: from fields to the label, the length of reports, and the draws.
 *
 * Each protocol is a function of its own, so that a page bundles only the protocols it names.
 */
import type { Budget } from "./errors.js";
import { writeFloat } from "./canonical.js";
import {
  LARGEST_DOMAIN, budget, forget, integer, labelOf, type Given, type Plain,
} from "./mechanism.js";
import { chance } from "./exact.js";
import { readable } from "./reading.js";
import {
  bestSymbols, bits, hadamard, hashing, histograms, sets, symbols, type Constants, type Fake,
  type Round,
} from "./rounds.js";
import type { Source } from "./source.js";
import { optimizedWeights, symmetricWeights, thresholdWeights } from "./weights.js";

/** The fields of a protocol of one round. */
export interface Once { k: number; epsilon: number }

export interface Protocol extends Plain {
  readonly constants: Constants;
  readonly fake?: (zero: boolean) => Fake;
  /** Draws a report of one value; −1 stands for no value. */
  one(source: Source, user: number, value: number): Uint8Array;
}

/** Returns the protocol of one round that some content makes. */
function oneShot(
  name: string, given: Given<Once>, make: (own: Budget) => Round, largest = LARGEST_DOMAIN,
): Protocol {
  const k = integer("k", given.k, 2, largest), epsilon = budget("epsilon", given.epsilon);
  const round = make({ field: "epsilon", epsilon, k });
  const protocol: Protocol = {
    ...round,
    ...readable(round.reading, round.constants.weights.map(chance)),
    label: labelOf("protocol", name, { k, epsilon: writeFloat(epsilon) }),
    ks: [k],
    accounts: 1,
    loss: (_, lifetime) => (lifetime ? null : round.loss),
    history: () => null,
    prices: () => [round.loss],
    one: round.draw,
    draw: (source, user, [value]) => round.draw(source, user, value!),
    recall: (_, record) => forget(protocol, record),
  };
  return protocol;
}

export const GRR = (given: Given<Once>): Protocol =>
  oneShot("GRR", given, (own) => symbols(own.k, own));
export const SUE = (given: Given<Once>): Protocol =>
  oneShot("SUE", given, (own) => bits(own.k, { weights: symmetricWeights(own) }));
export const OUE = (given: Given<Once>): Protocol =>
  oneShot("OUE", given, (own) => bits(own.k, { weights: optimizedWeights(own) }));
export const THE = (given: Given<Once>): Protocol =>
  oneShot("THE", given, (own) => bits(own.k, thresholdWeights(own)));
export const BLH = (given: Given<Once>): Protocol =>
  oneShot("BLH", given, (own) => hashing(2, own));
export const OLH = (given: Given<Once>): Protocol =>
  oneShot("OLH", given, (own) => hashing(bestSymbols(own), own));
export const SS = (given: Given<Once>): Protocol => oneShot("SS", given, sets);
export const SHE = (given: Given<Once>): Protocol => oneShot("SHE", given, histograms, 2 ** 28);
export const HR = (given: Given<Once>): Protocol => oneShot("HR", given, hadamard, 2 ** 31 - 1);
