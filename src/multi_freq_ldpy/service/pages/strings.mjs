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
  dashboard: {
    title: (title) => `Results: ${title}`,
    all: "All surveys",
    needsToken: "These results are not public. A token opens them.",
    cannotRead: "This token does not open these results: it only sends reports.",
    headline: (reports, round, state) =>
      `${reports === "1" ? "1 report" : `${reports} reports`}${round === null ? "" : ` in round ${round}`}. ${state}`,
    states: {
      draft: "The survey is a draft: nobody can answer yet.",
      open: "The survey is open.",
      closed: "The survey is closed, and these figures are final.",
    },
    live: "Live",
    paused: "Paused",
    lost: "Connection lost, trying again",
    closed: "Final",
    stopped: "Stopped",
    pause: "Pause",
    resume: "Go on",
    lastChange: (time) => `Last change at ${time}`,
    announced: (reports) => `${reports} reports are counted.`,
    deleted: "This survey is no longer there: it was deleted.",
    revoked: "The token of this tab does not work any more: it was revoked.",
    asker: (asker) => `Asked by ${asker}.`,
    submission: {
      open: "Anybody can send reports, so one person can send many.",
      token: "Only people with the link of this survey can send reports. One person can still send many.",
      invite: "Each invite counts once per round. Who issued an invite can tell whose report it is.",
    },
    kept: "The service keeps the reports.",
    notKept: "The service keeps the counts, and no single report.",
    public: "People without a token see releases of these results.",
    releases: (step) =>
      `You see the public results. This page moves only in steps of at least ${step} reports, which hides when one report came.`,
    results: "Results",
    answer: "Answer",
    share: "Share",
    rawCaption: "Estimated share of each answer. The true share lies within ± in 95 of 100 surveys.",
    distributionCaption: "Estimated shares as a distribution, without intervals",
    methodGroup: "Kind of shares",
    methodNames: { raw: "Raw shares", norm_sub: "Distribution" },
    methods: {
      raw: "Raw shares are right on average. A small one may fall below 0 %, because each report has noise.",
      norm_sub: "This moves the raw shares until none is below 0 % and all add up to 100 %.",
    },
    chooseRound: "Round",
    latestRound: (number) => `Round ${number}, the latest`,
    roundNumber: (number) => `Round ${number}`,
    noReports: "No report is here yet.",
    unsure: "Grey bars are unsure: fewer than 100 reports are here.",
    needed: (reports) => `About ${reports} more reports bring every share within ±3 points.`,
    neededUnknown: "The number of reports that brings every share within ±3 points is not known yet.",
    enough: "Every share is within ±3 points.",
    overRounds: "Over the rounds",
    scale: (first, last, most) => `Each chart goes from round ${first} to round ${last}, and from 0 % to ${most}.`,
    figures: "Figures",
    round: "Round",
    reports: "Reports",
  },

  // Panels of the dashboard
  risk: {
    heading: "What malicious users could do",
    means: "A user who lies can choose a report that moves a share as far as possible. No method can prevent this.",
    slider: "Number of malicious users",
    said: (users, all, share) => `If ${users} of ${all} users lie together (${share}), one share can rise by at most:`,
    shift: (question, points) => `${question}: ${points} points`,
    none: "The largest shift is not known for this survey, or no report is here yet.",
    rule: {
      open: "Anybody can send reports here. One person with a script can be many users.",
      token: "Everybody with the link can send reports here. One person with a script can be many users.",
      invite: "Each invite counts once per round, so one person cannot be many users.",
    },
  },
  promise: {
    heading: "What the survey promises",
    report: "One report",
    lifetime: "All reports about an unchanged answer",
    history: "All that a device ever sends",
    loss: (times, epsilon) => `at most ${times} times as likely (ε = ${epsilon})`,
    digest: "Digest",
    digestMeans: "The digest names the questions and the promise. Devices refuse to answer under another one.",
    download: "Save the specification",
  },

  // Administration on the dashboard
  admin: {
    heading: "Administration",
    state: "State",
    states: {
      draft: "Only administrators see this draft.",
      open: "Respondents can answer. Closing is final.",
      closed: "Nobody can answer any more. Deleting removes all figures.",
    },
    open: "Open the survey",
    close: "Close the survey",
    closeQuestion: "Close this survey for ever? It takes no more reports.",
    next: (number) => `Begin round ${number}`,
    nextQuestion: (number) => `Begin round ${number}? The round before closes for ever.`,
    delete: "Delete the survey",
    deleteQuestion: (name) => `Delete ${name} with all its figures for ever?`,
    sharing: "Respondents",
    audience: "Public results",
    public: "Show results to people without a token",
    publicHint: "They see releases, which hide when a single report came.",
    minUsers: "Reports before the first release",
    step: "Reports between two releases",
    stepHint: "Two releases that differ by one report would show this report.",
    wrongNumber: "A whole number from 1 is needed.",
    save: "Save",
    saved: "Saved.",
    export: "Files",
    round: "Round",
    tally: "Save the tally",
    reports: "Save the reports",
    exportMeans: "The tally has the counts. The reports come as a Parquet file, in an order that says nothing.",
    exportTally: "The tally has the counts of the round, for the Python package. Single reports are not kept.",
    tokens: "Tokens",
    tokensMean: "A token to read opens the results of all surveys. A token to send reports is for this survey.",
    scopes: { analyst: "may read results", submit: "may send reports" },
    may: "A new token …",
    note: "Note",
    noteHint: "A word by which you know the token later, such as the name of its holder.",
    noNote: "without a note",
    makeToken: "Make a token",
    newToken: "New token",
    once: "The service shows it only now. Copy it.",
    revoke: "Revoke",
    revokeIt: (note) => `Revoke “${note}”`,
    revokeQuestion: (note) => `Revoke the token “${note}”? It never works again.`,
  },

  // Ways to a survey, on the dashboard and the start page
  sharing: {
    address: "Link for respondents",
    code: (name) => `QR code of the link to ${name}`,
    visit: "Open the respondent's page",
    howMany: "Number of invites",
    invitesHint: "One invite per person or device.",
    wrongMany: (most) => `A whole number from 1 to ${most} is needed.`,
    makeInvites: "Save invites as a file",
    invitesMade: (many) => `${many} invites are in the file. The service does not show them again.`,
    whoIssues: "Each invite is a link that counts once per round. Who issues an invite can tell whose report it is.",
    sharedRule: "Respondents need a link with a token. The link is the same for all of them.",
    makeLink: "Make a link",
    sharedAddress: "Link with the token",
    noteOfLink: "Link for respondents",
    once: "The service shows this link only now. Copy it.",
  },

  // Forms of the dashboard and the start page
  form: {
    token: "Token",
    tokenHint: "It stays in this tab, and never gets into an address.",
    tokenMissing: "Paste the token here.",
    useToken: "Use the token",
    copy: "Copy",
    copied: "Copied.",
    copyByHand: "The text is selected: copy it with the keyboard.",
  },

  // Texts of the start page
  start: {},

  // Texts of the playground
  play: {
    title: "Playground",
    intro: "Local differential privacy: each user randomizes an answer, and only a random report is sent. "
      + "This page simulates the users and the aggregator. Nothing leaves your browser.",
    home: "Surveys",
    documentation: "Documentation",
    wrong: (fields) => `The address has no valid value for ${fields.map((each) => TEXT.play.short[each]).join(", ")}. `
      + "The page shows its own value there.",
    short: {
      protocol: "the protocol", k: "the number of answers", epsilon: "ε", n: "the number of users",
      shares: "the true shares",
    },

    setUp: "Set-up",
    fields: {
      protocol: "Protocol", k: "Number of answers (k)", epsilon: "Privacy budget ε =", n: "Users (n)",
      shares: "True shares",
    },
    protocols: {
      GRR: "GRR: randomized response",
      SUE: "SUE: symmetric unary encoding",
      OUE: "OUE: optimized unary encoding",
      OLH: "OLH: optimized local hashing",
      SS: "SS: subset selection",
    },
    shapes: { decreasing: "decreasing", even: "even", rare: "the last answer is rare (1 %)", own: "your own" },
    editShares: "Edit the shares",
    answer: (name) => `Answer ${name}`,
    sent: {
      GRR: (_, own, other) => `A report is one answer: the true one with a probability of ${own}, `
        + `and each other one with ${other}.`,
      SUE: (protocol, own, other) => TEXT.play.bits(protocol, own, other),
      OUE: (protocol, own, other) => TEXT.play.bits(protocol, own, other),
      OLH: ({ bytes }, own, other) => `A report is a random hash function with one of its results, in ${bytes} bytes. `
        + `It fits the true answer with a probability of ${own}, and each other one with ${other}.`,
      SS: ({ constants: { omega } }, own, other) => `A report is a set of ${omega} of the answers. `
        + `It has the true answer with a probability of ${own}, and each other one with ${other}.`,
    },
    bits: ({ ks: [k] }, own, other) => `A report is ${k} bits, one per answer. The bit of the true answer is 1 with `
      + `a probability of ${own}, and each other bit with ${other}.`,
    odds: (epsilon, odds) => `${epsilon}: a factor of ${odds}`,
    reading: (odds, raised) => `No report is more than ${odds} times as likely for one answer as for another (e^ε = ${odds}). `
      + `An observer who gives an answer a chance of 10 % can learn at most enough to say ${raised}.`,
    link: "Link to this set-up",

    lesson: "Try this: a lesson in eight steps",
    steps: [
      ["Draw one report of answer A", () => "Draw it again and again. Which reports fit A? Can you tell the true answer?"],
      ["Set ε to 0.1", (half) => `Reports are almost pure chance. Intervals reach up to ± ${half} points: what can be learned?`],
      ["Set ε to 3", (half) => `Reports disclose more, and intervals reach up to ± ${half} points. Is the bound still a protection?`],
      ["Ask 100 users, with ε = 1", (half) => `Intervals reach up to ± ${half} points. Which answers can be told apart?`],
      ["Ask 100,000 users, with ε = 1", (half) => `The same privacy, and up to ± ${half} points. How do errors depend on n?`],
      ["Ask for 20 answers", (half) => `GRR is rarely true now: up to ± ${half} points. Look at the probabilities in the set-up.`],
      ["Change the protocol to OUE", (half) => `The same ε, and only ± ${half} points. Why is a report of 20 bits better?`],
      ["Make one answer rare", (half) => `Answer E has 1 %, and intervals reach up to ± ${half} points. Can E be found?`],
    ],

    collect: "What the aggregator learns",
    run: "Run",
    pause: "Pause",
    one: "One report",
    reset: "Reset",
    progress: "Users who have reported",
    reported: (done, n) => `${done} of ${n} users have reported.`,
    planned: (half) => `Expected with this set-up: an interval reaches up to ± ${half} percentage points.`,
    errors: (worst, half) => `The largest error is ${worst} percentage points. `
      + `After all reports, an interval is expected to reach up to ± ${half}.`,
    covered: (some, all) => `${some} of ${all} intervals contain the true share. On average, 95 % do.`,
    compared: ({ open, population }) => "Say that these users are drawn from a population, and its shares are asked for. "
      + `True answers would give up to ± ${open} points, and these reports give up to ± ${population}.`,
    estimatesCaption: (limit) => `Estimates with 95 % intervals. Bars run from 0 to ${limit}, and the thick upright line is the truth.`,
    estimates: ["Answer", "Reports that fit", "True share", "Estimate"],
    missed: "misses the truth",

    arrive: "The reports",
    arriveIntro: "The aggregator sees the bytes, and which answers they fit. It never sees the true answer.",
    reveal: "Show the true answers",
    noArrivals: "No report yet. “One report” lets one user report.",
    arrivalsCaption: (many) => (many === 1 ? "One report that came by itself" : `The last ${many} reports that came one by one`),
    arrivals: ["User", "True answer", "Bytes sent", "Fits"],
    hidden: "hidden",
    none: "none",

    single: "What one report discloses",
    singleIntro: "One user may send many different reports. Draw one, and see how likely it is for each true answer.",
    from: "True answer",
    draw: "Draw a report",
    drawn: (names, many) => (many ? `The report fits ${names}. Its bytes:` : "The report fits no answer. Its bytes:"),
    oneCaption: (least) => `How likely exactly these bytes are. No bar can end left of the upright line, at × ${least}.`,
    chance: "Compared with the likeliest answer",
    true: "(true)",
    ratio: ["The likeliest answer gives these bytes ", (bound) => ` times as often as the least likely one. The bound is e^ε = ${bound}.`],
    largest: (many) => (many === 1 ? "Largest factor in 1 report: " : `Largest factor in ${many} reports: `),
  },
};
