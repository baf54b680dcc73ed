"""Protocols of two rounds: L-GRR, the four L-UE, and L-LH."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts, validate
from ..core.randomness import Source
from ..mechanism import Counts, as_readonly
from ..protocol import declared
from ..protocols.families import PrimeFamily, next_prime
from ..protocols.grr import GRR
from ..protocols.hashing import LocalHashing, best_range
from ..protocols.unary import OUE, SUE, UnaryEncoding
from . import second_rounds
from .memoized import Chain


def randomize_symbols(
    values: Counts, m: int, weights: tuple[int, int], source: Source, out: NDArray[Any]
) -> None:
    """Randomize symbols out of m and write the result into ``out``.

    Parameters
    ----------
    values : array of int
        Symbols, one per user, which are 0, …, m − 1.
    m : int
        Number of symbols.
    weights : tuple of int
        Probabilities, times 2⁶⁴, of keeping a symbol and of replacing it by each other symbol.
    source : Source
        Randomness of these users.
    out : array
        Destination, one entry per user.
    """
    users, constants = source.users(len(values), 4), layouts.symbol_constants(m, weights)
    draws.choose("symbols", len(values)).randomize(
        source.key, *users, as_readonly(values), *constants, out
    )


class LGRR(Chain):
    """Longitudinal GRR: a report is a value that went through GRR twice.

    The first round is drawn once for ever, the second round anew for each report.

    The first round is GRR(k, eps_perm). The second round has p2/q2 =
    (c(a + k − 2) − (k − 1))/(a − c) with a = e^eps_perm, c = e^eps_1. One report then is GRR(k,
    eps_1) exactly. All paths are counted, also the paths through third values.

    Choose it for small domains. A report is one value, so the reports of a user can hardly be
    linked.

    Arcolezi, Couchot, Al Bouna and Xiao, "Improving the utility of locally differentially private
    protocols for longitudinal and multidimensional frequency estimates", Digital Communications and
    Networks 2022.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LGRR
    >>> protocol = LGRR(4, eps_perm=2.0, eps_1=1.0)
    >>> protocol.privacy.report, protocol.privacy.lifetime
    (1.0, 2.0)
    >>> protocol.randomize([0, 1, 2, 3], rng=1)
    array([3, 1, 2, 0], dtype=uint8)
    """

    linked = "no"

    @cached_property
    def permanent(self) -> GRR:
        """The first round."""
        return self._build_first(GRR)

    @cached_property
    def second(self) -> tuple[int, int]:
        """The probabilities, times 2⁶⁴, of the own and of each other value in the second round."""
        return second_rounds.second_symbols(self.k, *self.permanent.chances, self.eps_1)

    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        randomize_symbols(permanent.astype(np.int64), self.k, self.second, source, out)


class LongitudinalUnary(Chain):
    """Base of the unary encodings of two rounds.

    A report has k bits. Each bit is randomized once for ever, and once more for each report. In
    large domains, k bits reveal which reports are of one user.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.
    """

    linked = "for large k"
    first: ClassVar[type[UnaryEncoding]]
    half: ClassVar[bool]
    """True if the second round keeps a 1 with probability 1/2.

    Otherwise it flips ones and zeros with the same probability.
    """

    @cached_property
    def permanent(self) -> UnaryEncoding:
        """The first round."""
        return self._build_first(self.first)

    @cached_property
    def second(self) -> tuple[int, int]:
        """The probabilities, times 2⁶⁴, of keeping a 1 and of setting a 0 in the second round."""
        p, q = self.permanent.chances
        other = second_rounds.second_bits(p, q, self.eps_1, half=self.half, k=self.k)
        return exact.WORD // 2 if self.half else exact.WORD - other, other

    @cached_property
    def _table(self) -> tuple[Any, ...]:
        return layouts.bit_table(self.second[1])

    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        first = source.start(len(out), layouts.again_stride(self.report_bytes, self.half))
        last = layouts.last_byte(self.k)
        draws.choose("bits", out.size).again(
            source.key, first, permanent, last, self.half, *self._table, out
        )


class LSUE(LongitudinalUnary):
    """Longitudinal SUE, which is basic RAPPOR: k bits.

    SUE(k, eps_perm) is drawn once for ever. For each report, every bit is flipped with probability
    q2.

    The probabilities are p2 = (p* − q1)/(p1 − q1) and q2 = 1 − p2, with p* = √c/(√c + 1) and c =
    e^eps_1. One report then is SUE(k, eps_1).

    Erlingsson, Pihur and Korolova, "RAPPOR", CCS 2014.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LSUE
    >>> protocol = LSUE(10, eps_perm=2.0, eps_1=1.0)
    >>> protocol.privacy.report, protocol.privacy.lifetime, round(protocol.channel.p, 6)
    (1.0, 2.0, 0.622459)
    """

    first, half = SUE, False


class LOSUE(LongitudinalUnary):
    """Longitudinal OUE, then SUE: k bits.

    OUE(k, eps_perm) is drawn once for ever. For each report, every bit is flipped with probability
    q2.

    The probabilities are p2 = (ac − 1)/((c + 1)(a − 1)) and q2 = 1 − p2, with a = e^eps_perm and c
    = e^eps_1. One report then is OUE(k, eps_1).

    It has the least variance for rare values among the longitudinal unary encodings. Choose it for
    large domains.

    Arcolezi, Couchot, Al Bouna and Xiao, "Improving the utility of locally differentially private
    protocols for longitudinal and multidimensional frequency estimates", Digital Communications and
    Networks 2022.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LOSUE
    >>> protocol = LOSUE(10, eps_perm=2.0, eps_1=1.0)
    >>> round(protocol.channel.p, 6), round(protocol.channel.q, 6)
    (0.5, 0.268941)
    """

    first, half = OUE, False


class LOUE(LongitudinalUnary):
    """Longitudinal OUE, twice: k bits.

    OUE(k, eps_perm) is drawn once for ever. For each report, a 1 is kept with probability 1/2, and
    a 0 is set with probability q2.

    It exists for comparison. It reaches eps_1 only up to ln((2e^eps_perm + 1)/3).

    Arcolezi, Couchot, Al Bouna and Xiao, "Improving the utility of locally differentially private
    protocols for longitudinal and multidimensional frequency estimates", Digital Communications and
    Networks 2022.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ln((2e^eps_perm + 1)/3).

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LOUE
    >>> LOUE(10, eps_perm=2.0, eps_1=1.0).privacy.report
    1.0
    >>> LOUE(10, eps_perm=2.0, eps_1=1.9)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: eps_1=1.9 has no second round: the permanent round leaves at most eps_1=1.6...
    """

    first, half = OUE, True


class LSOUE(LongitudinalUnary):
    """Longitudinal SUE, then OUE: k bits.

    SUE(k, eps_perm) is drawn once for ever. For each report, a 1 is kept with probability 1/2, and
    a 0 is set with probability q2.

    It exists for comparison. It reaches eps_1 only up to ln(s(2s + 1)/(s + 2)), s = √e^eps_perm.

    Arcolezi, Couchot, Al Bouna and Xiao, "Improving the utility of locally differentially private
    protocols for longitudinal and multidimensional frequency estimates", Digital Communications and
    Networks 2022.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ln(s(2s + 1)/(s + 2)), s = √e^eps_perm.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LSOUE
    >>> LSOUE(10, eps_perm=2.0, eps_1=1.0).privacy.report
    1.0
    """

    first, half = SUE, True


@dataclass(frozen=True)
class Hashed(LocalHashing):
    """Local hashing to a given number of symbols: the first round of L-LH.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    epsilon : float
        Privacy budget of one report.
    symbols : int
        Number of symbols.
    """

    symbols: int = declared(validate.domain_size)

    @property
    def g(self) -> int:
        """The number of symbols."""
        return self.symbols


class LongitudinalHashing(Chain):
    """Base of local hashing of two rounds.

    Each user has one hash function for ever. The hashed symbol goes through GRR twice.

    The permanent answer belongs to the hashed symbol, not to the value. A change between values
    with the same symbol reveals nothing. The seed is sent with every report, and it reveals which
    reports are of one user.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.
    """

    linked = "yes"

    @property
    @abstractmethod
    def g(self) -> int:
        """The number of symbols."""

    @property
    def family(self) -> PrimeFamily:
        """The family of hash functions."""
        return self.permanent.family

    @property
    def prime(self) -> int:
        """The modulus of the hash functions."""
        return self.family.prime

    @cached_property
    def permanent(self) -> Hashed:
        """The first round."""
        return self._build_first(Hashed, self.g)

    @cached_property
    def second(self) -> tuple[int, int]:
        """The probabilities, times 2⁶⁴, of the own and of each other symbol in the second round."""
        return second_rounds.second_symbols(self.g, *self.permanent.chances, self.eps_1)

    @property
    def classes(self) -> int:
        """The number of memo classes, which is the number of symbols."""
        return self.g

    def _remember(self, values: Counts, users: Counts, memory: Source, out: NDArray[Any]) -> Counts:
        holder, kept = memory.part(b"seed").at(users), np.empty(len(values), np.uint64)
        seeds, buckets = self.family.draw((holder.key, *holder.users(len(values), 8)), values)
        source = memory.part(b"symbol").classes(users, self.g, buckets)
        randomize_symbols(buckets, self.g, self.permanent.weights, source, kept)
        out["seed"], out["symbol"] = seeds, kept
        return buckets

    def _add_noise(self, permanent: NDArray[Any], source: Source, out: NDArray[Any]) -> None:
        sent = np.empty(len(out), np.uint64)
        randomize_symbols(permanent["symbol"].astype(np.int64), self.g, self.second, source, sent)
        out["seed"], out["symbol"] = permanent["seed"], sent


class LBLH(LongitudinalHashing):
    """Longitudinal binary local hashing: a permanent seed and a randomized bit.

    The bit goes through two rounds. The protocol is ``LOLH`` with g = 2. A user has at most two
    permanent answers, even if the value changes often. **The seed links the reports of a user**,
    because it is sent with each report.

    Arcolezi, Pinzón, Palamidessi and Gambs, "Frequency estimation of evolving data under local
    differential privacy", EDBT 2023.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LBLH
    >>> protocol = LBLH(100, eps_perm=2.0, eps_1=1.0)
    >>> protocol.g, protocol.report_bytes, protocol.privacy.lifetime
    (2, 3, 2.0)
    """

    @property
    def g(self) -> int:
        """The number of symbols, which is 2."""
        return 2


class LOLH(LongitudinalHashing):
    """Longitudinal optimal local hashing: a permanent seed and a randomized symbol.

    The symbol is one out of g, and goes through two rounds. One report is local hashing with eps_1
    and the g of least variance for it, near e^eps_1 + 1.

    Choose it for large domains, where reports have to be small or values change often. A user has
    at most g permanent answers. **The seed links the reports of a user**, because it is sent with
    each report.

    Arcolezi, Pinzón, Palamidessi and Gambs, "Frequency estimation of evolving data under local
    differential privacy", EDBT 2023.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1.
    eps_perm : float
        Privacy budget of all reports about an unchanged value.
    eps_1 : float
        Privacy budget of the first report. It is below ``eps_perm``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if ``eps_1`` is too large for ``eps_perm``.

    Examples
    --------
    >>> from multi_freq_ldpy import LOLH
    >>> protocol = LOLH(1000, eps_perm=2.0, eps_1=1.0)
    >>> protocol.g, protocol.report_bytes
    (4, 5)
    """

    @cached_property
    def g(self) -> int:
        """The number of symbols, which is that of OLH with budget eps_1."""
        e, _ = exact.exp(exact.budget(self.eps_1))
        if (e - 1) * exact.WORD < 1:
            raise exact.too_small(self.eps_1, self.k, "eps_1")
        return best_range(next_prime(self.k), e - 1)
