/** All texts of the pages. A translation replaces this file. */

const listOf = (items) =>
  (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} or ${items.at(-1)}`);

export const TEXT = {
  language: "en",

  common: {
    unknown: "–",
    cancel: "Cancel",
    list: listOf,
    quoted: (text) => `“${text}”`,
    unreachable: "The service does not answer. Check the network, and try again.",
    status: (status) => `The service answered with status ${status}.`,
    fault: (text) => `This page has a fault: ${text}`,
  },

  report: {
    bytes: (many) => `The ${many === 1 ? "one byte" : `${many} bytes`} of the report, as hexadecimal digits`,
    says: (question, label) => `The report says ${label}. Chance may have changed the true answer.`,
    supports: (question, labels) => `The report fits ${labels}. Chance added and removed answers.`,
    supportsNone: () => "The report fits no answer. Chance removed them all.",
    hidden: (question, labels) => `The report shows ${labels}, and hides whether this is an answer or a fake.`,
    notAsked: () => "The report says nothing about this question. Chance chose another question.",
    many: (some, all) => `${some} of ${all} answers`,
    caption: "How likely exactly these bytes are, for each true answer",
    trueAnswer: "If the true answer is",
    likely: "Relative chance",
    yours: "(your answer)",
    times: (number) => `× ${number}`,
    rest: (many) => `${many} further answers lie between these.`,
    same: "Each true answer gives exactly these bytes with the same chance. So they say nothing about it.",
    moreOften: (label, times) => `If you had answered ${label}, exactly these bytes would be sent ${times} times as often.`,
    lessOften: (label, times) => `Your answer gives exactly these bytes ${times} times as often as ${label}.`,
  },

  // Texts of the respondent's page
  answer: {},

  // Texts of the dashboard
  dashboard: {},

  // Texts of the start page
  start: {},

  // Texts of the playground
  play: {},
};
