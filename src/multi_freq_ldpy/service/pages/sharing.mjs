/** How people get to a survey: its address, its QR code, invites and tokens that are shown once. */
import { action, copyable, field } from "./fields.mjs";
import { ask, count, make, offerFile, ORIGIN, say } from "./page.mjs";
import { TEXT } from "./strings.mjs";

const MOST_INVITES = 10_000;

/** Returns the address of a respondent's page, perhaps with a token that no server sees. */
export const addressOf = (name, field, token) =>
  `${ORIGIN}/s/${name}${token ? `#${field}=${encodeURIComponent(token)}` : ""}`;

/** Returns the link of a survey that takes reports from anybody, with its QR code. */
export function showAddress(name) {
  const source = `/s/${name}/qr.svg?origin=${encodeURIComponent(ORIGIN)}`;
  return make("div", {},
    copyable(TEXT.sharing.address, addressOf(name)),
    make("img", { class: "code", src: source, alt: TEXT.sharing.code(name), width: 180, height: 180 }),
    make("p", {}, make("a", { href: `/s/${name}` }, TEXT.sharing.visit)));
}

/** Returns how people get to a survey, by its submission rule. */
export function showSharing({ name, submission }, token) {
  if (submission === "invite") return makeInvites(name, token);
  if (submission === "token") return makeSharedToken(name, token);
  return showAddress(name);
}

/** Returns a form that makes invites, and saves them as a file of links. */
function makeInvites(name, token) {
  const many = make("input", { type: "number", min: 1, max: MOST_INVITES, value: 20, inputmode: "numeric" });
  const asked = field(TEXT.sharing.howMany, many, TEXT.sharing.invitesHint);
  const said = make("p", { role: "status" });
  const create = async () => {
    const wanted = Number(many.value);
    const wrong = !(Number.isInteger(wanted) && wanted >= 1 && wanted <= MOST_INVITES);
    asked.fail(wrong ? TEXT.sharing.wrongMany(count(MOST_INVITES)) : "");
    if (wrong) return many.focus();
    const { invites } = await ask("POST", `/v1/surveys/${name}/invites`, { token, content: { count: wanted } });
    const rows = ["link", ...invites.map((each) => addressOf(name, "invite", each))];
    offerFile(`${name}-invites.csv`, `${rows.join("\r\n")}\r\n`, "text/csv");
    said.textContent = TEXT.sharing.invitesMade(count(invites.length));
  };
  return make("div", {}, say(TEXT.sharing.whoIssues), asked, action(TEXT.sharing.makeInvites, create), said);
}

/** Returns a button that makes a token for all respondents, and shows the link with it once. */
function makeSharedToken(name, token) {
  const place = make("div", { role: "status" });
  const create = async () => {
    const content = { scope: "submit", survey: name, note: TEXT.sharing.noteOfLink };
    const made = await ask("POST", "/v1/tokens", { token, content });
    place.replaceChildren(
      copyable(TEXT.sharing.sharedAddress, addressOf(name, "token", made.token)), say(TEXT.sharing.once, "quiet"));
  };
  return make("div", {}, say(TEXT.sharing.sharedRule), action(TEXT.sharing.makeLink, create), place);
}
