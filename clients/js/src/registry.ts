/** The mechanisms by name, and their specs. */
import { SpecError, quote, refuse } from "./errors.js";
import { entries, requireFields, type Mechanism } from "./mechanism.js";
import { DBitFlipPM, LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE } from "./memoized.js";
import { Once, Steps, Tree } from "./histories.js";
import { BLH, GRR, HR, OLH, OUE, SHE, SS, SUE, THE, type Protocol } from "./protocols.js";
import { LARGEST_RECORD, RSFD, SMP, SPL } from "./solutions.js";

const ONE_ROUND = { GRR, BLH, OLH, SS, SUE, OUE, THE, SHE, HR };
const TWO_ROUNDS = { LGRR, LSUE, LSOUE, LOUE, LOSUE, LBLH, LOLH };
const SOLUTIONS = ["SPL", "SMP", "RSFD"];
const DEEPEST = 8;
const VERSION = 1;

const HISTORIES = {
  Once: [Once, ["k", "epsilon", "rounds", "protocol", "window"]],
  Steps: [Steps, ["k", "epsilon", "rounds", "changes", "protocol", "encoding", "values"]],
  Tree: [Tree, ["epsilon", "rounds", "changes", "kernel"]],
} as const;

type Make = (given: never) => Protocol;
const listed = (makes: Record<string, Make>, fields: string[]): [string, [Make, string[]]][] =>
  Object.entries(makes).map(([name, make]) => [name, [make, fields]]);
const PROTOCOLS = new Map([
  ...listed(ONE_ROUND, ["k", "epsilon"]),
  ...listed(TWO_ROUNDS, ["k", "eps_perm", "eps_1"]),
  ...listed({ DBitFlipPM }, ["k", "eps_perm", "b", "d_bits"]),
]);

/** Returns the mechanism of a spec, or throws a `SpecError` that names the field. */
export function mechanism(spec: unknown): Mechanism {
  const { version, ...given } = Object.fromEntries(entries("spec", spec));
  if (version !== VERSION) refuse("version of the spec", `${VERSION}`, version);
  countLeaves(given, 0);
  return build(given);
}

function nameOf(given: Map<string, unknown>): string {
  const field = given.has("history") ? "history" : "protocol", name = given.get(field);
  const known = field === "protocol" ? [...PROTOCOLS.keys(), ...SOLUTIONS] : Object.keys(HISTORIES);
  return known.includes(name as string)
    ? (name as string)
    : refuse(field, `one that devices support (${known.join(", ")})`, name);
}

/** Counts the protocols of a spec, before one of them is built. */
function countLeaves(spec: unknown, depth: number): number {
  const parts = entries("protocols", spec).get("protocols");
  if (!Array.isArray(parts)) return 1;
  if (depth >= DEEPEST) throw new SpecError(`protocols must be nested at most ${DEEPEST} deep`);
  const leaves = parts.reduce((sum: number, each) => sum + countLeaves(each, depth + 1), 0);
  if (leaves > LARGEST_RECORD) refuse("protocols", `at most ${LARGEST_RECORD}`, leaves);
  return leaves;
}

function build(spec: unknown): Mechanism {
  const given = entries("protocols", spec), name = nameOf(given);
  if (given.has("history")) {
    const [make, fields] = HISTORIES[name as keyof typeof HISTORIES];
    requireFields(`spec of ${name}`, given, ["history", ...fields]);
    return make(Object.fromEntries(given) as never);
  }
  const wanted = (fields: string[]): void =>
    requireFields(`spec of ${name}`, given, ["protocol", ...fields]);
  const protocol = PROTOCOLS.get(name);
  if (protocol) {
    wanted(protocol[1]);
    return protocol[0](Object.fromEntries(given) as never);
  }
  wanted(name === "RSFD" ? ["protocols", "fake", "balance"] : ["protocols"]);
  const parts = given.get("protocols");
  if (!Array.isArray(parts)) return refuse("protocols", "a list of specs", quote(parts));
  const built = parts.map(build);
  if (name === "SPL") return SPL(built);
  if (name === "SMP") return SMP(built);
  return RSFD(built, { fake: given.get("fake"), balance: given.get("balance") });
}
