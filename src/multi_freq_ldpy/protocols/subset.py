"""Subset selection."""

from fractions import Fraction
from functools import cached_property
from math import comb, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import draws, exact, layouts
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import OneShot
from .formats import Sets

DRAWN_TOGETHER = 2**12
"""The number of reports that exist at a time while they are drawn and counted.

Large reports exist in smaller numbers.
"""


def kernel_arguments(
    values: Counts, source: Source, k: int, omega: int, own: int, law: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the arguments with which the kernels draw sets of ω out of k values.

    Parameters
    ----------
    values : array
        The value of each user.
    source : Source
        Randomness of these users.
    k : int
        Number of possible values, which are 0, …, k − 1.
    omega : int
        Number of values in a set.
    own : int
        Probability that a set holds the own value, times 2⁶⁴.
    law : tuple
        Constants of the sets, from ``core.layouts.set_constants``.

    Returns
    -------
    tuple
        The positional arguments of a kernel, without its output.
    """
    return (
        source.key,
        *source.users(len(values), layouts.set_stride(k, omega)),
        values,
        np.uint64(own),
        *law,
    )


class SS(OneShot):
    """Subset selection.

    A report is a set of ω of the k values. A set that holds the user's own value is more likely
    than one that does not. The probabilities are p = ωe^ε/(ωe^ε + k − ω) and q = ω(e^ε(ω − 1) + k −
    ω)/((k − 1)(ωe^ε + k − ω)).

    No unbiased ε-LDP protocol has less total error on uniform data, for many users. Choose it when
    k bits per report are affordable. The set is sent as packed bits, so the order of its values
    reveals nothing.

    Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential
    privacy", IEEE Transactions on Information Theory 2018.

    Parameters
    ----------
    k : int
        Number of possible values, which are 0, …, k − 1. At least 2 and at most 2³² − 5.
    epsilon : float
        Privacy budget of one report. A finite number greater than 0.

    Raises
    ------
    ValueError
        If ``k`` or ``epsilon`` is out of range, or if ``epsilon`` is too small to be realised with
        64 bits.

    Examples
    --------
    >>> from multi_freq_ldpy import SS
    >>> protocol = SS(10, epsilon=1.0)
    >>> protocol.omega, protocol.report_bytes
    (3, 2)
    >>> protocol.contributions(protocol.randomize([4], rng=2))
    array([[1, 0, 0, 0, 1, 0, 1, 0, 0, 0]], dtype=uint8)
    """

    @cached_property
    def omega(self) -> int:
        """The size ω of a set, which minimises (ωe^ε + k − ω)²/(ω(k − ω)).

        It is one of the two integers next to k/(e^ε + 1).
        """
        e, _ = exact.exp(exact.budget(self.epsilon))
        near = floor(self.k / (e + 1))
        candidates = {min(max(w, 1), self.k - 1) for w in (near, near + 1)}
        return min(candidates, key=lambda w: ((w * e + self.k - w) ** 2 / (w * (self.k - w)), w))

    @cached_property
    def weight(self) -> int:
        """The probability that the set holds the own value, times 2⁶⁴, rounded down."""
        below, _ = exact.exp(exact.budget(self.epsilon))
        own = min(
            exact.WORD - 1,
            floor(exact.WORD * self.omega * below / (self.omega * below + self.k - self.omega)),
        )
        if own * self.k <= exact.WORD * self.omega:
            raise exact.too_small(self.epsilon, self.k)
        return own

    @cached_property
    def chances(self) -> tuple[Fraction, Fraction]:
        """The probabilities that the set holds the own value, and a given other value."""
        p = Fraction(self.weight, exact.WORD)
        return p, (self.omega - p) / (self.k - 1)

    @cached_property
    def format(self) -> Sets:
        """The format of a report, which is a set of ω values, as k bits."""
        return Sets(self.k, self.omega)

    @cached_property
    def _sets(self) -> tuple[Any, ...]:
        return layouts.set_constants(self.k, self.omega)

    def _arguments(self, values: Counts, source: Source) -> tuple[Any, ...]:
        return kernel_arguments(values, source, self.k, self.omega, self.weight, self._sets)

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        draws.choose("subsets", out.size).randomize(*self._arguments(values, source), out)

    def _draw_and_gather(self, values: Counts, source: Source) -> tuple[Counts, Counts]:
        counts = np.zeros(8 * self.report_bytes, np.int64)
        rows = np.empty(min(DRAWN_TOGETHER, 16 + 2**22 // self.report_bytes), self.report_dtype)
        subsets = draws.choose("subsets", len(values) * self.report_bytes)
        subsets.draw_and_count(*self._arguments(values, source), rows, counts)
        return counts[: self.k], np.full(self.k, len(values))

    def _fake(self, kind: str) -> Fake:
        low = (1 - self.chances[0]) * self.k / (self.k - self.omega)

        def chance(report: bytes) -> Fraction:  # not computed before it is needed: it may be long
            return Fraction(1, comb(self.k, self.omega))

        return Fake.of_uniform_value(self, low, low, chance)
