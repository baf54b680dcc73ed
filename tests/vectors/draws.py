"""Vectors of draws whose words are given instead of a key, for cases that keys seldom reach."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from multi_freq_ldpy import BLH, GRR, LOSUE, LOUE, OLH, OUE, RSFD, SHE, SS, SUE
from multi_freq_ldpy.core import layouts
from multi_freq_ldpy.protocols.families import next_prime

from .. import reference
from .words import OWNED, Further, by_package, by_reference

MASK = 2**32 - 1
LAST = 2**32 - 5
KEYS = [bytes([i]) * 32 for i in range(1, 5)]
Case = tuple[str, dict[str, Any], bytes, Further]
STRINGS = {"weights", "weight"}
"""Arguments that are written as text, because they may exceed 2⁵³."""


def halves(*numbers: int, size: int = 2) -> bytes:
    """Return numbers of ``size`` bytes, one after the other."""
    return b"".join(each.to_bytes(size, "little") for each in numbers)


def symbols() -> Iterator[Case]:
    """Yield symbols that the high half settles, and symbols at the edges between two symbols."""
    for protocol, value in (
        *((GRR(5, 1.0), 3), (GRR(2, 0.3), 1), (GRR(1000, 4.0), 999)),
        *((GRR(LAST, 21.0), LAST - 1), (OLH(1000, 9.0), 0)),
    ):
        m = protocol.g if isinstance(protocol, OLH) else protocol.k
        own, other = protocol.weights
        given = {"m": m, "weights": [own, other], "value": value}
        for word in (0, MASK, MASK // 3):
            yield "symbol", given, halves(word, size=4), {0: [0]}
        for edge in sorted({own, (own + other) % 2**64, 2**64 - other} - {0}):
            low, high = edge & MASK, edge >> 32
            for further in sorted({max(low - 1, 0), low, 0, MASK}):
                on = {0: [further << 32 | (0 if further >= low else MASK)]}
                yield "symbol", given, halves(high, size=4), on


def uniforms() -> Iterator[Case]:
    """Yield uniform numbers whose words are rejected, and words next to them."""
    for m in (2, 3, 4, 5, 60, 1024, 3 * 2**30 + 1, 2**31 + 1, LAST):
        for word in (0, 1, 2**31, MASK):
            on = [7, 2**32 // 3 << 32 | MASK, 2**62]
            yield "uniform", {"m": m}, halves(word, size=4), {0: on}
        if m % 2:
            rejected, inverse = 2**32 % m, pow(m, -1, 2**32)
            edges = [x * inverse % 2**32 for x in (rejected - 1, rejected)]
            for word in edges:
                on = [edges[0] << 32 | MASK, edges[1] << 32, 0]
                yield "uniform", {"m": m}, halves(word, size=4), {0: on}


def seeds() -> Iterator[Case]:
    """Yield seeds whose words are rejected, and words next to them."""
    for prime in (2, 3, 5, 61, 1009, 65537, 2**31 - 1, LAST):
        rejected = 2**64 % (prime * (prime - 1))
        for word in sorted({0, max(rejected - 1, 0), rejected, 2**64 - 1}):
            on = {0: [0, max(rejected - 1, 0), rejected + 1]}
            yield "seed", {"prime": prime}, halves(word, size=8), on


def owning(q: int, byte: int) -> int:
    """Return the last 16-bit word that gives a byte of bits with probability q/2⁶⁴."""
    owners, cells, _ = layouts.bit_table(q)
    found = int(np.searchsorted(owners[:cells], byte, side="right")) - 1
    assert owners[found] == byte, f"no word owns byte {byte}"
    return found


def leftovers(q: int) -> Iterator[list[int]]:
    """Yield words that are read on by a byte which no 16-bit word settles."""
    fractions = [[int(each) for each in row] for row in layouts.bit_table(q)[2]]

    def start(byte: int) -> tuple[int, list[int]]:
        return byte << 56 | 0x123456789ABCDE, fractions[byte.bit_count()]

    (one, few), (more, many) = start(0b10000), start(0b1011)
    accept = [more, many[0] - 1]
    yield [one, few[0] - 1]
    yield [one, 0]
    yield [one, few[0] + 1, *accept]
    yield [one, 2**64 - 1, *accept]
    yield [one, few[0], few[1] - 1]
    yield [one, few[0], few[1] + 1, *accept]
    yield [one, *few[:7], few[7] - 1]
    yield [one, *few, *accept]
    yield [word for _ in range(9) for word in (one, 2**64 - 1)] + accept
    yield [more, *many[:2], many[2] + 1, one, *few[:2], few[2] - 1]


def coins(p: int) -> Iterator[tuple[int, list[int]]]:
    """Yield the 16-bit word of a coin of probability p/2⁶⁴, and the word that it reads on."""
    top, rest = p >> 48, p % 2**48
    yield max(top - 1, 0), [2**64 - 1]
    yield min(top + 1, 2**16 - 1), [0]
    for more in sorted({0, max(rest - 1, 0), rest, 2**48 - 1}):
        yield top, [more << 16 | (0 if more >= rest else 2**16 - 1)]
    yield top, [rest >> 16 << 32 | 2**32 - 1]


def rows() -> Iterator[Case]:
    """Yield rows of bits: the own bit, and bytes that no 16-bit word settles."""
    for protocol, value in (
        *((OUE(5, 1.0), 3), (OUE(16, 0.5), 8), (SUE(21, 1.0), 20), (SUE(8, 0.7), 0)),
        (SUE(3, 30.0), 2),
    ):
        own, other = protocol.weights
        width, cells = protocol.report_bytes, layouts.bit_table(other)[1]
        given = {"k": protocol.k, "weights": [own, other], "value": value}
        nobody = given | {"value": -1}
        settled = [owning(other, 0)] * width
        for word, on in coins(own):
            for each in (given, nobody):
                yield "bits", each, halves(*settled, word), {2 * width: on}
        if protocol.epsilon > 20:
            continue
        ones = [owning(other, 0xFF if protocol.k % 8 == 0 else 0x1F)] * width
        for word, on in list(coins(own))[:2]:
            yield "bits", given, halves(*ones, word), {2 * width: on}
        for column in sorted({0, width - 1}):
            for word, on in zip((cells, 2**16 - 1) * 5, leftovers(other), strict=True):
                words = [*settled[:column], word, *settled[column + 1 :]]
                yield "bits", nobody, halves(*words, 0), {2 * column: on}
        yield "bits", nobody, halves(*[cells - 1] * width, 0), {}
        full = {2 * c: on for c, on in zip(range(width), leftovers(other), strict=False)}
        yield "bits", given, halves(*[cells] * width, 2**16 - 1), full


def second_rounds() -> Iterator[Case]:
    """Yield second rounds of bits, with and without uniform bytes, of odd and even width."""
    for protocol in (LOSUE(5, 2.0, 1.0), LOUE(5, 2.0, 1.0), LOUE(16, 2.0, 1.0), LOUE(21, 3.0, 0.5)):
        k, width, other = protocol.k, protocol.report_bytes, protocol.second[1]
        cells = layouts.bit_table(other)[1]
        last = int(layouts.last_byte(k))
        uniform = bytes((0xA6, 0x3C, 0x59)[:width]).ljust(-(-width // 2) * 2, b"\xff")
        tail = uniform if protocol.half else b""
        for permanent in (0xFF, 0b10110, 0):
            given = {
                "k": k,
                "weight": other,
                "half": protocol.half,
                "permanent": bytes([permanent] * (width - 1) + [permanent & last]).hex(),
            }
            for byte in (0, 0b1001):
                yield "again", given, halves(*[owning(other, byte)] * width) + tail, {}
            on = list(leftovers(other))[5]
            yield "again", given, halves(*[cells] * width) + tail, {2 * c: on for c in range(width)}


def number_for(x: int, k: int, digits: int) -> int:
    """Return the first word of ``digits`` bits that gives the number x below k."""
    word = -(-(x << digits) // k)
    return word if reference.below(word, k, digits) == x else word + 1


def starting_row(k: int, enter: int) -> list[int]:
    """Return bytes of bits that a set starts with, if values enter with probability enter/2⁶⁴."""
    width = (k + 7) // 8
    if enter % 2**64 == 0:
        return [0xFF if enter else 0] * width
    bits = [i % 7 in (1, 4) and i < k for i in range(8 * width)]
    return np.packbits(np.array(bits), bitorder="little").tolist()


def a_set(given: dict[str, Any], coin: int, corrections: list[int], further: list[int]) -> Case:
    """Return a set with these words: that of the coin, the owned corrections, the words read on."""
    enter, owned, units = layouts.set_plan(given["k"], given["omega"])
    row = halves(*(owning(enter, byte) for byte in starting_row(given["k"], enter)), coin)
    main = row + halves(*(corrections + [1] * owned)[:owned], size=2 * units)
    just_below = given["weight"] % 2**48 - 1 << 16 | 2**16 - 1
    return "set", given, main, {len(row) - 2: [just_below], len(row): further}


def sets() -> Iterator[Case]:
    """Yield sets that must grow or shrink, with rejected words and words read on."""
    few = (60, 16), (60, 21), (20, 17), (9, 3)
    for k, omega in (*few, (4093, 2), (4096, 3), (4097, 3), (4097, 4093)):
        digits, owned = 16 if k <= 4096 else 32, layouts.set_plan(k, omega)[1]
        weight = SS(k, 1.0).weight if SS(k, 1.0).omega == omega else 2**64 * 3 // 5 + 12345
        given = {"k": k, "omega": omega, "weight": weight, "value": k // 3}
        mine = number_for(k // 3, k, digits)
        others = [number_for(x, k, digits) for x in range(k) if x != k // 3 and x % 7 != 2]
        rejected = [0] if 2**digits % k else []
        rest = 2 ** (64 - digits)
        further = [
            *((each + 1) * rest - 1 for each in (*rejected, mine, others[2], others[2])),
            *(each * rest + 1 for each in others[::3] + others[1::3] + others[2::3]),
        ]
        usual = others[3::5][:owned]
        for coin in (0, weight >> 48, 2**16 - 1)[: 3 if k < 100 else 1]:  # large sets are long
            yield a_set(given, coin, usual, further)
            yield a_set(given, coin, [*rejected, mine, *usual], further)
        yield a_set(given, 0, [*rejected * owned, *[mine] * owned], further)
        yield a_set(given, 2**16 - 1, [mine] * owned, further)
        yield a_set(given | {"value": -1}, weight >> 48, usual, further)
    for protocol in (SS(60, 1.0), SS(21, 0.5), SS(300, 2.0), SS(4097, 3.0)):
        given = {"k": protocol.k, "omega": protocol.omega, "weight": protocol.weight}
        for key in KEYS[: 1 if protocol.k > 300 else 4]:
            yield keyed("set", given | {"value": protocol.k // 2}, key)
            yield keyed("set", given | {"value": -1}, key)
    for omega in (6, 7, 33, 34):  # a set starts empty up to 6, and full from 34 on
        given = {"k": 40, "omega": omega, "weight": 2**64 // 40 * omega + 10**17, "value": 9}
        yield keyed("set", given, KEYS[0])


def keyed(name: str, given: dict[str, Any], key: bytes) -> Case:
    """Return a draw with the words of a key."""
    stream, owned = reference.Bytes(key), OWNED[name](**given)
    main = stream.number(0, owned).to_bytes(owned, "little") if owned else b""
    on = {}
    for address in range(0, owned + 1, 2):
        words = stream.on(address)
        on[address] = [next(words) for _ in range(80)]
    return name, given, main, on


def hashes() -> Iterator[Case]:
    """Yield hash functions and symbols, also without a value."""
    for protocol, value in (
        *((OLH(100, 1.0), 99), (BLH(2, 1.0), 1), (OLH(5, 9.0), 4), (OLH(LAST, 3.0), LAST - 1)),
        (OLH(1000, 3.1), 0),
    ):
        prime, g, (own, other) = protocol.prime, protocol.g, protocol.weights
        given = {"prime": prime, "g": g, "weights": [own, other], "value": value}
        assert prime == next_prime(protocol.k)
        low, symbol = 2**64 % (prime * (prime - 1)), 2**64 % g
        for word in (0, own - 1, own, own + other - 1, (own + other) % 2**64, 2**64 - 1):
            yield "hashing", given, halves(low, word, size=8), {}
        on = {0: [max(low - 1, 0), 2**63 + 12345], 8: [max(symbol - 1, 0), 2**64 - 2]}
        for word in sorted({0, max(symbol - 1, 0), symbol, 2**63 + 1}):
            for first in (0, 2**64 - 1):
                main = halves(first, word, size=8)
                yield "hashing", given | {"value": -1}, main, on
        yield "hashing", given, halves(0, 2**63, size=8), on
    for protocol, value in ((OLH(LAST, 30.0), LAST - 1), (OLH(2**28, 25.0), 2**28 - 3)):
        prime, g = protocol.prime, protocol.g
        given = {"prime": prime, "g": g, "weights": list(protocol.weights), "value": value}
        for key in KEYS:  # many symbols, so that the last digits of the hash matter
            yield keyed("hashing", given, key)


def coin_words(gamma: int, keep: bool) -> list[int]:
    """Return words by which a coin of probability e^(−gamma/2³²) shows a side."""
    if keep:
        return [MASK] if gamma <= MASK else [5, 0, 0, 2**63 | 3]
    return [0, 2**63]


def noises() -> Iterator[Case]:
    """Yield noise of both signs, above 2³², saturated, and with a rejected zero."""
    weight, finest = SHE(2, 1.0).weight, 121

    def entry(word: int, carries: int) -> list[int]:
        """Return the words of one noise, with a whole part that is raised ``carries`` times."""
        raised = coin_words(2**32, True) * carries
        return [word, *coin_words(word >> 32, True), *raised, *coin_words(2**32, False)]

    small, zero = 3 * 2**30 << 32, 2**20 << 32
    for first in ([small, 0], [small | 1, 0], [small, 1], [small | 1, 3], [zero, 0], [zero | 1, 1]):
        for value in (0, 1):
            words = entry(*first) + entry(small | 1, 0)
            yield "noise", {"k": 2, "weight": weight, "value": value}, b"", {0: words}
    rejected = [zero | 1, *coin_words(2**20, True), *coin_words(2**32, False)]
    failed = [small, *coin_words(3 * 2**30, False)]
    run = [small, 0, 0, 0, 2**32, 2**32 | 7, 2**63]  # the fourth word is rejected
    longer = [*run, *coin_words(2**32, False)]
    equal = [small, 3 * 2**30, *coin_words(2**32, False)]
    for words in (rejected, failed + entry(small | 1, 2), longer, equal):
        given = {"k": 1, "weight": weight, "value": 0}
        yield "noise", given, b"", {0: words + entry(small, 0)}
    for sign in (0, 1):
        for value in (-1, 0):
            given = {"k": 1, "weight": finest, "value": value}
            yield "noise", given, b"", {0: entry(2**63 | sign, 60)}
            yield "noise", given, b"", {0: entry(2**31 - 1 << 32 | sign, 60)}
    for key in KEYS:
        yield keyed("noise", {"k": 3, "weight": weight, "value": 1}, key)
    yield keyed("noise", {"k": 3, "weight": SHE(3, 0.01).weight, "value": 2}, KEYS[0])


def samples() -> Iterator[Case]:
    """Yield sampled attributes of balanced RS+FD, at the edges of each attribute."""
    for solution in (
        RSFD(GRR, [2, 60], 1.0, balance=True),
        RSFD(SS, [7, 2, 9, 30], 2.0, balance=True),
    ):
        weights = list(solution.weights or ())
        edges = [sum(weights[: j + 1]) for j in range(len(weights))]
        for word in (0, *(edge - 1 for edge in edges), *edges[:-1]):
            yield "sampled", {"weights": weights}, halves(word, size=8), {}


GROUPS = (symbols, uniforms, seeds, rows, second_rounds, sets, hashes, noises, samples)


def inputs(entry: dict[str, Any]) -> Case:
    """Return the draw, the arguments and the words of an entry."""
    given = {each: entry[each] for each in entry if each not in ("draw", "main", "on", "result")}
    for name in STRINGS & given.keys():
        each = given[name]
        given[name] = int(each) if isinstance(each, str) else list(map(int, each))
    on = {int(address): list(map(int, words)) for address, words in entry["on"].items()}
    return entry["draw"], given, bytes.fromhex(entry["main"]), on


def make() -> list[dict[str, Any]]:
    """Return all entries, with the words that are read."""
    found = []
    for name, given, main, pool in (case for group in GROUPS for case in group()):
        assert len(main) == OWNED[name](**given)
        _, on = by_reference(name, given, main, pool)
        written = {
            each: argument
            if each not in STRINGS
            else str(argument)
            if isinstance(argument, int)
            else list(map(str, argument))
            for each, argument in given.items()
        }
        entry = {
            "draw": name,
            **written,
            "main": main.hex(),
            "on": {str(address): list(map(str, words)) for address, words in sorted(on.items())},
            "result": by_package(name, given, main, on),
        }
        if entry not in found:
            found.append(entry)
    return found
