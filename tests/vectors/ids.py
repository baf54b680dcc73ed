"""Vectors of the ids of reports."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from multi_freq_ldpy.service.ids import report_id

SECRETS = [bytes(range(32)), bytes(range(255, 223, -1))]
NAMES = ["a", "weekly-2030", "0123456789-abcdefghijklmnopqrstuvwxyz-0123456789-abcdefghijklmno"]
DIGESTS = ["00112233445566778899aabbccddeeff", "ff" * 16]
ROUNDS = [0, 1, 255, 256, 2**32 - 1]


def make() -> Iterator[dict[str, Any]]:
    """Yield the vectors."""
    for secret, name, digest, round in product(SECRETS, NAMES, DIGESTS, ROUNDS):
        yield again({"secret": secret.hex(), "survey": name, "digest": digest, "round": round})


def again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the vector with the id that this package computes."""
    secret, name, digest, round = (entry[key] for key in ("secret", "survey", "digest", "round"))
    return {**entry, "id": report_id(bytes.fromhex(secret), name, digest, round).hex()}
