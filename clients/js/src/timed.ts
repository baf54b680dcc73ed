/**
 * Whole histories: reports of one value, or of its changes, under one budget for all rounds.
 *
 * The secret decides everything before the first round. A state holds what depends on values.
 */
import { hex, unhex } from "./blake2b.js";
import { drawBlock, meanDensity, type Block } from "./blocks.js";
import { bytes, count, integerOf, isTidy, ones, size, width } from "./draws.js";
import { SpecError, refuse } from "./errors.js";
import { divide, largest, of, reduce, type Fraction } from "./exact.js";
import {
  entries, integer, requireFields, type Asked, type Loss, type State, type Timed,
} from "./mechanism.js";
import type { Protocol } from "./protocols.js";
import { word, type Source } from "./source.js";

const LARGEST_HISTORY = 2 ** 31 - 1;

export const choice = <T>(field: string, given: unknown, among: readonly T[]): T =>
  among.includes(given as T) ? (given as T) : refuse(field, `one of ${among.join(", ")}`, given);

/** The least power of two that is at least k. */
export const orderOf = (k: number): number => {
  let order = 1;
  while (order < k) order *= 2;
  return order;
};

/** A kind of report: of the value if there is no block, or of the change over a length. */
export interface Kind {
  readonly length: number;
  readonly block?: Block;
}

/** The draws of a user before the first round. */
export interface Path {
  readonly kind: number;
  readonly round: number;
  readonly row: number;
}

export interface Design {
  readonly label: string;
  readonly k: number;
  readonly rounds: number;
  readonly kinds: readonly Kind[];
  /** The number of the first kind on the wire. */
  readonly first: 0 | 1;
  /** True if the value before the first round is known to be 0. */
  readonly grounded: boolean;
  readonly row: boolean;
  readonly values?: Protocol;
  readonly window: number;
  path(plan: Source): Path;
}

export function history(design: Design): Timed {
  const { label, k, rounds, kinds, grounded, row, values, window } = design;
  const each = !row && k > 2 ? 2 : 1, symbols = each === 2 ? k : 1;
  const rowBytes = row ? size(orderOf(k)) : 0;
  const blocks = kinds.flatMap(({ block }) => block ?? []);
  const step = blocks.length ? rowBytes + 2 * width(symbols) : 0;
  const length = 1 + Math.max(step, values?.bytes ?? 0);
  const noise = blocks.every(({ bits }) => bits <= 16) ? 2 : 8;
  if (rounds * length > LARGEST_HISTORY) {
    refuse("rounds", `few enough for ${LARGEST_HISTORY} bytes of reports`, rounds);
  }
  const before = grounded ? 1 : 2;
  const steps = (kind: Kind): number => Math.floor(rounds / kind.length) - before + 1;

  /** The content of a report of a step from one value to another. */
  function tell(
    memory: Source, { block, path, round, entry }: {
      block: Block; path: Path; round: number; entry: number;
    }, wanted: readonly (readonly [place: number, sign: number])[],
  ): Uint8Array {
    const base = memory.part("base"), told = new Int8Array(symbols);
    for (let p = 0; p < symbols; p++) {
      const address = (round * symbols + p) * noise;
      const head = noise === 2
        ? base.number(address, 2) >> (16 - block.bits)
        : Number(word(base, address) >> BigInt(64 - block.bits));
      told[p] = head === 0 ? 1 : head === 1 ? -1 : 0;
    }
    if (wanted.length && entry >= 0) {
      const entries = drawBlock(block, memory.part("block"));
      wanted.forEach(([place, sign], i) => (told[place] = sign * entries[entry + i]!));
    }
    const content = new Uint8Array(step);
    if (row) content.set(bytes(path.row, rowBytes));
    told.forEach((symbol, p) => {
      const at = rowBytes + (p >> 3), bit = 1 << (p & 7);
      if (symbol) content[at]! |= bit;
      if (symbol < 0) content[at + width(symbols)]! |= bit;
    });
    return content;
  }

  /** The symbols that tell a change, by place and sign. */
  function changes(from: number, to: number, path: Path): (readonly [number, number])[] {
    if (each === 2) return from === to ? [] : [[from, -1], [to, 1]];
    const sign = row ? (ones(path.row & from) % 2) - (ones(path.row & to) % 2) : to - from;
    return sign ? [[0, sign]] : [];
  }

  function answer(memory: Source, state: State, value: number, round: number): State {
    const path = design.path(memory.part("plan")), kind = kinds[path.kind]!, t = round + 1;
    const wrap = (content: Uint8Array): string => {
      const report = new Uint8Array(length);
      report[0] = design.first + path.kind;
      report.set(content, 1);
      return hex(report);
    };
    const now = { ...state, last: round, answer: null };
    const { block, length: stride } = kind;
    if (!block) {
      const due = round % window === path.round;
      return due ? { ...now, answer: wrap(values!.one(memory.part("value"), round, value)) } : now;
    }
    if (t % stride) return now;
    const roomy = block.symbols >= each * steps(kind);
    const began = Math.ceil((state.first + 1) / stride) * stride;
    const missed = state.asked[0] !== t - stride;
    const stopped = state.stopped || (state.restorable && !roomy && began < t && missed);
    const after = { ...now, stopped, starts: [value], asked: [t] };
    if (missed || stopped) return after;
    const wanted = changes(state.starts[0]!, value, path);
    const fits = roomy || state.told + each <= block.symbols;
    const entry = roomy ? each * (t / stride - before) : state.told;
    const content = tell(memory, { block, path, round, entry: fits ? entry : -1 }, wanted);
    const told = state.told + (wanted.length && !roomy && fits ? each : 0);
    return { ...after, told, answer: wrap(content) };
  }

  /** Returns whether a device could have sent this text in this round. */
  function isReport(text: string, round: number): boolean {
    const report = unhex(text), at = report[0]! - design.first, kind = kinds[at], t = round + 1;
    if (hex(report) !== text || report.length !== length || !kind) return false;
    const content = report.subarray(1), used = kind.block ? step : values!.bytes;
    if (content.subarray(used).some(Boolean)) return false;
    const { block, length: stride } = kind;
    if (!block) return values!.accepts(content.subarray(0, used));
    const line = row ? Number(integerOf(content.subarray(0, rowBytes))) : 1;
    const end = rowBytes + width(symbols), told = content.subarray(rowBytes, end);
    return t % stride === 0 && (grounded || t > stride) && line > 0 && (!row || line < orderOf(k))
      && isTidy(told, symbols) && (block.bits > 1 || count(told) === symbols)
      && content.subarray(end, step).every((byte, i) => !(byte & ~told[i]!));
  }

  function loss(_: boolean, lifetime: boolean): Loss {
    const known = (block: Block, n: number): Fraction =>
      largest([meanDensity(block, n, n), divide(of(1), meanDensity(block, n, -n))]);
    const ratios = kinds.map((kind) => {
      const { block } = kind;
      if (!block) return (values!.loss(false, false) as { ratio: Fraction }).ratio;
      if (lifetime) return known(block, +grounded);
      if (grounded && steps(kind) === 1) return known(block, each);
      return divide(meanDensity(block, each, each), meanDensity(block, each, -each));
    });
    return { ratio: repeat(largest(ratios), lifetime) };
  }
  /** A ratio for all windows of the rounds. */
  function repeat([a, b]: Fraction, all: boolean): Fraction {
    const often = BigInt(all ? Math.ceil(rounds / window) : 1);
    return reduce([a ** often, b ** often]);
  }
  function whole(): Loss {
    const ratios = kinds.map((kind) => {
      const { block } = kind, z = steps(kind);
      if (!block) return (values!.loss(false, false) as { ratio: Fraction }).ratio;
      const mean = (n: number, m: number): Fraction => meanDensity(block, n, m);
      if (!grounded || z > block.symbols) {
        return divide(mean(block.symbols, block.symbols), mean(block.symbols, -block.symbols));
      }
      return largest([
        divide(mean(z, z), mean(z - 1, 1 - z)),
        divide(mean(z - 1, z - 1), mean(z, -z)),
      ]);
    });
    return { ratio: repeat(largest(ratios), true) };
  }
  return {
    label, rounds,
    bytes: length,
    ks: [k],
    accounts: 1,
    loss,
    history: whole,
    prices: () => [whole()],
    begin: (_, first, restorable) => ({
      first: integer("firstRound", first, 0, rounds - 1),
      last: first - 1,
      told: 0,
      stopped: false,
      starts: [0],
      asked: [grounded && first === 0 ? 0 : -1],
      answer: null,
      restorable,
    }),
    ask(memory, kept, [value], round): Asked {
      const state = kept as State;
      if (integer("round", round, 0, rounds - 1) < Math.max(state.first, state.last)) {
        throw new SpecError(`round=${round} is over, or before the first round`);
      }
      const after = round === state.last ? state : answer(memory, state, value!, round);
      const report = after.answer === null ? null : unhex(after.answer);
      return { kept: after, report, charges: report ? [[0, 0]] : [] };
    },
    check(_, given) {
      const found = entries("history", given);
      const fields = ["first", "last", "told", "stopped", "starts", "asked", "answer", "restorable"];
      requireFields("history", found, fields);
      const number = (field: string, low: number, high: number): number =>
        integer(field, found.get(field), low, high);
      const first = number("first", 0, rounds - 1), last = number("last", first - 1, rounds - 1);
      const flag = (field: string): boolean => choice(field, found.get(field), [true, false]);
      const one = (field: string, low: number, high: number): number[] => {
        const list = found.get(field);
        if (!Array.isArray(list) || list.length !== 1) return refuse(field, "a list of one entry", list);
        return [integer(field, list[0], low, high)];
      };
      const startsOf = (list: unknown): number[] => { // without their values, which are answers
        const fits = Array.isArray(list) && list.length === 1 && Number.isInteger(list[0])
          && list[0] >= 0 && list[0] < k;
        return fits ? (list as number[]) : refuse("starts", `one value below k=${k}`, "another list");
      };
      const text = found.get("answer");
      if (text !== null && !(typeof text === "string" && last >= first && isReport(text, last))) {
        refuse("answer", "a report, or null", text);
      }
      return {
        first, last,
        told: number("told", 0, 2 ** 16),
        stopped: flag("stopped"),
        starts: startsOf(found.get("starts")),
        asked: one("asked", -1, rounds),
        answer: text as string | null,
        restorable: flag("restorable"),
      };
    },
  };
}
