/** The privacy losses of mechanisms, computed in fractions and rounded once, to doubles. */
import {
  add, compare, divide, double, fraction, largest, ln, multiply, of, reduce, subtract, type Fraction,
} from "./exact.js";
import type { Loss, Mechanism } from "./mechanism.js";
import type { Fake } from "./rounds.js";

/** The privacy loss of one report and of all reports, in natural logarithms. */
export interface Privacy {
  /** The loss of one report, between any two inputs. */
  readonly report: number;
  /** The loss of any number of reports about one input; infinite without permanent answers. */
  readonly lifetime: number;
  /** The same losses between two inputs that differ in one attribute. */
  readonly reportAttribute: number;
  readonly lifetimeAttribute: number;
  /** The loss over all rounds, whatever the values do; infinite except for whole histories. */
  readonly history: number;
}

const logarithm = (loss: Loss): Fraction => ("log" in loss ? loss.log : ln(loss.ratio));

/** A loss in natural logarithms, as the nearest double. */
export const inDouble = (loss: Loss): number => double(logarithm(loss));

/** The loss of independent parts together, or of the part that loses most. */
export function combine(losses: readonly Loss[], together: boolean): Loss {
  const ratios = losses.flatMap((each) => ("ratio" in each ? [each.ratio] : []));
  if (ratios.length === losses.length) {
    return { ratio: reduce(together ? ratios.reduce(multiply) : largest(ratios)) };
  }
  const logs = losses.map(logarithm);
  return { log: fraction(double(together ? logs.reduce(add) : largest(logs))) };
}

/** One attribute of RS+FD: the ratio of its protocol, the share of users, and its fakes. */
export interface Hidden {
  readonly ratio: Fraction;
  readonly share: Fraction;
  readonly fake: Fake;
}

/**
 * The loss of one attribute among fakes, between any two records or two that differ in one attribute.
 *
 * The largest ratio over whole records is a weighted mean of the attributes' ratios. Which of its
 * two weights an attribute has depends on the mean, so the mean is found step by step.
 */
export function hidden(attribute: boolean, attributes: readonly Hidden[]): Loss {
  const pieces = attributes.map(({ ratio, share, fake }) => ({
    ratio,
    low: multiply(share, fake.lows[0]),
    high: multiply(share, fake.lows[1]),
  }));
  const sum = (all: readonly Fraction[]): Fraction =>
    all.reduce((total, each) => reduce(add(total, each)));
  if (attribute) {
    const all = sum(pieces.map((each) => each.low));
    const excess = pieces.map(({ ratio, low, high }) =>
      divide(multiply(subtract(ratio, of(1)), high), add(all, subtract(high, low))));
    return { ratio: reduce(add(of(1), largest(excess))) };
  }
  for (let whole = of(0); ; ) {
    const lows = pieces.map((each) => (compare(each.ratio, whole) > 0n ? each.high : each.low));
    const better = reduce(
      divide(sum(pieces.map((each, j) => multiply(each.ratio, lows[j]!))), sum(lows)),
    );
    if (compare(better, whole) <= 0n) return { ratio: whole };
    whole = better;
  }
}

/** Returns the losses of a mechanism as doubles. */
export function privacyOf(mechanism: Mechanism): Privacy {
  const rounded = (loss: Loss | null): number => (loss ? inDouble(loss) : Infinity);
  return {
    report: rounded(mechanism.loss(false, false)),
    lifetime: rounded(mechanism.loss(false, true)),
    reportAttribute: rounded(mechanism.loss(true, false)),
    lifetimeAttribute: rounded(mechanism.loss(true, true)),
    history: rounded(mechanism.history()),
  };
}
