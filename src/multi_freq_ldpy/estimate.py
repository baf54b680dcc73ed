"""Frequencies with their errors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check, intervals, postprocess
from .channel import Channel
from .tally import Tally


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated frequencies of the values, with standard errors and intervals.

    ``frequencies`` are unbiased and may lie outside [0, 1]; ``norm``, ``norm_sub`` and ``mle`` give distributions, whose
    ``method`` says what was done and which no longer carry an error.

    >>> from multi_freq_ldpy import GRR
    >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
    >>> estimate.frequencies.round(3), estimate.std.round(3)
    (array([ 1.066,  0.105, -0.17 ]), array([0.136, 0.115, 0.112]))
    >>> estimate.norm().frequencies.round(3)
    array([0.911, 0.089, 0.   ])
    """

    frequencies: NDArray[np.float64]
    n: int | NDArray[np.int64]
    channel: Channel
    counts: NDArray[np.int64] | None = field(default=None, repr=False)
    users: int | None = field(default=None, repr=False)
    method: str = "raw"

    def __post_init__(self) -> None:
        frequencies = np.array(self.frequencies, np.float64)
        frequencies.flags.writeable = False
        object.__setattr__(self, "frequencies", frequencies)

    @classmethod
    def of(cls, tally: Tally) -> "Estimate":
        """Return the raw estimate of a tally."""
        channel = tally.protocol.channel
        return cls(channel.estimate(tally.counts, tally.n), tally.n, channel, tally.counts, tally.users)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False and dtype not in (None, np.float64):
            raise ValueError(f"frequencies are float64: dtype={dtype!r} needs a copy")
        return np.array(self.frequencies, dtype) if copy or dtype else self.frequencies

    def __len__(self) -> int:
        return len(self.frequencies)

    @property
    def totals(self) -> NDArray[np.float64]:
        """The estimated number of users with each value."""
        users = self.users if self.users is not None else self.n
        totals: NDArray[np.float64] = np.where(np.asarray(self.n) > 0, self.frequencies, np.nan) * users
        return totals

    @property
    def std(self) -> NDArray[np.float64]:
        """The standard error of each frequency, for the users who took part; infinite where nobody reported."""
        self._raw("standard error")
        n = np.asarray(self.n)
        f = np.clip(np.where(n > 0, self.frequencies, 0.0), 0.0, 1.0)
        return np.where(n > 0, np.sqrt(intervals.variance(self.channel, n, self.users, "sample")(f)), np.inf)

    def interval(self, level: float = 0.95, of: str = "sample") -> NDArray[np.float64]:
        """Return lower and upper limits in [0, 1] for each frequency, shape (k, 2).

        ``of="sample"`` is about the users who took part, ``of="population"`` about the population they were drawn from. Limits
        invert the score test with the likelihood-ratio ordering of Feldman and Cousins, and the exact law of a count where
        counts are too small for that.
        """
        self._raw("interval")
        _check.choice("of", of, ("sample", "population"))
        share = _check.probability("level", level, 1e-6, 1 - 1e-12)
        return intervals.limits(self.frequencies, self.counts, self.n, self.users, self.channel, share, of)

    def norm(self) -> "Estimate":
        """Clip at 0 and divide by the sum."""
        return self._processed(postprocess.norm(self._known()), "norm")

    def norm_sub(self) -> "Estimate":
        """Project on the distributions: the nearest one."""
        return self._processed(postprocess.norm_sub(self._known()), "norm_sub")

    def mle(self) -> "Estimate":
        """Return the most likely distribution given the counts, for protocols that report one value (GRR)."""
        self._raw("further post-processing")
        if self.counts is None or not self.channel.own_other == self.channel.others == 0:
            raise ValueError("mle is known in closed form only where a report is one value; use protocol.em(reports)")
        if not self.n:
            return self._processed(np.full(len(self), 1 / len(self)), "mle")
        return self._processed(postprocess.mle(self.counts, int(self.counts.sum()), float(self.channel.q), self.channel.slope), "mle")

    def group(self, values: Sequence[int] | NDArray[Any]) -> "Estimate":
        """Return the frequency of a group of values taken together, as an estimate of one entry with its own error.

        For local hashing (BLH excepted) the error is right on average over groups: values that follow each other do not hash
        independently, and where many users hold one value the standard error can be up to a fifth off.

        >>> from multi_freq_ldpy import OUE
        >>> estimate = OUE(6, epsilon=2.0).estimate(OUE(6, epsilon=2.0).randomize([0, 1, 2, 3, 4, 5] * 500, rng=1))
        >>> group = estimate.group([0, 1, 2])
        >>> bool(abs(group.frequencies[0] - 0.5) < 3 * group.std[0])
        True
        """
        self._raw("group")
        chosen = _check.integers("values", values, 0, len(self) - 1, what="a value of the domain")
        if chosen.ndim != 1 or not chosen.size or np.unique(chosen).size != chosen.size:
            raise ValueError(f"values must be a non-empty vector of different values, not {values!r}")
        if np.ndim(self.n):
            raise ValueError(f"values {values!r} have no error as a group: not every report speaks of all of them")
        channel = self.channel.group(chosen.size)
        counts = None if self.counts is None else self.counts[chosen].sum(keepdims=True)
        return Estimate(self.frequencies[chosen].sum(keepdims=True), self.n, channel, counts, self.users)

    def _processed(self, frequencies: NDArray[np.float64], method: str) -> "Estimate":
        return Estimate(frequencies, self.n, self.channel, self.counts, self.users, method)

    def _known(self) -> NDArray[np.float64]:
        self._raw("further post-processing")
        return np.nan_to_num(self.frequencies, nan=0.0) if np.asarray(self.n).any() else np.zeros(len(self))

    def _raw(self, what: str) -> None:
        if self.method != "raw":
            raise ValueError(f"{self.method} estimates have no {what}: ask the raw estimate for it")


class Estimates(tuple[Estimate, ...]):
    """Estimates of several attributes, one ``Estimate`` each: a tuple.

    >>> from multi_freq_ldpy import GRR, SMP
    >>> solution = SMP(GRR, [2, 3], epsilon=2.0)
    >>> estimates = solution.estimate(solution.randomize([[1, 0], [1, 2]] * 5000, rng=1))
    >>> [e.frequencies.round(1) for e in estimates.norm()]
    [array([0., 1.]), array([0.5, 0. , 0.5])]
    >>> estimates[1].interval().shape
    (3, 2)
    """

    __slots__ = ()

    @classmethod
    def of(cls, tally: Tally) -> "Estimates":
        """Return the raw estimates of a solution's tally."""
        return cls(map(Estimate.of, tally))

    @property
    def frequencies(self) -> list[NDArray[np.float64]]:
        """The frequencies of each attribute."""
        return [each.frequencies for each in self]

    def norm(self) -> "Estimates":
        """Clip each attribute at 0 and divide by the sum."""
        return Estimates(each.norm() for each in self)

    def norm_sub(self) -> "Estimates":
        """Project each attribute on the distributions."""
        return Estimates(each.norm_sub() for each in self)

    def __repr__(self) -> str:
        return f"Estimates{super().__repr__()}"
