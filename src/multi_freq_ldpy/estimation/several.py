"""Frequencies of several attributes, and of several rounds."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
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
"""For each attribute: a list, or a dict by name; of one attribute, an array."""


class Estimates(tuple[Estimate, ...]):
    """Estimates of several attributes: a tuple with one ``Estimate`` per attribute.

    Entries can be asked for by number and by name.

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
        """
        return cls(map(Estimate.of, tally))

    @property
    def frequencies(self) -> list[NDArray[np.float64]]:
        """The frequencies of each attribute."""
        return [each.frequencies for each in self]

    @property
    def names(self) -> list[str]:
        """What the attributes are called: their names, or their numbers."""
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
            If the method is unknown or does not suit an attribute's protocol.
        """
        return Estimates(each.postprocess(method) for each in self)

    def norm_sub(self) -> "Estimates":
        """Project each attribute on the distributions."""
        return self.postprocess("norm_sub")

    def norm(self) -> "Estimates":
        """Clip each attribute at 0 and divide by the sum, as the functions of the paper do."""
        return self.postprocess("norm")

    def difference(
        self, other: "Estimates", *, names: tuple[str, str] = GROUPS
    ) -> dict[str, Differences]:
        """Return how much more frequent each value of each attribute is than among other users.

        Parameters
        ----------
        other : Estimates
            Estimates of the same attributes among other users: none of them may be in both.
        names : tuple of str
            What the two groups of users are called.

        Returns
        -------
        dict of Differences
            The differences with their errors, by attribute.

        Raises
        ------
        ValueError
            If the attributes or their values are not the same.
        TypeError
            If ``other`` is something else.

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
            The kind of the tables that ``to_frame`` makes. By default it stays as it was.

        Returns
        -------
        Estimates
            The same frequencies and errors.

        Raises
        ------
        ValueError
            If the numbers of labels or names do not match.
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
            The columns of ``Estimate.to_frame``, after the column attribute.
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
            The true frequencies, one entry per attribute.
        level : float
            The level of the intervals.
        title : str, optional
            The title of the figure.
        **keywords
            Further keywords of ``Estimate.plot``, such as ``color``.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from . import plots

        figure: Figure = plots.draw_attributes(self, truth, level, title, **keywords)
        return figure

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return rendering.to_html(self)


class Rounds(list[Estimate | Estimates]):
    """Estimates of every round: a list with one ``Estimate``, or ``Estimates``, per round."""

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
            The columns of ``Estimate.to_frame``, after the columns round and attribute.
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
            The values to draw; by default the eight most frequent. For several attributes, one list
            per attribute.
        truth : array, or mapping by name, optional
            The true frequencies, one row per round and one column per value.
        level : float
            The level of the intervals.
        title : str, optional
            The title of the figure.
        colors : list of str, optional
            The colours of the values.
        **keywords
            Further keywords of ``Axes.plot`` for the estimates.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from . import plots

        figure: Figure = plots.draw_rounds(self, values, truth, level, title, colors, **keywords)
        return figure


def stack_tables(
    parts: Iterable[tuple[Any, Any]], name: str, kind: str | None, level: float
) -> Any:
    """Return a table of the parts' tables one below the other, with a column that tells which
    part.
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
