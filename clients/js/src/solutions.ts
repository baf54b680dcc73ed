/** The solutions: records of several attributes. */
import { bytes, sampled, size, uniform } from "./draws.js";
import { SpecError, refuse } from "./errors.js";
import {
  WORD, add, chance, compare, divide, multiply, nearest, of, reduce, type Fraction,
} from "./exact.js";
import { forget, type Loss, type Mechanism, type Recalled } from "./mechanism.js";
import { combine, hidden } from "./privacy.js";
import type { Protocol } from "./protocols.js";
import { concat, type Fake } from "./rounds.js";
import type { Source } from "./source.js";

const LARGEST_REPORT = 2 ** 31 - 1;
const LARGEST_RECORD = 2 ** 10;
const NUMBERED_TOGETHER = 2 ** 16;

export interface Solution extends Mechanism {
  readonly parts: readonly Mechanism[];
}

const isProtocol = (mechanism: Mechanism): mechanism is Protocol => "one" in mechanism;

/** The first index of each part, for lengths that follow each other. */
function starts(lengths: readonly number[]): number[] {
  let start = 0;
  return lengths.map((length) => (start += length) - length);
}

/** What all solutions have in common. `options` are further fields of the label. */
function common(name: string, parts: readonly Mechanism[], size_: number, options = "") {
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
function independent(
  name: string, parts: readonly Mechanism[], size_: number, together: boolean,
) {
  const columns = starts(parts.map((each) => each.ks.length));
  const accounts = starts(parts.map((each) => each.accounts));
  return {
    ...common(name, parts, size_),
    accounts: total(parts.map((each) => each.accounts)),
    loss(attribute: boolean, lifetime: boolean): Loss | null {
      const losses = parts.flatMap((each) => each.loss(attribute, lifetime) ?? []);
      return losses.length < parts.length ? null : combine(losses, together && !attribute);
    },
    /** Draws the report of part j, with the values of this part of a record. */
    part: (j: number, source: Source, user: number, record: readonly number[]) =>
      parts[j]!.draw(source.part(j), user, own(j, record)),
    /** Derives the state of part j, with its place among accounts and attributes. */
    remember(j: number, memory: Source, record: readonly number[]): Recalled {
      const { charges, report } = parts[j]!.recall(memory.part(j), own(j, record));
      return {
        charges: charges.map(([account, memoClass]) => [accounts[j]! + account, memoClass]),
        report: (fresh) => report((i) => fresh(columns[j]! + i)),
      };
    },
  };
  function own(j: number, record: readonly number[]): readonly number[] {
    return record.slice(columns[j]!, columns[j]! + parts[j]!.ks.length);
  }
}

/** Every attribute is reported, each with a part of the budget. */
export function SPL(parts: readonly Mechanism[]): Solution {
  const { part, remember, ...solution } = independent("SPL", parts, total(lengths(parts)), true);
  return {
    ...solution,
    draw: (source, user, record) => concat(...parts.map((_, j) => part(j, source, user, record))),
    recall(memory, record) {
      const recalled = parts.map((_, j) => remember(j, memory, record));
      return {
        charges: recalled.flatMap((each) => each.charges),
        report: (fresh) => concat(...recalled.map((each) => each.report(fresh))),
      };
    },
  };
}

/** One attribute is reported, drawn at random, with the whole budget. */
export function SMP(parts: readonly Mechanism[]): Solution {
  const m = parts.length, head = size(m), length = head + Math.max(...lengths(parts));
  const { part, remember, ...solution } = independent("SMP", parts, length, false);
  const wrap = (j: number, report: Uint8Array): Uint8Array => {
    const whole = new Uint8Array(length);
    whole.set(bytes(j, head));
    whole.set(report, head);
    return whole;
  };
  return {
    ...solution,
    draw(source, user, record) {
      const choice = source.part("attribute"), j = uniform(choice, user, m);
      // Users who sampled one attribute are numbered without gaps, within blocks of users
      let number = user - (user % NUMBERED_TOGETHER);
      for (let u = number; u < user; u++) if (uniform(choice, u, m) === j) number++;
      return wrap(j, part(j, source, number, record));
    },
    recall(memory, record) {
      const j = uniform(memory.part("attribute"), 0, m);
      const { charges, report } = remember(j, memory, record);
      return { charges, report: (fresh) => wrap(j, report(fresh)) };
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
    ...common("RSFD", parts, total(lengths(parts)), options),
    weights,
    accounts: 1,
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
