/** The solutions: records of several attributes. */
import { bytes, sampled, size, uniform } from "./draws.js";
import { SpecError, refuse } from "./errors.js";
import {
  WORD, add, chance, compare, divide, multiply, nearest, of, reduce, type Fraction,
} from "./exact.js";
import { forget, type Charge, type Loss, type Mechanism, type Plain } from "./mechanism.js";
import { histories, overTime, type TimedSolution } from "./over_time.js";
import { combine, hidden } from "./privacy.js";
import type { Protocol } from "./protocols.js";
import { concat, type Fake } from "./rounds.js";

const LARGEST_REPORT = 2 ** 31 - 1;
export const LARGEST_RECORD = 2 ** 10;
const NUMBERED_TOGETHER = 2 ** 16;

export interface Solution extends Plain {
  readonly parts: readonly Plain[];
}

const isProtocol = (mechanism: Mechanism): mechanism is Protocol => "one" in mechanism;

/** The first index of each part, for lengths that follow each other. */
function starts(lengths: readonly number[]): number[] {
  let start = 0;
  return lengths.map((length) => (start += length) - length);
}

/** What all solutions have in common. `options` are further fields of the label. */
function common<T extends Mechanism>(
  name: string, parts: readonly T[], size_: number, options = "",
) {
  const ks = parts.flatMap((each) => each.ks);
  if (!parts.length) refuse("protocols", "a list of specs, one per attribute", parts);
  if (ks.length > LARGEST_RECORD) refuse("protocols", `at most ${LARGEST_RECORD}`, ks.length);
  if (size_ > LARGEST_REPORT) {
    refuse("protocols", `of a report of at most ${LARGEST_REPORT} bytes`, size_);
  }
  const labels = parts.map((each) => each.label).join(", ");
  return { parts, ks, bytes: size_, label: `{${options}"protocol": "${name}", "protocols": [${labels}]}` };
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
const lengths = (parts: readonly Mechanism[]): number[] => parts.map((each) => each.bytes);

/** A solution whose parts report on their own, all together or one of them. */
function independent<T extends Mechanism>(
  name: string, parts: readonly T[], size_: number, together: boolean,
) {
  const columns = starts(parts.map((each) => each.ks.length));
  const accounts = starts(parts.map((each) => each.accounts));
  /** The loss of all parts, or null if one of them has no bound. */
  const join = (of: (part: T) => Loss | null, all: boolean): Loss | null => {
    const losses = parts.flatMap((each) => of(each) ?? []);
    return losses.length < parts.length ? null : combine(losses, all);
  };
  return {
    ...common(name, parts, size_),
    accounts: total(parts.map((each) => each.accounts)),
    prices: () => parts.flatMap((each) => each.prices()),
    loss: (attribute: boolean, lifetime: boolean) =>
      join((each) => each.loss(attribute, lifetime), together && !attribute),
    history: () => join((each) => each.history(), together),
    /** The values of part j in a record. */
    own: (j: number, record: readonly number[]) =>
      record.slice(columns[j]!, columns[j]! + parts[j]!.ks.length),
    /** Charges of part j, on the accounts of the solution. */
    charge: (j: number, charges: readonly Charge[]): Charge[] =>
      charges.map(([account, memoClass]) => [accounts[j]! + account, memoClass]),
    columns,
  };
}

/** Every attribute is reported, each with a part of the budget. */
export function SPL(parts: readonly Mechanism[]): Solution | TimedSolution {
  const over = histories(parts), length = total(lengths(parts));
  if (over) return overTime(over, independent("SPL", over, length, true), null);
  const plain = parts as readonly Plain[];
  const { own, charge, columns, ...solution } =
    independent("SPL", plain, length, true);
  return {
    ...solution,
    draw: (source, user, record) =>
      concat(...plain.map((each, j) => each.draw(source.part(j), user, own(j, record)))),
    recall(memory, record) {
      const recalled = plain.map((each, j) => each.recall(memory.part(j), own(j, record)));
      return {
        charges: recalled.flatMap((each, j) => charge(j, each.charges)),
        report: (fresh) =>
          concat(...recalled.map((each, j) => each.report((i) => fresh(columns[j]! + i)))),
      };
    },
  };
}

/** A report of SMP: the number of the part, its report, and zeros. */
function wrap(j: number, report: Uint8Array, head: number, length: number): Uint8Array {
  const whole = new Uint8Array(length);
  whole.set(bytes(j, head));
  whole.set(report, head);
  return whole;
}

/** One attribute is reported, drawn at random, with the whole budget. */
export function SMP(parts: readonly Mechanism[]): Solution | TimedSolution {
  const m = parts.length, head = size(m), length = head + Math.max(...lengths(parts));
  const over = histories(parts);
  const put = (j: number, report: Uint8Array): Uint8Array => wrap(j, report, head, length);
  if (over) return overTime(over, independent("SMP", over, length, false), put);
  const plain = parts as readonly Plain[];
  const { own, charge, columns, ...solution } = independent("SMP", plain, length, false);
  return {
    ...solution,
    draw(source, user, record) {
      const choice = source.part("attribute"), j = uniform(choice, user, m);
      // Users who sampled one attribute are numbered without gaps, within blocks of users
      let number = user - (user % NUMBERED_TOGETHER);
      for (let u = number; u < user; u++) if (uniform(choice, u, m) === j) number++;
      return put(j, plain[j]!.draw(source.part(j), number, own(j, record)));
    },
    recall(memory, record) {
      const j = uniform(memory.part("attribute"), 0, m);
      const { charges, report } = plain[j]!.recall(memory.part(j), own(j, record));
      return {
        charges: charge(j, charges),
        report: (fresh) => put(j, report((i) => fresh(columns[j]! + i))),
      };
    },
  };
}

/** The weights with which a balanced RS+FD samples attributes. They add up to 2^64. */
function balance(fakes: readonly Fake[]): bigint[] {
  let sum = of(0);
  const sums = fakes.map(({ lows: [low, high] }) => {
    if (compare(low, high)) {
      throw new SpecError('balance=true needs fakes with one lower ratio: use fake="zero"');
    }
    return (sum = reduce(add(sum, divide(of(1), low))));
  });
  const edges = sums.map((each) => nearest(divide(multiply(of(WORD), each), sum)));
  return edges.map((edge, j) => {
    const weight = edge - (edges[j - 1] ?? 0n);
    return weight || refuse("balance", "false here: an attribute would never be sampled", true);
  });
}

/** One attribute is reported, drawn at random, among fake reports of the others. */
export function RSFD(
  parts: readonly Mechanism[], { fake: kind, balance: given }: { fake: unknown; balance: unknown },
): Solution {
  const even = given === 1 || (given === 0 ? false : given);
  if (kind !== "zero" && kind !== "random") refuse("fake", '"zero" or "random"', kind);
  if (typeof even !== "boolean") refuse("balance", "true or false", given);
  const hiding = parts.map((each) => {
    const fake = isProtocol(each) && each.fake?.(kind === "zero");
    if (!fake) throw new SpecError(`protocols must be of one round and have fakes: ${each.label}`);
    return { protocol: each as Protocol, fake };
  });
  const d = parts.length;
  const weights = even && d > 1 ? balance(hiding.map((each) => each.fake)) : undefined;

  const options = `"balance": ${even}, "fake": "${kind}", `;
  const solution: Solution & { weights: readonly bigint[] | undefined } = {
    ...common("RSFD", parts as readonly Plain[], total(lengths(parts)), options),
    weights,
    accounts: 1,
    history: () => null,
    prices: () => [solution.loss(false, false)!],
    loss(attribute, lifetime) {
      if (lifetime) return null;
      return hidden(attribute, hiding.map(({ protocol, fake }, j) => ({
        ratio: (protocol.loss(false, false) as { ratio: Fraction }).ratio,
        share: weights ? chance(weights[j]!) : of(1, d),
        fake,
      })));
    },
    draw(source, user, record) {
      const choice = source.part("attribute");
      const own = weights ? sampled(choice, user, weights) : uniform(choice, user, d);
      return concat(...hiding.map(({ protocol, fake }, j) => {
        let value = record[j]!;
        if (j !== own) {
          value = fake.uniform ? uniform(source.part(`fake ${j}`), user, protocol.ks[0]!) : -1;
        }
        return protocol.one(source.part(j), user, value);
      }));
    },
    recall: (_, record) => forget(solution, record),
  };
  return solution;
}
