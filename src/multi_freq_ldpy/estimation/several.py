"""Frequencies of several attributes, and of several rounds."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.tally import Tally
from . import rendering
from .differences import GROUPS, Differences
from .estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Truth: TypeAlias = ArrayLike | Sequence[ArrayLike | None] | Mapping[str, ArrayLike] | None
"""A list with one entry per attribute, or a mapping by name. For one attribute, an array."""


class Estimates(tuple[Estimate, ...]):
    """Estimates of several attributes: a tuple with one ``Estimate`` per attribute.

    An entry is found by its number, or by the name of its attribute.

    Parameters
    ----------
    iterable : iterable of Estimate
        Estimates of the attributes, in their order.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, SMP
    >>> solution = SMP(GRR, [2, 3], epsilon=2.0)
    >>> estimates = solution.estimate(solution.randomize([[1, 0], [1, 2]] * 5000, rng=1))
    >>> [e.frequencies.round(1) for e in estimates.norm_sub()]
    [array([0., 1.]), array([0.5, 0. , 0.5])]
    >>> estimates[1].interval().shape
    (3, 2)
    """

    __slots__ = ()

    @classmethod
    def of(cls, tally: Tally) -> "Estimates":
        """Return the raw estimates of a solution's tally.

        Parameters
        ----------
        tally : Tally
            The counts of all attributes.

        Returns
        -------
        Estimates
            Unbiased frequencies of each attribute.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, SPL, Estimates
        >>> solution = SPL(GRR, [2, 3], epsilon=4.0)
        >>> reports = solution.randomize([[1, 0], [0, 2]] * 500, rng=1)
        >>> Estimates.of(solution.tally(reports))[0].frequencies.round(1)
        array([0.5, 0.5])
        """
        return cls(map(Estimate.of, tally))

    @property
    def frequencies(self) -> list[NDArray[np.float64]]:
        """The frequencies of each attribute."""
        return [each.frequencies for each in self]

    @property
    def names(self) -> list[str]:
        """The names of the attributes, or their numbers if they have no names."""
        return [str(j) if each.name is None else each.name for j, each in enumerate(self)]

    @overload
    def __getitem__(self, attribute: SupportsIndex | str) -> Estimate: ...

    @overload
    def __getitem__(self, attribute: slice) -> "Estimates": ...

    def __getitem__(self, attribute: SupportsIndex | slice | str) -> "Estimate | Estimates":
        if not isinstance(attribute, str):
            if isinstance(attribute, slice):
                return Estimates(super().__getitem__(attribute))
            return super().__getitem__(attribute)
        if attribute not in self.names:
            raise KeyError(
                f"attribute must be one of {', '.join(map(repr, self.names))}, not {attribute!r}"
            )
        return super().__getitem__(self.names.index(attribute))

    def postprocess(self, method: str) -> "Estimates":
        """Post-process each attribute: see ``Estimate.postprocess``.

        Parameters
        ----------
        method : str
            A name in ``estimation.postprocess.METHODS``. "raw" changes nothing.

        Returns
        -------
        Estimates
            One distribution per attribute, without standard errors.

        Raises
        ------
        ValueError
            If the method is unknown or does not suit an attribute's protocol. If an estimate is
            post-processed already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Estimates
        >>> estimate = GRR(2, epsilon=1.0).estimate([0, 0, 0, 1])
        >>> Estimates([estimate]).postprocess("norm_sub").frequencies
        [array([1., 0.])]
        """
        return Estimates(each.postprocess(method) for each in self)

    def norm_sub(self) -> "Estimates":
        """Return, for each attribute, the distribution nearest to the frequencies.

        Returns
        -------
        Estimates
            One distribution per attribute, without standard errors.

        Raises
        ------
        ValueError
            If an estimate is post-processed already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Estimates
        >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
        >>> [each.frequencies.round(3) for each in Estimates([estimate]).norm_sub()]
        [array([0.981, 0.019, 0.   ])]
        """
        return self.postprocess("norm_sub")

    def norm(self) -> "Estimates":
        """Clip each attribute at 0 and divide by the sum, as the functions of the paper do.

        Returns
        -------
        Estimates
            One distribution per attribute, without standard errors.

        Raises
        ------
        ValueError
            If an estimate is post-processed already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Estimates
        >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
        >>> [each.frequencies.round(3) for each in Estimates([estimate]).norm()]
        [array([0.911, 0.089, 0.   ])]
        """
        return self.postprocess("norm")

    def difference(
        self, other: "Estimates", *, names: tuple[str, str] = GROUPS
    ) -> dict[str, Differences]:
        """Return the differences of all frequencies between two groups of users.

        Parameters
        ----------
        other : Estimates
            Estimates of the same attributes among other users. They are subtracted. No user may be
            in both groups.
        names : tuple of str
            Names of the two groups of users.

        Returns
        -------
        dict of Differences
            The differences with their errors, by attribute.

        Raises
        ------
        ValueError
            If the attributes or their values are not the same. If an estimate is post-processed.
        TypeError
            If ``other`` is not an ``Estimates``.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> young = survey.estimate(survey.randomize({"smokes": ["yes", "no"] * 2000}, rng=1))
        >>> old = survey.estimate(survey.randomize({"smokes": ["no"] * 4000}, rng=2))
        >>> round(young.difference(old)["smokes"]["yes"].value, 2)
        0.51
        """
        if not isinstance(other, Estimates):
            raise TypeError(f"other must be estimates of other users, not {validate.quote(other)}")
        if other.names != self.names:
            raise ValueError(
                f"other must have the attributes {', '.join(self.names)}, not"
                f" {', '.join(other.names)}"
            )
        return {
            name: own.difference(each, names=names)
            for name, own, each in zip(self.names, self, other, strict=True)
        }

    def labelled(
        self,
        labels: Iterable[Iterable[Hashable]],
        names: Iterable[str | None],
        kind: str | None = None,
    ) -> "Estimates":
        """Return the same estimates with names for the values and for the attributes.

        Parameters
        ----------
        labels : iterable of iterables
            The labels of each attribute, one per value.
        names : iterable of str
            The name of each attribute.
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of the tables that ``to_frame`` makes. By default it is unchanged.

        Returns
        -------
        Estimates
            The same frequencies and errors.

        Raises
        ------
        ValueError
            If the numbers of labels or names do not match.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Estimates
        >>> estimates = Estimates([GRR(2, epsilon=1.0).estimate([0, 0, 0, 1])])
        >>> estimates.labelled([["yes", "no"]], ["smokes"])["smokes"].values
        ('yes', 'no')
        """
        return Estimates(
            each.labelled(own, name, kind)
            for each, own, name in zip(self, labels, names, strict=True)
        )

    def to_frame(self, kind: str | None = None, level: float = 0.95) -> Any:
        """Return a table with one row per attribute and value: see ``Estimate.to_frame``.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table. By default it is the kind that the reports came in.
        level : float
            Probability with which an interval covers the true value.

        Returns
        -------
        table
            The column attribute, and the columns of ``Estimate.to_frame``.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, or ``level`` is out of range.
        ImportError
            If the library of this kind is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Estimates
        >>> estimates = Estimates(GRR(k, epsilon=1.0).estimate([0, 0, 1]) for k in (2, 3))
        >>> table = estimates.to_frame("dict")
        >>> table["attribute"], table["value"]
        (['0', '0', '1', '1', '1'], [0, 1, 0, 1, 2])
        """
        return stack_tables(zip(self.names, self, strict=True), "attribute", kind, level)

    def plot(
        self,
        truth: Truth = None,
        level: float = 0.95,
        *,
        title: str | None = None,
        **keywords: Any,
    ) -> "Figure":
        """Draw all attributes side by side, each as ``Estimate.plot`` does, with one legend.

        Parameters
        ----------
        truth : list, or mapping by name, optional
            True frequencies, one entry per attribute.
        level : float
            Probability with which an interval covers the true value.
        title : str, optional
            Title of the figure.
        **keywords
            Further keywords of ``Estimate.plot``, such as ``color``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, with one panel per attribute. ``figure.savefig(path)`` writes it to a file.

        Raises
        ------
        ValueError
            If ``truth`` does not match the attributes, or ``level`` is out of range.
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from matplotlib import pyplot as plt
        >>> from multi_freq_ldpy import GRR, Estimates
        >>> figure = Estimates(GRR(k, epsilon=1.0).estimate([0, 0, 1]) for k in (2, 3)).plot()
        >>> [panel.get_title("left") for panel in figure.axes]
        ['0', '1']
        >>> plt.close(figure)
        """
        from . import plots

        figure: Figure = plots.draw_attributes(self, truth, level, title, **keywords)
        return figure

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return rendering.to_html(self)


class Rounds(list[Estimate | Estimates]):
    """Estimates of every round: a list with one ``Estimate`` or ``Estimates`` per round.

    Parameters
    ----------
    iterable : iterable of Estimate or Estimates
        Estimates of the rounds, in their order.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, Rounds
    >>> protocol = GRR(2, epsilon=2.0)
    >>> Rounds(protocol.estimate([0] * n + [1] * (1000 - n)) for n in (600, 700))
    2 rounds, the last:
    Estimate from 1,000 users: frequency ± standard error
    0  0.763 ± 0.013
    1  0.237 ± 0.013
    """

    _compare: Callable[[int, int], Differences] | None = None
    _compares: tuple[Any, ...] = ()

    def attribute(self, name: str | int) -> "Rounds":
        """Return the estimates of one attribute in every round.

        Parameters
        ----------
        name : str or int
            Name or number of the attribute.

        Returns
        -------
        Rounds
            One ``Estimate`` per round. For whole histories it has ``difference``.

        Raises
        ------
        TypeError
            If the rounds have no attributes.
        KeyError
            If there is no attribute of this name.
        IndexError
            If there is no attribute of this number.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0, rounds=4, changes=1)
        >>> weeks = [{"smokes": ["no"] * 50_000}] * 2 + [{"smokes": ["yes", "no"] * 25_000}]
        >>> found = survey.panel(50_000, rng=1).run(weeks).attribute("smokes")
        >>> change = found.difference(2, 0)["yes"]
        >>> round(change.value, 2), [round(each, 2) for each in change.interval()]
        (0.5, [0.48, 0.51])
        """
        if not all(isinstance(each, Estimates) for each in self):
            raise TypeError("these rounds are of one attribute: they have no attributes to choose")
        several = [each for each in self if isinstance(each, Estimates)]
        found = Rounds(each[name] for each in several)
        if several and self._compares:
            place = name if isinstance(name, int) else several[0].names.index(name)
            found._compare = replace(self._compares[place], rounds=found)
        return found

    def difference(self, first: int, second: int) -> Differences:
        """Return the changes of all frequencies between two rounds of a history.

        Parameters
        ----------
        first : int
            The round whose frequencies are meant, counted from 0.
        second : int
            The round whose frequencies are subtracted.

        Returns
        -------
        Differences
            The changes with their errors. The errors of two rounds are correlated, and this is
            taken into account. For ``Once`` with a window, the stated error may be too large.

        Raises
        ------
        ValueError
            If the errors of these rounds are not known together. They are known for the estimates
            of ``Once``, ``Steps``, ``Tree`` and ``DDRM``. If the rounds are of several attributes:
            choose one with ``attribute``.
        IndexError
            If there is no such round.

        Examples
        --------
        >>> from multi_freq_ldpy import Steps
        >>> history = Steps(2, epsilon=2.0, rounds=4, changes=1)
        >>> tally = history.simulate([[0, 0, 0, 0], [0, 0, 1, 1]], 1, counts=[50_000, 50_000])
        >>> change = history.estimate(tally).difference(3, 0)[1]
        >>> round(change.value, 2), [round(each, 2) for each in change.interval()]
        (0.51, [0.5, 0.52])
        """
        if self._compares:
            raise ValueError("the rounds are of several attributes: use attribute(name).difference")
        if self._compare is None:
            raise ValueError(
                "the errors of two rounds of the same users are not known together: only estimates"
                " of whole histories (Once, Steps, Tree, DDRM) have them"
            )
        places = []
        for name, given in (("first", first), ("second", second)):
            number = validate.Integer(-(2**62), 2**62)(name, given)
            if not -len(self) <= number < len(self):
                raise IndexError(f"{name} must be a round from 0 to {len(self) - 1}, not {number}")
            places.append(number % len(self))
        return self._compare(*places)

    @overload
    def __getitem__(self, i: SupportsIndex) -> Estimate | Estimates: ...

    @overload
    def __getitem__(self, i: slice) -> "Rounds": ...

    def __getitem__(self, i: SupportsIndex | slice) -> "Estimate | Estimates | Rounds":
        return Rounds(super().__getitem__(i)) if isinstance(i, slice) else super().__getitem__(i)

    def __repr__(self) -> str:
        return f"{len(self)} rounds" + (f", the last:\n{self[-1]!r}" if self else "")

    def _repr_html_(self) -> str:
        return f"<p>{len(self)} rounds{', the last:' if self else ''}</p>" + (
            self[-1]._repr_html_() if self else ""
        )

    def to_frame(self, kind: str | None = None, level: float = 0.95) -> Any:
        """Return a table with one row per round and value: see ``Estimate.to_frame``.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table. By default it is the kind that the reports came in.
        level : float
            Probability with which an interval covers the true value.

        Returns
        -------
        table
            The column round, the column attribute if there are several attributes, and the columns
            of ``Estimate.to_frame``.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, or ``level`` is out of range.
        ImportError
            If the library of this kind is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Rounds
        >>> protocol = GRR(2, epsilon=2.0)
        >>> rounds = Rounds(protocol.estimate([0] * n + [1] * (1000 - n)) for n in (600, 700))
        >>> table = rounds.to_frame("dict")
        >>> table["round"], [round(each, 3) for each in table["frequency"]]
        ([0, 0, 1, 1], [0.631, 0.369, 0.763, 0.237])
        """
        return stack_tables(enumerate(self), "round", kind, level)

    def plot(
        self,
        values: Truth = None,
        truth: Truth = None,
        level: float = 0.95,
        *,
        title: str | None = None,
        colors: Sequence[str] | None = None,
        **keywords: Any,
    ) -> "Figure":
        """Draw the frequencies over the rounds, with their intervals as bands.

        Parameters
        ----------
        values : list, or mapping by name, optional
            Values to draw. By default they are the most frequent values, one per colour. For
            several attributes, one list per attribute.
        truth : array, or mapping by name, optional
            True frequencies, one row per round and one column per value. For several attributes,
            one array per attribute.
        level : float
            Probability with which an interval covers the true value.
        title : str, optional
            Title of the figure.
        colors : list of str, optional
            Colours of the values. By default there are eight.
        **keywords
            Further keywords of ``Axes.plot`` for the estimates.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, with one panel per attribute.

        Raises
        ------
        ValueError
            If there are no rounds. If ``values`` or ``truth`` does not match the estimates. If
            there are more values than colours. If ``level`` is out of range.
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from matplotlib import pyplot as plt
        >>> from multi_freq_ldpy import GRR, Rounds
        >>> protocol = GRR(2, epsilon=2.0)
        >>> rounds = Rounds(protocol.estimate([0] * n + [1] * (1000 - n)) for n in (600, 700))
        >>> figure = rounds.plot(values=[0])
        >>> figure.axes[0].get_xlabel()
        'round'
        >>> plt.close(figure)
        """
        from . import plots

        figure: Figure = plots.draw_rounds(self, values, truth, level, title, colors, **keywords)
        return figure


def stack_tables(
    parts: Iterable[tuple[Any, Any]], name: str, kind: str | None, level: float
) -> Any:
    """Return the tables of all parts, one below the other.

    The column ``name`` contains the key of each part.
    """
    from ..tables import frames

    tables: list[dict[str, Any]] = []

    def add(part: Any, before: dict[str, Any]) -> None:
        nonlocal kind
        if isinstance(part, Estimate):
            kind = kind or part.kind
            tables.append(
                {column: [entry] * len(part) for column, entry in before.items()}
                | part._columns(level)
            )
        else:
            for each, entry in zip(part.names, part, strict=True):
                add(entry, before | {"attribute": each})

    for key, part in parts:
        add(part, {name: key})
    names = dict.fromkeys(column for table in tables for column in table)
    filled = {
        column: [table.get(column, [None] * len(table["value"])) for table in tables]
        for column in names
    }
    return frames.build_table(
        kind, {column: list(chain(*entries)) for column, entries in filled.items()}
    )
