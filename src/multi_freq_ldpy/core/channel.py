"""Channels: the maps from frequencies to expected counts.

The aggregator sees every protocol as a channel.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import ceil
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number: TypeAlias = float | Fraction
Floats: TypeAlias = NDArray[np.float64]


class Channel(ABC):
    """The aggregator's view of counts: how to estimate frequencies from them, with what error.

    ``Channel(p, q, …)`` makes an ``Affine`` channel. Every protocol of this package has this kind.
    A channel of another kind derives from this class and defines its abstract methods.

    Parameters
    ----------
    *moments : float or Fraction
        Parameters of ``Affine``, in their order.
    **named : float or Fraction
        Parameters of ``Affine``, by name.

    Examples
    --------
    >>> from multi_freq_ldpy import Channel
    >>> Channel(p=0.5, q=0.25).estimate([40, 35, 25], 100)
    array([0.6, 0.4, 0. ])
    """

    p: Number
    """The mean contribution of a report to the user's own value."""
    q: Number
    """The mean contribution to another value."""
    p2: Number | None
    """The second moment of the contribution to the own value."""
    q2: Number | None
    """The second moment of the contribution to another value."""
    own_other: Number | None
    """The mean product of the contributions to the own value and to another value."""
    others: Number | None
    """The mean product of the contributions to two other values."""
    smallest: int
    """The least that one report contributes to a value."""
    largest: int
    """The most that one report contributes to a value."""
    unit: float
    """The step size of counts.

    Counts are nearly normal if their variance is large compared with the square of this size.
    """

    def __new__(cls, *moments: Any, **named: Any) -> Self:
        """Make an affine channel, unless a derived class is called."""
        return object.__new__(Affine if cls is Channel else cls)  # type: ignore[return-value]

    @property
    @abstractmethod
    def slope(self) -> float:
        """The derivative of the mean contribution with respect to the frequency."""

    @property
    @abstractmethod
    def spread(self) -> tuple[Number, Number]:
        """The variances of a contribution to the own value and to another value."""

    @abstractmethod
    def estimate(self, counts: ArrayLike, n: ArrayLike) -> Floats:
        """Return the unbiased frequencies.

        Parameters
        ----------
        counts : array of int
            One count per value.
        n : int or array of int
            Number of reports: one number, or one entry per value.

        Returns
        -------
        array
            One frequency per value. It is NaN where n is 0.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> Channel(p=0.75, q=0.25).estimate([70, 30], 100)
        array([0.9, 0.1])
        """

    @abstractmethod
    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | Floats:
        """Return the variance of an estimated frequency.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array
            True frequency of the value among these users.

        Returns
        -------
        float or array
            The variance. It is infinite where n is 0.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> Channel(p=0.75, q=0.25).variance([100, 400])
        array([0.0075  , 0.001875])
        """

    @abstractmethod
    def group(self, m: int) -> "Channel":
        """Return the channel of a group of values.

        The contribution to the group is the sum of the contributions to its values.

        Parameters
        ----------
        m : int
            Number of values in the group.

        Returns
        -------
        Channel
            The channel of the sum of the m counts.

        Raises
        ------
        ValueError
            If the mean products of contributions to two values are not known.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> Channel(p=0.5, q=0.25, own_other=0.0, others=0.0).group(2).estimate([75], 100)
        array([1.])
        """

    @abstractmethod
    def over(self, rounds: int, lasting: "Channel") -> "Channel":
        """Return the channel of the sum of a user's contributions over several rounds.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        lasting : Channel
            Channel of the mean contribution, given everything that stays the same in all rounds.

        Returns
        -------
        Channel
            The channel of the sum.

        Examples
        --------
        Four independent reports of a user have a quarter of the variance of one report.

        >>> from multi_freq_ldpy import Channel
        >>> one = Channel(p=0.75, q=0.25)
        >>> one.variance(100), one.over(4, one.averaged()).variance(100)
        (0.0075, 0.001875)
        """

    def rounded(self) -> "Channel":
        """Return the same channel, with floats instead of fractions.

        Returns
        -------
        Channel
            The channel with rounded numbers.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from multi_freq_ldpy import Channel
        >>> Channel(p=Fraction(3, 4), q=Fraction(1, 4)).rounded().p
        0.75
        """
        return self

    def averaged(self) -> "Channel":
        """Return the channel of the mean contribution, given the user's value.

        Returns
        -------
        Channel
            The channel of the average of very many independent reports of each user.

        Raises
        ------
        ValueError
            If the channel does not define it.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> Channel(p=0.75, q=0.25).averaged().variance(100)
        0.0
        """
        raise ValueError("this channel does not define the average of many reports")

    @property
    def known_law(self) -> bool:
        """True if ``count_law`` knows the distribution of a count."""
        return False

    def count_law(self, n: int, f: float, *, sampled: bool) -> tuple[int, Floats]:
        """Return the distribution of a count, without its negligible tails.

        Parameters
        ----------
        n : int
            Number of users.
        f : float
            True frequency of the value.
        sampled : bool
            True if each user holds the value with probability f. False if exactly n·f users hold
            it.

        Returns
        -------
        start : int
            The smallest count.
        chances : array
            The probabilities of the counts ``start``, ``start`` + 1 and so on.

        Raises
        ------
        ValueError
            If the distribution is not known.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> start, chances = Channel(p=0.75, q=0.25).count_law(2, 0.5, sampled=False)
        >>> start, chances
        (0, array([0.1875, 0.625 , 0.1875]))
        """
        raise ValueError("the distribution of this count is not known")

    def knows_difference(self, sizes: tuple[int, int]) -> bool:
        """Tell whether ``difference_law`` knows the distribution for two groups of values.

        Parameters
        ----------
        sizes : tuple of int
            Numbers of values in the two groups.

        Returns
        -------
        bool
            True if it is known.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> Channel(p=0.5, q=0.25).knows_difference((1, 1))
        False
        >>> Channel(p=0.5, q=0.25, own_other=0.0, others=0.0).knows_difference((1, 1))
        True
        """
        return False

    def difference_law(
        self, sizes: tuple[int, int], n: int, shares: tuple[float, float], *, sampled: bool
    ) -> tuple[int, Floats]:
        """Return the distribution of the count of one group of values minus that of another.

        Parameters
        ----------
        sizes : tuple of int
            Numbers of values in the two groups.
        n : int
            Number of users.
        shares : tuple of float
            Shares of the users who hold a value of the first group, and of the second.
        sampled : bool
            True if the shares are probabilities for each user. False if they are exact.

        Returns
        -------
        start : int
            The smallest difference.
        chances : array
            The probabilities of the differences ``start``, ``start`` + 1 and so on.

        Raises
        ------
        ValueError
            If the distribution is not known.

        Examples
        --------
        >>> from multi_freq_ldpy import Channel
        >>> channel = Channel(p=0.5, q=0.25, own_other=0.0, others=0.0)
        >>> start, chances = channel.difference_law((1, 1), 1, (1.0, 0.0), sampled=False)
        >>> start, chances.round(2)
        (-1, array([0.25, 0.25, 0.5 ]))
        """
        raise ValueError("the distribution of this difference is not known")

    def sampled_variance(
        self, share: Fraction, n: NDArray[np.int64], f: Floats, of: str = "sample"
    ) -> float | Floats:
        """Return the variance of an estimated frequency if each user answers at random.

        It has two parts: the noise of the reports, and the random choice of the users who answer.
        The variance holds on the condition that at least one user answers.

        Parameters
        ----------
        share : Fraction
            Probability that a user answers.
        n : array of int
            Number of users.
        f : array
            True frequency of the value.
        of : {"sample", "population"}
            Group whose frequency is meant: the users who took part, or the population that they
            were drawn from.

        Returns
        -------
        float or array
            The variance.

        Examples
        --------
        >>> from fractions import Fraction
        >>> import numpy as np
        >>> from multi_freq_ldpy import Channel
        >>> n, f = np.array(100), np.array(0.5)
        >>> round(Channel(p=0.75, q=0.25).sampled_variance(Fraction(1, 2), n, f), 4)
        0.0177
        """
        everyone, population = share == 1, of == "population"
        if everyone and not population:
            return self.variance(n, f)
        each = np.vectorize(lambda users: mean_inverse(int(users), float(share)), otypes=[float])(n)
        with np.errstate(invalid="ignore"):
            drawn = np.where(n > 1, (n * each - 1) / np.maximum(n - 1, 1), 0.0)
        result = self.variance(1, f) * each + f * (1 - f) * (each if population else drawn)
        return float(result) if result.ndim == 0 else result


@dataclass(frozen=True)
class Affine(Channel):
    """A channel with mean contribution p to the user's own value, and q to every other value.

    Numbers are floats, or Fractions if results must be exact.

    Parameters
    ----------
    p : float or Fraction
        Mean contribution of a report to the user's own value.
    q : float or Fraction
        Mean contribution of a report to another value.
    p2 : float or Fraction, optional
        Second moment of the contribution to the own value. The default is p, which is right for
        contributions of 0 and 1.
    q2 : float or Fraction, optional
        Second moment of the contribution to another value. The default is q, which is right for
        contributions of 0 and 1.
    own_other : float or Fraction, optional
        Mean product of the contributions to the own value and to another value. If it is None,
        groups of values have no standard error.
    others : float or Fraction, optional
        Mean product of the contributions to two other values. If it is None, groups of values have
        no standard error.
    gap : float or Fraction, optional
        The number p − q. It is a field of its own because for small budgets the difference of two
        floats has few correct digits.
    largest : int
        Largest contribution of one report to a value.
    unit : float, optional
        Step size of counts. The default is ``largest`` − ``smallest`` if the distribution of a
        count is known, and 1 otherwise.
    smallest : int, optional
        Smallest contribution of one report to a value. The default is 0 for contributions of 0 and
        1, and minus ``largest`` otherwise.
    bits : int
        Number of independent bits whose sum is a contribution. The default, 0, means that the bits
        are not independent.

    Raises
    ------
    ValueError
        If p is not greater than q.

    Examples
    --------
    >>> from multi_freq_ldpy import Affine
    >>> grr = Affine(p=0.5, q=0.25, own_other=0.0, others=0.0)
    >>> grr.estimate([40, 35, 25], 100)
    array([0.6, 0.4, 0. ])
    >>> round(grr.variance(100), 4)
    0.03
    """

    p: Number
    q: Number
    p2: Number | None = None
    q2: Number | None = None
    own_other: Number | None = None
    others: Number | None = None
    gap: Number | None = None
    largest: int = 1
    unit: float = None  # type: ignore[assignment]
    smallest: int = None  # type: ignore[assignment]
    bits: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.p - self.q if self.gap is None else self.gap)
        if not (self.gap is not None and self.gap > 0):
            raise ValueError(f"p must be greater than q, not p={self.p!r}, q={self.q!r}")
        object.__setattr__(self, "p2", self.p if self.p2 is None else self.p2)
        object.__setattr__(self, "q2", self.q if self.q2 is None else self.q2)
        if self.smallest is None:
            object.__setattr__(self, "smallest", 0 if self.binary else -self.largest)
        if self.unit is None:
            low, high = self._two_values
            step = high - low if Affine.known_law.fget(self) else 1
            object.__setattr__(self, "unit", float(step))

    def rounded(self) -> "Affine":
        """Return the same channel, with floats instead of fractions.

        Returns
        -------
        Affine
            The channel with rounded numbers. The gap p − q is rounded after the subtraction.

        Examples
        --------
        >>> from fractions import Fraction
        >>> from multi_freq_ldpy import Affine
        >>> Affine(p=Fraction(1, 3), q=Fraction(1, 4)).rounded().gap == 1 / 12
        True
        """
        exact = {each.name: getattr(self, each.name) for each in fields(self)}
        floats: dict[str, Any] = {
            name: float(m) for name, m in exact.items() if isinstance(m, Fraction)
        }
        return replace(self, **floats)

    @property
    def slope(self) -> float:
        """The number p − q as a float.

        If the channel was rounded from fractions, it is rounded after the subtraction.
        """
        assert self.gap is not None
        return float(self.gap)

    @property
    def binary(self) -> bool:
        """True if every contribution is 0 or 1."""
        return self.p == self.p2 and self.q == self.q2

    @property
    def spread(self) -> tuple[Number, Number]:
        """The variances of a contribution to the own value and to another value."""
        assert self.p2 is not None and self.q2 is not None
        return self.p2 - self.p * self.p, self.q2 - self.q * self.q

    def estimate(self, counts: ArrayLike, n: ArrayLike) -> Floats:
        """Return the unbiased frequencies (counts/n − q)/(p − q).

        Parameters
        ----------
        counts : array of int
            One count per value.
        n : int or array of int
            Number of reports: one number, or one entry per value.

        Returns
        -------
        array
            One frequency per value. It is NaN where n is 0.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> Affine(p=0.75, q=0.25).estimate([70, 20], 100)
        array([ 0.9, -0.1])
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.asarray(counts, np.float64) / np.asarray(n, np.float64)
        frequencies: Floats = (share - float(self.q)) / self.slope
        return frequencies

    def variance(self, n: ArrayLike, f: ArrayLike = 0.0) -> float | Floats:
        """Return the variance of an estimated frequency.

        Parameters
        ----------
        n : int or array of int
            Number of users.
        f : float or array
            True frequency of the value among these users.

        Returns
        -------
        float or array
            The variance. It is infinite where n is 0.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> Affine(p=0.5, q=0.25).variance(100, f=[0.0, 1.0])
        array([0.03, 0.04])
        """
        own, other = (max(0.0, float(v)) for v in self.spread)
        f = np.asarray(f, np.float64)
        with np.errstate(divide="ignore"):
            result = (f * own + (1 - f) * other) / (np.asarray(n, np.float64) * self.slope**2)
        return float(result) if result.ndim == 0 else result

    def averaged(self) -> "Affine":
        """Return the channel of the mean contribution, given the user's value.

        Returns
        -------
        Affine
            The channel of the average of very many independent reports of each user.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> Affine(p=0.75, q=0.25).averaged().spread
        (0.0, 0.0)
        """
        p, q = self.p, self.q
        return Affine(p, q, p * p, q * q, p * q, q * q, self.gap)

    def over(self, rounds: int, lasting: Channel) -> "Affine":
        """Return the channel of the sum of a user's contributions over several rounds.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        lasting : Channel
            Channel of the mean contribution, given everything that stays the same in all rounds.

        Returns
        -------
        Affine
            The channel of the sum.

        Examples
        --------
        If a user always sends the same report, more rounds do not reduce the variance.

        >>> from multi_freq_ldpy import Affine
        >>> one = Affine(p=0.75, q=0.25)
        >>> one.variance(100), one.over(4, one).variance(100)
        (0.0075, 0.0075)
        """

        def added(same: Any, different: Any) -> Any:
            return (
                None
                if same is None or different is None
                else rounds * same + rounds * (rounds - 1) * different
            )

        assert self.gap is not None
        unit = 1.0
        # The part of the variance that lasts over T rounds comes in steps of T
        for whole, lasts in zip(self.spread, lasting.spread, strict=True):
            if whole > 0:
                share = float(rounds * lasts / (whole + (rounds - 1) * lasts))
                unit = max(unit, 1 + (rounds - 1) * share)
        return Affine(
            rounds * self.p,
            rounds * self.q,
            added(self.p2, lasting.p2),
            added(self.q2, lasting.q2),
            added(self.own_other, lasting.own_other),
            added(self.others, lasting.others),
            rounds * self.gap,
            rounds * self.largest,
            unit * self.unit,
            rounds * self.smallest,
        )

    def then(self, p: Number, q: Number, *, exclusive: bool = False) -> "Affine":
        """Return the channel after a second randomization of contributions of 0 and 1.

        Parameters
        ----------
        p : float or Fraction
            Probability that a 1 stays 1.
        q : float or Fraction
            Probability that a 0 becomes 1.
        exclusive : bool
            True if a report contributes to one value only. False, the default, if the second
            randomization is independent for every value.

        Returns
        -------
        Affine
            The channel of both randomizations, one after the other.

        Raises
        ------
        ValueError
            If a contribution is not 0 or 1.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> both = Affine(p=0.75, q=0.25).then(0.5, 0.25)
        >>> both.p, both.q
        (0.4375, 0.3125)
        """
        lasting = self.recalled(p, q)
        own_other, others = (0 * q, 0 * q) if exclusive else (lasting.own_other, lasting.others)
        bits = 0 if exclusive else self.bits
        return Affine(lasting.p, lasting.q, own_other=own_other, others=others, bits=bits)

    def recalled(self, p: Number, q: Number) -> "Affine":
        """Return the channel of the mean after a second randomization, given the first.

        With memoization the first randomization is permanent, and this mean is what lasts.

        Parameters
        ----------
        p : float or Fraction
            Probability that a 1 stays 1.
        q : float or Fraction
            Probability that a 0 becomes 1.

        Returns
        -------
        Affine
            The channel of the mean contribution.

        Raises
        ------
        ValueError
            If a contribution is not 0 or 1.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> lasting = Affine(p=0.75, q=0.25).recalled(0.5, 0.25)
        >>> lasting.p, lasting.variance(100)
        (0.4375, 0.0075)
        """
        if not self.binary:
            raise ValueError("a second round needs contributions of 0 and 1")
        gap = p - q

        def product(one: Number, other: Number, both: Number | None) -> Any:
            if both is None:
                return None
            return q * q + q * gap * (one + other) + gap * gap * both

        return Affine(
            q + self.p * gap,
            q + self.q * gap,
            product(self.p, self.p, self.p),
            product(self.q, self.q, self.q),
            product(self.p, self.q, self.own_other),
            product(self.q, self.q, self.others),
        )

    def mixed(
        self,
        share: Number,
        fake: Number,
        pair: Number | None = None,
        second: Number | None = None,
    ) -> "Affine":
        """Return the channel of a mixture of real and fake reports.

        Parameters
        ----------
        share : float or Fraction
            Probability that a report is real.
        fake : float or Fraction
            Mean contribution of a fake report to a value.
        pair : float or Fraction, optional
            Mean product of the contributions of a fake report to two given values. None means that
            it is not known.
        second : float or Fraction, optional
            Mean square of the contribution of a fake report to a value. The default is ``fake``,
            which is right for contributions of 0 and 1.

        Returns
        -------
        Affine
            The channel of the mixture.

        Raises
        ------
        ValueError
            If a contribution is not 0 or 1, and ``second`` is None.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> mixed = Affine(p=0.75, q=0.25).mixed(0.5, fake=0.25)
        >>> mixed.p, mixed.q
        (0.5, 0.25)
        """
        if not self.binary and second is None:
            raise ValueError(
                "mixing with fake reports needs contributions of 0 and 1, or their second moment"
            )

        def mix(real: Any, other: Any) -> Any:
            return None if real is None or other is None else share * real + (1 - share) * other

        squares = None if self.binary else second
        return Affine(
            mix(self.p, fake),
            mix(self.q, fake),
            mix(self.p2, squares),
            mix(self.q2, squares),
            own_other=mix(self.own_other, pair),
            others=mix(self.others, pair),
            gap=mix(self.gap, 0),
            largest=self.largest,
            smallest=self.smallest,
        )

    def group(self, m: int) -> "Affine":
        """Return the channel of a group of values.

        The contribution to the group is the sum of the contributions to its values.

        Parameters
        ----------
        m : int
            Number of values in the group.

        Returns
        -------
        Affine
            The channel of the sum of the m counts.

        Raises
        ------
        ValueError
            If ``own_other`` or ``others`` is None.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> group = Affine(p=0.5, q=0.25, own_other=0.0, others=0.0).group(2)
        >>> group.p, group.q
        (0.75, 0.5)
        """
        if self.own_other is None or self.others is None:
            raise ValueError(
                "a group of values has no standard error: own_other or others of this channel is"
                " None"
            )
        assert self.p2 is not None and self.q2 is not None
        own_second = self.p2 + (m - 1) * (self.q2 + 2 * self.own_other + (m - 2) * self.others)
        other_second = m * (self.q2 + (m - 1) * self.others)
        return Affine(
            self.p + (m - 1) * self.q,
            m * self.q,
            own_second,
            other_second,
            gap=self.gap,
            largest=m * self.largest,
            unit=self.unit,
            smallest=m * self.smallest,
            bits=m * self.bits,
        )

    @property
    def known_law(self) -> bool:
        """True if a contribution is a sum of independent bits, or has only two possible values."""
        low, high = self._two_values
        return self.bits > 0 or all(
            second == (low + high) * mean - low * high
            for mean, second in ((self.p, self.p2), (self.q, self.q2))
        )

    @property
    def _two_values(self) -> tuple[int, int]:
        """The two possible contributions, if there are only two."""
        return (0, 1) if self.binary else (self.smallest, self.largest)

    def count_law(self, n: int, f: float, *, sampled: bool) -> tuple[int, Floats]:
        """Return the distribution of a count, without its negligible tails.

        Parameters
        ----------
        n : int
            Number of users.
        f : float
            True frequency of the value.
        sampled : bool
            True if each user holds the value with probability f. False if exactly n·f users hold
            it.

        Returns
        -------
        start : int
            The smallest count.
        chances : array
            The probabilities of the counts ``start``, ``start`` + 1 and so on.

        Raises
        ------
        ValueError
            If the distribution is not known.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> start, chances = Affine(p=0.75, q=0.25).count_law(2, 0.5, sampled=True)
        >>> start, chances
        (0, array([0.25, 0.5 , 0.25]))
        """
        if not self.known_law:
            raise ValueError("the distribution of this count is not a sum of two binomials")
        low, high = (0, 1) if self.bits else self._two_values
        many = max(1, self.bits)
        q = (float(self.q) - low) / (high - low) / many
        p = q + self.slope / (high - low)
        if sampled:
            parts = binomial(n, q + f * (p - q)), binomial((many - 1) * n, q)
        else:
            own = round(n * f)
            parts = binomial(own, p), binomial(many * n - own, q)
        start, law = parts[0][0] + parts[1][0], convolve(parts[0][1], parts[1][1])
        if high - low > 1:  # counts in between have probability 0
            law = np.insert(law, np.repeat(np.arange(1, law.size), high - low - 1), 0.0)
        return n * low + (high - low) * start, law

    def knows_difference(self, sizes: tuple[int, int]) -> bool:
        """Tell whether ``difference_law`` knows the distribution for two groups of values.

        Parameters
        ----------
        sizes : tuple of int
            Numbers of values in the two groups.

        Returns
        -------
        bool
            True if the joint contribution of a report to both groups is known.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> channel = Affine(p=0.5, q=0.25, own_other=0.125, others=0.0625)
        >>> channel.knows_difference((1, 1)), channel.knows_difference((1, 2))
        (True, False)
        """
        if not self.binary or self.own_other is None or self.others is None:
            return False
        exclusive = self.own_other == self.others == 0
        return self.bits == 1 or exclusive or sizes == (1, 1)

    def difference_law(
        self, sizes: tuple[int, int], n: int, shares: tuple[float, float], *, sampled: bool
    ) -> tuple[int, Floats]:
        """Return the distribution of the count of one group of values minus that of another.

        Parameters
        ----------
        sizes : tuple of int
            Numbers of values in the two groups.
        n : int
            Number of users.
        shares : tuple of float
            Shares of the users who hold a value of the first group, and of the second.
        sampled : bool
            True if the shares are probabilities for each user. False if they are exact.

        Returns
        -------
        start : int
            The smallest difference.
        chances : array
            The probabilities of the differences ``start``, ``start`` + 1 and so on.

        Raises
        ------
        ValueError
            If the distribution is not known.

        Examples
        --------
        >>> from multi_freq_ldpy import Affine
        >>> channel = Affine(p=0.5, q=0.25, bits=1, own_other=0.125, others=0.0625)
        >>> start, chances = channel.difference_law((1, 1), 1, (1.0, 0.0), sampled=False)
        >>> start, chances.round(3)
        (-1, array([0.125, 0.5  , 0.375]))
        """
        if not self.knows_difference(sizes):
            raise ValueError("the distribution of this difference is not known")
        laws = [self._contributed(sizes, own) for own in ((1, 0), (0, 1), (0, 0))]
        start, law = users_law(laws, n, shares, sampled=sampled)
        return start - n * sizes[1], law

    def _contributed(self, sizes: tuple[int, int], own: tuple[int, int]) -> Floats:
        """Return the distribution of the contribution to one group minus that to another.

        The first entry belongs to minus the size of the second group. An entry of ``own`` is 1 if
        the user's own value is in this group.
        """
        p, q = float(self.p), float(self.q)
        if self.bits == 1:
            bits = []
            for size, bit in zip(sizes, own, strict=True):
                start, others = binomial(size - bit, q)
                whole = np.zeros(size - bit + 1)
                whole[start : start + others.size] = others
                bits.append(convolve(whole, np.array([1 - p, p])) if bit else whole)
            return convolve(bits[0], bits[1][::-1])
        assert self.own_other is not None and self.others is not None
        both = float(self.own_other if any(own) else self.others)
        # Groups of several values occur only if a report supports a single value
        more, less = (
            (size - bit) * q + bit * p - both for size, bit in zip(sizes, own, strict=True)
        )
        law = np.zeros(sum(sizes) + 1)
        law[sizes[1] - 1 : sizes[1] + 2] = less, 1 - more - less, more
        return law


def users_law(
    laws: Sequence[Floats], n: int, shares: tuple[float, float], *, sampled: bool
) -> tuple[int, Floats]:
    """Return the distribution of the sum of n users' contributions: (start, probabilities).

    Each user's contribution has one of three distributions ``laws``, which start at 0. ``shares``
    of the users have the first and the second distribution. If ``sampled``, the shares are
    probabilities for each user; otherwise they are exact.
    """
    first, second = shares
    weights = [first, second, 1 - first - second]
    if sampled:
        mixed = np.sum([w * law for w, law in zip(weights, laws, strict=True)], axis=0)
        parts, numbers = [mixed], [n]
    else:
        own, other = round(n * first), round(n * second)
        parts, numbers = list(laws), [own, other, n - own - other]
    at = np.arange(laws[0].size)
    means = [float(part @ at) for part in parts]
    spreads = [float(part @ (at - mean) ** 2) for part, mean in zip(parts, means, strict=True)]
    centre, spread = (float(np.dot(numbers, each)) for each in (means, spreads))
    reach = max(12 * max(spread, 0.0) ** 0.5 + 25, at.size / 2)
    size = 1 << (ceil(2 * reach) - 1).bit_length()
    # A transform of this size wraps around: values beyond the reach have negligible weight
    transform = np.ones(size // 2 + 1, np.complex128)
    for part, number in zip(parts, numbers, strict=True):
        transform *= np.fft.rfft(part, size) ** number
    law = np.clip(np.fft.irfft(transform, size), 0.0, None)
    start = max(0, ceil(centre - reach))
    law = np.roll(law, -start)[: min(size, n * (at.size - 1) - start + 1)]
    return start, np.asarray(law / law.sum())


def binomial(n: int, p: float) -> tuple[int, Floats]:
    """Return the binomial distribution as (start, probabilities).

    Tails below about 1e-30 are left out.
    """
    if p <= 0 or p >= 1 or n == 0:
        return (n if p >= 1 else 0), np.ones(1)
    reach = 12 * (n * p * (1 - p)) ** 0.5 + 25
    low, high = max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1)
    j = np.arange(low, high, dtype=np.float64)
    return low, probabilities_of(np.log((n - j) / (j + 1)) + np.log(p) - np.log1p(-p))


def mean_inverse(n: int, p: float) -> float:
    """Return the mean of 1/N for a binomial number N, given that N is not 0.

    For n = 0 it is infinite.
    """
    mean = n * p
    if n == 0 or p >= 1:
        return 1 / n if n else np.inf
    # The series 1/N = (1/mean)·(1 − δ + δ² − …) with δ = N/mean − 1, to the third order
    if mean > 1e7:
        return (1 + (1 - p) / mean + (1 - p) * (2 - p) / mean**2) / mean
    start, law = binomial(n, p)
    numbers = np.arange(start, start + law.size)
    return float((law / np.maximum(numbers, 1))[numbers > 0].sum() / law[numbers > 0].sum())


def probabilities_of(log_ratios: Floats) -> Floats:
    """Return the probabilities whose successive ratios have these logarithms."""
    logs = np.concatenate(([0.0], np.cumsum(log_ratios)))
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def convolve(a: Floats, b: Floats) -> Floats:
    """Return the distribution of the sum of two independent variables."""
    if min(a.size, b.size) < 1000:
        return np.convolve(a, b)
    size = a.size + b.size - 1
    return np.clip(np.fft.irfft(np.fft.rfft(a, size) * np.fft.rfft(b, size), size), 0.0, None)
