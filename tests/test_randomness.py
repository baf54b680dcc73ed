"""Tests of randomness: published vectors of ChaCha20, the reference, streams, threads, forks."""

import copy as copy_module
import os
import pickle
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import (
    BLH,
    GRR,
    LGRR,
    LOLH,
    OLH,
    OUE,
    RSFD,
    SMP,
    SS,
    DBitFlipPM,
    Panel,
    Stream,
    wire,
)
from multi_freq_ldpy.core import layouts
from multi_freq_ldpy.core.randomness import CONSECUTIVE, Source, as_generator, subkey
from multi_freq_ldpy.kernels import chacha, subsets, symbols
from multi_freq_ldpy.longitudinal.memoized import Chain, Memoized
from multi_freq_ldpy.mechanism import as_readonly
from multi_freq_ldpy.protocol import Protocol
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

from . import reference
from .cases import CASES, ONE_SHOT, SOLUTIONS

# RFC 8439: section 2.3.2 and appendix A.1, as (key, counter, nonce, key stream)
RFC = [
    (
        bytes(range(32)).hex(),
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4ed2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        "00" * 32,
        0,
        "00" * 12,
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        "00" * 32,
        1,
        "00" * 12,
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        "00" * 31 + "01",
        1,
        "00" * 12,
        "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0",
    ),
    (
        "00ff" + "00" * 30,
        2,
        "00" * 12,
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
    (
        "00" * 32,
        0,
        "00" * 11 + "02",
        "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c78a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d",
    ),
]


@pytest.mark.parametrize(("key", "counter", "nonce", "stream"), RFC)
def test_chacha_published_vectors(key: str, counter: int, nonce: str, stream: str) -> None:
    words = np.frombuffer(bytes.fromhex(nonce), "<u4")
    block, high = counter | int(words[0]) << 32, int(words[1]) | int(words[2]) << 32
    out = np.zeros(chacha.FILL // 4, np.uint32)
    chacha.fill(np.frombuffer(bytes.fromhex(key), "<u4"), np.uint64(high), np.uint64(block), out)
    assert out.tobytes()[:64].hex() == stream
    assert reference.chacha_block(bytes.fromhex(key), high, block).hex() == stream


def test_chacha_every_lane_and_the_carry_of_the_counter() -> None:
    key, first = bytes(range(32)), 2**32 - 5
    out = np.zeros(3 * chacha.FILL // 4, np.uint32)
    chacha.fill(np.frombuffer(key, "<u4"), np.uint64(2**63 + 1), np.uint64(first), out)
    blocks = [reference.chacha_block(key, 2**63 + 1, first + i) for i in range(out.nbytes // 64)]
    assert out.tobytes() == b"".join(blocks)


# Large domains, where every other seed is rejected and most symbols need the low half of a word
HUGE = [GRR(2**32 - 5, 25.0), OLH(3_100_000_000, 5.0), BLH(3_100_000_000, 1.0)]
HUGE_MEMOIZED = [
    LGRR(2**32 - 5, 30.0, 25.0),
    LOLH(3_100_000_000, 8.0, 5.0),
    DBitFlipPM(2**32 - 5, 3.0, b=9, d_bits=4),
]


# Domains of about 2³¹ values, where every other word is rejected
REJECTED = [
    RSFD(GRR, [2**31 + 1, 3_100_000_000], 22.0),
    RSFD(OLH, [3_100_000_000] * 2, 20.0),
    SMP(GRR, [2] * 300, 1.0),
]


@pytest.mark.parametrize("protocol", CASES + HUGE + HUGE_MEMOIZED + SOLUTIONS + REJECTED, ids=repr)
@pytest.mark.usefixtures("way")
def test_draws_equal_the_reference(protocol: Any) -> None:
    ks = np.array(protocol.ks)
    n = max(20, (4000 if len(ks) == 1 else 500) // (ks.sum() + 20)) // len(ks) + 2
    n = n if protocol.parts[0][0].channel.binary else 12  # exact noise reads many blocks
    # SMP numbers users from the start of a block
    for first in (
        0,
        1234 if isinstance(protocol, SMP) else 12345,
        2**40 + 3,
    ):
        values = np.arange(n)[:, np.newaxis] * (7 + np.arange(len(ks))) % ks
        values = values[:, 0] if isinstance(protocol, Protocol) else values
        reports = protocol.randomize(values, Stream(11, position=first))
        key = subkey(Stream(11).key, protocol._label)
        data, size = wire.encode(protocol, reports), protocol.report_bytes
        for i, value in enumerate(values.tolist()):
            expected = reference.randomize(protocol, key, first + i, value)
            assert data[i * size : (i + 1) * size] == expected, (
                f"user {first + i} with value {value}"
            )


@pytest.mark.parametrize(
    "protocol", [p for p in CASES + HUGE_MEMOIZED if isinstance(p, Memoized)], ids=repr
)
@pytest.mark.usefixtures("way")
def test_panel_equals_reference(protocol: Any) -> None:
    """Compare panels with the reference, for any order of users.

    Permanent answers depend on user and memo class. The second round reads new bytes in every call.
    """
    n, key = 2**28, Stream(11).key
    users = np.array([5, 0, n - 1, 77, 2**20, 6, 4, 3, 2, 1, 12345, n - 2])
    memory = subkey(key, b"panel 0 " + protocol._label)
    fresh = reference.part(
        subkey(subkey(key, b"part panel 0, attribute 0"), protocol._label), "report"
    )
    panel = Panel(protocol, n, Stream(11))
    for number in range(2):
        values = (users * 7 + number) % protocol.k
        data, size = wire.encode(protocol, panel.report(values, users)), protocol.report_bytes
        for i, (user, value) in enumerate(zip(users.tolist(), values.tolist(), strict=True)):
            expected, _ = reference.remembered(protocol, memory, user, value)
            if isinstance(protocol, Chain):
                expected = reference.second_round(
                    protocol, fresh, number * len(users) + i, expected
                )
            assert data[i * size : (i + 1) * size] == expected, (
                f"user {user} with value {value} in round {number}"
            )


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 5.0, 700.0])
@pytest.mark.parametrize("m", [2, 3, 1000, 10**6, 2**32 - 5])
def test_symbols_at_boundary_words(m: int, epsilon: float) -> None:
    t, q = GRR(m, epsilon).weights
    assert t + (m - 1) * q == 2**64
    some = {0, 1, m // 2, m - 3, m - 2}
    edges = {0, t - 1, t, 2**64 - 1} | {t + j * q + d for j in some for d in (-1, 0, q - 1, q)}
    for word in (w for w in edges if 0 <= w < 2**64):
        expected = reference.offset(word, t, q)
        assert symbols.offset(np.uint64(word), np.uint64(t), np.uint64(q)) == expected < m
        high = word >> 32 << 32
        same = reference.offset(high, t, q) == reference.offset(high | 2**32 - 1, t, q)
        assert symbols.settle(np.uint64(high), np.uint64(t), np.uint64(q)) == same


@pytest.mark.parametrize("q", [1, 2**62, 2**63, 2**64 - 1, 123456789123456789])
def test_byte_table_is_the_product_law(q: int) -> None:
    owners, owned, fractions = layouts.bit_table(q)
    cells = np.bincount(owners[:owned], minlength=256)
    left = len(owners) - owned
    whole = [sum(int(w) << (64 * (7 - i)) for i, w in enumerate(row)) for row in fractions]
    # A word that no byte owns draws b uniformly and keeps it with its fraction. The fractions of
    # all 256 bytes add up to ``left``
    assert sum(Fraction(whole[b.bit_count()], 2**512) for b in range(256)) == left
    for b in range(256):
        ones = b.bit_count()
        exact = Fraction(q, 2**64) ** ones * (1 - Fraction(q, 2**64)) ** (8 - ones)
        assert (int(cells[b]) + Fraction(whole[ones], 2**512)) / 2**16 == exact


@pytest.mark.parametrize("k", [1, 2, 3, 1000, 2**31, 2**32 - 5])
def test_uniform_numbers_reject_what_would_bias_them(k: int) -> None:
    for word in (0, 1, 2**31, 2**32 - 1, (2**32 - 1) // k, min(2**32 - 1, 2**32 // k + 1)):
        expected = reference.below(word, k)
        assert symbols.below(np.uint32(word), k, np.uint64(2**32 % k)) == (
            k if expected is None else expected
        )


def test_rare_paths_are_rare() -> None:
    t, q = GRR(1000, 1.0).weights
    high = np.random.default_rng(0).integers(0, 2**32, 20000, dtype=np.uint64) << np.uint64(32)
    slow = sum(not symbols.settle(h, np.uint64(t), np.uint64(q)) for h in high)
    assert slow <= 2, "the low half of a word is read far too often"
    for protocol in (OUE(10, 1.0), OUE(10, 5.0)):
        _, owned, _ = layouts.bit_table(protocol.weights[1])
        assert 1 - owned / 2**16 < 0.004


def test_words_are_addressable() -> None:
    source = Source.of(Stream(5), b"test", 100)
    whole = source.words(100, 3)
    assert np.array_equal(source.skip(37).words(63, 3), whole[37:])
    assert len(np.unique(whole)) == whole.size


def test_stream_positions_and_labels() -> None:
    stream = Stream(1)
    a = GRR(1000, 1.0).randomize(np.zeros(64, np.int64), stream)
    assert stream.position == 64
    b = GRR(1000, 1.0).randomize(np.zeros(64, np.int64), stream)
    c = GRR(1000, 1.01).randomize(np.zeros(64, np.int64), Stream(1))
    assert len({a.tobytes(), b.tobytes(), c.tobytes()}) == 3
    assert np.array_equal(
        GRR(1000, 1.0).randomize(np.zeros(64, np.int64), Stream(1, position=64)), b
    )


def test_what_rng_may_be() -> None:
    values, protocol = np.arange(100), GRR(100, 1.0)
    seeds = np.random.SeedSequence(7)
    same = [
        protocol.randomize(values, rng)
        for rng in (7, np.int64(7), seeds, Stream(7), Stream(Stream(7).key))
    ]
    assert all(np.array_equal(same[0], other) for other in same)
    generator = np.random.default_rng(7)
    one, two = protocol.randomize(values, generator), protocol.randomize(values, generator)
    assert not np.array_equal(one, two)
    assert np.array_equal(one, protocol.randomize(values, np.random.default_rng(7)))
    for wrong in (-1, 1.5, "7", True, b"short", [1], np.random):
        with pytest.raises((TypeError, ValueError), match="rng"):
            protocol.randomize(values, wrong)  # type: ignore[arg-type]
    assert as_generator(3).integers(2**60) == as_generator(3).integers(2**60)


def test_stream_pickles_and_hides_its_key() -> None:
    stream = Stream(3)
    stream.take(5)
    copy = stream.copy()
    assert (copy.key, copy.position) == (stream.key, 5)
    assert stream.key.hex() not in repr(stream)
    children = stream.spawn(3)
    more = stream.copy().spawn(2)
    assert len({child.key for child in children + more} | {stream.key}) == 6
    assert [child.key for child in children + more] == [child.key for child in Stream(3).spawn(5)]
    own = Stream()
    copies = [
        own,
        pickle.loads(pickle.dumps(own)),
        copy_module.copy(own),
        own.copy(),
        copy_module.deepcopy(own),
        *own.spawn(2),
        *own.spawn(2),
    ]
    assert len({each.key for each in copies}) == 9, (
        "keys from the operating system are never used twice"
    )


PANEL = LGRR(5, 2.0, 1.0)


@pytest.mark.parametrize(
    "seeded",
    [Stream(3), Stream(bytes(32)), *Stream(3).spawn(1), Stream(3).part(b"x"), Panel(PANEL, 9, 1)],
    ids=["seed", "key", "spawned", "part", "panel"],
)
@pytest.mark.parametrize("copy", [pickle.dumps, copy_module.copy, copy_module.deepcopy])
def test_workers_cannot_repeat_noise_by_accident(copy: Any, seeded: Any) -> None:
    if copy is copy_module.copy and isinstance(seeded, Panel):
        (seeded,) = copy_module.copy(seeded)._fresh  # both copies share one stream
    with pytest.raises(TypeError, match=r"stream\.spawn\(n\)\[i\]\.key"):
        copy(seeded)


def test_a_stream_only_moves_forward() -> None:
    stream = Stream(1, position=100)
    for wrong in (-40, -1, 2**62, 1.5):
        with pytest.raises((ValueError, TypeError), match="position"):
            stream.take(wrong)  # type: ignore[arg-type]
    assert stream.position == 100
    with pytest.raises(TypeError, match="rng"):
        Stream(stream)  # type: ignore[arg-type]


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_addresses_never_wrap_around(cls: type[Protocol]) -> None:
    protocol = cls(241, 1.0)  # type: ignore[call-arg]
    for exponent in (40, 45, 50, 55, 58, 60, 61):
        try:
            far = protocol.randomize(np.zeros(50, np.int64), Stream(1, position=2**exponent))
        except ValueError as error:
            assert "position" in str(error)  # noqa: PT017
        else:
            assert far.tobytes() != protocol.randomize(np.zeros(50, np.int64), Stream(1)).tobytes()
    with pytest.raises(ValueError, match="position"):
        Source(Source.of(Stream(1), b"", 0).key, 2**60).words(1, 2)


def test_threads_share_a_stream_without_sharing_noise() -> None:
    protocol, stream = GRR(2**20, 0.01), Stream(9)
    with ThreadPoolExecutor(8) as pool:
        parts = list(
            pool.map(lambda _: protocol.randomize(np.zeros(500, np.int64), stream), range(40))
        )
    together = protocol.randomize(np.zeros(20000, np.int64), Stream(9))
    assert Counter(np.concatenate(parts).tolist()) == Counter(together.tolist())


def test_threads_never_take_the_same_users() -> None:
    """Let four threads take users as fast as they can, with a very short switch interval.

    Without a lock this test fails in more than 99 of 100 runs. With a lock it cannot fail.
    """
    stream, start, many = Stream(9), threading.Barrier(4), 8000
    taken: list[list[int]] = [[], [], [], []]

    def work(own: list[int]) -> None:
        start.wait()
        own.extend(stream.take(3) for _ in range(many))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work, args=(own,)) for own in taken]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    firsts = sorted(first for own in taken for first in own)
    shared = sum(after - first < 3 for first, after in pairwise(firsts))
    assert shared == 0, "users were given out twice"
    assert firsts == list(range(0, 3 * 4 * many, 3)) and stream.position == 3 * 4 * many


@pytest.mark.parametrize("cls", ONE_SHOT)
def test_threads_get_what_one_thread_gets(cls: type[Protocol]) -> None:
    protocol = cls(20, 1.0)  # type: ignore[call-arg]
    expected = protocol.randomize(np.arange(20), 1).tobytes()
    found: list[bytes] = []
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        found.extend(cls(20, 1.0).randomize(np.arange(20), 1).tobytes() for _ in range(20))  # type: ignore[call-arg]

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 80


def in_child(work: object) -> bytes:
    """Run ``work`` in a forked child, and return its result, which is bytes."""
    assert callable(work)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, work())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return data


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_never_repeats_its_parents_noise() -> None:
    protocol, values = GRR(2**16, 0.1), np.zeros(100, np.int64)
    stream = Stream()
    protocol.randomize(values, stream)
    GRR_Client(0, 200, 0.1)  # draws a thousand reports ahead
    draws = {
        "rng=None": lambda: protocol.randomize(values).tobytes(),
        "Stream()": lambda: protocol.randomize(values, stream).tobytes(),
        "drawn ahead": lambda: bytes(GRR_Client(0, 200, 0.1) for _ in range(200)),
    }
    for what, draw in draws.items():
        children = [in_child(draw) for _ in range(2)]
        assert len({*children, draw()}) == 3, what
        assert all(len(child) == 200 for child in children), what
    # The child uses several threads
    large = in_child(lambda: protocol.randomize(np.zeros(50_000, np.int64), 1)[-50:].tobytes())
    assert large == protocol.randomize(np.zeros(50_000, np.int64), 1)[-50:].tobytes()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_seeded_stream_refuses_to_go_on_after_a_fork() -> None:
    stream = Stream(1)

    def use() -> bytes:
        try:
            stream.take(1)
        except RuntimeError as error:
            return str(error).encode()
        return b"accepted"

    assert b"spawn" in in_child(use)
    assert in_child(lambda: Stream(1).spawn(2)[1].key) == Stream(1).spawn(2)[1].key


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_other_threads_use_the_stream() -> None:
    """Check that the child does not wait for a lock that a thread of the parent holds."""
    stream, stop = Stream(), threading.Event()

    def take() -> None:
        while not stop.is_set():
            stream.take(1)

    workers = [threading.Thread(target=take) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        keys = {
            in_child(lambda: stream.take(1).to_bytes(8, "little") + stream.key) for _ in range(10)
        }
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert len(keys) == 10
    assert all(key.startswith(bytes(8)) for key in keys), "a new key starts at position 0"


@pytest.mark.slow
def test_sets_of_every_size_relation() -> None:
    # Sets that are drawn too large must lose values. This is rare, so a table that draws nearly all
    # values forces it here
    protocol = SS(50, 1.0)
    source = Source.of(Stream(2), b"test", 500)
    for other in (0, 2**62, 2**64 - 1):
        out, own = np.zeros((500, 7), np.uint8), np.uint64(protocol.weight)
        last, table = layouts.last_byte(50), layouts.bit_table(other)
        for units in (1, 2):
            subsets.randomize(
                source.key,
                0,
                CONSECUTIVE,
                np.arange(500) % 50,
                own,
                50,
                last,
                protocol.omega,
                8,
                units,
                *table,
                out,
            )
            sizes = np.unpackbits(out, axis=1, bitorder="little").sum(axis=1)
            assert (sizes == protocol.omega).all()


@pytest.mark.parametrize("mechanism", CASES + SOLUTIONS, ids=repr)
def test_listed_users_are_honoured_or_refused(mechanism: Any) -> None:
    """Check that listed users get the reports that they would get among consecutive users."""
    users = np.array([7, 2, 2, 11])
    values = np.arange(12)[:, np.newaxis] % np.array(mechanism.ks)
    inputs = values[:, 0] if isinstance(mechanism, Protocol) else values
    source = Source.keyed(bytes(range(32)), 5)
    everybody, listed = (np.zeros(n, mechanism.report_dtype) for n in (12, 4))
    mechanism._randomize(as_readonly(inputs), source, everybody)
    try:
        mechanism._randomize(as_readonly(inputs[users]), source.at(users), listed)
    except TypeError as error:
        assert "consecutive users" in str(error)  # noqa: PT017
    else:
        assert listed.tobytes() == everybody[users].tobytes()
