"""Prose: find sentences that a reader would have to read twice, in pages, docstrings, messages.

``python tools/prose.py FILES…`` lists them; without files it reads all that git has. The rules are
in CONTRIBUTING.md. The script finds patterns only: a sentence that passes may still be hard.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

WORDS = 25
LEFT_ALONE = ("tests/old/", "fuzz/corpus/", "docs/pictures/", "LICENSE")
UNIT = (
    "user|row|value|attribute|round|report|protocol|mechanism|budget|column|category|client|panel|"
    "field|call|repetition|measurement|run|entry|line|second|day|device|file|process|thread|table"
)
PATTERNS = {
    rf"\b(?:a|an|one) [\w-]+ an? (?:{UNIT})\b": "write 'one … per …'",
    r"\bliars?\b": "write 'malicious users'",
    r"\bcollectors?\b": "write 'aggregator'",
    r"\bpeople (?:who|that) do not exist\b": "write 'synthetic population'",
    r"\bplanted faults?\b|\bfaults? planted\b": "write 'mutation'",
    r"\bwhoever\b|\bwhatever\b|\bwhat(?:ever)? is none\b|\bthat nobody\b": "name the noun",
    r"\bso many\b": "say the number",
    r"\bof those\b|\bthose (?:who|which|that)\b": "name the noun",
    r"(?<!Zipf.s )\blaws?\b": "write 'distribution' or 'check'",
    r"\bsubjects?\b(?! to\b)": "write 'mechanism'",
}
PATTERNS_FOUND = [(re.compile(p, re.IGNORECASE), advice) for p, advice in PATTERNS.items()]
HEADLESS = re.compile(r"(What|Whom?|Whose|Whoever|Whether|That|Those|Which|How(?! to))\b(?!.*\?)")
TITLES = ("What is not here, and where to find it", "How it is proved")
ENDS = re.compile(r"(?<=[.!?])[)\"'”*_]*\s+(?=[^a-z])|:\s*$")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|Sect|Eq|Prop|Fig|No|pp)\.")


def find_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, with code and formulas as one word each."""
    text = re.sub(r"\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text = re.sub(r":\w+:`[^`]*`|``[^`]*``|`[^`]*`|\$[^$\n]+\$", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = ABBREVIATIONS.sub(r"\1", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*•] |\d+\. |#+ |\|))|\|", text):
        words = " ".join(re.sub(r"^\s*(?:[-*•>]|\d+\.|#+)\s+", "", paragraph).split())
        yield from (part for part in ENDS.split(words) if part)


def count_words(sentence: str) -> int:
    """Return the number of words, without signs that stand alone."""
    return sum(any(c.isalnum() for c in word) for word in sentence.split())


def find_faults(text: str) -> Iterator[str]:
    """Yield one line per fault of a text."""
    for sentence in find_sentences(text):
        if count_words(sentence) > WORDS:
            yield f"{count_words(sentence)} words: {sentence[:70]}…"
        if HEADLESS.match(sentence) and sentence not in TITLES:
            yield f"begin with a noun or a verb: {sentence[:70]}"
        for pattern, advice in PATTERNS_FOUND:
            for match in pattern.finditer(sentence):
                yield f"{advice}: …{sentence[max(0, match.start() - 20) : match.end() + 20]}…"


def strip_page(text: str) -> str:
    """Return a Markdown page without its code, directives' options and quotations of output."""
    text = re.sub(
        r"^(`{3,})(?!\{(?:note|warning|tip|glossary)).*?^\1\s*$", "", text, flags=re.M | re.S
    )
    return re.sub(r"^(```|:\w[\w-]*:|\(\w+\)=|<).*$", "", text, flags=re.M)


def strip_docstring(text: str) -> str:
    """Return a docstring without examples, headings of sections and lines of parameters."""
    lines, example = [], False
    for line in text.splitlines():
        example = (example or line.lstrip().startswith(">>>")) and bool(line.strip())
        section = re.match(r"^\s*(-{3,}|[\w*, ]+ : .*)$", line)
        heading = re.match(
            r"^\s*(Parameters|Returns|Yields|Raises|Examples|Notes|Attributes)$", line
        )
        lines.append("" if example or section or heading else line)
    text = re.sub(r"^(\s*)\.\. [\w-]+::.*\n(?:\s*\n|\1\s+.*\n)*", "", "\n".join(lines), flags=re.M)
    return re.sub(r"::\s*\n\n(?:    .*\n|\n)+", ".\n\n", text + "\n")


def read_string(node: ast.AST) -> str | None:
    """Return a literal string, with X for each value that is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(value.value) if isinstance(value, ast.Constant) else "X" for value in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        first, second = read_string(node.left), read_string(node.right)
        return (first or "X") + (second or "X") if first or second else None
    return None


def find_strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the docstrings, messages of exceptions and help texts of a module, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and (text := read_string(node.value)):
            yield node.lineno, strip_docstring(text)
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            message = re.search(r"(Error|Warning|warn|fail|print)$", name)
            given = list(node.args[:1]) if message else []
            given += [w.value for w in node.keywords if w.arg in ("help", "description", "epilog")]
            for value in given:
                if text := read_string(value):
                    yield value.lineno, text


def find_comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield comments with their lines; adjacent lines are one comment."""
    block: list[str] = []
    start = last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        body = token.string.lstrip("#! ")
        if re.match(r"(noqa|type:|pragma|fmt:|%%)", body):
            continue
        if block and token.start[0] == last + 1 and token.line.lstrip().startswith("#"):
            block.append(body)
        else:
            yield start, " ".join(block)
            block, start = [body], token.start[0]
        last = token.start[0]
    yield start, " ".join(block)


def read_texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that people read, each with the line it begins in."""
    text = path.read_text()
    if path.suffix == ".md":
        yield 0, strip_page(text)
    elif path.suffix == ".py":
        yield from find_strings(ast.parse(text))
        yield from find_comments(text)


def main() -> int:
    """Return 1 if anything was found."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True)
    names = sys.argv[1:] or listed.stdout.splitlines()
    paths = [Path(name) for name in names if not name.startswith(LEFT_ALONE)]
    faults = [
        f"{path}:{line}: {fault}" if line else f"{path}: {fault}"
        for path in paths
        if path.suffix in (".md", ".py") and path.is_file()
        for line, text in read_texts(path)
        for fault in find_faults(text)
    ]
    print(*faults, sep="\n", end="\n" * bool(faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
