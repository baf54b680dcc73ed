/** Survey files for tests. */

/** The text of a survey: attributes with their categories, one protocol each, and a solution. */
export function surveyText(categories, protocol, solution = { protocol: "SPL" }) {
  const attributes = Object.entries(categories).map(([name, each]) => ({ name, categories: each }));
  const protocols = attributes.map((each) => ({ ...protocol, k: each.categories.length }));
  return JSON.stringify({
    version: 1, attributes, other: null, missing: null,
    solution: { version: 1, ...solution, protocols },
  });
}

const GRR = { protocol: "GRR", epsilon: 1.0 };

/** A survey of two questions. */
export const TEXT = surveyText({ smokes: ["yes", "no"], age: [20, 40, 60] }, GRR);

/** A survey of one question with 256 answers: two reports are never equal in practice. */
export const LARGE = surveyText(
  { number: Array.from({ length: 256 }, (_, i) => i) }, { protocol: "OUE", epsilon: 1.0 },
);
