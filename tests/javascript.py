"""The JavaScript client inside Python: ``ldp.mjs`` in V8, without Node and without a browser."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BUNDLE = ROOT / "src/multi_freq_ldpy/service/pages/ldp.mjs"
VECTORS = ROOT / "clients/js/tests/vectors.mjs"
EXPORTED = re.compile(r"^export \{([^}]*)\};\n*\Z", re.MULTILINE)

# Answers questions about specs. A question and an answer are JSON, and bytes are hexadecimal digits
ANSWERS = """
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (two) => parseInt(two, 16));
const {derived, losses} = vectors;
const {mechanism, parse, hex, drawAs, reportAs, memoryOf, writeFloat} = ldp.testing;
const all = {...ldp, ...ldp.testing};
function refused(action) {
    try {
        return action();
    } catch (error) {
        if (error.name !== "SpecError") throw error;
        return null;
    }
}
const answers = {
    check: (name, text) => vectors.checkFile(all, name, JSON.parse(text)),
    derive: (text) => refused(() => {
        const own = mechanism(parse(text));
        return {...derived(all, own), losses: losses(all, own)};
    }),
    draw: (text, key, users, values) => {
        const spec = parse(text);
        return values.map((value, i) => hex(drawAs(spec, bytes(key), users[i], value)));
    },
    report: (text, secret, context, fresh, value) => {
        const keys = fresh.map(bytes);
        const found = reportAs(parse(text), bytes(secret), bytes(context), keys, value);
        return {report: hex(found.report), charges: found.charges};
    },
    history: (text, secret, first, rounds, values) => {
        const own = mechanism(parse(text)), memory = memoryOf(own, bytes(secret), bytes(""));
        let kept = own.begin(memory, first, true);
        return rounds.map((round, i) => {
            const asked = own.ask(memory, kept, [values[i]].flat(), round);
            kept = own.check(memory, asked.kept);
            return asked.report && hex(asked.report);
        });
    },
    likelihoods: (text, report, values) => refused(() => {
        const own = mechanism(parse(text)), data = bytes(report);
        return values.map((value) => ldp.likelihood(own, data, value).map((n) => n.toString(16)));
    }),
    estimate: (text, reports, level) => refused(() => {
        const own = mechanism(parse(text)), counts = new Float64Array(own.ks[0]);
        const n = ldp.aggregate.addCounts(own, bytes(reports), counts);
        return {counts: [...counts], n, values: ldp.aggregate.estimate(own, counts, n, level)};
    }),
    respond: (text, kept, value, round, fresh) => {
        const own = mechanism(parse(text)), record = [value].flat();
        const at = round ?? undefined, limit = undefined;
        const options = {round: at, limit, fresh: (i) => bytes(fresh[i])};
        const now = ldp.testing.read(kept, own, null);
        const [after, draw] = ldp.testing.respond(own, now, record, options), report = draw();
        return {after, report: report && hex(report)};
    },
    survey: (text) => refused(() => ldp.Survey.parse(text).digest),
    outbox: (text) => refused(() => {
        const {surveys, reports} = ldp.testing.readOutbox(text);
        return ldp.testing.writeOutbox({surveys: new Map([...surveys].reverse()), reports});
    }),
    identify: (secret, ...given) => ldp.testing.reportId(bytes(secret), ...given),
    floats: (numbers) => numbers.map(writeFloat),
};
globalThis.answer = (text) => {
    const [name, ...given] = JSON.parse(text);
    return JSON.stringify(answers[name](...given));
};
"""


def as_script(path: Path) -> str:
    """Return a module as an expression whose value is an object with its exports."""
    text = path.read_text()
    listed = EXPORTED.search(text)
    if listed:  # the list at the end, as bundlers write it
        pairs = [each.strip().split(" as ") for each in listed[1].split(",")]
        return text[: listed.start()] + _returned([(pair[-1], pair[0]) for pair in pairs])
    names = re.findall(r"^export (?:const|function) (\w+)", text, re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE) + _returned(
        [(name, name) for name in names]
    )


def _returned(pairs: list[tuple[str, str]]) -> str:
    return "\nreturn {" + ", ".join(f"{name}: {own}" for name, own in pairs) + "};"


class Engine:
    """V8 with the client and the checks of all vectors."""

    def __init__(self) -> None:
        from py_mini_racer import MiniRacer

        self._v8 = MiniRacer()
        for name, path in (("ldp", BUNDLE), ("vectors", VECTORS)):
            self._v8.eval(f"globalThis.{name} = (() => {{\n{as_script(path)}\n}})(); 0")
        self._v8.eval(f"(() => {{{ANSWERS}}})(); 0")

    def ask(self, question: str, *given: Any) -> Any:
        """Return the answer to a question: the name of a function and its arguments."""
        return json.loads(self._v8.call("answer", json.dumps([question, *given])))
