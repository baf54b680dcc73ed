"""Generalized randomized response."""

from fractions import Fraction
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from ..core import draws, exact, layouts
from ..core.fakes import Fake
from ..core.randomness import Source
from ..mechanism import Counts
from ..protocol import OneShot
from .formats import Symbols


class GRR(OneShot):
    """Generalized randomized response.

    A report is one value: the user's own value or one of the others. The probabilities are p =
    e^ε/(e^ε + k − 1) and q = 1/(e^ε + k − 1). GRR has the smallest report and takes the least work.
    Choose it for small domains, k < 3e^ε + 2, where it has less variance than OUE.

    Kairouz, Bonawitz and Ramage, "Discrete distribution estimation under local privacy", ICML 2016.

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
    >>> from multi_freq_ldpy import GRR
    >>> protocol = GRR(4, epsilon=1.0)
    >>> protocol.randomize([0, 1, 2, 3], rng=1)
    array([0, 1, 2, 3], dtype=uint8)
    >>> protocol.channel.p, round(protocol.privacy.report, 9)
    (0.4753668864186717, 1.0)
    """

    @cached_property
    def format(self) -> Symbols:
        """The format of a report, which is one value."""
        return Symbols(self.k)

    @cached_property
    def weights(self) -> tuple[int, int]:
        """The probabilities of the own value and of each other value, times 2⁶⁴."""
        return exact.symbol_weights(self.k, self.epsilon)

    def _randomize(self, values: Counts, source: Source, out: NDArray[Any]) -> None:
        constants = layouts.symbol_constants(self.k, self.weights)
        users = source.users(len(values), 4)
        draws.choose("symbols", len(values)).randomize(source.key, *users, values, *constants, out)

    def _fake(self, kind: str) -> Fake:
        low = self.k * self.chances[1]
        return Fake.of_uniform_value(self, low, low, lambda report: Fraction(1, self.k))
