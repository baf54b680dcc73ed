/** Errors for input that cannot be used. Each names the field and shows its value. */

export class SpecError extends Error {
  override name = "SpecError";
}

/** A value as text for a message, cut after 200 characters. */
export function quote(value: unknown): string {
  let text: string;
  try {
    text = typeof value === "bigint" ? `${value}` : (JSON.stringify(value) ?? String(value));
  } catch {
    text = `a value of type ${typeof value}`;
  }
  return text.length > 200 ? `${text.slice(0, 200)}… (${text.length} characters)` : text;
}

export function refuse(field: string, wanted: string, value: unknown): never {
  throw new SpecError(`${field} must be ${wanted}, not ${quote(value)}`);
}

/** A budget with the name of its field and the size of the domain, for messages. */
export interface Budget {
  readonly field: string;
  readonly epsilon: number;
  readonly k: number;
}

/** Refuses a budget whose probabilities are equal once they are multiples of 2^-64. */
export function refuseSmall({ field, epsilon, k }: Budget): never {
  throw new SpecError(
    `${field}=${epsilon} is too small to be realised with k=${k}: the probabilities would be equal`,
  );
}
