"""Tests that compare kernels with plain code, where kernels take short cuts.

The short cuts are loops without branches, separate handling of rare cases, and sums in pieces.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import BLH, GRR, LSOUE, OLH, OUE, SMP, SS, SUE, DBitFlipPM, Stream, wire
from multi_freq_ldpy.core import layouts, parallel
from multi_freq_ldpy.kernels import (
    bit_counts,
    chacha,
    hashing,
    noise,
    positions,
    records,
    symbols,
)
from multi_freq_ldpy.plain import chacha as plain_chacha
from multi_freq_ldpy.plain import noise as plain_noise
from multi_freq_ldpy.randomness import Source, subkey
from multi_freq_ldpy.solutions import smp
from multi_freq_ldpy.solutions.rows import group_users

from . import reference


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("m", [2, 3, 5, 1000, 10**6, 2**29, 2**31])
def test_high_halves_settle_only_what_the_low_ones_cannot_change(m: int, epsilon: float) -> None:
    weights = GRR(m, epsilon).weights
    t, q = weights
    _, _, _, inverse, _ = law = layouts.symbol_constants(m, weights)
    assert (inverse == 0) == (q < 2**32)
    if not inverse:
        return
    generator = np.random.default_rng(1)
    edges = [(t + j * q) >> 32 for j in (0, 1, 2, m // 2, m - 3, m - 2)]
    words = {min(2**32 - 1, max(0, edge + d)) for edge in edges for d in (-2, -1, 0, 1, 2)} | {
        0,
        1,
        2**32 - 1,
    }
    words |= set(generator.integers(0, 2**32, 200).tolist())
    out, few = np.empty(1, np.uint64), 0
    for word in words:
        settled = symbols.by_halves(
            np.array([word], np.uint32), 0, np.zeros(1, np.int64), 0, 1, *law, out
        )
        both = {reference.offset(word << 32 | low, t, q) % m for low in (0, 2**32 - 1)}
        assert len(both) == 1 or not settled, f"word {word} depends on its low half"
        assert not settled or out[0] in both, f"word {word}"
        few += settled
    assert few > 100 or m > 2**24, "too few words are decided by the high half"


def test_the_inverse_is_never_too_large() -> None:
    for q in [
        2**32,
        2**32 + 1,
        2**33 - 1,
        3 * 2**40 + 7,
        2**62,
        2**63 - 1,
        *np.random.default_rng(2).integers(2**32, 2**63, 50).tolist(),
    ]:
        *_, inverse, shift = (
            int(each)
            for each in layouts.symbol_constants(3, (2**64 - 2 * q if q < 2**63 else 1, q))
        )
        assert inverse < 2**32
        for high in (0, 1, 2**31, 2**32 - 1):
            guess = high * inverse >> shift
            assert 0 <= (high << 32) // q - guess <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "protocol", [OUE(100, 1.0), OUE(100, 5.0), LSOUE(100, 2.0, 1.0), SS(5000, 1.0)], ids=repr
)
def test_leftover_words_are_settled_as_one_by_one(protocol: Any) -> None:
    """Draw reports of many users, so that several groups of further words are drawn at once.

    With ε = 5 a tenth of the tried bytes is accepted. Most of these draws need more words than one
    block has.
    """
    n = (15_000 if protocol == OUE(100, 5.0) else 6000) // protocol.report_bytes
    values = np.arange(n) * 7 % protocol.k
    data, size = wire.encode(protocol, protocol.randomize(values, Stream(3))), protocol.report_bytes
    key = subkey(Stream(3).key, protocol._label)
    for i, value in enumerate(values.tolist()):
        assert data[i * size : (i + 1) * size] == reference.randomize(protocol, key, i, value), (
            f"user {i}"
        )


@pytest.mark.usefixtures("way")
def test_own_bits_that_sixteen_bits_do_not_settle() -> None:
    """Compare the users for whom 16 random bits do not decide, about one in 65536.

    These bits equal the first 16 binary digits of p. Further bits then decide.
    """
    protocol, n = SUE(2, 1.0), 2**19
    drawn = (
        Source.of(Stream(3), protocol._label, n)
        .words(n // 2, 1)
        .view(np.uint16)
        .reshape(n, 2)[:, 1]
    )
    users = np.flatnonzero(drawn == protocol.weights[0] >> 48)
    reports, key = (
        protocol.randomize(np.zeros(n, np.int64), Stream(3)),
        subkey(Stream(3).key, protocol._label),
    )
    assert users.size > 2
    for i in users.tolist():
        assert reports[i].tobytes() == reference.randomize(protocol, key, i, 0), f"user {i}"


@pytest.mark.parametrize("width", [1, 2, 3, 7, 8, 13, 16, 125])
def test_columns_are_counted(width: int) -> None:
    generator = np.random.default_rng(width)
    line = 8 // np.gcd(width, 8)
    for n in (
        0,
        1,
        5,
        16 * line - 1,
        16 * line,
        16 * line + 1,
        16 * line * 255,
        16 * line * 256 + 3,
    ):
        rows = generator.integers(0, 256, (n, width), dtype=np.uint8)
        rows[:, 0] = 255  # bits that are always 1 fill the counters first
        counts = np.full(8 * width, 3)
        bit_counts.count(rows, counts)
        assert np.array_equal(
            counts, 3 + np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        ), n
        sizes = np.empty(n, np.int64)
        bit_counts.sizes(rows, sizes)
        assert np.array_equal(sizes, np.unpackbits(rows, axis=1).sum(axis=1, dtype=np.int64))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_symbols_are_counted(dtype: Any) -> None:
    k = min(5000, np.iinfo(dtype).max)
    for n in (0, 1, 3, 4, 5, 1003):
        drawn = np.random.default_rng(n).integers(0, k, n).astype(dtype)
        counts = np.ones(k, np.int64)
        symbols.count(drawn, counts)
        assert np.array_equal(counts, 1 + np.bincount(drawn, minlength=k))


def test_quotients_by_way_of_floating_point_are_exact() -> None:
    generator = np.random.default_rng(4)
    for prime in (2, 3, 101, 65521, 2**26 - 5, 2**31 - 1, 2**32 - 5):
        family = prime * (prime - 1)
        near = [j * prime + d for j in (0, 1, prime // 2, prime - 2) for d in (-1, 0, 1)]
        for number in [
            0,
            family - 1,
            *near,
            *(int(x) % family for x in generator.integers(0, 2**63, 100)),
        ]:
            if 0 <= number < family:
                found = hashing.divide(np.uint64(number), np.uint64(prime), 1.0 / float(prime))
                assert tuple(map(int, found)) == divmod(number, prime)


@pytest.mark.slow
@pytest.mark.parametrize(
    "protocol",
    [
        OLH(2, 1.0),
        OLH(5, 1.0),
        BLH(97, 1.0),
        OLH(126, 3.0),
        OLH(127, 3.0),
        OLH(128, 1.0),
        OLH(40_000, 1.0),
    ],
    ids=repr,
)
def test_hashes_are_counted(protocol: Any) -> None:
    for n in (1, 127, 128, 300):
        reports = protocol.randomize(np.arange(n) * 31 % protocol.k, rng=n)
        assert np.array_equal(
            protocol.tally(reports).counts,
            protocol.contributions(reports).sum(axis=0, dtype=np.int64),
        )


@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 40])
def test_fields_of_rows(size: int) -> None:
    generator = np.random.default_rng(size)
    rows, which = (
        generator.integers(0, 256, (1000, size + 5), dtype=np.uint8),
        generator.integers(0, 4, 1000),
    )
    order, edges = np.empty(1000, np.int64), np.empty(5, np.int64)
    records.group(which, order, edges)
    assert np.array_equal(order, np.argsort(which, kind="stable"))
    assert np.array_equal(edges, [0, *np.cumsum(np.bincount(which, minlength=4))])
    for users in (order[edges[1] : edges[2]], np.empty(0, np.int64)):
        chosen = users if len(users) else np.arange(1000)
        fields = np.empty((len(chosen), size), np.uint8)
        records.take(rows, users, 3, fields)
        assert np.array_equal(fields, rows[chosen, 3 : 3 + size])
        written = np.zeros_like(rows)
        records.put(fields, users, 3, written)
        assert np.array_equal(written[chosen, 3 : 3 + size], fields)
        assert int(written.sum()) == int(fields.sum()), "bytes outside the fields were written"


@pytest.mark.parametrize(
    ("k", "w"),
    [
        (2, 1),
        (5, 1),
        (10, 9),
        (50, 14),
        (100, 27),
        (1000, 269),
        (1000, 900),
        (5000, 1345),
        (10**6, 10),
        (10**6, 268_941),
    ],
)
def test_sets_are_planned_so_that_few_read_on(k: int, w: int) -> None:
    """Compare the number of words that a set owns with the expected number of draws.

    Reading further words costs as much as 150 words, so it must be rare.
    """
    enter, corrections, units = layouts.set_plan(k, w)
    mean = Fraction(enter, 2**64) * k
    deviation = (float(mean) * (1 - enter / 2**64)) ** 0.5
    gap = float(w - mean)
    missing, surplus = max(0.0, gap + deviation), max(0.0, deviation - gap)
    draws = max(missing * k / (k - w), surplus * k / w)
    assert corrections >= 0.8 * draws, "more than one set in six needs further words"
    assert layouts.set_stride(k, w) == 2 * (-(-k // 8) + 1 + corrections * units)


def test_fewer_than_three_random_bits_a_bit() -> None:
    for k in (100, 1000, 10**5):
        for protocol in (OUE(k, 1.0), SUE(k, 0.1)):
            asked: list[int] = []

            class Counting(Source):
                def users(self, n: int, stride: int) -> Any:
                    asked.append(8 * stride)  # noqa: B023
                    return super().users(n, stride)

            protocol._randomize(
                np.zeros(1, np.int64),
                Counting(Source.of(Stream(1), b"", 1).key, 0),
                np.empty(1, protocol.report_dtype),
            )
            assert sum(asked) < 3 * k


def test_jobs_side_by_side() -> None:
    """Check that ranges cover all work exactly once and that errors are raised.

    Nested jobs and several callers do not wait for each other.
    """
    n = 10 * parallel.GRAIN
    with parallel.use_threads(4):
        for _ in range(20):
            seen: list[tuple[int, int]] = []
            parallel.run_ranges(n, lambda low, high, seen=seen: seen.append((low, high)))  # type: ignore[misc]
            assert sorted(seen)[0][0] == 0 and len(seen) == 4
            assert all(
                a[1] == b[0] for a, b in zip(sorted(seen), [*sorted(seen)[1:], (n, n)], strict=True)
            )
        for broken in range(4):

            def job(low: int, high: int, broken: int = broken) -> None:
                if low == n * broken // 4:
                    raise RuntimeError(f"part {broken}")

            with pytest.raises(RuntimeError, match=f"part {broken}"):
                parallel.run_ranges(n, job)
        inner: list[int] = []
        parallel.run_ranges(
            n, lambda low, high: parallel.run_ranges(n, lambda a, b: inner.append(b - a))
        )
        assert inner == [n] * 4

        def call(seed: int) -> Any:
            with parallel.use_threads(3):
                return GRR(7, 1.0).randomize(np.arange(n) % 7, rng=seed).tobytes()

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(call, [1, 2, 1, 2] * 3)) == [call(1), call(2)] * 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_after_a_fork() -> None:
    values = np.arange(4 * parallel.GRAIN) % 100
    protocols = (
        GRR(100, 1.0),
        OUE(100, 1.0),
        SS(100, 1.0),
        OLH(100, 1.0),
        SMP(GRR, [100], 1.0),
        DBitFlipPM(100, 1.0),
    )
    with parallel.use_threads(3):
        expected = [
            each.tally(
                each.randomize(values.reshape(-1, 1) if isinstance(each, SMP) else values, rng=1)
            )
            for each in protocols
        ]
        reading, writing = os.pipe()
        held = threading.Event()
        beside = threading.Thread(target=lambda: held.wait(60))
        beside.start()
        child = os.fork()
        if child == 0:
            again = [
                each.tally(
                    each.randomize(
                        values.reshape(-1, 1) if isinstance(each, SMP) else values, rng=1
                    )
                )
                for each in protocols
            ]
            os.write(writing, b"same" if again == expected else b"different")
            os._exit(0)
        held.set()
        beside.join()
        assert os.waitpid(child, 0)[1] == 0
        assert os.read(reading, 100) == b"same"
        os.close(reading)
        os.close(writing)


def test_reading_on_from_the_middle() -> None:
    """Compare the words of a draw, read from the first word on and after the first block."""
    key = np.frombuffer(bytes(range(32)), "<u4")
    words, rest = chacha.reader(key), chacha.reader(key)
    whole = [int(chacha.read_on(77, i, words)) for i in range(200)]
    assert [
        int(chacha.read_on(77, i, rest, chacha.HEAD)) for i in range(chacha.HEAD, 200)
    ] == whole[chacha.HEAD :]
    heads = np.empty(chacha.HEAD * chacha.LANES, np.uint64)
    chacha.begin(np.array([5, 77, 2**63], np.uint64), chacha.keyed(key), heads)
    assert heads[chacha.HEAD : 2 * chacha.HEAD].tolist() == whole[: chacha.HEAD]


def test_reports_changed_while_they_are_counted_stay_within_bounds() -> None:
    """Check that kernels stay within bounds if a report changes after it was checked.

    Reports are counted in place, so another thread can change them.
    """
    counts = np.zeros(5, np.int64)
    symbols.count(np.array([0, 4, 5, 255, 1], np.uint8), counts)
    assert counts.tolist() == [1, 1, 0, 0, 1]
    protocol = OLH(100, 1.0)
    _, space = protocol.family.counting(1)
    seed, symbol = np.array([7], np.uint64), np.array([2**40], np.uint64)
    hashing.count(seed, symbol, np.uint64(protocol.prime), *space)
    assert 0 <= space[-1].sum() <= 100
    out = np.zeros((1, 2), np.uint8)
    positions.deposit(np.full((1, 2), 255, np.uint8), np.full((1, 1), 255, np.uint8), out)
    assert out.tolist() == [[255, 0]]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 1000])
def test_users_by_group(size: int) -> None:
    """Check that each group lists its users in ascending order.

    Numbers that are too large belong to the last group.
    """
    for groups, dtype in ((1, np.int64), (3, np.uint8), (4, np.int64), (300, np.uint16)):
        which = np.random.default_rng(size).integers(groups + 2, size=size).astype(dtype)
        taken = np.minimum(which, groups - 1)
        for each in (which, np.repeat(which, 2)[::2]):
            assert [found.tolist() for found in group_users(each, groups)] == [
                np.flatnonzero(taken == j).tolist() for j in range(groups)
            ]


def test_sampled_reports_beyond_a_block() -> None:
    """Count reports of several blocks.

    The counts are the sums of the contributions, and invalid reports are found in every block.
    """
    solution = SMP([GRR, OUE, lambda k, epsilon: DBitFlipPM(k, epsilon, d_bits=2)], [5, 9, 6], 1.0)
    n = smp.NUMBERED_TOGETHER + 3000
    reports = solution.randomize(np.column_stack([np.arange(n) % k for k in solution.ks]), rng=1)
    alike = (reports["attribute"][:3000] == reports["attribute"][-3000:]).mean()
    assert abs(alike - 1 / 3) < 6 * (2 / 9 / 3000) ** 0.5, "blocks do not sample independently"
    with parallel.use_threads(1):
        tally, parts = solution.tally(reports), np.array_split(reports, 3)
    assert tally == solution.tally(parts[0]) + solution.tally(parts[1]) + solution.tally(parts[2])
    assert (
        tally.counts.tolist()
        == sum(solution.contributions(part).sum(axis=0) for part in parts).tolist()
    )  # type: ignore[union-attr]
    assert (
        solution.contributions(reports)[-3000:] == solution.contributions(reports[-3000:])
    ).all()
    for change in (("attribute", 3), ("payload", 255)):
        wrong = reports.copy()
        wrong[change[0]][n - 5] = change[1]
        assert np.flatnonzero(solution._refused(wrong)).tolist() == [n - 5]
        with pytest.raises(ValueError, match=rf"reports\[{n - 5}\]"):
            solution.tally(wrong)


def test_work_that_cannot_be_handed_to_threads_is_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Simulate the shutdown of the interpreter: the pool takes one part and refuses the others."""
    n, done = 4 * parallel.GRAIN, np.zeros(4 * parallel.GRAIN, np.int64)
    pool = parallel._get_pool(3)
    submit, asked = pool.submit, []

    def refusing(*arguments: Any) -> Any:
        asked.append(arguments)
        if len(asked) > 1:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return submit(*arguments)

    def job(low: int, high: int) -> None:
        done[low:high] += 1

    monkeypatch.setattr(pool, "submit", refusing)
    monkeypatch.setattr(parallel, "_get_pool", lambda size: pool)
    with parallel.use_threads(4):
        parallel.run_ranges(n, job)
    assert len(asked) == 3
    assert (done == 1).all()


@pytest.mark.parametrize("n", [0, 1, 3, 8, 9, 40])
def test_blocks_of_draws_equal_the_plain_ones(n: int) -> None:
    key = np.arange(8, dtype=np.uint32)
    addresses = np.arange(n, dtype=np.uint64) * np.uint64(2**40 + 1)
    for block in (0, 1, 2**33):
        found = chacha.read_block(key, addresses, block)
        assert found.tolist() == plain_chacha.read_block(key, addresses, block).tolist()


@pytest.mark.parametrize("engine", [noise, plain_noise], ids=["kernels", "plain"])
def test_saturated_noise_hides_the_own_value(engine: ModuleType) -> None:
    """Check that entries saturate after the value was added.

    The noise has the scale 2³², so an entry is ±LIMIT more often than not. Each of 500 users misses
    an end with probability 0.7 or less: the test fails by chance less than once in 10⁷⁰.
    """
    values = np.zeros(500, dtype=np.int64)
    reports = np.empty((500, 2), dtype=np.int32)
    engine.randomize(np.arange(8, dtype=np.uint32), 0, values, np.uint64(1), reports)
    assert (reports.min(axis=0) == -engine.LIMIT).all()
    assert (reports.max(axis=0) == engine.LIMIT).all()
