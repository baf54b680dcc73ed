"""Tests of the stated privacy, in rational arithmetic."""

from decimal import Context, Decimal
from fractions import Fraction
from math import comb, exp, log

import numpy as np
import pytest

from multi_freq_ldpy import BLH, GRR, OLH, OUE, SHE, SS, SUE, THE, Affine, best
from multi_freq_ldpy.protocol import OneShot
from multi_freq_ldpy.protocols.families import collision_probability, next_prime

from .cases import ONE_SHOT

LISTED = [cls for cls in ONE_SHOT if cls is not SHE]
TIGHT = (GRR, SUE, OUE, BLH, OLH, SS)


def e_to(epsilon: float) -> Fraction:
    """Return a rational number just below e^ε, from Taylor's series.

    It is independent of the package's own arithmetic.
    """
    x, term, total = Fraction(epsilon), Fraction(1), Fraction(0)
    for i in range(1, 120):
        total += term
        term = term * x / i
    return total


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 3])
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("cls", LISTED)
def test_exact_loss(cls: type[OneShot], k: int, epsilon: float) -> None:
    protocol = cls(k, epsilon)
    laws = [protocol.law(v) for v in range(k)]
    ratio = max(a[report] / b[report] for a in laws for b in laws for report in a)
    assert ratio <= e_to(epsilon), "compared without floating point"
    assert ratio == protocol.privacy.ratio
    nearest = float(
        Context(prec=60).ln(
            Context(prec=60).divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        )
    )
    assert protocol.privacy.report == nearest <= epsilon
    assert protocol.privacy.report_attribute == protocol.privacy.report
    assert protocol.privacy.lifetime == protocol.privacy.lifetime_attribute == float("inf")
    if cls in TIGHT:
        assert epsilon - protocol.privacy.report < 1e-9


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 2.0, 10.0, 43.0, 700.0])
@pytest.mark.parametrize("k", [2, 3, 100, 10**6])
@pytest.mark.parametrize("cls", LISTED)
def test_never_more_than_asked(cls: type[OneShot], k: int, epsilon: float) -> None:
    protocol = cls(k, epsilon)
    assert protocol.privacy.report <= epsilon
    if epsilon <= 10 and k <= 100 and cls in TIGHT:
        assert epsilon - protocol.privacy.report < 1e-9
    p, q = protocol.moments.p, protocol.moments.q
    assert 0 < q < p < 1


@pytest.mark.parametrize("epsilon", [0.001, 0.3, 1.0, 3.0, 700.0])
def test_summed_histogram_on_exponents(epsilon: float) -> None:
    protocol = SHE(3, epsilon)
    loss = Fraction(2 * protocol.weight, 2**32)
    assert loss <= Fraction(epsilon) < loss + Fraction(1, 2**31)
    assert Fraction(protocol.privacy.report) == loss
    # Between two values, two entries of the mean differ by one. The loss of each entry is at most s
    # for every report
    assert max(protocol.log_law(y - 1) - protocol.log_law(y) for y in range(-50, 50)) == loss / 2


def test_realised_loss_of_thresholding_is_below_what_was_asked() -> None:
    assert THE(5, 1.0).privacy.report == pytest.approx(0.896, abs=5e-4)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("k", [2, 3, 5, 10, 30, 101, 1000])
def test_subset_selection_attains_the_limit(k: int, epsilon: float) -> None:
    e = exp(epsilon)
    limit = min(
        (k - 1) ** 2 * (w * e + k - w) ** 2 / (k * w * (k - w) * (e - 1) ** 2) for w in range(1, k)
    )
    n = 1000
    total = k * n * SS(k, epsilon).variance(n, 1 / k) + 1 - 1 / k
    assert total == pytest.approx(limit, rel=1e-9)
    for cls in (GRR, BLH, OLH, SUE, OUE, THE):
        assert k * n * cls(k, epsilon).variance(n, 1 / k) + 1 - 1 / k >= limit * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 16, 50, 101, 300, 1009])
def test_best_hash_range(k: int, epsilon: float) -> None:
    protocol, e = OLH(k, epsilon), exp(epsilon)

    def variance(g: int) -> float:
        pair = float(collision_probability(protocol.prime, g))
        p, q = e / (e + g - 1), (1 + pair * (e - 1)) / (e + g - 1)
        return q * (1 - q) / (p - q) ** 2

    assert variance(protocol.g) <= min(map(variance, range(2, protocol.prime + 1))) * (1 + 1e-9)
    assert protocol.variance(1) <= 4 * e / (e - 1) ** 2 * 1.031


def test_hashing_examples() -> None:
    # The best g is computed directly, not by trying a million values
    assert OLH(10**6, 13.0).g == pytest.approx(exp(13.0), rel=0.4)
    assert OLH(2**32 - 5, 20.0).g > 10**8
    assert next_prime(10**6) == 1000003
    assert [next_prime(k) for k in (2, 3, 4, 90, 2**32 - 5)] == [2, 3, 5, 97, 2**32 - 5]
    five = OLH(5, 1.0)
    assert (five.g, round(five.variance(1), 2)) == (5, 1.94)


def test_least_primes_are_those_of_a_sieve() -> None:
    sieve = np.ones(10_000, np.bool_)
    sieve[:2] = False
    for i in range(2, 100):
        sieve[2 * i :: i] = False
    primes = np.flatnonzero(sieve)
    expected = primes[np.searchsorted(primes, np.arange(9_900))]
    assert [next_prime(k) for k in range(9_900)] == expected.tolist()


# Composite numbers that pass the Miller–Rabin test for the first two to eleven prime bases
STRONG = [
    *(1373653, 25326001, 3215031751, 2152302898747, 3474749660383, 341550071728321),
    3825123056546413051,
]
CARMICHAEL = [561, 1105, 1729, 2465, 2821, 6601, 8911, 41041, 825265, 321197185, 1299963601]


@pytest.mark.parametrize("n", STRONG + CARMICHAEL)
def test_pseudoprimes_are_no_primes(n: int) -> None:
    assert next_prime(n) > n


PRIMES = [829, 1657, 104_729, 2**31 - 1, 2**32 - 5, 2**61 - 1, 2**64 - 59, 10**18 + 9]


@pytest.mark.parametrize("n", PRIMES)
def test_primes_are_primes(n: int) -> None:
    assert next_prime(n) == n


@pytest.mark.parametrize(
    ("k", "g"), [(2, 2), (3, 2), (5, 2), (5, 4), (6, 3), (7, 7), (11, 4), (13, 5)]
)
def test_collision_probability_by_counting(k: int, g: int) -> None:
    prime = next_prime(k)
    residues = [
        [(a * x + s) % prime for x in range(prime)] for a in range(1, prime) for s in range(prime)
    ]
    buckets = np.array([[g * z // prime for z in row] for row in residues])
    for x in range(1, k):
        assert Fraction(
            int((buckets[:, 0] == buckets[:, x]).sum()), len(buckets)
        ) == collision_probability(prime, g)


def test_subset_size_is_the_best_integer() -> None:
    for k in (2, 3, 4, 7, 20, 99, 500):
        for epsilon in (0.001, 0.2, 1.0, 2.5, 6.0, 30.0):
            e = Fraction(exp(epsilon))
            costs = {w: (w * e + k - w) ** 2 / (w * (k - w)) for w in range(1, k)}
            assert costs[SS(k, epsilon).omega] == min(costs.values())


@pytest.mark.parametrize(
    "protocol",
    [SS(6, 0.5), SS(7, 0.1), GRR(4, 1.0), OUE(4, 1.0), OLH(5, 0.5), BLH(7, 1.0)],
    ids=repr,
)
def test_pair_moments(protocol: OneShot) -> None:
    k = protocol.k
    own_other, others = [], []
    for v in range(k):
        law = protocol.law(v)
        reports = protocol._as_reports(
            np.frombuffer(b"".join(law), protocol.report_dtype, count=len(law))
        )
        contributed = protocol.contributions(reports).astype(np.int64)
        chances = np.array(list(law.values()), object)
        for u in range(k):
            for w in range(k):
                if u != w and w != v:
                    product = chances @ (contributed[:, u] * contributed[:, w])
                    (own_other if u == v else others).append(product)
    channel = protocol.moments
    assert all(found == channel.own_other for found in own_other)
    if isinstance(protocol, OLH | BLH):  # hashes of three values are dependent: right on average
        assert sum(others) / len(others) == channel.others
    else:
        assert all(found == channel.others for found in others)


def test_best_chooses_least_variance() -> None:
    for k in (2, 5, 8, 10, 11, 12, 100):
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            candidates = [GRR(k, epsilon), OUE(k, epsilon)]
            assert best(k, epsilon) == min(candidates, key=lambda p: p.variance(1))
    assert isinstance(best(100, 1.0, of=(GRR, SS, OUE)), SS)
    seen = best(4, 1.0, channel=lambda p: Affine(0.5, 0.49) if isinstance(p, GRR) else p.channel)
    assert isinstance(seen, OUE)
    with pytest.raises(ValueError, match="of"):
        best(3, 1.0, of=())
    with pytest.raises(TypeError, match="budget"):
        best(3, 3.0, 2.0, 1.0)


def test_laws_that_cannot_be_listed_say_so() -> None:
    for protocol in (
        OUE(30, 1.0),
        OUE(10**6, 1.0),
        SS(10**5, 1.0),
        SS(100, 1.0),
        OLH(2000, 1.0),
        SHE(3, 1.0),
        GRR(2**21, 1.0),
    ):
        with pytest.raises(ValueError, match="cannot be listed"):
            protocol.law(0)
    with pytest.raises(ValueError, match="value"):
        GRR(3, 1.0).law(3)


def test_size_of_the_law() -> None:
    assert len(SS(8, 1.0).law(3)) == comb(8, 2)
    assert len(OUE(5, 1.0).law(0)) == 32
    assert log(float(GRR(5, 2.0).ratio)) == pytest.approx(2.0)
