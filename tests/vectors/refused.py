"""Vectors of texts that must be refused as a spec or as a survey."""

import json
from collections.abc import Iterator
from typing import Any

from multi_freq_ldpy import Survey, registry
from multi_freq_ldpy.core import validate

GRR = {"version": 1, "protocol": "GRR", "k": 5, "epsilon": 1.0}
PART = {"protocol": "GRR", "k": 2, "epsilon": 1.0}
SMP: dict[str, Any] = {"version": 1, "protocol": "SMP", "protocols": [PART]}
RSFD = {"version": 1, "protocol": "RSFD", "fake": "zero", "balance": False}
CHAIN = {"version": 1, "protocol": "LGRR", "k": 5, "eps_perm": 2.0, "eps_1": 1.0}
BITS = {"version": 1, "protocol": "DBitFlipPM", "k": 5, "eps_perm": 2.0, "b": 4, "d_bits": 2}
STEPS = {
    "version": 1,
    "history": "Steps",
    "k": 2,
    "epsilon": 1.0,
    "rounds": 8,
    "changes": 1,
    "protocol": "SS",
    "encoding": "unary",
    "values": 0.5,
}
BLOOM = {"protocol": "Bloom", "k": 5, "epsilon": 1.0, "bits": 16, "hashes": 1}
DDRM = {"history": "DDRM", "epsilon": 1.0, "rounds": 8, "reports": 3, "kernel": "product"}
SURVEY: dict[str, Any] = {
    "version": 1,
    "attributes": [{"name": "a", "categories": ["x", "y"]}],
    "other": None,
    "missing": None,
    "solution": SMP,
}
Refused = tuple[Any, str | None]
"""A text, or an object that is written as JSON, and the name of the parameter that is wrong."""


def without(spec: dict[str, Any], name: str) -> dict[str, Any]:
    return {each: field for each, field in spec.items() if each != name}


def raw(spec: dict[str, Any], name: str, text: str) -> str:
    """Return a spec as JSON in which one field has a given text."""
    return json.dumps(spec | {name: "?"}).replace('"?"', text)


def nested(depth: int) -> dict[str, Any]:
    spec = PART
    for _ in range(depth):
        spec = {"protocol": "SPL", "protocols": [spec]}
    return {"version": 1, **spec}


def texts() -> Iterator[str]:
    """Yield texts that are not the JSON of an object."""
    spec = json.dumps(GRR)
    yield from ("", "null", "[]", "1", '"GRR"', "{}", spec[:-1], spec + spec, spec + ",")
    yield from (spec.replace('"', "'"), spec[:-1] + ",}", "\ufeff" + spec, spec + " // GRR")
    yield from (spec.replace("5", number) for number in ("05", "+5", "5.", ".5", "0x5", "5_0", "-"))
    yield from (spec.replace("1.0", word) for word in ("True", "undefined", "1.0f", "1e", "1 0"))
    yield spec.replace('"k"', '"k\n"')
    yield spec.replace('"k"', '"\\x6b"')
    yield spec.replace(" ", "\u00a0")
    yield "[" * 2000 + "]" * 2000


def specs() -> Iterator[Refused]:
    """Yield specs that are refused."""
    yield from ((text, None) for text in texts())
    for version in ("0", "2", "1.0", "true", '"1"', "null"):
        yield raw(GRR, "version", version), "version"
    yield without(GRR, "version"), "version"
    for name in ('"XYZ"', '"grr"', '""', "null", "1", '["GRR"]', '"__proto__"', '"toString"'):
        yield raw(GRR, "protocol", name), "protocol"
    yield without(GRR, "protocol"), "protocol"
    for name in ("k", "epsilon"):
        yield without(GRR, name), None
    for extra in ("K", "seed", "__proto__", ""):
        yield GRR | {extra: 1}, None
    yield json.dumps(GRR)[:-1] + ', "k": 5}', None
    yield json.dumps(SMP).replace('"k": 2', '"k": 2, "k": 2'), None
    for k in ("1", "0", "-5", "4294967292", "1e3", "5.0", "true", '"5"', "null", "[5]", "1e999"):
        yield raw(GRR, "k", k), "k"
    wrong = ("0", "0.0", "-0.0", "-1", "1e-400", "1e999", "-1e999", "null", "true", '"1"', "[1]")
    for epsilon in (*wrong, "1" + "0" * 400):
        yield raw(GRR, "epsilon", epsilon), "epsilon"
    for epsilon in ("NaN", "Infinity", "-Infinity"):
        yield raw(GRR, "epsilon", epsilon), None
    for name in ("GRR", "BLH", "OLH", "SS", "SUE", "OUE", "THE", "SHE", "HR"):
        yield GRR | {"protocol": name, "epsilon": 1e-30}, "epsilon"
    yield GRR | {"k": 2**32 - 5, "epsilon": 1e-11}, "epsilon"
    yield GRR | {"protocol": "SHE", "epsilon": 5e-8}, "epsilon"
    yield GRR | {"protocol": "SHE", "k": 2**29}, "k"
    for name in ("LGRR", "LSUE", "LSOUE", "LOUE", "LOSUE", "LBLH", "LOLH"):
        yield CHAIN | {"protocol": name, "eps_1": 2.0}, "eps_1"
        yield CHAIN | {"protocol": name, "eps_1": 1e-30}, "eps_1"
        yield CHAIN | {"protocol": name, "eps_perm": 0}, "eps_perm"
    yield CHAIN | {"protocol": "LOUE", "eps_1": 1.9}, "eps_1"
    yield CHAIN | {"eps_1": 0}, "eps_1"
    yield without(CHAIN, "eps_1"), None
    for name, numbers in {"b": (1, 6, 0, 4.0, True), "d_bits": (0, 5, -1, 2.0)}.items():
        yield from ((BITS | {name: number}, name) for number in numbers)
    for wrong_parts in ([], {}, None, [1], ["GRR"], [[]], PART):
        yield SMP | {"protocols": wrong_parts}, "protocols"
    yield SMP | {"protocols": [PART, GRR]}, None
    yield SMP | {"protocols": [PART, PART | {"k": 1}]}, "k"
    yield SMP | {"protocols": [PART] * 1025}, "protocols"
    yield nested(9), "protocols"
    yield nested(40), "protocols"
    large = {"protocol": "OUE", "k": 2**32 - 5, "epsilon": 1.0}
    yield SMP | {"protocol": "SPL", "protocols": [large] * 4}, "protocols"
    yield SMP | {"protocol": "SPL", "protocols": [STEPS, PART]}, None
    yield SMP | {"protocol": "SPL", "protocols": [without(STEPS, "version"), PART]}, None
    for parts in ([SMP], [CHAIN], [BITS], [GRR | {"protocol": "SHE"}], [STEPS]):
        yield RSFD | {"protocols": [without(each, "version") for each in parts]}, None
    for name, value in (("fake", "none"), ("fake", None), ("balance", "no"), ("balance", None)):
        yield RSFD | {"protocols": [PART, PART], name: value}, name
    yield without(RSFD | {"protocols": [PART]}, "fake"), None
    uniform = RSFD | {"protocols": [PART | {"protocol": "OUE", "k": 3}] * 2, "fake": "random"}
    yield uniform | {"balance": True}, "balance"
    yield STEPS | {"history": "XYZ"}, "history"
    for name, values in {
        "rounds": (0, 1.0, None, 2**40),
        "changes": (-1, 1.0, None),
        "encoding": ("", "bits"),
        "values": (0.3, None, "0.5"),
        "protocol": ("XYZ", "SHE", None),
        "epsilon": (0, None),
    }.items():
        yield from ((STEPS | {name: value}, name) for value in values)
    yield {"version": 1, **BLOOM}, "protocol"
    yield SMP | {"protocols": [PART, BLOOM]}, "protocol"
    yield {"version": 1, **DDRM}, "history"


def surveys() -> Iterator[Refused]:
    """Yield surveys that are refused."""
    yield from ((text, None) for text in ("", "[]", "{}", "null", json.dumps(SURVEY)[:-1]))
    yield {"attributes": {"a": ["x", "y"]}, "epsilon": 1.0}, None
    for version in ("0", "2", "1.0", '"1"'):
        yield raw(SURVEY, "version", version), "version"
    for name in ("attributes", "other", "missing", "solution"):
        yield without(SURVEY, name), None
    yield SURVEY | {"title": "x"}, None
    yield json.dumps(SURVEY)[:-1] + ', "other": null}', None
    for attributes in ([], {}, None, ["a"], [{"name": "a"}], {"a": ["x", "y"]}):
        yield SURVEY | {"attributes": attributes}, "attributes"
    for wrong in ("", None, 1, ["a"]):
        yield SURVEY | {"attributes": [{"name": wrong, "categories": ["x", "y"]}]}, "attributes"
    yield SURVEY | {"attributes": SURVEY["attributes"] * 2}, "attributes"
    for labels in (
        *('["x"]', "[]", '"xy"', '{"x": 0, "y": 1}', "null", '["x", null]', '["x", ["y"]]'),
        *('["x", {}]', '["x", "x"]', '[1, "1"]', "[1, 1.0]", "[1, true]", "[0, false]"),
        *('[true, "True"]', '[1.0, "1.0"]', '[1e-7, "1e-07"]', '[1e16, "1e+16"]', "[0.0, -0.0]"),
        *('[0, "-0.0", -0.0]', '["x", "\\ud800"]', '["x", "\\udc00\\ud800"]', "[1, 1e999]"),
        *("[1, 9007199254740993]", "[1, -9007199254740993]", "[1, 1" + "0" * 30 + "]"),
    ):
        entries = json.dumps(SURVEY).replace('["x", "y"]', labels)
        yield entries, "categories"
    yield json.dumps(SURVEY).replace('["x", "y"]', "[1, NaN]"), None
    yield json.dumps(SURVEY).replace('"name": "a"', '"name": "\\ud800"'), "attributes"
    for name in ("other", "missing"):
        for label in ("z", 1, True, ["x"], {}, 2**60):
            yield SURVEY | {name: label}, name
    yield SURVEY | {"other": "x", "missing": "x"}, "missing"
    for solution in (
        *(GRR, None, [], SMP | {"protocols": [PART, PART]}, without(SMP, "version")),
        *(SMP | {"protocols": [PART | {"k": 3}]}, SMP | {"protocols": [PART | {"k": 1}]}),
    ):
        yield SURVEY | {"solution": solution}, None
    two = BLOOM | {"k": 2}
    yield SURVEY | {"solution": SMP | {"protocols": [two]}}, "protocol"


def further() -> Iterator[Refused]:
    """Yield surveys whose ``other`` or ``missing`` is refused because of its type or its value."""
    for categories, fields, field in (
        ([1, 2], {"other": True}, "other"),
        ([True, 2], {"other": 1}, "other"),
        ([False, 2], {"missing": -0.0}, "missing"),
        ([1, 2], {"other": 1, "missing": 1.0}, "missing"),
    ):
        yield SURVEY | {"attributes": [{"name": "a", "categories": categories}]} | fields, field


def is_refused(kind: str, text: str) -> str | None:
    """Return the error of the package, or None if it accepts the text."""
    try:
        spec = validate.parse_json("it", text.encode())
        Survey.from_spec(spec) if kind == "survey" else registry.from_spec(spec)
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def edges() -> Iterator[Refused]:
    """Yield specs one step beyond what is accepted, and a name that joins two fields."""
    yield GRR | {"protocol": "HR", "k": 2**31}, "k"
    yield GRR | {"protocol": "SHE", "epsilon": 120 / 2**31}, "epsilon"
    joined = {name: field for name, field in BITS.items() if name not in ("b", "d_bits")}
    yield joined | {"b,d_bits": 1}, None


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry, computed anew from its inputs."""
    refused = is_refused(entry["kind"], entry["text"]) is not None
    return {**{name: entry[name] for name in ("kind", "text", "field")}, "python": refused}


def make() -> list[dict[str, Any]]:
    """Return all entries."""
    found = []
    for kind, cases in (
        ("spec", specs()),
        ("survey", surveys()),
        ("survey", further()),
        ("spec", edges()),
    ):
        for given, field in cases:
            text = given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
            found.append(again({"kind": kind, "text": text, "field": field}))
    return found
