/** Solutions over histories: records whose attributes all have the same rounds. */
import { uniform } from "./draws.js";
import { SpecError, refuse } from "./errors.js";
import {
  entries, isTimed, requireFields, type Base, type Charge, type Kept, type Mechanism, type State,
  type Timed,
} from "./mechanism.js";
import { concat } from "./rounds.js";
import type { Source } from "./source.js";

export interface TimedSolution extends Timed {
  readonly parts: readonly Timed[];
}

/** What a solution knows about the place of its parts in records and accounts. */
interface Places extends Base {
  readonly parts: readonly Timed[];
  own(j: number, record: readonly number[]): readonly number[];
  charge(j: number, charges: readonly Charge[]): Charge[];
}

/** Returns parts that are all histories, or null if none is. */
export function histories(parts: readonly Mechanism[]): readonly Timed[] | null {
  const all = parts.filter(isTimed);
  if (!all.length) return null;
  const nested = all.some((each) => "parts" in each);
  if (nested || all.length < parts.length || all.some((each) => each.rounds !== all[0]!.rounds)) {
    throw new SpecError("protocols must all have the same number of rounds, and must not be nested");
  }
  return all;
}

/**
 * Returns SPL over histories, or SMP if `put` makes its report from that of a part.
 *
 * A state has one entry per part, and null for parts that SMP did not sample.
 */
export function overTime(
  parts: readonly Timed[], { own, charge, ...solution }: Places,
  put: ((j: number, report: Uint8Array) => Uint8Array) | null,
): TimedSolution {
  /** Maps the parts that the device reports on, and gives null for the others. */
  const each = <T>(memory: Source, make: (part: Timed, j: number, own: Source) => T): (T | null)[] => {
    const sampled = put && uniform(memory.part("attribute"), 0, parts.length);
    return parts.map((part, j) =>
      sampled === null || sampled === j ? make(part, j, memory.part(j)) : null);
  };
  return {
    ...solution,
    rounds: parts[0]!.rounds,
    begin: (memory, first, restorable) => ({
      parts: each(memory, (part, _, mine) => part.begin(mine, first, restorable) as State),
    }),
    ask(memory, kept, record, round) {
      const states = (kept as { parts: readonly (State | null)[] }).parts;
      const asked = each(memory, (part, j, mine) =>
        part.ask(mine, states[j]!, own(j, record), round));
      const after: Kept = { parts: asked.map((one) => one && (one.kept as State)) };
      const charges = asked.flatMap((one, j) => (one ? charge(j, one.charges) : []));
      const sent = asked.findIndex((one) => one?.report);
      if (sent < 0) return { kept: after, report: null, charges };
      const report = put
        ? put(sent, asked[sent]!.report!)
        : concat(...asked.map((one, j) =>
          one!.report ?? new Uint8Array(parts[j]!.bytes).fill(255)));
      return { kept: after, report, charges };
    },
    check(memory, given) {
      const found = entries("history", given);
      requireFields("history", found, ["parts"]);
      const list = found.get("parts");
      if (!Array.isArray(list) || list.length !== parts.length) {
        return refuse("parts", `a list of ${parts.length} states`, list);
      }
      const states = each(memory, (part, j, mine) => part.check(mine, list[j]) as State);
      if (states.some((state, j) => !state && list[j] !== null)) {
        refuse("parts", "null where nothing is reported", list);
      }
      return { parts: states };
    },
  };
}
