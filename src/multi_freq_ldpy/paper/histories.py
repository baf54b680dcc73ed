"""Functions for whole histories, in the style of the paper.

A client function takes the values of one user in all rounds. An aggregator function takes the
reports of all users in all rounds.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.randomness import Rng
from ..longitudinal.history import MOST_ROUNDS, History
from ..longitudinal.once import Once
from ..longitudinal.steps import Steps
from ..mechanism import SILENT, find_silent
from .naming import Functions
from .shared import (
    Sent,
    Vector,
    is_packed,
    remember_by_parameters,
    require_reports,
    require_stateful_rng,
)

Reports: TypeAlias = list[bytes | None]
"""The reports of one user: one entry per round, None in a round without a report."""

check_rounds = validate.Integer(2, MOST_ROUNDS)


@remember_by_parameters
def make_history(factory: Callable[..., History], **parameters: Any) -> History:
    """Return the mechanism with these parameters, which is made once."""
    return factory(**parameters)


class _Histories(Functions):
    """Functions of one class. The number of rounds is the length of a history."""

    def __init__(self, factory: Callable[..., History]) -> None:
        self._factory = factory

    def _answer(self, input_data: Any, rng: Rng, /, **parameters: Any) -> Reports:
        given = validate.as_array("input_data", input_data)
        if given.ndim != 1:
            raise ValueError(
                "input_data must be the values of one user, one per round, not"
                f" {validate.quote(input_data)}"
            )
        rounds = check_rounds("length of input_data", len(given))
        history = make_history(self._factory, rounds=rounds, **parameters)
        values, _ = history._inputs(given, "input_data")
        own = None if rng is None else require_stateful_rng(rng)
        reports = history.randomize(values[0], own)
        silent = find_silent(reports)
        return [
            None if quiet else report.tobytes()
            for quiet, report in zip(silent, reports, strict=True)
        ]

    def _aggregate(self, reports: Any, /, **parameters: Any) -> Vector:
        reports = require_reports(reports)
        rounds = check_rounds("length of reports[0]", _count_rounds(reports[0]))
        history = make_history(self._factory, rounds=rounds, **parameters)
        history._require_countable(large=False)
        found = history.estimate(_pack(history, reports))
        return np.array([each.norm() for each in found])


def _count_rounds(row: object) -> int:
    """Return the number of reports of one user."""
    if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str | bytes):
        raise TypeError(
            f"reports must be lists, one per user with one entry per round, not"
            f" {validate.quote(row)} among others"
        )
    return len(row)


def _pack(history: History, reports: Any) -> NDArray[Any]:
    """Return the reports of all users as an array, as ``randomize`` returns it."""
    if is_packed(history, reports):
        packed: NDArray[Any] = reports
        return packed
    dtype, rounds = history.at(0).report_dtype, history.rounds
    size, data = dtype.itemsize, bytearray()
    silence = bytes([SILENT]) * size
    for i, row in enumerate(reports):
        if _count_rounds(row) != rounds:
            raise ValueError(
                f"reports[{i}] must have {rounds} entries, one per round, as reports[0] has, not"
                f" {len(row)}"
            )
        for r, each in enumerate(row):
            if each is not None and (not isinstance(each, bytes) or len(each) != size):
                raise ValueError(
                    f"reports[{i}][{r}] must be None or {size} bytes, not {validate.quote(each)}"
                )
            data += silence if each is None else each
    return np.frombuffer(bytes(data), dtype).reshape(len(reports), rounds)


class TimeSampling(_Histories):
    """Functions of ``Once``."""

    def __init__(self) -> None:
        super().__init__(Once)

    def answer(
        self,
        input_data: ArrayLike,
        k: int,
        epsilon: float,
        protocol: str = "SS",
        window: int | None = None,
        *,
        rng: Rng = None,
    ) -> Reports:
        """Return the reports of one user in all rounds.

        The function draws all noise of the user anew, so call it once per user. A device that
        reports round by round uses ``Client``.

        Parameters
        ----------
        input_data : list of int
            Values of the user, one per round, each from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report. Without a window it is the budget of the whole history.
        protocol : str
            Name of the one-shot protocol of the reports.
        window : int, optional
            Number of rounds after which a user reports again. None, the default, means that every
            user reports once.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list of bytes or None
            One entry per round: the report, or None if the user does not report.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if a budget is too small to be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_freq_est.Histories import Once_Client
        >>> reports = Once_Client([0, 0, 2, 2], k=3, epsilon=1.0, rng=Stream(1))
        >>> [each is None for each in reports]
        [False, True, True, True]
        """
        return self._answer(input_data, rng, k=k, epsilon=epsilon, protocol=protocol, window=window)

    def aggregate(
        self,
        reports: Sent,
        k: int,
        epsilon: float,
        protocol: str = "SS",
        window: int | None = None,
    ) -> Vector:
        """Return the estimated frequencies of all rounds, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the class returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of one report. Without a window it is the budget of the whole history.
        protocol : str
            Name of the one-shot protocol of the reports.
        window : int, optional
            Number of rounds after which a user reports again. None, the default, means that every
            user reports once.

        Returns
        -------
        array of shape (rounds, k)
            Estimated frequency of each value in each round. Frequencies of a round are at least 0
            and add up to 1. If every raw estimate is 0 or less, or if there is no report, they are
            all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.

        Examples
        --------
        >>> from multi_freq_ldpy import Once
        >>> from multi_freq_ldpy.long_freq_est.Histories import Once_Aggregator
        >>> reports = Once(2, epsilon=4.0, rounds=3).randomize([[0, 1, 1], [0, 0, 1]] * 5000, rng=1)
        >>> Once_Aggregator(reports, k=2, epsilon=4.0).round(1)
        array([[1. , 0. ],
               [0.5, 0.5],
               [0. , 1. ]])
        """
        return self._aggregate(reports, k=k, epsilon=epsilon, protocol=protocol, window=window)


class ValuesAndSteps(_Histories):
    """Functions of ``Steps``."""

    def __init__(self) -> None:
        super().__init__(Steps)

    def answer(
        self,
        input_data: ArrayLike,
        k: int,
        epsilon: float,
        changes: int,
        protocol: str = "SS",
        encoding: str = "unary",
        values: float | None = None,
        *,
        rng: Rng = None,
    ) -> Reports:
        """Return the reports of one user in all rounds.

        The function draws all noise of the user anew, so call it once per user. A device that
        reports round by round uses ``Client``.

        Parameters
        ----------
        input_data : list of int
            Values of the user, one per round, each from 0 to k − 1.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of the whole history.
        changes : int
            Largest number of changes after the first round for which estimates are unbiased.
        protocol : str
            Name of the one-shot protocol of the reports of values.
        encoding : {"unary", "row"}
            Content of a report of steps: one symbol per value, or one symbol for a drawn row of a
            Hadamard matrix.
        values : {0.5, 0.75, 1.0}, optional
            Share of the users who report their value. None, the default, chooses the share of least
            mean variance.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list of bytes or None
            One entry per round: the report, or None if the user does not report.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if a budget is too small to be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_freq_est.Histories import Steps_Client
        >>> reports = Steps_Client([0, 0, 2, 2], k=3, epsilon=1.0, changes=1, rng=Stream(1))
        >>> [each is None for each in reports]
        [False, True, True, True]
        """
        return self._answer(
            input_data,
            rng,
            k=k,
            epsilon=epsilon,
            changes=changes,
            protocol=protocol,
            encoding=encoding,
            values=values,
        )

    def aggregate(
        self,
        reports: Sent,
        k: int,
        epsilon: float,
        changes: int,
        protocol: str = "SS",
        encoding: str = "unary",
        values: float | None = None,
    ) -> Vector:
        """Return the estimated frequencies of all rounds, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the class returns is accepted too.
        k : int
            Number of possible values, which are 0, …, k − 1.
        epsilon : float
            Privacy budget of the whole history.
        changes : int
            Largest number of changes after the first round for which estimates are unbiased.
        protocol : str
            Name of the one-shot protocol of the reports of values.
        encoding : {"unary", "row"}
            Content of a report of steps: one symbol per value, or one symbol for a drawn row of a
            Hadamard matrix.
        values : {0.5, 0.75, 1.0}, optional
            Share of the users who report their value. None, the default, chooses the share of least
            mean variance.

        Returns
        -------
        array of shape (rounds, k)
            Estimated frequency of each value in each round. Frequencies of a round are at least 0
            and add up to 1. If every raw estimate is 0 or less, or if there is no report, they are
            all 1/k.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> from multi_freq_ldpy.long_freq_est.Histories import Steps_Aggregator
        >>> history = Steps(2, epsilon=4.0, rounds=3, changes=1)
        >>> reports = history.randomize([[0, 1, 1], [0, 0, 1]] * 5000, rng=1)
        >>> Steps_Aggregator(reports, k=2, epsilon=4.0, changes=1).round(1)
        array([[1. , 0. ],
               [0.5, 0.5],
               [0. , 1. ]])
        """
        return self._aggregate(
            reports,
            k=k,
            epsilon=epsilon,
            changes=changes,
            protocol=protocol,
            encoding=encoding,
            values=values,
        )


class BooleanSteps(_Histories):
    """Functions of ``Tree`` or ``DDRM``, for Boolean values that are 0 before the first round.

    Parameters
    ----------
    factory : type
        Class of the mechanism, a dataclass.
    bound : str
        Name of the parameter of this class that is called ``told`` here.
    """

    def __init__(self, factory: type[History], bound: str) -> None:
        super().__init__(factory)
        self._bound = bound
        self._check = next(f.metadata["check"] for f in fields(factory) if f.name == bound)

    def _name_parameters(self, epsilon: Any, told: Any, kernel: Any) -> dict[str, Any]:
        kernels = {} if kernel is None else {"kernel": kernel}
        return {"epsilon": epsilon, self._bound: self._check("told", told), **kernels}

    def answer(
        self,
        input_data: ArrayLike,
        epsilon: float,
        told: int,
        kernel: str | None = None,
        *,
        rng: Rng = None,
    ) -> Reports:
        """Return the reports of one user in all rounds.

        The function draws all noise of the user anew, so call it once per user. A device that
        reports round by round uses ``Client``.

        Parameters
        ----------
        input_data : list of int
            Values of the user, one per round, each 0 or 1. The value before the first round is 0.
        epsilon : float
            Privacy budget of the whole history.
        told : int
            Number of steps other than 0 that a user can tell. It is ``changes`` of ``Tree``, and
            ``reports`` of ``DDRM``.
        kernel : {"ball", "linear", "product"}, optional
            Noise of the steps. None, the default, is "ball" for ``Tree`` and "product" for
            ``DDRM``.
        rng : None, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. Pass a seed as a Stream or a Generator. An int or a
            SeedSequence is refused, because it would give every user the same noise.

        Returns
        -------
        list of bytes or None
            One entry per round: the report, or None if the user does not report.

        Raises
        ------
        TypeError
            If a parameter has a wrong type.
        ValueError
            If a parameter is out of range, or if a budget is too small to be realised.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> from multi_freq_ldpy.long_freq_est.Histories import DDRM_Client, Tree_Client
        >>> reports = Tree_Client([0, 0, 1, 1], epsilon=1.0, told=1, rng=Stream(1))
        >>> [each is None for each in reports]
        [True, True, True, False]
        >>> None in DDRM_Client([0, 0, 1, 1], epsilon=1.0, told=3, rng=Stream(1))
        False
        """
        return self._answer(input_data, rng, **self._name_parameters(epsilon, told, kernel))

    def aggregate(
        self, reports: Sent, epsilon: float, told: int, kernel: str | None = None
    ) -> Vector:
        """Return the estimated frequencies of all rounds, clipped at 0 and normalised.

        Parameters
        ----------
        reports : list or array
            Reports of all users, as the client function returns them. An array that ``randomize``
            of the class returns is accepted too.
        epsilon : float
            Privacy budget of the whole history.
        told : int
            Number of steps other than 0 that a user can tell. It is ``changes`` of ``Tree``, and
            ``reports`` of ``DDRM``.
        kernel : {"ball", "linear", "product"}, optional
            Noise of the steps. None, the default, is "ball" for ``Tree`` and "product" for
            ``DDRM``.

        Returns
        -------
        array of shape (rounds, 2)
            Estimated frequencies of 0 and 1 in each round. They are at least 0 and add up to 1. If
            there is no report, both are 1/2.

        Raises
        ------
        TypeError
            If the reports or a parameter have a wrong type.
        ValueError
            If there are no reports, if a report is invalid, or if a parameter is out of range.

        Examples
        --------
        >>> from multi_freq_ldpy import Tree
        >>> from multi_freq_ldpy.long_freq_est.Histories import Tree_Aggregator
        >>> history = Tree(epsilon=4.0, rounds=3, changes=1)
        >>> reports = history.randomize([[0, 1, 1], [0, 0, 1]] * 5000, rng=1)
        >>> Tree_Aggregator(reports, epsilon=4.0, told=1).round(1)
        array([[1. , 0. ],
               [0.5, 0.5],
               [0. , 1. ]])
        """
        return self._aggregate(reports, **self._name_parameters(epsilon, told, kernel))
