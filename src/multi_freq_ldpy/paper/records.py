"""The functions of the paper for several attributes."""

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
    """Functions of a solution with one factory, or with two.

    With two, ``factory(optimal)`` returns one of them.
    """

    def __init__(self, solution: type[Solution], factory: Any, **options: Any) -> None:
        self._solution, self._factory, self._options = solution, factory, options
        # By factory: the last parameters, and the function that answers
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
        """Return the report of one user.

        The parameters are usually the same objects in every call, and then need no lookup. Lists
        are compared, because they may have changed since the last call.
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
                is whole  # a number that is equal but no integer changes the type of the sum
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
    """Functions of a factory with one budget.

    Parameters
    ----------
    solution : type
        The solution: ``SPL``, ``SMP`` or ``RSFD``.
    factory : callable
        Makes the protocol of an attribute from its domain size and the budget.
    **options : object
        Further options of the solution, such as ``fake`` of ``RSFD``.
    """

    def answer(
        self, input_tuple: Row, lst_k: Ks, d: int, epsilon: float, *, rng: Rng = None
    ) -> Answer:
        """Return the randomized report of one user.

        SPL and RS+FD send one entry per attribute. SMP sends the sampled attribute and its entry.
        Under RS+FD, only the entry of the sampled attribute is real. The other entries are fake.

        Parameters
        ----------
        input_tuple : list, tuple or array of int
            Record of the user: the value of each attribute, from 0 to lst_k[j] − 1 for attribute j.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        epsilon : float
            Privacy budget of one report. SPL divides it by d for each attribute. SMP spends all of
            it on the sampled attribute. RS+FD reports the sampled attribute at an amplified budget.
            The loss between two records may then exceed epsilon: see ``RSFD``.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list or tuple
            List of entries, one per attribute, or under SMP a tuple of the attribute's number and
            its entry. For GRR, an entry is a value. For SS, it holds the values of a set as an
            array in ascending order.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range or does not match ``d``, or if a budget cannot be
            realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Client
        >>> from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Client
        >>> SPL_GRR_Client((1, 2), [2, 3], d=2, epsilon=2.0, rng=Stream(1))
        [0, 1]
        >>> SMP_GRR_Client((1, 2), [2, 3], d=2, epsilon=2.0, rng=Stream(1))
        (0, 1)
        """
        return self._answer(self._factory, input_tuple, rng, lst_k, d, epsilon)

    def aggregate(self, reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        epsilon : float
            Privacy budget of one report. SPL divides it by d for each attribute. SMP spends all of
            it on the sampled attribute. RS+FD reports the sampled attribute at an amplified budget.
            The loss between two records may then exceed epsilon: see ``RSFD``.

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range or
            does not match ``d``.

        Examples
        --------
        >>> from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_GRR_Aggregator
        >>> reports = [[1, 2], [1, 0], [0, 2], [1, 2]]
        >>> [each.round(2) for each in SPL_GRR_Aggregator(reports, [2, 3], d=2, epsilon=4.0)]
        [array([0.17, 0.83]), array([0.18, 0.  , 0.82])]
        """
        return self._aggregate(self._factory, reports_tuple, lst_k, d, epsilon)


class OneBudgetChoice(_Records[Answer]):
    """Functions of two factories with one budget.

    Parameters
    ----------
    solution : type
        The solution: ``SPL``, ``SMP`` or ``RSFD``.
    factory : callable
        Takes ``optimal`` and returns the factory of the protocol of an attribute.
    **options : object
        Further options of the solution, such as ``fake`` of ``RSFD``.
    """

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
        """Return the randomized report of one user.

        SPL and RS+FD send one entry per attribute. SMP sends the sampled attribute and its entry.
        Under RS+FD, only the entry of the sampled attribute is real. The other entries are fake.

        Parameters
        ----------
        input_tuple : list, tuple or array of int
            Record of the user: the value of each attribute, from 0 to lst_k[j] − 1 for attribute j.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        epsilon : float
            Privacy budget of one report. SPL divides it by d for each attribute. SMP spends all of
            it on the sampled attribute. RS+FD reports the sampled attribute at an amplified budget.
            The loss between two records may then exceed epsilon: see ``RSFD``.
        optimal : bool
            True for OUE (UE), for OLH (LH), or to choose between GRR and OUE (ADP). False for SUE
            (UE), for BLH (LH), or to choose between GRR and SUE (ADP).
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list or tuple
            List of entries, one per attribute, or under SMP a tuple of the attribute's number and
            its entry. For UE, an entry is an array of floats, which are 0 or 1, one per value. For
            LH, it is the randomized hashed value and the seed of the hash function. For ADP, it is
            a value (GRR) or an array of floats (UE).

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range or does not match ``d``, or if a budget cannot be
            realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_LH_Client
        >>> from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_UE_Client
        >>> SPL_UE_Client((1, 2), [2, 3], d=2, epsilon=4.0, rng=Stream(1))
        [array([1., 0.]), array([1., 0., 1.])]
        >>> SMP_LH_Client((1, 2), [2, 3], d=2, epsilon=4.0, rng=Stream(1))
        (0, (0, 1))
        """
        return self._answer(self._factory(optimal), input_tuple, rng, lst_k, d, epsilon)

    def aggregate(
        self, reports_tuple: Sent, lst_k: Ks, d: int, epsilon: float, optimal: bool = True
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        epsilon : float
            Privacy budget of one report. SPL divides it by d for each attribute. SMP spends all of
            it on the sampled attribute. RS+FD reports the sampled attribute at an amplified budget.
            The loss between two records may then exceed epsilon: see ``RSFD``.
        optimal : bool
            True for OUE (UE), for OLH (LH), or to choose between GRR and OUE (ADP). False for SUE
            (UE), for BLH (LH), or to choose between GRR and SUE (ADP).

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range or
            does not match ``d``.

        Examples
        --------
        >>> from multi_freq_ldpy import OLH, SPL
        >>> from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_LH_Aggregator
        >>> reports = SPL(OLH, [2, 3], epsilon=4.0).randomize([[0, 2], [1, 2], [1, 1]] * 200, rng=1)
        >>> [each.round(2) for each in SPL_LH_Aggregator(reports, [2, 3], d=2, epsilon=4.0)]
        [array([0.35, 0.65]), array([0.  , 0.33, 0.67])]
        """
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

        Parameters
        ----------
        reports_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        d : int
            Number of attributes.
        epsilon : float
            Privacy budget of one report. SPL divides it by d for each attribute. SMP spends all of
            it on the sampled attribute.
        optimal : bool
            True for OUE, False for SUE.
        lst_k : list of int, optional
            Number of possible values of each attribute. None, the default, means the lengths of the
            reported rows. It is needed for an array that ``randomize`` returns. Under SMP it is
            also needed if no user reported some attribute.

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range. Also
            if ``lst_k`` is needed and missing.

        Examples
        --------
        >>> from multi_freq_ldpy.mdim_freq_est.SPL_solution import SPL_UE_Aggregator
        >>> reports = [[[0, 1], [0, 0, 1]], [[1, 0], [0, 1, 1]]]
        >>> [each.round(2) for each in SPL_UE_Aggregator(reports, d=2, epsilon=4.0)]
        [array([0.5, 0.5]), array([0. , 0.3, 0.7])]
        """
        return self._aggregate_vectors(self._factory(optimal), reports_tuple, lst_k, d, epsilon)


class TwoBudgets(_Records[Answer]):
    """Functions of a factory with two budgets.

    Parameters
    ----------
    solution : type
        The solution: ``SPL`` or ``SMP``.
    factory : callable
        Makes the protocol of an attribute from its domain size and both budgets.
    **options : object
        Further options of the solution, such as ``fake`` of ``RSFD``.
    """

    def answer(
        self, input_tuple: Row, lst_k: Ks, d: int, eps_perm: float, eps_1: float, *, rng: Rng = None
    ) -> Answer:
        """Return the first report of a new user.

        SPL sends one entry per attribute. SMP sends the sampled attribute and its entry.

        The function stores no permanent answer, so call it once per user. A device that reports
        again uses ``Client``.

        Parameters
        ----------
        input_tuple : list, tuple or array of int
            Record of the user: the value of each attribute, from 0 to lst_k[j] − 1 for attribute j.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. Here it is the budget of a whole
            record. SPL divides it by d for each attribute. SMP spends all of it on the sampled
            attribute.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``, and is divided
            or spent in the same way.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list or tuple
            List of entries, one per attribute, or under SMP a tuple of the attribute's number and
            its entry. For L-GRR, an entry is a value. For unary encodings, it is an array of
            floats, which are 0 or 1, one per value. For L-ADP, it is a value (L-GRR) or an array of
            floats (L-OSUE).

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range or does not match ``d``, or if a budget cannot be
            realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SPL_Solution import SPL_L_GRR_Client
        >>> SPL_L_GRR_Client((1, 2), [2, 3], d=2, eps_perm=4.0, eps_1=2.0, rng=Stream(1))
        [1, 2]
        """
        return self._answer(self._factory, input_tuple, rng, lst_k, d, eps_perm, eps_1)

    def aggregate(
        self, reports_tuple: Sent, lst_k: Ks, d: int, eps_perm: float, eps_1: float
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. Here it is the budget of a whole
            record. SPL divides it by d for each attribute. SMP spends all of it on the sampled
            attribute.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``, and is divided
            or spent in the same way.

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range or
            does not match ``d``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SPL_Solution import SPL_L_GRR_Aggregator
        >>> reports = [[1, 2], [1, 0], [0, 2], [1, 2]]
        >>> estimates = SPL_L_GRR_Aggregator(reports, [2, 3], d=2, eps_perm=8.0, eps_1=4.0)
        >>> [each.round(2) for each in estimates]
        [array([0.17, 0.83]), array([0.18, 0.  , 0.82])]
        """
        return self._aggregate(self._factory, reports_tuple, lst_k, d, eps_perm, eps_1)

    def aggregate_vectors(
        self, reports_tuple: Sent, d: int, eps_perm: float, eps_1: float, *, lst_k: Ks | None = None
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        d : int
            Number of attributes.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. Here it is the budget of a whole
            record. SPL divides it by d for each attribute. SMP spends all of it on the sampled
            attribute.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``, and is divided
            or spent in the same way.
        lst_k : list of int, optional
            Number of possible values of each attribute. None, the default, means the lengths of the
            reported rows. It is needed for an array that ``randomize`` returns. Under SMP it is
            also needed if no user reported some attribute.

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range. Also
            if ``lst_k`` is needed and missing.

        Examples
        --------
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SPL_Solution import SPL_L_OSUE_Aggregator
        >>> reports = [[[0, 1], [0, 0, 1]], [[1, 0], [0, 1, 1]]]
        >>> [each.round(2) for each in SPL_L_OSUE_Aggregator(reports, d=2, eps_perm=8.0, eps_1=4.0)]
        [array([0.5, 0.5]), array([0. , 0.3, 0.7])]
        """
        return self._aggregate_vectors(self._factory, reports_tuple, lst_k, d, eps_perm, eps_1)


class SampledTwoBudgets(TwoBudgets[Pair]):
    """Functions of SMP with two budgets, for all protocols but L-GRR.

    The paper names their reports ``reports_ue_tuple``.

    Parameters
    ----------
    solution : type
        The solution: ``SMP``.
    factory : callable
        Makes the protocol of an attribute from its domain size and both budgets.
    **options : object
        Further options of the solution, such as ``fake`` of ``RSFD``.
    """

    def aggregate(
        self, reports_ue_tuple: Sent, lst_k: Ks, d: int, eps_perm: float, eps_1: float
    ) -> list[Vector]:
        """Return the estimated frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_ue_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. All of it is spent on the
            sampled attribute.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range or
            does not match ``d``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SMP_Solution import SMP_L_ADP_Aggregator
        >>> reports = [(0, 1), (1, 2), (0, 0), (0, 1)]
        >>> estimates = SMP_L_ADP_Aggregator(reports, [2, 3], d=2, eps_perm=4.0, eps_1=2.0)
        >>> [each.round(2) for each in estimates]
        [array([0.28, 0.72]), array([0., 0., 1.])]
        """
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

        Parameters
        ----------
        reports_ue_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        d : int
            Number of attributes.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. All of it is spent on the
            sampled attribute.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        lst_k : list of int, optional
            Number of possible values of each attribute. None, the default, means the lengths of the
            reported rows. It is needed for an array that ``randomize`` returns, and if no user
            reported some attribute.

        Returns
        -------
        list of array
            Estimated frequency of each value, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range. Also
            if ``lst_k`` is needed and missing.

        Examples
        --------
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SMP_Solution import SMP_L_OSUE_Aggregator
        >>> reports = [(0, [0, 1]), (0, [1, 1]), (1, [0, 0, 1])]
        >>> [each.round(2) for each in SMP_L_OSUE_Aggregator(reports, d=2, eps_perm=4.0, eps_1=2.0)]
        [array([0.3, 0.7]), array([0., 0., 1.])]
        """
        return self._aggregate_vectors(self._factory, reports_ue_tuple, lst_k, d, eps_perm, eps_1)


class Buckets(_Records[Answer]):
    """Functions of dBitFlipPM.

    Parameters
    ----------
    solution : type
        The solution: ``SPL`` or ``SMP``.
    """

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
        """Return the first report of a new user.

        SPL sends one entry per attribute. SMP sends the sampled attribute and its entry. The bucket
        of value v is ⌊v·b/k⌋, for an attribute of k values and b buckets.

        The function stores no permanent answer, so call it once per user. A device that reports
        again uses ``Client``.

        Parameters
        ----------
        input_tuple : list, tuple or array of int
            Record of the user: the value of each attribute, from 0 to lst_k[j] − 1 for attribute j.
        lst_k : list of int
            Number of possible values of each attribute. An array is accepted too.
        lst_b : list of int
            Number of buckets of each attribute, from 2 to its number of values. An array is
            accepted too.
        d_bits : int
            Number of buckets that a user holds, for each attribute. It is at most the smallest
            entry of ``lst_b``.
        d : int
            Number of attributes, which is the length of ``lst_k``.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. Here it is the budget of a whole
            record. SPL divides it by d for each attribute. SMP spends all of it on the sampled
            attribute.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list or tuple
            List of entries, one per attribute, or under SMP a tuple of the attribute's number and
            its entry. An entry is an array of floats, one per bucket. It holds the randomized bit,
            0 or 1, of each bucket that the user holds, and −1 for the others.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range or does not match ``d``, or if a budget cannot be
            realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SPL_Solution import SPL_dBitFlipPM_Client
        >>> stream, sizes, buckets = Stream(1), [6, 4], [3, 2]
        >>> SPL_dBitFlipPM_Client((5, 2), sizes, buckets, d_bits=1, d=2, eps_perm=8.0, rng=stream)
        [array([ 0., -1., -1.]), array([-1.,  1.])]
        """
        return self._answer(DBitFlipPM, input_tuple, rng, lst_k, d, eps_perm, None, lst_b, d_bits)

    def aggregate(
        self, reports_tuple: Sent, lst_b: Ks, d_bits: int, d: int, eps_perm: float
    ) -> list[Vector]:
        """Return the estimated bucket frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        lst_b : list of int
            Number of buckets of each attribute. An array is accepted too.
        d_bits : int
            Number of buckets that a user holds, for each attribute. It is at most the smallest
            entry of ``lst_b``.
        d : int
            Number of attributes, which is the length of ``lst_b``.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. Here it is the budget of a whole
            record. SPL divides it by d for each attribute. SMP spends all of it on the sampled
            attribute.

        Returns
        -------
        list of array
            Estimated frequency of each bucket, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range or
            does not match ``d``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SPL_Solution import SPL_dBitFlipPM_Aggregator
        >>> reports = [[[1, 0, -1], [1, 0]], [[-1, 1, 0], [0, 1]], [[1, -1, 0], [1, 0]]]
        >>> estimates = SPL_dBitFlipPM_Aggregator(reports, [3, 2], d_bits=2, d=2, eps_perm=8.0)
        >>> [each.round(2) for each in estimates]
        [array([0.7, 0.3, 0. ]), array([0.72, 0.28])]
        """
        b = _bucket_numbers(lst_b)
        return self._aggregate(DBitFlipPM, reports_tuple, b, d, eps_perm, b=b, d_bits=d_bits)


class SampledBuckets(Buckets[Pair]):
    """Functions of dBitFlipPM under SMP.

    The paper names their reports ``reports_ue_tuple``.

    Parameters
    ----------
    solution : type
        The solution: ``SMP``.
    """

    def aggregate(
        self, reports_ue_tuple: Sent, lst_b: Ks, d_bits: int, d: int, eps_perm: float
    ) -> list[Vector]:
        """Return the estimated bucket frequencies of each attribute, clipped at 0 and normalised.

        Parameters
        ----------
        reports_ue_tuple : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the solution returns is accepted too.
        lst_b : list of int
            Number of buckets of each attribute. An array is accepted too.
        d_bits : int
            Number of buckets that a user holds, for each attribute. It is at most the smallest
            entry of ``lst_b``.
        d : int
            Number of attributes, which is the length of ``lst_b``.
        eps_perm : float
            Privacy budget of all reports about an unchanged value. All of it is spent on the
            sampled attribute.

        Returns
        -------
        list of array
            Estimated frequency of each bucket, one array per attribute. The frequencies of an
            attribute are at least 0 and add up to 1. They are all equal if no user reported
            the attribute, or if every raw estimate is 0 or less.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range or
            does not match ``d``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_mdim_freq_est.L_SMP_Solution import SMP_dBitFlipPM_Aggregator
        >>> reports = [(0, [1, 0, -1]), (1, [0, 1]), (0, [-1, 1, 0])]
        >>> estimates = SMP_dBitFlipPM_Aggregator(reports, [3, 2], d_bits=2, d=2, eps_perm=8.0)
        >>> [each.round(2) for each in estimates]
        [array([0.67, 0.33, 0.  ]), array([0., 1.])]
        """
        b = _bucket_numbers(lst_b)
        return self._aggregate(DBitFlipPM, reports_ue_tuple, b, d, eps_perm, b=b, d_bits=d_bits)


def _bucket_numbers(lst_b: Any) -> tuple[int, ...]:
    return tuple(lst_b) if type(lst_b) is list else validate.domain_sizes("lst_b", lst_b)
