"""The functions of the paper for one attribute."""

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
    """Functions of one factory.

    The parameters are usually the same objects in every call. The last ones are kept, because a
    lookup would take as long as the rest of a call.
    """

    # The parameters of the last call, and the function that answers
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
    """Functions of two factories.

    ``factory(optimal)`` returns one of the two. ``optimal`` is the last parameter.
    """

    def _draw(self, *parameters: Any) -> Ahead:
        *others, optimal = parameters
        return draw_ahead(self._factory(optimal), *others)


class OneBudget(_Values[Report]):
    """Functions of a factory with one budget.

    Parameters
    ----------
    factory : callable
        Makes the protocol from the domain size and the budget.
    """

    _latest = (_NOTHING,) * 3

    def answer(self, input_data: int, k: int, epsilon: float, *, rng: Rng = None) -> Report:
        """Return the randomized report of one user.

        Parameters
        ----------
        input_data : int
            Value of the user, from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        int or array
            For GRR, a value. For SS, the values of a set as an array in ascending order. For HE, an
            array of k floats: the one-hot vector plus integer noise.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if a budget is too small to be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
        >>> stream = Stream(1)
        >>> [GRR_Client(value, k=4, epsilon=1.0, rng=stream) for value in (0, 1, 2, 3, 3, 3)]
        [0, 1, 2, 3, 0, 3]
        """
        last_k, last_epsilon, answer = self._latest
        if k is last_k and epsilon is last_epsilon and rng is None:
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, epsilon)

    def aggregate(self, reports: Sent, k: int, epsilon: float) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator
        >>> GRR_Aggregator([0, 1, 1, 1, 2, 1, 1, 0], k=3, epsilon=2.0).round(2)
        array([0.21, 0.76, 0.03])
        """
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
        """Return the frequencies estimated by iterative Bayesian update.

        The update starts from the uniform distribution. It uses a matrix with p on the diagonal and
        q elsewhere, scaled so that each row adds up to 1.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report.
        nb_iter : int
            Largest number of iterations.
        tol : float
            Tolerance, greater than 0. The iteration stops when the change of the estimate is
            smaller.
        err_func : {"max_abs", "mse", "mae", "max_squared"}
            Measure of the change: the largest absolute change, the mean squared change, the mean
            absolute change, or the largest squared change.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1, up to
            rounding.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_IBU
        >>> GRR_Aggregator_IBU([0, 1, 1, 1, 2, 1, 1, 0], k=3, epsilon=2.0).round(2)
        array([0.21, 0.76, 0.03])
        """
        tally = self._tally(reports, k, epsilon)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class OneBudgetChoice(_Choice[Report]):
    """Functions of two factories with one budget.

    Parameters
    ----------
    factory : callable
        Takes ``optimal`` and returns the factory of the protocol.
    """

    _latest = (_NOTHING,) * 4

    def answer(
        self, input_data: int, k: int, epsilon: float, optimal: bool = True, *, rng: Rng = None
    ) -> Report:
        """Return the randomized report of one user.

        Parameters
        ----------
        input_data : int
            Value of the user, from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report.
        optimal : bool
            True for OUE (UE), for OLH (LH), or to choose between GRR and OUE (ADP). False for SUE
            (UE), for BLH (LH), or to choose between GRR and SUE (ADP).
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        int, array or tuple of int
            For UE, an array of k floats, which are 0 or 1. For LH, the randomized hashed value and
            the seed of the hash function. For ADP, a value (GRR) or an array of k floats (UE).

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if a budget is too small to be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
        >>> from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
        >>> UE_Client(2, k=4, epsilon=1.0, rng=Stream(1))
        array([0., 0., 0., 1.])
        >>> LH_Client(2, k=4, epsilon=1.0, optimal=False, rng=Stream(1))
        (0, 3)
        """
        last_k, last_epsilon, last_optimal, answer = self._latest
        if k is last_k and epsilon is last_epsilon and optimal is last_optimal and rng is None:
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, epsilon, optimal)

    def aggregate(self, reports: Sent, k: int, epsilon: float, optimal: bool = True) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report.
        optimal : bool
            True for OUE (UE), for OLH (LH), or to choose between GRR and OUE (ADP). False for SUE
            (UE), for BLH (LH), or to choose between GRR and SUE (ADP).

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy import OLH
        >>> from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator
        >>> reports = OLH(3, epsilon=2.0).randomize([0, 1, 1, 1, 2] * 200, rng=1)
        >>> LH_Aggregator(reports, k=3, epsilon=2.0).round(2)
        array([0.21, 0.59, 0.21])
        """
        return estimate_normalised(self._tally(reports, k, epsilon, optimal))

    def aggregate_vectors(
        self, reports: Sent, epsilon: float, optimal: bool = True, *, k: int | None = None
    ) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        epsilon : float
            Privacy budget of one report.
        optimal : bool
            True for OUE, False for SUE.
        k : int, optional
            Number of possible values, which are 0, …, k − 1. None, the default, is the length of
            the first report. An array that ``randomize`` returns is packed and needs ``k``.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator
        >>> UE_Aggregator([[1, 0, 0], [0, 1, 1], [0, 1, 0]], epsilon=2.0).round(2)
        array([0.22, 0.56, 0.22])
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
        """Return the frequencies estimated by iterative Bayesian update.

        The update starts from the uniform distribution. It uses a matrix with p on the diagonal and
        q elsewhere, scaled so that each row adds up to 1.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report.
        optimal : bool
            True for OUE (UE), for OLH (LH), or to choose between GRR and OUE (ADP). False for SUE
            (UE), for BLH (LH), or to choose between GRR and SUE (ADP).
        nb_iter : int
            Largest number of iterations.
        tol : float
            Tolerance, greater than 0. The iteration stops when the change of the estimate is
            smaller.
        err_func : {"max_abs", "mse", "mae", "max_squared"}
            Measure of the change: the largest absolute change, the mean squared change, the mean
            absolute change, or the largest squared change.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1, up to
            rounding.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_IBU
        >>> UE_Aggregator_IBU([[1, 0, 0], [0, 1, 1], [0, 1, 0]], k=3, epsilon=2.0).round(2)
        array([0.17, 0.66, 0.17])
        """
        tally = self._tally(reports, k, epsilon, optimal)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class TwoBudgets(_Values[Report]):
    """Functions of a factory with two budgets.

    Parameters
    ----------
    factory : callable
        Makes the protocol from the domain size and both budgets.
    """

    _latest = (_NOTHING,) * 4

    def answer(
        self, input_data: int, k: int, eps_perm: float, eps_1: float, *, rng: Rng = None
    ) -> Report:
        """Return the first report of a new user.

        The function stores no permanent answer, so call it once per user. A device that reports
        again uses ``Client``.

        Parameters
        ----------
        input_data : int
            Value of the user, from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        int or array
            For L-GRR, a value. For unary encodings, an array of k floats, which are 0 or 1. For
            L-ADP, a value (L-GRR) or an array of k floats (L-OSUE).

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if budgets cannot be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Client
        >>> stream = Stream(1)
        >>> [L_GRR_Client(value, k=4, eps_perm=2.0, eps_1=1.0, rng=stream) for value in (0, 1, 2)]
        [3, 1, 2]
        """
        last_k, last_perm, last_1, answer = self._latest
        if k is last_k and eps_perm is last_perm and eps_1 is last_1 and rng is None:
            return answer(input_data)  # type: ignore[no-any-return]
        return self._answer(input_data, rng, k, eps_perm, eps_1)

    def aggregate(self, reports: Sent, k: int, eps_perm: float, eps_1: float) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Aggregator
        >>> L_GRR_Aggregator([0, 1, 1, 1, 2, 1, 1, 0], k=3, eps_perm=4.0, eps_1=2.0).round(2)
        array([0.21, 0.76, 0.03])
        """
        return estimate_normalised(self._tally(reports, k, eps_perm, eps_1))

    def aggregate_vectors(
        self, reports: Sent, eps_perm: float, eps_1: float, *, k: int | None = None
    ) -> Vector:
        """Return the estimated frequencies, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        k : int, optional
            Number of possible values, which are 0, …, k − 1. None, the default, is the length of
            the first report. An array that ``randomize`` returns is packed and needs ``k``.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_freq_est.L_OSUE import L_OSUE_Aggregator
        >>> rows = [[1, 0, 0], [0, 1, 1], [0, 1, 0]]
        >>> L_OSUE_Aggregator(rows, eps_perm=4.0, eps_1=2.0).round(2)
        array([0.22, 0.56, 0.22])
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
        """Return the frequencies estimated by iterative Bayesian update.

        The update starts from the uniform distribution. It uses a matrix with p on the diagonal and
        q elsewhere, scaled so that each row adds up to 1.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        nb_iter : int
            Largest number of iterations.
        tol : float
            Tolerance, greater than 0. The iteration stops when the change of the estimate is
            smaller.
        err_func : {"max_abs", "mse", "mae", "max_squared"}
            Measure of the change: the largest absolute change, the mean squared change, the mean
            absolute change, or the largest squared change.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1, up to
            rounding.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_freq_est.L_GRR import L_GRR_Aggregator_IBU
        >>> L_GRR_Aggregator_IBU([0, 1, 1, 1, 2, 1, 1, 0], k=3, eps_perm=4.0, eps_1=2.0).round(2)
        array([0.21, 0.76, 0.03])
        """
        tally = self._tally(reports, k, eps_perm, eps_1)
        return estimate_by_update(tally, tally.channel, nb_iter, tol, err_func)


class TwoBudgetsChoice(_Choice[Report]):
    """Functions of two factories with two budgets.

    Parameters
    ----------
    factory : callable
        Takes ``optimal`` and returns the factory of the protocol.
    """

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
        """Return the first report of a new user.

        The function stores no permanent answer, so call it once per user. A device that reports
        again uses ``Client``.

        Parameters
        ----------
        input_data : int
            Value of the user, from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        optimal : bool
            True for L-OLH, False for L-BLH.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        tuple of int
            Randomized hashed value, and the seed of the hash function.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if budgets cannot be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_freq_est.L_LH import L_LH_Client
        >>> L_LH_Client(2, k=4, eps_perm=4.0, eps_1=2.0, rng=Stream(1))
        (1, 2)
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
        """Return the estimated frequencies, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        optimal : bool
            True for L-OLH, False for L-BLH.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy import LOLH
        >>> from multi_freq_ldpy.long_freq_est.L_LH import L_LH_Aggregator
        >>> reports = LOLH(3, eps_perm=4.0, eps_1=2.0).randomize([0, 1, 1, 1, 2] * 200, rng=1)
        >>> L_LH_Aggregator(reports, k=3, eps_perm=4.0, eps_1=2.0).round(2)
        array([0.21, 0.6 , 0.19])
        """
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
        """Return the frequencies estimated by iterative Bayesian update.

        The update starts from the uniform distribution. It uses a matrix with p on the diagonal and
        q elsewhere, scaled so that each row adds up to 1.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        eps_1 : float
            Privacy budget of the first report. It must be smaller than ``eps_perm``.
        optimal : bool
            True for L-OLH, False for L-BLH.
        nb_iter : int
            Largest number of iterations.
        tol : float
            Tolerance, greater than 0. The iteration stops when the change of the estimate is
            smaller.
        err_func : {"max_abs", "mse", "mae", "max_squared"}
            Measure of the change: the largest absolute change, the mean squared change, the mean
            absolute change, or the largest squared change.

        Returns
        -------
        array
            Estimated frequency of each value. Frequencies are at least 0 and add up to 1, up to
            rounding.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy import LOLH
        >>> from multi_freq_ldpy.long_freq_est.L_LH import L_LH_Aggregator_IBU
        >>> reports = LOLH(3, eps_perm=4.0, eps_1=2.0).randomize([0, 1, 1, 1, 2] * 200, rng=1)
        >>> L_LH_Aggregator_IBU(reports, k=3, eps_perm=4.0, eps_1=2.0).round(2)
        array([0.21, 0.6 , 0.19])
        """
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
        """Return the first report of a new user.

        The bucket of value v is ⌊v·b/k⌋. The function stores no permanent answer, so call it once
        per user. A device that reports again uses ``Client``.

        Parameters
        ----------
        input_data : int
            Value of the user, from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        b : int
            Number of buckets, from 2 to k.
        d_bits : int
            Number of buckets that a user holds, from 1 to b.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        array
            One float per bucket: the randomized bit, 0 or 1, of each bucket that the user holds,
            and −1 for the others.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if a budget is too small to be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Client
        >>> dBitFlipPM_Client(4, k=6, b=3, d_bits=2, eps_perm=4.0, rng=Stream(1))
        array([-1.,  0.,  1.])
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
        """Return the estimated frequencies of buckets, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the protocol returns is accepted too.
        b : int
            Number of buckets.
        d_bits : int
            Number of buckets that a user holds, from 1 to b.
        eps_perm : float
            Privacy budget of all reports about an unchanged value.

        Returns
        -------
        array
            Estimated frequency of each bucket. Frequencies are at least 0 and add up to 1. If every
            raw estimate is 0 or less, they are all 1/b.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.
            Domains of more than 2²⁸ values are refused: count them with ``tally(reports,
            large=True)``.

        Examples
        --------
        >>> from multi_freq_ldpy.long_freq_est.dBitFlipPM import dBitFlipPM_Aggregator
        >>> reports = [[1, 0, -1], [-1, 1, 0], [0, -1, 0], [0, 1, -1]]
        >>> dBitFlipPM_Aggregator(reports, b=3, d_bits=2, eps_perm=4.0).round(2)
        array([0.28, 0.72, 0.  ])
        """
        return estimate_normalised(self._tally(reports, b, eps_perm, b, d_bits))
