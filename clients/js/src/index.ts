/** Local differential privacy on devices: answers are randomized before they are sent. */
export { Client, LimitReached, type Beginning, type Options, type Store } from "./client.js";
export { SpecError } from "./errors.js";
export { likelihood, type Explanation } from "./explain.js";
export { Once, Steps, Tree } from "./histories.js";
export type { Mechanism } from "./mechanism.js";
export { DBitFlipPM, LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE } from "./memoized.js";
export type { Privacy } from "./privacy.js";
export { BLH, GRR, HR, OLH, OUE, SHE, SS, SUE, THE } from "./protocols.js";
export { randomize } from "./random.js";
export { mechanism } from "./registry.js";
export { RSFD, SMP, SPL } from "./solutions.js";
export { AnswerError, Survey, type Answers, type Attribute, type Label } from "./survey.js";
