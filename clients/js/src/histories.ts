/** The mechanisms for whole histories: `Once`, `Steps` and `Tree`. */
import { ball, linear } from "./blocks.js";
import { writeFloat } from "./canonical.js";
import { uniform } from "./draws.js";
import { refuse } from "./errors.js";
import { Float } from "./json.js";
import { budget, integer, labelOf, type Given, type Timed } from "./mechanism.js";
import { GRR, HR, OUE, SS, SUE, THE, type Protocol } from "./protocols.js";
import { word } from "./source.js";
import { choice, history, orderOf } from "./timed.js";

const MOST_ROUNDS = 2 ** 16;
const MOST_CHANGES = 32;
const VALUES = { SS, GRR, OUE, SUE, THE, HR };

const plain = (given: unknown): unknown => (given instanceof Float ? given.value : given);

/** The protocol that reports values. */
function valuesOf(name: unknown, k: unknown, epsilon: unknown): Protocol {
  if (!Object.hasOwn(VALUES, name as string)) {
    refuse("protocol", `one of ${Object.keys(VALUES).join(", ")}`, name);
  }
  return VALUES[name as keyof typeof VALUES]({ k, epsilon });
}

/** The powers of two up to a limit. */
function powers(most: number): number[] {
  const found = [];
  for (let power = 1; power <= most; power *= 2) found.push(power);
  return found;
}

/** One value, in one round of each window of rounds. */
export function Once(given: Given<{
  k: number; epsilon: number; rounds: number; protocol: string; window: number | null;
}>): Timed {
  const values = valuesOf(given.protocol, given.k, given.epsilon), k = values.ks[0]!;
  const rounds = integer("rounds", given.rounds, 2, MOST_ROUNDS);
  const window = given.window === null ? null : integer("window", given.window, 1, MOST_ROUNDS);
  const every = Math.min(window ?? rounds, rounds);
  return history({
    label: labelOf("history", "Once", {
      k, rounds, epsilon: writeFloat(budget("epsilon", given.epsilon)), window: `${window}`,
      protocol: `"${given.protocol as string}"`,
    }),
    k, rounds, values,
    kinds: [{ length: 0 }], first: 0, grounded: false, row: false, window: every,
    path: (plan) => ({ kind: 0, round: uniform(plan.part("round"), 0, every), row: 1 }),
  });
}

/** One value, or the changes since the last report. */
export function Steps(given: Given<{
  k: number; epsilon: number; rounds: number; changes: number; protocol: string;
  encoding: string; values: number;
}>): Timed {
  const values = valuesOf(given.protocol, given.k, given.epsilon), k = values.ks[0]!;
  const rounds = integer("rounds", given.rounds, 2, MOST_ROUNDS);
  const changes = integer("changes", given.changes, 1, MOST_CHANGES);
  const row = choice("encoding", given.encoding, ["unary", "row"]) === "row";
  const share = choice("values", plain(given.values), [0.5, 0.75, 1] as const);
  const own = { field: "epsilon", epsilon: budget("epsilon", given.epsilon), k };
  const each = !row && k > 2 ? 2 : 1, order = orderOf(k);
  const lengths = share === 1 ? [] : powers(rounds / 2);
  const tosses = { 0.5: 1n, 0.75: 2n, 1: 0n }[share];
  return history({
    label: labelOf("history", "Steps", {
      k, rounds, changes, epsilon: writeFloat(own.epsilon), values: writeFloat(share),
      protocol: `"${given.protocol as string}"`, encoding: row ? '"row"' : '"unary"',
    }),
    k, rounds, values, row,
    kinds: [{ length: 0 }, ...lengths.map((length) => ({
      length, block: ball(each * Math.min(changes, Math.floor(rounds / length) - 1), own),
    }))],
    first: 0, grounded: false, window: rounds,
    path(plan) {
      const coins = word(plan.part("kind"), 0), bit = (i: bigint): bigint => (coins >> (63n - i)) & 1n;
      let kind = 0;
      if (tosses && coins >> (64n - tosses) === 2n ** tosses - 1n) {
        for (kind = 1; kind < lengths.length && bit(tosses + BigInt(kind - 1)); ) kind++;
      }
      return {
        kind,
        round: uniform(plan.part("round"), 0, rounds),
        row: row && order > 2 ? 1 + uniform(plan.part("row"), 0, order - 1) : 1,
      };
    },
  });
}

/** The changes of a truth value that is 0 before the first round, over one length. */
export function Tree(given: Given<{
  epsilon: number; rounds: number; changes: number; kernel: string;
}>): Timed {
  const rounds = integer("rounds", given.rounds, 2, MOST_ROUNDS);
  const changes = integer("changes", given.changes, 1, MOST_CHANGES);
  const own = { field: "epsilon", epsilon: budget("epsilon", given.epsilon), k: 2 };
  const kernel = choice("kernel", given.kernel, ["ball", "linear"]);
  const make = kernel === "ball" ? ball : linear;
  const kinds = powers(rounds).map((length) => ({
    length, block: make(Math.min(changes, Math.floor(rounds / length)), own),
  }));
  return history({
    label: labelOf("history", "Tree", {
      rounds, changes, epsilon: writeFloat(own.epsilon), kernel: `"${kernel}"`,
    }),
    k: 2, rounds, kinds,
    first: 1, grounded: true, row: false, window: rounds,
    path: (plan) => ({ kind: uniform(plan.part("kind"), 0, kinds.length), round: 0, row: 1 }),
  });
}
