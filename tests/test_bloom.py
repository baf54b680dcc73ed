"""Tests of Bloom filters: exact losses over all seeds that matter, and moments of filters."""

from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import comb, prod
from typing import Any

import numpy as np
import pytest

from multi_freq_ldpy import OUE, RSFD, SMP, SPL, Bloom, best, exact_epsilon, recommend, registry
from multi_freq_ldpy.mechanism import Counts
from multi_freq_ldpy.protocols.bloom import SEEDS, choose_positions

THREE_QUARTERS = 3 * 2**62


class Enumerated(Bloom):
    """Bloom filters with one seed per pair of filters, so that reports can be listed.

    The values 0 and 1 have the filters of the pair. There is one seed for every pair of filters.
    """

    @cached_property
    def pairs(self) -> list[tuple[tuple[int, ...], ...]]:
        """All pairs of filters."""
        every = list(combinations(range(self.bits), self.hashes))
        return list(product(every, repeat=2))

    def filters(self, seeds: Any, values: Counts) -> Counts:
        chosen = [self.pairs[int(s)][int(v)] for s, v in zip(seeds, values, strict=True)]
        return np.array(chosen, np.int64).reshape(-1, self.hashes)

    def _filters_of_all(self, seeds: Any, low: int, high: int) -> Counts:
        return np.array([self.pairs[int(s)] for s in seeds]).reshape(-1, 2, self.hashes)

    def list_reports(self, seed: int) -> list[bytes]:
        """Return all reports with this seed."""
        width = -(-self.bits // 8)
        rows = (row.to_bytes(width, "little") for row in range(2**self.bits))
        return [seed.to_bytes(8, "little") + row for row in rows]

    def law(self, value: int) -> dict[bytes, Fraction]:
        fair = Fraction(SEEDS, len(self.pairs))
        return {
            report: fair * self.likelihood(report, value)
            for seed in range(len(self.pairs))
            for report in self.list_reports(seed)
        }

    def _fake(self, kind: str) -> Any:
        fake, fair = super()._fake(kind), Fraction(SEEDS, len(self.pairs))
        chance = fake.chance
        return type(fake)(
            fake.mean,
            fake.pair,
            fake.lows,
            chance=lambda report: fair * chance(report),
            of=self,
            second=fake.second,
        )


class Quarters(Enumerated):
    """Bloom filters with p = 3/4 and q = 1/4, and one seed. Its filters overlap the least."""

    @cached_property
    def pairs(self) -> list[tuple[tuple[int, ...], ...]]:
        """The first and the last filter."""
        every = list(combinations(range(self.bits), self.hashes))
        return [(every[0], every[-1])]

    @cached_property
    def weights(self) -> tuple[int, int]:
        return THREE_QUARTERS, 2**64 - THREE_QUARTERS


SIZES = [(2, 1), (4, 1), (3, 2), (4, 2), (4, 3), (5, 3), (5, 2)]


@pytest.mark.parametrize(("bits", "hashes"), SIZES)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_loss_is_the_worst_over_all_pairs_of_filters(
    bits: int, hashes: int, epsilon: float
) -> None:
    """Compare the ratio with all reports, for each pair of filters on its own."""
    protocol, worst = Enumerated(2, epsilon, bits, hashes), Fraction(0)
    (p, q), size = protocol.chances, len(protocol.pairs)
    for seed in range(size):
        laws = [
            {
                report: SEEDS * protocol.likelihood(report, v)
                for report in protocol.list_reports(seed)
            }
            for v in (0, 1)
        ]
        assert [sum(law.values()) for law in laws] == [1, 1]
        found = max(laws[0][report] / laws[1][report] for report in laws[0])
        shared = len(set(protocol.pairs[seed][0]) & set(protocol.pairs[seed][1]))
        assert found == (p / q) ** (2 * (hashes - shared))
        worst = max(worst, found)
    assert protocol.ratio == worst == protocol.privacy.ratio
    assert protocol.privacy.report <= epsilon
    if bits >= 2 * hashes:
        assert epsilon - protocol.privacy.report < 1e-9
    assert exact_epsilon(protocol) == protocol.privacy.report


@pytest.mark.parametrize(("bits", "hashes"), [(2, 1), (5, 1), (8, 2), (3, 2), (9, 4)])
def test_some_seed_attains_the_loss(bits: int, hashes: int) -> None:
    """Search a seed whose filters overlap as little as possible, and enumerate its reports."""
    protocol = Bloom(2, 1.0, bits, hashes)
    for seed in range(1000):
        found = protocol.filters(np.full(2, seed, np.uint64), np.arange(2))
        assert all(len(set(each)) == hashes for each in found.tolist())
        if len(set(found[0]) & set(found[1])) == protocol.overlap:
            break
    else:
        pytest.fail("no seed has filters with the least overlap")
    width, head = -(-bits // 8), seed.to_bytes(8, "little")
    reports = [head + row.to_bytes(width, "little") for row in range(2**bits)]
    laws = [[SEEDS * protocol.likelihood(report, v) for report in reports] for v in (0, 1)]
    assert [sum(law) for law in laws] == [1, 1]
    assert max(a / b for a, b in zip(*laws, strict=True)) == protocol.ratio


@pytest.mark.parametrize(("bits", "hashes"), SIZES)
def test_moments_are_means_over_all_filters(bits: int, hashes: int) -> None:
    """Compare the channel with the mean over all pairs and triples of filters, exactly."""
    protocol = Bloom(3, 1.0, bits, hashes)
    (p, q), said, every = (
        protocol.chances,
        protocol.moments,
        list(combinations(range(bits), hashes)),
    )
    own = set(every[0])
    fake, totals = protocol._fake("zero"), [Fraction(0)] * 9
    for row in product((0, 1), repeat=bits):
        ones = [i for i in range(bits) if row[i]]
        chance = prod((p if row[i] == (i in own) else q for i in range(bits)), start=Fraction(1))
        zero = p ** (bits - len(ones)) * q ** len(ones)
        c = len(own & set(ones))
        others = [len(set(each) & set(ones)) for each in every]
        mean = Fraction(sum(others), len(every))
        square = Fraction(sum(each**2 for each in others), len(every))
        for i, each in enumerate(
            (c * chance, c**2 * chance, mean * chance, square * chance, c * mean * chance)
        ):
            totals[i] += each
        totals[5] += mean**2 * chance
        totals[6] += mean * zero
        totals[7] += square * zero
        totals[8] += mean**2 * zero
    assert totals[:6] == [said.p, said.p2, said.q, said.q2, said.own_other, said.others]
    assert totals[6:] == [fake.mean, fake.second, fake.pair]
    assert (said.smallest, said.largest, said.binary) == (0, hashes, hashes == 1)
    assert len(every) == comb(bits, hashes)


def loss_of_one_attribute(p: Fraction, q: Fraction, hashes: int, overlaps: Any, d: int) -> Fraction:
    """Return the largest ratio between records that differ in one of d attributes.

    It is the maximum over the overlaps of two filters. The other attributes have reports that are
    as unlike real ones as possible.
    """
    ratio = p * (1 - q) / (q * (1 - p))

    def likelihood(o: int) -> Fraction:
        return ((1 - p) / (1 - q)) ** (hashes - o) * (p / q) ** o

    return max(
        1 + (ratio ** (hashes - o) - 1) * likelihood(o) / (likelihood(o) + (d - 1) * likelihood(0))
        for o in overlaps
    )


@pytest.mark.parametrize(
    ("bits", "whole", "one"), [(4, Fraction(81), Fraction(41)), (3, Fraction(9), Fraction(41, 5))]
)
def test_losses_below_fakes_in_numbers(bits: int, whole: Fraction, one: Fraction) -> None:
    """Check two filters of two bits, with p = 3/4: disjoint in 4 bits, overlapping in 3 bits."""
    protocol = Quarters(2, 1.0, bits, 2)
    solution = RSFD.of([protocol, protocol])
    found, said = exact_epsilon(solution), solution.privacy
    assert found.ratio == said.ratio == whole
    assert found.attribute.ratio == said.ratio_attribute == one
    overlaps = range(protocol.overlap, 2)
    assert loss_of_one_attribute(*protocol.chances, 2, overlaps, 2) == one


@pytest.mark.parametrize(
    "parts",
    [
        [(2, 1, 1.0), (2, 1, 1.0)],
        [(3, 2, 1.0), (2, 1, 1.0)],
        [(3, 2, 1.0), (3, 2, 0.4)],
        [(3, 1, 2.0), (3, 2, 0.5)],
    ],
    ids=repr,
)
def test_losses_below_fakes_are_enumerated(parts: Any) -> None:
    """Compare the stated losses of RS+FD with all reports, seeds, records and pairs of records."""
    solution = RSFD.of([Enumerated(2, epsilon, m, h) for m, h, epsilon in parts])
    found = exact_epsilon(solution)
    assert found.ratio == solution.privacy.ratio
    assert found.attribute.ratio == solution.privacy.ratio_attribute


def test_losses_do_not_depend_on_domains() -> None:
    """Check that RS+FD keeps ε for one attribute, for all domains, rows and numbers of hashes."""
    for d, epsilon, hashes in product((2, 5), (0.5, 1.0), (1, 3)):
        solution: Any = RSFD(Bloom, [2 + j for j in range(d)], epsilon, bits=16, hashes=hashes)
        assert solution.privacy.report_attribute == pytest.approx(epsilon, abs=1e-12)
        assert solution.privacy.report_attribute <= epsilon
        p, q = solution.leaves[0].chances
        one = loss_of_one_attribute(p, q, hashes, range(hashes), d)
        assert solution.privacy.ratio_attribute == one
        wide: Any = RSFD(Bloom, [2, 9], epsilon, bits=[16, 99], hashes=[hashes, 1])
        assert wide.privacy.report_attribute == pytest.approx(epsilon, abs=1e-12)
    with pytest.raises(ValueError, match=r"balance=True needs .* 2·hashes bits for Bloom"):
        RSFD(Bloom, [2, 3], 1.0, bits=3, hashes=2, balance=True)


def test_positions_are_distinct_and_uniform() -> None:
    """Check rejected words, repeated positions, and the frequency of each filter.

    Counts of 12 filters are compared by chi-square, with a limit of six standard deviations.
    """
    words = np.array([[0, 9, 9], [3, 4, 7], [7, 9, 9], [10, 9, 9]], np.uint32)

    def listed(filters: Counts, draw: int) -> Any:
        return words[filters, draw]

    # 2³² mod 10 is 6, so words below 6 are rejected
    assert 2**32 % 10 == 6
    assert choose_positions(listed, 4, 10, 1)[:, 0].tolist() == [9, 7, 7, 0]
    words = np.array([[13, 23, 18], [16, 19, 0]], np.uint32)
    assert choose_positions(listed, 2, 10, 2).tolist() == [[3, 8], [6, 9]]
    protocol, n = Bloom(40, 1.0, 4, 2), 60_000
    found = protocol.filters(np.arange(n, dtype=np.uint64), np.arange(n) % 40)
    counts = np.bincount(found[:, 0] * 4 + found[:, 1], minlength=16)
    assert (counts.reshape(4, 4).diagonal() == 0).all()
    square = ((counts[counts > 0] - n / 12) ** 2 / (n / 12)).sum()
    assert (counts > 0).sum() == 12 and square < 11 + 6 * 22**0.5


def test_filters_of_all_values_are_those_of_each() -> None:
    seeds = np.array([0, 5, 2**64 - 1], np.uint64)
    for protocol in (Bloom(50, 1.0, 7, 3), Bloom(33, 1.0, 100)):
        together = protocol._filters_of_all(seeds, 16, protocol.k)
        for i, seed in enumerate(seeds):
            values = np.arange(16, protocol.k)
            alone = protocol.filters(np.full(len(values), seed), values)
            assert np.array_equal(together[i], alone)


def test_large_domains_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = Bloom(100, 2.0, 64, 2)
    reports = protocol.randomize(np.arange(50), 1)
    whole = protocol.contributions(reports)
    for piece in (16, 32, 256):
        monkeypatch.setattr("multi_freq_ldpy.protocols.bloom.PIECE", piece)
        assert np.array_equal(protocol.contributions(reports), whole)


def test_one_hash_is_best() -> None:
    """Check that one hash has the least variance for rare values, and that OUE has less."""
    for bits, epsilon in product((3, 4, 16, 100), (0.1, 1.0, 4.0, 12.0)):
        one = Bloom(9, epsilon, bits).variance(1)
        assert one > OUE(9, epsilon).variance(1)
        for hashes in range(2, min(bits, 17)):
            assert Bloom(9, epsilon, bits, hashes).variance(1) > one
    for protocol, expected in (((Bloom, {"bits": 128}), 40.7), ((OUE, {}), 24.6)):
        cls, options = protocol
        found: Any = RSFD(cls, [5] * 10, 1.0, **options).variance(1)
        assert found[0] == pytest.approx(expected, abs=0.05)


def test_it_is_never_chosen() -> None:
    assert "Bloom" in registry.PROTOCOLS and "Bloom" not in registry.BY_BUDGETS
    chosen = [type(each.protocol) for each in recommend(100, 1.0)]
    assert Bloom not in chosen and not isinstance(best(100, 1.0), Bloom)
    assert not isinstance(RSFD(best, [100, 3], 1.0).leaves[0], Bloom)
    made = best(100, 1.0, of=[lambda k, epsilon: Bloom(k, epsilon, 64)])
    assert made == Bloom(100, 1.0, 64)
    for solution in (SPL, SMP, RSFD):
        assert isinstance(solution(Bloom, [3, 2], 1.0, bits=8).leaves[0], Bloom)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((3, 1.0, 2, 2), "hashes must be less than bits=2, not 2"),
        ((3, 1.0, 9, 17), "hashes must be an integer from 1 to 16, not 17"),
        ((3, 1.0, 1), "bits must be an integer from 2 to 65536, not 1"),
        ((3, 1e-19, 9), "epsilon=1e-19 is too small"),
    ],
)
def test_wrong_parameters(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bloom(*wrong)


def test_reports_with_bits_beyond_the_row_are_refused() -> None:
    protocol = Bloom(3, 1.0, 9)
    for last, refused in ((0, False), (1, False), (2, True), (128, True)):
        report = bytes(9) + bytes([last])
        assert protocol._refused(np.frombuffer(report, protocol.report_dtype))[0] == refused


def test_em_needs_one_hash() -> None:
    protocol = Bloom(3, 3.0, 32)
    values = np.repeat(np.arange(3), [3000, 2000, 1000])
    found = protocol.em(protocol.randomize(values, 1)).frequencies
    assert found == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=0.06)
    several = Bloom(3, 1.0, 32, 2)
    with pytest.raises(ValueError, match="em needs hashes=1, not 2"):
        several.em(several.randomize([0]))
