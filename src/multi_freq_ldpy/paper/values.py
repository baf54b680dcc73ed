"""The functions for one attribute."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..core.randomness import Rng
from ..core.tally import Tally
from ..longitudinal.dbitflip import DBitFlipPM
from .forms import draw_ahead, form_of
from .naming import Functions
from .shared import (
    Ahead,
    Sent,
    Vector,
    estimate_by_update,
    estimate_normalised,
    is_immutable,
    require_reports,
    row_length,
)

Report = TypeVar("Report")
_NOTHING: Any = object()


class _Values(Functions, Generic[Report]):
    """Functions of a factory.

    Call after call the parameters are the same objects, and to look them up would take as long as
    the rest.
    """

    # The parameters of the last call, and what answers
    _latest: tuple[Any, ...]

    def __init__(self, factory: Callable[..., Any]) -> None:
        self._factory = factory

    def _draw(self, *parameters: Any) -> Ahead:
        return draw_ahead(self._factory, *parameters)

    def _answer(self, input_data: int, rng: Rng, *parameters: Any) -> Report:
        drawn = self._draw(*parameters)
        if rng is not None:
            return drawn.answer_with(rng, input_data)  # type: ignore[no-any-return]
        if is_immutable(parameters):
            self._latest = *parameters, drawn.answer
        return drawn.answer(input_data)  # type: ignore[no-any-return]

    def _tally(self, reports: Any, *parameters: Any) -> Tally:
        reports = require_reports(reports)
        protocol = self._draw(*parameters).mechanism
        protocol._require_countable(large=False)
        return form_of(protocol).tally(protocol, reports)


class _Choice(_Values[Report]):
    """Functions of two factories, ``factory(optimal)``; ``optimal`` is the last parameter."""

    def _draw(self, *parameters: Any) -> Ahead:
        *others, optimal = parameters
        return draw_ahead(self._factory(optimal), *others)


class OneBudget(_Values[Report]):
    """Functions of a factory with one budget."""

    _latest = (_NOTHING,) * 3

    def answer(self, input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> Report:
        """Return the randomized report of one user.

        A value (GRR), a set as an array in ascending order (SS), or the one-hot vector plus noise,
        integers as floats (HE).
        """
        last_k, last_epsilon, answer = self._latest
        if k is last_k and epsilon is last_epsilon and rng is None:
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, epsilon)

    def aggregate(self, reports: Sent, k: int, epsilon: float) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised."""
        return estimate_normalised(self._tally(reports, k, epsilon))

    def aggregate_by_update(
        self,
        reports: Sent,
        k: int,
        epsilon: float,
        nb_iter: int = 10000,
        tol: float = 1e-12,
        err_func: str = "max_abs",
    ) -> Vector:
        """Return the estimated frequencies by iterative Bayesian update."""
        tally = self._tally(reports, k, epsilon)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class OneBudgetChoice(_Choice[Report]):
    """Functions of two factories with one budget."""

    _latest = (_NOTHING,) * 4

    def answer(
        self, input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
    ) -> Report:
        """Return the randomized report of one user.

        A vector of k zeros and ones (UE), a hashed value and the seed of the hash function (LH), or
        a value or a vector (ADP).
        """
        last_k, last_epsilon, last_optimal, answer = self._latest
        if k is last_k and epsilon is last_epsilon and optimal is last_optimal and rng is None:
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, epsilon, optimal)

    def aggregate(self, reports: Sent, k: int, epsilon: float, optimal: bool = True) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised."""
        return estimate_normalised(self._tally(reports, k, epsilon, optimal))

    def aggregate_vectors(
        self, reports: Sent, epsilon: float, optimal: bool = True, *, k: int | None = None
    ) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Packed reports need ``k``.
        """
        reports = require_reports(reports)
        return self.aggregate(reports, row_length(reports) if k is None else k, epsilon, optimal)

    def aggregate_by_update(
        self,
        reports: Sent,
        k: int,
        epsilon: float,
        optimal: bool = True,
        nb_iter: int = 10000,
        tol: float = 1e-12,
        err_func: str = "max_abs",
    ) -> Vector:
        """Return the estimated frequencies by iterative Bayesian update."""
        tally = self._tally(reports, k, epsilon, optimal)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class TwoBudgets(_Values[Report]):
    """Functions of a factory with two budgets."""

    _latest = (_NOTHING,) * 4

    def answer(
        self, input_data: int, k: int, eps_perm: float, eps_1: float, *, rng: Rng = None
    ) -> Report:
        """Return the first report of a new user.

        A value (L-GRR), a vector of k zeros and ones (unary encoding), or either (L-ADP).

        Nothing is remembered, so call it once per user. A device that reports again uses
        ``Client``.
        """
        last_k, last_perm, last_1, answer = self._latest
        if k is last_k and eps_perm is last_perm and eps_1 is last_1 and rng is None:
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, eps_perm, eps_1)

    def aggregate(self, reports: Sent, k: int, eps_perm: float, eps_1: float) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised."""
        return estimate_normalised(self._tally(reports, k, eps_perm, eps_1))

    def aggregate_vectors(
        self, reports: Sent, eps_perm: float, eps_1: float, *, k: int | None = None
    ) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Packed reports need ``k``.
        """
        reports = require_reports(reports)
        return self.aggregate(reports, row_length(reports) if k is None else k, eps_perm, eps_1)

    def aggregate_by_update(
        self,
        reports: Sent,
        k: int,
        eps_perm: float,
        eps_1: float,
        nb_iter: int = 10000,
        tol: float = 1e-12,
        err_func: str = "max_abs",
    ) -> Vector:
        """Return the estimated frequencies by iterative Bayesian update."""
        tally = self._tally(reports, k, eps_perm, eps_1)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class TwoBudgetsChoice(_Choice[Report]):
    """Functions of two factories with two budgets."""

    _latest = (_NOTHING,) * 5

    def answer(
        self,
        input_data: int,
        k: int,
        eps_perm: float,
        eps_1: float,
        optimal: bool = True,
        *,
        rng: Rng = None,
    ) -> Report:
        """Return the first report of a new user, a randomized hashed value and its seed.

        Nothing is remembered, so call it once per user. A device that reports again uses
        ``Client``.
        """
        last_k, last_perm, last_1, last_optimal, answer = self._latest
        if (
            k is last_k
            and eps_perm is last_perm
            and eps_1 is last_1
            and optimal is last_optimal
            and rng is None
        ):
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, eps_perm, eps_1, optimal)

    def aggregate(
        self, reports: Sent, k: int, eps_perm: float, eps_1: float, optimal: bool = True
    ) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised."""
        return estimate_normalised(self._tally(reports, k, eps_perm, eps_1, optimal))

    def aggregate_by_update(
        self,
        reports: Sent,
        k: int,
        eps_perm: float,
        eps_1: float,
        optimal: bool = True,
        nb_iter: int = 10000,
        tol: float = 1e-12,
        err_func: str = "max_abs",
    ) -> Vector:
        """Return the estimated frequencies by iterative Bayesian update."""
        tally = self._tally(reports, k, eps_perm, eps_1, optimal)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class Buckets(_Values[Vector]):
    """Functions of dBitFlipPM."""

    _latest = (_NOTHING,) * 5

    def __init__(self) -> None:
        super().__init__(DBitFlipPM)

    def answer(
        self, input_data: int, k: int, b: int, d_bits: int, eps_perm: float, *, rng: Rng = None
    ) -> Vector:
        """Return the first report of a new user, b numbers: bits, and −1 for the buckets not held.

        Nothing is remembered, so call it once per user. A device that reports again uses
        ``Client``.
        """
        last_k, last_perm, last_b, last_bits, answer = self._latest
        if (
            k is last_k
            and eps_perm is last_perm
            and b is last_b
            and d_bits is last_bits
            and rng is None
        ):
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, eps_perm, b, d_bits)

    def aggregate(self, reports: Sent, b: int, d_bits: int, eps_perm: float) -> Vector:
        """Return the estimated frequencies of the buckets, clipped at 0 and normalised."""
        return estimate_normalised(self._tally(reports, b, eps_perm, b, d_bits))
