/** The solutions: records of several attributes. */
import { bytes, integerOf, sampled, size, uniform } from "./draws.js";
import { SpecError, refuse } from "./errors.js";
import {
  WORD, add, chance, compare, divide, multiply, nearest, of, reduce, type Fraction,
} from "./exact.js";
import { forget, type Charge, type Loss, type Mechanism, type Plain } from "./mechanism.js";
import { histories, overTime, type TimedSolution } from "./over_time.js";
import { combine, hidden } from "./privacy.js";
import type { Protocol } from "./protocols.js";
import { once, type Said } from "./reading.js";
import { concat, type Fake } from "./rounds.js";

const LARGEST_REPORT = 2 ** 31 - 1;
export const LARGEST_RECORD = 2 ** 10;
const NUMBERED_TOGETHER = 2 ** 16;

export interface Solution extends Plain {
  readonly parts: readonly Plain[];
}

const isProtocol = (mechanism: Mechanism): mechanism is Protocol => "one" in mechanism;

/** The fields of a report whose parts stand side by side. */
function fields(report: Uint8Array, parts: readonly Mechanism[]): Uint8Array[] {
  let start = 0;
  return parts.map((each) => report.subarray(start, (start += each.bytes)));
}

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
    accepts: (report) => fields(report, plain).every((field, j) => plain[j]!.accepts(field)),
    likelihood: (report, record) =>
      fields(report, plain)
        .map((field, j) => plain[j]!.likelihood(field, own(j, record))).reduce(multiply),
    read: (report, record) =>
      fields(report, plain).flatMap((field, j) => plain[j]!.read(field, record && own(j, record))),
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
  /** The sampled part of a report, its number, its field, and what follows. */
  function open(report: Uint8Array): [Plain | undefined, number, Uint8Array, Uint8Array] {
    const j = Number(integerOf(report.subarray(0, head))), end = head + (plain[j]?.bytes ?? 0);
    return [plain[j], j, report.subarray(head, end), report.subarray(end)];
  }
  const unsaid: Said = { sent: false, supports: () => false, chance: () => of(1) };
  return {
    ...solution,
    accepts(report) {
      const [part, , field, after] = open(report);
      return !!part && part.accepts(field) && !after.some(Boolean);
    },
    likelihood(report, record) {
      const [part, j, field] = open(report);
      return multiply(part!.likelihood(field, own(j, record)), of(1, m));
    },
    read(report, record) {
      const [, sent, field] = open(report);
      return plain.flatMap((part, j) => (
        j === sent ? part.read(field, record && own(j, record)) : part.ks.map(() => unsaid)
      ));
    },
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
  const share = (j: number): Fraction => (weights ? chance(weights[j]!) : of(1, d));
  /** The share of an attribute, times its probability as a real report over that as a fake. */
  const odds = (j: number, field: Uint8Array, real: Fraction): Fraction =>
    multiply(share(j), divide(real, hiding[j]!.fake.chance(field)));
  const ownOdds = (report: Uint8Array, record: readonly number[]): Fraction[] =>
    fields(report, parts).map((field, j) =>
      odds(j, field, hiding[j]!.protocol.likelihood(field, [record[j]!])));

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
        share: share(j),
        fake,
      })));
    },
    accepts: (report) =>
      fields(report, parts).every((field, j) => hiding[j]!.protocol.accepts(field)),
    likelihood: (report, record) =>
      fields(report, parts).map((field, j) => hiding[j]!.fake.chance(field))
        .reduce(multiply, ownOdds(report, record).reduce(add)),
    read(report, record) {
      if (!record) throw new SpecError("answers must be given: under RS+FD, the attributes belong together");
      const all = ownOdds(report, record);
      return fields(report, parts).map((field, j) => {
        const [said] = hiding[j]!.protocol.read(field, null);
        const others = all.filter((_, i) => i !== j).reduce(add, of(0));
        const whole = once((real: Fraction) => add(others, odds(j, field, real)));
        return { ...said!, sent: null, chance: (value) => whole(said!.chance(value)) };
      });
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
