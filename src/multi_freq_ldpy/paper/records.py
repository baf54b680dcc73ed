"""The functions for several attributes."""

from typing import Any, Generic, TypeAlias, TypeVar

from ..core import validate
from ..core.randomness import Rng
from ..longitudinal.dbitflip import DBitFlipPM
from ..solutions.base import Solution
from .naming import Functions
from .several import aggregate, domain_sizes, draw_solution_ahead
from .shared import Ks, Row, Sent, Vector, is_immutable

Answer = TypeVar("Answer")
Entries: TypeAlias = list[Any]
"""One entry per attribute."""
Pair: TypeAlias = tuple[int, Any]
"""The sampled attribute and its entry."""


class _Records(Functions, Generic[Answer]):
    """Functions of a solution with a factory, or with two, ``factory(optimal)``."""

    def __init__(self, solution: type[Solution], factory: Any, **options: Any) -> None:
        self._solution, self._factory, self._options = solution, factory, options
        # By factory: the last parameters, and what answers
        self._latest: dict[Any, tuple[Any, ...]] = {}

    def _answer(
        self,
        factory: Any,
        input_tuple: Any,
        rng: Rng,
        lst_k: Any,
        d: int,
        budget: float,
        second: float | None = None,
        lst_b: Any = None,
        d_bits: int | None = None,
    ) -> Answer:
        """Return what one user sends.

        Call after call the parameters are the same objects, and need not be looked up; lists might
        have been changed in between.
        """
        last = self._latest.get(factory)
        if last is not None and rng is None:
            ks, attributes, first, further, bs, bits, sizes, whole, buckets, answer = last
            if (
                lst_k is ks
                and d is attributes
                and budget is first
                and second is further
                and lst_b is bs
                and d_bits is bits
                and lst_k == sizes
                and type(sum(lst_k))
                is whole  # equal numbers that are no integers change the type of the sum
                and (lst_b is None or (lst_b == buckets and type(sum(lst_b)) is whole))
            ):
                return answer(input_tuple)  # type: ignore[no-any-return]
        budgets = (budget,) if second is None else (budget, second)
        options = self._options
        if lst_b is not None:
            options = {"b": _bucket_numbers(lst_b), "d_bits": d_bits}
        drawn = draw_solution_ahead(self._solution, factory, lst_k, d, *budgets, **options)
        if rng is not None:
            return drawn.answer_with(rng, input_tuple)  # type: ignore[no-any-return]
        lists = [each for each in (lst_k, lst_b) if each is not None]
        scalars = (d, *budgets) if d_bits is None else (d, *budgets, d_bits)
        if (
            all(type(each) is list and is_immutable(each) for each in lists)
            and is_immutable(scalars)
            and len({type(sum(each)) for each in lists}) == 1
        ):
            kept = list(lst_k), type(sum(lst_k)), list(lst_b or [])
            self._latest[factory] = (lst_k, d, budget, second, lst_b, d_bits, *kept, drawn.answer)
        return drawn.answer(input_tuple)  # type: ignore[no-any-return]

    def _aggregate(
        self, factory: Any, reports: Sent, lst_k: Any, d: int, *budgets: float, **options: Any
    ) -> list[Vector]:
        drawn = draw_solution_ahead(
            self._solution, factory, lst_k, d, *budgets, **self._options, **options
        )
        return aggregate(drawn, reports)

    def _aggregate_vectors(
        self, factory: Any, reports: Sent, lst_k: Any, d: int, *budgets: float
    ) -> list[Vector]:
        reports, lst_k = domain_sizes(reports, d, lst_k, self._solution.samples)
        return self._aggregate(factory, reports, lst_k, d, *budgets)


class OneBudget(_Records[Answer]):
    """Functions of a factory with one budget."""

    def answer(
        self, input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
    ) -> Answer:
        """Return what one user sends: one entry per attribute, or under SMP the sampled attribute
        and its entry.

        Under RS+FD, the entries of all attributes but the sampled one are fakes. An entry is a
        randomized value (GRR) or set (SS).
        """
        return self._answer(self._factory, input_tuple, rng, lst_k, d, epsilon)

    def aggregate(self, reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
        return self._aggregate(self._factory, reports_tuple, lst_k, d, epsilon)


class OneBudgetChoice(_Records[Answer]):
    """Functions of two factories with one budget."""

    def answer(
        self,
        input_tuple: Row,
        lst_k: Ks,
        d: int,
        epsilon: float,
        optimal: bool = True,
        *,
        rng: Rng = None,
    ) -> Answer:
        """Return what one user sends: one entry per attribute, or under SMP the sampled attribute
        and its entry.

        Under RS+FD, the entries of all attributes but the sampled one are fakes. An entry is a
        randomized unary vector (UE), a hashed value and its seed (LH), or a value or unary vector
        (ADP).
        """
        return self._answer(self._factory(optimal), input_tuple, rng, lst_k, d, epsilon)

    def aggregate(
        self, reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
        return self._aggregate(self._factory(optimal), reports_tuple, lst_k, d, epsilon)

    def aggregate_vectors(
        self,
        reports_tuple: Sent,
        d: int,
        epsilon: float,
        optimal: bool = True,
        *,
        lst_k: Ks | None = None,
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        ``lst_k`` where rows do not tell it.
        """
        return self._aggregate_vectors(self._factory(optimal), reports_tuple, lst_k, d, epsilon)


class TwoBudgets(_Records[Answer]):
    """Functions of a factory with two budgets."""

    def answer(
        self, input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
    ) -> Answer:
        """Return one user's first report: one entry per attribute, or under SMP the sampled
        attribute and its entry.

        An entry is a value (L-GRR), a unary vector, or either (L-ADP).

        Nothing is remembered, so call it once per user. A device that reports again uses
        ``Client``.
        """
        return self._answer(self._factory, input_tuple, rng, lst_k, d, eps_perm, eps_1)

    def aggregate(
        self, reports_tuple: Sent, lst_k: Ks, d: int, eps_perm: float, eps_1: float
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
        return self._aggregate(self._factory, reports_tuple, lst_k, d, eps_perm, eps_1)

    def aggregate_vectors(
        self, reports_tuple: Sent, d: int, eps_perm: float, eps_1: float, *, lst_k: Ks | None = None
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        ``lst_k`` where rows do not tell it.
        """
        return self._aggregate_vectors(self._factory, reports_tuple, lst_k, d, eps_perm, eps_1)


class SampledTwoBudgets(TwoBudgets[Pair]):
    """Functions of SMP, with the name that the paper gives their reports, except for L-GRR."""

    def aggregate(
        self, reports_ue_tuple: Sent, lst_k: Ks, d: int, eps_perm: float, eps_1: float
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised."""
        return self._aggregate(self._factory, reports_ue_tuple, lst_k, d, eps_perm, eps_1)

    def aggregate_vectors(
        self,
        reports_ue_tuple: Sent,
        d: int,
        eps_perm: float,
        eps_1: float,
        *,
        lst_k: Ks | None = None,
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        ``lst_k`` where rows do not tell it.
        """
        return self._aggregate_vectors(self._factory, reports_ue_tuple, lst_k, d, eps_perm, eps_1)


class Buckets(_Records[Answer]):
    """Functions of dBitFlipPM."""

    def __init__(self, solution: type[Solution]) -> None:
        super().__init__(solution, DBitFlipPM)

    def answer(
        self,
        input_tuple: Row,
        lst_k: Ks,
        lst_b: Ks,
        d_bits: int,
        d: int,
        eps_perm: float,
        *,
        rng: Rng = None,
    ) -> Answer:
        """Return one user's first report: one entry per attribute, or under SMP the sampled
        attribute and its entry.

        An entry has a bit for every bucket, −1 where it is not held.

        Nothing is remembered, so call it once per user. A device that reports again uses
        ``Client``.
        """
        return self._answer(DBitFlipPM, input_tuple, rng, lst_k, d, eps_perm, None, lst_b, d_bits)

    def aggregate(
        self, reports_tuple: Sent, lst_b: Ks, d_bits: int, d: int, eps_perm: float
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute's buckets, clipped at 0 and
        normalised.
        """
        b = _bucket_numbers(lst_b)
        return self._aggregate(DBitFlipPM, reports_tuple, b, d, eps_perm, b=b, d_bits=d_bits)


class SampledBuckets(Buckets[Pair]):
    """Functions of SMP, with the name that the paper gives their reports."""

    def aggregate(
        self, reports_ue_tuple: Sent, lst_b: Ks, d_bits: int, d: int, eps_perm: float
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute's buckets, clipped at 0 and
        normalised.
        """
        b = _bucket_numbers(lst_b)
        return self._aggregate(DBitFlipPM, reports_ue_tuple, b, d, eps_perm, b=b, d_bits=d_bits)


def _bucket_numbers(lst_b: Any) -> tuple[int, ...]:
    return tuple(lst_b) if type(lst_b) is list else validate.domain_sizes("lst_b", lst_b)
