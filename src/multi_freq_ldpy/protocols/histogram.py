"""Summed histogram encoding: integer noise on every entry of a one-hot vector."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp, expm1, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, validate
from ..core.channel import Affine, binomial, convolve, probabilities_of, users_law
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, as_generator
from ..mechanism import Counts
from ..protocol import OneShot, declared

UNIT = 2**32
LARGEST = 2**31 - 1  # reports are int32 and saturate
# Smaller noise exponents would saturate with a probability above e⁻⁶⁰
FINEST = 60 * UNIT // LARGEST + 1


@lru_cache(maxsize=64)
def _noise_law(n: int, s: float) -> tuple[int, NDArray[np.float64]]:
    """Return the distribution of the sum of n noises.

    The sum is the difference of two negative binomial variables.
    """
    mean = n * exp(-s) / -expm1(-s)
    reach = int(mean + 14 * (mean * (1 + mean / n)) ** 0.5 + 40 * (1 + 1 / s) / n**0.5 + 40)
    j = np.arange(reach, dtype=np.float64)
    law = probabilities_of(np.log((n + j) / (j + 1)) - s)
    return -reach, convolve(law, law[::-1])


@dataclass(frozen=True)
class NoiseChannel(Affine):
    """The channel of a one-hot vector plus noise of mean 0.

    Its means are p = 1 and q = 0, and both second moments include the variance of the noise.

    Parameters
    ----------
    p, q : float
        Mean contribution to the own value, 1, and to another value, 0.
    p2, q2 : float
        Second moments of these contributions.
    own_other, others : float, optional
        Mean products of the contributions to two values, one of which is the user's own, or
        neither.
    exponent : float
        The exponent s of the noise, P(x) ∝ e^(−s·abs(x)).
    entries : int
        Number of entries of a report that are added up.

    See Also
    --------
    multi_freq_ldpy.core.channel.Affine : The base class, which has the other fields.
    """

    exponent: float = 0.0
    entries: int = 1

    def group(self, m: int) -> "NoiseChannel":
        """Return the channel of a group of m values: the noise of m entries.

        Parameters
        ----------
        m : int
            Number of values in the group.

        Returns
        -------
        NoiseChannel
            The channel of the sum of the contributions to these values.
        """
        assert self.q2 is not None
        noise = m * float(self.q2)
        return replace(
            self,
            p2=1.0 + noise,
            q2=noise,
            own_other=None,
            others=None,
            largest=m * self.largest,
            smallest=m * self.smallest,
            entries=m * self.entries,
        )

    @property
    def known_law(self) -> bool:
        """The availability of ``count_law``: always True."""
        return True

    def count_law(self, n: int, f: float, *, sampled: bool) -> tuple[int, NDArray[np.float64]]:
        """Return the distribution of a count, without negligible tails.

        Parameters
        ----------
        n : int
            Number of users.
        f : float
            True frequency of the value.
        sampled : bool
            True if each user holds the value with probability f, False if exactly a share f of the
            users does.

        Returns
        -------
        start : int
            The smallest value of the count.
        law : array
            The probabilities of ``start``, ``start`` + 1, ….
        """
        start, law = _noise_law(n * self.entries, self.exponent)
        if not sampled:
            return start + round(n * f), law
        users_start, users = binomial(n, f)
        return start + users_start, convolve(law, users)

    def knows_difference(self, sizes: tuple[int, int]) -> bool:
        """Return True: the noise of any number of entries is known.

        Parameters
        ----------
        sizes : tuple of int
            Number of values in each of two groups.

        Returns
        -------
        bool
            True.
        """
        return True

    def difference_law(
        self, sizes: tuple[int, int], n: int, shares: tuple[float, float], *, sampled: bool
    ) -> tuple[int, NDArray[np.float64]]:
        """Return the distribution of the count of one group of values minus the count of another.

        Parameters
        ----------
        sizes : tuple of int
            Number of values in each of the two groups.
        n : int
            Number of users.
        shares : tuple of float
            True frequency of each of the two groups.
        sampled : bool
            True if each user is in a group with these probabilities, False if exactly these shares
            are.

        Returns
        -------
        start : int
            The smallest value of the difference.
        law : array
            The probabilities of ``start``, ``start`` + 1, ….
        """
        start, law = _noise_law(n * sum(sizes) * self.entries, self.exponent)
        users_start, users = users_law(list(np.eye(3)[[2, 0, 1]]), n, shares, sampled=sampled)
        return start + users_start - n, convolve(law, users)


@dataclass(frozen=True)
class SHE(OneShot):
    """Summed histogram encoding.

    A report has k integers: the user's one-hot vector plus noise with P(x) ∝ e^(−s·abs(x)), s =
    ε/2. The exponent s is rounded down to a multiple of 2⁻³².

    The contribution to a value is the entry itself. Its mean is 1 for the own value and 0 for the
    others. Its variance is that of the noise, σ² = 2e^(−s)/(1 − e^(−s))². The noise is drawn
    exactly on the integers: no floating-point number ever leaves the device.

    The protocol is historic and has the largest report. It is useful where sums are wanted.

    Dwork, McSherry, Nissim and Smith, "Calibrating noise to sensitivity in private data analysis",
    TCC 2006.

    The sampler: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy",
    NeurIPS 2020.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2²⁸.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is so small that the noise would
        not fit into 32 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import SHE
    >>> protocol = SHE(3, epsilon=1.0)
    >>> protocol.privacy.report, round(protocol.variance(100), 4)
    (1.0, 0.0784)
    """

    k: int = declared(validate.Integer(2, 2**28))

    @cached_property
    def weight(self) -> int:
        """The exponent s times 2³²."""
        weight = floor(exact.budget(self.epsilon) / 2 * UNIT)
        if weight < FINEST:
            raise ValueError(
                f"epsilon={self.epsilon!r} is too small to be realised: the noise would not fit"
                " into 32 bits"
            )
        return weight

    @cached_property
    def moments(self) -> NoiseChannel:
        """The moments of a report's entries.

        They are floats, because e^(−s) is not rational.
        """
        s = self.weight / UNIT
        noise = 2 * exp(-s) / expm1(-s) ** 2
        return NoiseChannel(
            1.0, 0.0, 1.0 + noise, noise, 0.0, 0.0, largest=LARGEST, smallest=-LARGEST, exponent=s
        )

    @cached_property
    def privacy(self) -> Privacy:
        """The privacy losses as realised, which are 2s for one report.

        Two entries change by one each, and each change costs s.
        """
        return Privacy.of(2 * self.weight / UNIT)

    @property
    def ratio(self) -> Fraction:
        """An upper bound of the largest ratio of probabilities, e^(2s), which is not rational."""
        return exact.exp(Fraction(2 * self.weight, UNIT))[1]

    @cached_property
    def report_dtype(self) -> np.dtype[Any]:
        """The dtype of one report, which has k integers of 32 bits."""
        return np.dtype(("<i4", (self.k,)))

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        first = source.start(len(values), 1)
        noise = draws.choose("noise", out.size)
        noise.randomize(source.key, first, values, np.uint64(self.weight), out)

    def _most(self, values: int) -> int:
        return values * LARGEST

    def _refused(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray((reports < -LARGEST).any(axis=1))

    def contributions(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of the reports, shape (n, k).

        Parameters
        ----------
        reports : array of ``report_dtype``
            Reports, one row per user.

        Returns
        -------
        array of int32
            The same array. Each entry is the contribution to its value.

        Examples
        --------
        >>> from multi_freq_ldpy import SHE
        >>> protocol = SHE(3, epsilon=1.0)
        >>> protocol.contributions(protocol.randomize([0, 2], rng=1))
        array([[-2,  0,  3],
               [ 0, -2,  0]], dtype=int32)
        """
        return reports

    def _supports(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return reports >= 1  # P(y − 1)/P(y) is e^s there and e^(−s) elsewhere

    def _simulate(self, counts: Counts, rng: Rng, nobody: int = 0) -> tuple[Counts, Counts]:
        generator, n, stop = as_generator(rng), int(counts.sum()), -expm1(-self.weight / UNIT)
        up, down = generator.negative_binomial(n, stop, size=(2, self.k))
        return np.asarray(counts + up - down), np.full(self.k, n)

    def law(self, value: int) -> dict[bytes, Fraction]:
        """Raise ValueError: the noise has no bounds, so the reports cannot be listed.

        ``log_law`` gives the exponents of the probabilities. The privacy checks use them.

        Parameters
        ----------
        value : int
            The value of one user.

        Raises
        ------
        ValueError
            Always.

        Examples
        --------
        >>> from multi_freq_ldpy import SHE
        >>> SHE(3, epsilon=1.0).law(0)
        Traceback (most recent call last):
            ...
        ValueError: distribution of SHE(k=3, epsilon=1.0) cannot be listed: its noise is unbounded
        """
        raise ValueError(f"distribution of {self!r} cannot be listed: its noise is unbounded")

    def _likelihood(self, reports: NDArray[Any], value: Any) -> Fraction:
        raise ValueError(f"likelihood of {self!r} is not a fraction: use log_law")

    def log_law(self, x: int) -> Fraction:
        """Return the exponent of the probability that the noise is x, up to a constant.

        Parameters
        ----------
        x : int
            The noise of one entry.

        Returns
        -------
        Fraction
            The number −s·abs(x), exactly.

        Examples
        --------
        >>> from multi_freq_ldpy import SHE
        >>> protocol = SHE(3, epsilon=1.0)
        >>> protocol.log_law(0), protocol.log_law(-3)
        (Fraction(0, 1), Fraction(-3, 2))
        """
        return -abs(x) * Fraction(self.weight, UNIT)
