/** The record of a client: the text of a client file, with its secret, its charges and its state. */
import { ascii, blake2b, hex, unhex } from "./blake2b.js";
import { write } from "./canonical.js";
import { SpecError, quote } from "./errors.js";
import { add, double, fraction, multiply, of, subtract, type Fraction } from "./exact.js";
import { parse, type Json } from "./json.js";
import { entries, requireFields, type Charge, type Kept } from "./mechanism.js";

/** Charges by account: the memo classes that were told, and the number of new reports. */
export interface Ledger {
  readonly classes: ReadonlyMap<number, ReadonlySet<number>>;
  readonly reports: ReadonlyMap<number, number>;
}

export interface ClientRecord {
  readonly secret: Uint8Array;
  readonly label: string;
  readonly context: Uint8Array;
  readonly ledger: Ledger;
  readonly history: Kept | null;
}

/** Writes a record as a client file. */
export function writeRecord({ secret, label, context, ledger, history }: ClientRecord): string {
  const sorted = (all: ReadonlySet<number>): number[] => [...all].sort((a, b) => a - b);
  const body = {
    version: history ? 2 : 1,
    secret: hex(secret),
    protocol: label,
    context: hex(context),
    classes: Object.fromEntries([...ledger.classes].map(([j, each]) => [j, sorted(each)])),
    reports: Object.fromEntries(ledger.reports),
    ...(history && { history }),
  };
  const line = `${write(body)}\n`;
  return `${line}${hex(blake2b(ascii(line), 16))}\n`;
}

const damaged = (why: string): never => {
  throw new SpecError(`the record of the client cannot be used: ${why}`);
};

/**
 * Reads a client file. `check` refuses the file of another mechanism before anything else of it is
 * read, so no error shows an answer. Then it reads the state of a history, or null.
 */
export function readRecord(
  text: string,
  check: (own: Pick<ClientRecord, "secret" | "label" | "context">, history: Json) => Kept | null,
): ClientRecord {
  const end = text.indexOf("\n") + 1, line = text.slice(0, end);
  if (!end || text.slice(end) !== `${hex(blake2b(ascii(line), 16))}\n`) {
    damaged("it is truncated or was altered");
  }
  const body = entries("record", parse(line)), version = body.get("version");
  if (version !== 1 && version !== 2) damaged(`it has version ${quote(version)}`);
  const fields = ["version", "secret", "protocol", "context", "classes", "reports"];
  requireFields("record", body, version === 2 ? [...fields, "history"] : fields);
  const string = (field: string): string => {
    const given = body.get(field);
    return typeof given === "string" ? given : damaged(`its ${field} is ${quote(given)}`);
  };
  const accounts = <T>(field: string, read: (each: unknown) => T): Map<number, T> =>
    new Map([...entries(field, body.get(field))].map(([j, each]) => [Number(j), read(each)]));
  const count = (n: unknown): number =>
    typeof n === "number" && n >= 0 ? n : damaged(`${quote(n)} is not a number of the ledger`);
  const secret = unhex(string("secret")), context = unhex(string("context"));
  const own = { secret, context, label: string("protocol") };
  const history = check(own, version === 2 ? (body.get("history") as Json) : null);
  const found: ClientRecord = {
    ...own, history,
    ledger: {
      classes: accounts("classes", (each) =>
        new Set(Array.isArray(each) ? each.map(count) : damaged("its classes are no lists"))),
      reports: accounts("reports", count),
    },
  };
  if (found.secret.length !== 32 || writeRecord(found) !== text) damaged("its form is another");
  return found;
}

/** Returns a ledger with further charges, or the same one if nothing is new. */
export function addCharges(ledger: Ledger, charges: readonly Charge[]): Ledger {
  const classes = new Map(ledger.classes), reports = new Map(ledger.reports);
  let changed = false;
  for (const [account, memoClass] of charges) {
    const told = classes.get(account);
    if (memoClass === null) reports.set(account, (reports.get(account) ?? 0) + 1);
    else if (told?.has(memoClass)) continue;
    else classes.set(account, new Set([...(told ?? []), memoClass]));
    changed = true;
  }
  return changed ? { classes, reports } : ledger;
}

/** Returns the budget that a ledger has spent, given the price of a charge on each account. */
export const spentBy = (ledger: Ledger, prices: readonly number[]): number =>
  double(total(ledger, prices));

/** Returns what a later ledger has spent beyond an earlier one. */
export const addedBy = (before: Ledger, after: Ledger, prices: readonly number[]): number =>
  double(subtract(total(after, prices), total(before, prices)));

function total({ classes, reports }: Ledger, prices: readonly number[]): Fraction {
  return prices.reduce((sum, price, j) => {
    const times = (classes.get(j)?.size ?? 0) + (reports.get(j) ?? 0);
    return times ? add(sum, multiply(fraction(price), of(times))) : sum;
  }, of(0));
}
