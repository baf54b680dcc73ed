"""Draws from given words instead of a key: by the package, and by the reference."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from multi_freq_ldpy import RSFD
from multi_freq_ldpy.core import draws, layouts
from multi_freq_ldpy.core.randomness import CONSECUTIVE, Source
from multi_freq_ldpy.plain import bits, chacha, hashing, noise, subsets, symbols

from .. import reference

Further = dict[int, list[int]]
"""Words that draws read on, by address."""

NO_KEY = np.zeros(8, np.uint32)
FILLERS = (b"one", b"another")
"""Keys of the bytes that the package may read ahead. They must not matter."""


class Given(reference.Bytes):
    """A stream that consists of given words, and counts the words that are read on."""

    def __init__(self, main: bytes, further: Further) -> None:
        self.main, self.further, self.read = main, further, defaultdict[int, int](int)

    def number(self, address: int, size: int) -> int:
        assert address + size <= len(self.main), f"byte {address + size - 1} is not given"
        return int.from_bytes(self.main[address : address + size], "little")

    def on(self, address: int) -> Iterator[int]:
        for word in self.further.get(address, []):
            self.read[address] += 1
            yield word
        raise AssertionError(f"word {self.read[address]} at address {address} is not given")

    @property
    def used(self) -> Further:
        """The words that were read on."""
        return {address: self.further[address][:n] for address, n in self.read.items()}


@contextmanager
def giving(main: bytes, on: Further, filler: bytes) -> Iterator[None]:
    """Let the draws of the package read given words under every key."""
    streams = {0: main} | {
        address + 1: b"".join(word.to_bytes(8, "little") for word in words)
        for address, words in on.items()
    }

    def blocks(key: Any, nonces: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.uint32]:
        found = []
        for nonce, number in zip(nonces.tolist(), numbers.tolist(), strict=True):
            given = streams.get(nonce, b"")[64 * number :][:64]
            further = blake2b(b"%d %d" % (nonce, number), key=filler).digest()
            found.append(given + further[len(given) :])
        return np.frombuffer(b"".join(found), "<u4").reshape(-1, 16)

    with (
        patch.object(chacha, "blocks", blocks),
        patch.object(noise, "blocks", blocks),
        patch.dict(draws._chosen, chacha=chacha),
    ):
        yield


def packed(k: int) -> NDArray[np.uint8]:
    return np.zeros((1, (k + 7) // 8), np.uint8)


def symbol(m: int, weights: list[int], value: int) -> int:
    out = np.empty(1, np.uint64)
    law = layouts.symbol_constants(m, (weights[0], weights[1]))
    symbols.randomize(NO_KEY, 0, CONSECUTIVE, np.array([value]), *law, out)
    return int(out[0])


def uniform(m: int) -> int:
    out = np.empty(1, np.int64)
    symbols.uniform(NO_KEY, 0, CONSECUTIVE, m, out)
    return int(out[0])


def seed(prime: int) -> str:
    out = np.empty(1, np.uint64)
    hashing.seeds(NO_KEY, 0, CONSECUTIVE, np.uint64(prime), out)
    return str(out[0])


def row(k: int, weights: list[int], value: int) -> str:
    out, (own, other) = packed(k), weights
    law = layouts.last_byte(k), np.uint64(own), *layouts.bit_table(other)
    bits.randomize(NO_KEY, 0, CONSECUTIVE, np.array([value]), *law, out)
    return out.tobytes().hex()


def again(k: int, weight: int, half: bool, permanent: str) -> str:
    out, kept = packed(k), np.frombuffer(bytes.fromhex(permanent), np.uint8).reshape(1, -1)
    bits.again(NO_KEY, 0, kept, layouts.last_byte(k), half, *layouts.bit_table(weight), out)
    return out.tobytes().hex()


def subset(k: int, omega: int, weight: int, value: int) -> str:
    out, law = packed(k), layouts.set_constants(k, omega)
    subsets.randomize(NO_KEY, 0, CONSECUTIVE, np.array([value]), np.uint64(weight), *law, out)
    return out.tobytes().hex()


def hashed(prime: int, g: int, weights: list[int], value: int) -> dict[str, Any]:
    seeds, sent = np.empty((2, 1), np.uint64)
    law = (np.uint64(each) for each in (prime, g, *weights))
    hashing.randomize(NO_KEY, 0, np.array([value]), *law, seeds, sent)
    return {"seed": str(seeds[0]), "symbol": int(sent[0])}


def noisy(k: int, weight: int, value: int) -> list[int]:
    out = np.empty((1, k), np.int32)
    noise.randomize(NO_KEY, 0, np.array([value]), np.uint64(weight), out)
    return [int(each) for each in out[0]]


def sampled(weights: list[int]) -> int:
    solution: Any = SimpleNamespace(weights=weights)
    return int(RSFD._sample_attributes(solution, Source.keyed(bytes(32)), 1)[0])


def as_hex(k: int, number: int) -> str:
    return number.to_bytes((k + 7) // 8, "little").hex()


def hashed_by_reference(stream: Given, value: int, *law: Any) -> dict[str, Any]:
    seed, symbol = reference.seed_and_symbol(stream, 0, value, *law)
    return {"seed": str(seed), "symbol": symbol}


def set_by_reference(stream: Given, k: int, omega: int, weight: int, value: int) -> str:
    return as_hex(k, reference.a_set(stream, 0, value, k, omega, weight))


def again_by_reference(stream: Given, k: int, weight: int, half: bool, permanent: str) -> str:
    kept = int.from_bytes(bytes.fromhex(permanent), "little")
    return as_hex(k, reference.again(stream, 0, k, weight, half, kept))


PACKAGE: dict[str, Callable[..., Any]] = {
    "symbol": symbol,
    "uniform": uniform,
    "seed": seed,
    "bits": row,
    "again": again,
    "set": subset,
    "hashing": hashed,
    "noise": noisy,
    "sampled": sampled,
}
REFERENCE: dict[str, Callable[..., Any]] = {
    "symbol": lambda s, m, weights, value: reference.symbol(s, 0, value, m, weights),
    "uniform": lambda s, m: reference.uniform_number(s, 0, m),
    "seed": lambda s, prime: str(reference.a_seed(s, 0, prime)),
    "bits": lambda s, k, weights, value: as_hex(
        k, reference.own_and_others(s, 0, value, k, weights)
    ),
    "again": again_by_reference,
    "set": set_by_reference,
    "hashing": lambda s, prime, g, weights, value: hashed_by_reference(s, value, prime, g, weights),
    "noise": lambda s, k, weight, value: reference.noisy(s, 0, value, k, weight),
    "sampled": lambda s, weights: reference.weighted(s, 0, weights),
}
OWNED: dict[str, Callable[..., int]] = {
    "symbol": lambda **_: 4,
    "uniform": lambda **_: 4,
    "seed": lambda **_: 8,
    "bits": lambda k, **_: layouts.bits_stride((k + 7) // 8),
    "again": lambda k, half, **_: layouts.again_stride((k + 7) // 8, half),
    "set": lambda k, omega, **_: layouts.set_stride(k, omega),
    "hashing": lambda **_: layouts.HASHED,
    "noise": lambda **_: 0,
    "sampled": lambda **_: 8,
}
"""The number of bytes of the main stream that each draw owns."""


def by_reference(name: str, arguments: dict[str, Any], main: bytes, on: Further) -> tuple[Any, Any]:
    """Return the result of the reference, and the words that it read on."""
    stream = Given(main, on)
    return REFERENCE[name](stream, **arguments), stream.used


def by_package(name: str, arguments: dict[str, Any], main: bytes, on: Further) -> Any:
    """Return the result of the package, which must not depend on further words."""
    found = []
    for filler in FILLERS:
        with giving(main, on, filler):
            found.append(PACKAGE[name](**arguments))
    assert found[0] == found[1], f"{name} reads words that are not given"
    return found[0]
