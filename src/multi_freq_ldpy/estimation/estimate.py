"""Frequencies with their errors."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import validate
from ..core.channel import Channel
from ..core.tally import Tally
from ..tables.labels import identity_of
from . import intervals, postprocess, rendering
from .differences import GROUPS, Between, Difference, Differences, Part, Within, place_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Group = Hashable | Iterable[Hashable]
"""One value or several. A value is its label, or its number if the estimate has no labels."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Estimated frequencies of the values, with standard errors and intervals.

    Raw frequencies are unbiased and may lie outside [0, 1]. ``norm``, ``norm_sub`` and ``mle``
    return distributions, which no longer have a standard error.

    Parameters
    ----------
    frequencies : array
        One frequency per value.
    n : int or array of int
        Number of reports that speak of each value: one number for all values, or one entry per
        value.
    channel : Channel
        Channel from frequencies to expected counts.
    counts : array of int, optional
        Counts that the frequencies were estimated from. None means that they are not known.
    users : int, optional
        Number of users who took part. None means that it is n.
    method : str
        Name of the post-processing. "raw", the default, means that there was none.
    labels : tuple, optional
        One label per value. None means that the values are called 0, 1 and so on.
    name : str, optional
        Name of the attribute.
    kind : {"pandas", "polars", "pyarrow", "dict"}, optional
        Kind of the tables that ``to_frame`` makes.

    Raises
    ------
    ValueError
        If ``labels`` are not one different label per value.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR
    >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
    >>> estimate
    Estimate from 100 users: frequency ± standard error
    0   1.07 ± 0.14
    1   0.10 ± 0.11
    2  -0.17 ± 0.11
    >>> estimate.labelled(["yes", "no", "perhaps"]).norm_sub()
    Estimate from 100 users: frequency (norm_sub)
    yes      0.981
    no       0.019
    perhaps  0.000
    """

    frequencies: NDArray[np.float64]
    n: NDArray[np.int64]
    channel: Channel
    counts: NDArray[np.int64] | None = None
    users: int | None = None
    method: str = "raw"
    labels: tuple[Hashable, ...] | None = None
    name: str | None = None
    kind: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        frequencies = np.array(self.frequencies, np.float64)
        frequencies.flags.writeable = False
        object.__setattr__(self, "frequencies", frequencies)
        object.__setattr__(self, "n", np.broadcast_to(self.n, frequencies.shape))
        if self.labels is not None and (
            len(self.labels) != len(frequencies)
            or len(set(map(identity_of, self.labels))) != len(frequencies)
        ):
            raise ValueError(
                f"labels must be {len(frequencies)} different labels, one per value, not"
                f" {validate.quote(self.labels)}"
            )

    @classmethod
    def of(cls, tally: Tally) -> "Estimate":
        """Return the raw estimate of a tally.

        Parameters
        ----------
        tally : Tally
            The counts of one attribute.

        Returns
        -------
        Estimate
            Unbiased frequencies.

        Raises
        ------
        ValueError
            If the tally is of several attributes.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Estimate
        >>> Estimate.of(GRR(2, epsilon=1.0).tally([0, 0, 0, 1])).frequencies.round(2)
        array([ 1.04, -0.04])
        """
        frequencies = tally.channel.estimate(tally.counts, tally.n)
        return cls(frequencies, tally.n, tally.channel, tally.counts, tally.users)

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
        totals: NDArray[np.float64] = np.where(self.n > 0, self.frequencies, np.nan) * users
        return totals

    @property
    def std(self) -> NDArray[np.float64]:
        """The standard error of each frequency, for the users who took part.

        It is infinite for a value without reports.
        """
        return self._std("sample")

    def _std(self, of: str) -> NDArray[np.float64]:
        self._require_raw("standard error")
        f = np.clip(np.where(self.n > 0, self.frequencies, 0.0), 0.0, 1.0)
        variance = intervals.variance_of(self.channel, self.n, self.users, of)(f)
        return np.where(self.n > 0, np.sqrt(variance), np.inf)

    def interval(
        self, level: float = 0.95, of: str = "sample", simultaneous: bool = False
    ) -> NDArray[np.float64]:
        """Return lower and upper limits in [0, 1] for each frequency.

        Limits invert the score test with the likelihood-ratio ordering of Feldman and Cousins. For
        at most 200 reports, and for counts of small variance, the test uses the exact distribution
        of the count. These intervals cover with probability ``level`` or more.

        Parameters
        ----------
        level : float
            Probability with which an interval covers the true value.
        of : {"sample", "population"}
            Group whose frequency is meant: the users who took part, or the population that they
            were drawn from.
        simultaneous : bool
            True if all intervals together must cover with probability ``level`` (Bonferroni).
            False, the default, if each interval covers with this probability.

        Returns
        -------
        array of shape (k, 2)
            The lower and the upper limit of each value.

        Raises
        ------
        ValueError
            If the estimate is post-processed, or a parameter is out of range.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(2, epsilon=2.0).estimate([0] * 700 + [1] * 300)
        >>> estimate.interval().round(3)
        array([[0.736, 0.789],
               [0.211, 0.264]])
        """
        self._require_raw("interval")
        validate.choice("of", of, ("sample", "population"))
        share = validate.probability("level", level, 1e-6, 1 - 1e-12)
        if validate.flag("simultaneous", simultaneous):
            share = 1 - (1 - share) / len(self)
        return intervals.limits(
            self.frequencies, self.counts, self.n, self.users, self.channel, share, of
        )

    def labelled(
        self, labels: Iterable[Hashable], name: str | None = None, kind: str | None = None
    ) -> "Estimate":
        """Return the same estimate with names for the values, and for the attribute.

        Parameters
        ----------
        labels : iterable
            One label per value, all different.
        name : str, optional
            The name of the attribute. By default it is unchanged.
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of the tables that ``to_frame`` makes. By default it is unchanged.

        Returns
        -------
        Estimate
            The same frequencies and errors.

        Raises
        ------
        ValueError
            If there is not one different label per value.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> GRR(2, epsilon=2.0).estimate([0] * 700 + [1] * 300).labelled(["yes", "no"], "smokes")
        Estimate of smokes from 1,000 users: frequency ± standard error
        yes  0.763 ± 0.013
        no   0.237 ± 0.013
        """
        return replace(
            self,
            labels=tuple(labels),
            name=self.name if name is None else name,
            kind=self.kind if kind is None else kind,
        )

    def postprocess(self, method: str) -> "Estimate":
        """Return the distribution that a post-processing derives from the frequencies.

        Parameters
        ----------
        method : {"raw", "norm_sub", "norm", "mle"}
            Name of the post-processing. "raw" changes nothing. "norm_sub" is the nearest
            distribution. "norm" clips at 0 and divides by the sum. "mle" is the distribution of
            maximum likelihood, for protocols that report one value. Further methods can be added to
            ``estimation.postprocess.METHODS``.

        Returns
        -------
        Estimate
            A distribution, without standard errors.

        Raises
        ------
        ValueError
            If the method is unknown or does not suit the protocol, or if the estimate is
            post-processed already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
        >>> estimate.postprocess("norm_sub").frequencies.round(3)
        array([0.981, 0.019, 0.   ])
        """
        if validate.choice("method", method, ("raw", *postprocess.METHODS)) == "raw":
            return self
        self._require_raw("further post-processing")
        chosen = postprocess.METHODS[method]
        if not isinstance(chosen, postprocess.Method):
            raise TypeError(f"METHODS[{method!r}] must be a Method, not {validate.quote(chosen)}")
        if not chosen.applies(self.channel) or (chosen.limits and self.counts is None):
            raise ValueError(f"{method} is for {chosen.limits}; use protocol.em(reports)")
        known = np.nan_to_num(self.frequencies, nan=0.0) if self.n.any() else np.zeros(len(self))
        raw = postprocess.Raw(known, self.counts, self.n, self.channel, self.std)
        found = chosen.process(raw)
        if np.shape(found) != self.frequencies.shape or not np.isfinite(found).all():
            shown = validate.quote(found)
            raise ValueError(f"{method} must return {len(self)} finite frequencies, not {shown}")
        return replace(self, frequencies=found, method=method)

    def norm_sub(self) -> "Estimate":
        """Return the distribution that is nearest to the frequencies (Euclidean projection).

        The method subtracts one number from all frequencies, and sets negative results to 0. It
        chooses the number so that the frequencies add up to 1.

        Returns
        -------
        Estimate
            A distribution, without standard errors.

        Raises
        ------
        ValueError
            If the estimate is post-processed already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
        >>> estimate.norm_sub().frequencies.round(3)
        array([0.981, 0.019, 0.   ])
        """
        return self.postprocess("norm_sub")

    def norm(self) -> "Estimate":
        """Clip the frequencies at 0 and divide by their sum, as the functions of the paper do.

        Returns
        -------
        Estimate
            A distribution, without standard errors.

        Raises
        ------
        ValueError
            If the estimate is post-processed already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
        >>> estimate.norm().frequencies.round(3)
        array([0.911, 0.089, 0.   ])
        """
        return self.postprocess("norm")

    def mle(self) -> "Estimate":
        """Return the distribution of maximum likelihood, given the counts.

        It is for protocols that report one value, such as GRR. For other protocols use
        ``protocol.em``.

        Returns
        -------
        Estimate
            A distribution, without standard errors.

        Raises
        ------
        ValueError
            If a report of the protocol is not one value, or if the estimate is post-processed
            already.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(3, epsilon=1.0).estimate([0] * 60 + [1] * 25 + [2] * 15)
        >>> estimate.mle().frequencies.round(3)
        array([0.946, 0.054, 0.   ])
        """
        return self.postprocess("mle")

    def group(
        self, values: Sequence[Hashable] | NDArray[Any], label: Hashable = None
    ) -> "Estimate":
        """Return the frequency of a group of values taken together, with its own error.

        A group of many values usually has a larger error than one value. If only bands of values
        matter, such as age groups, declare the bands as values before users are asked.

        For local hashing (except BLH) the standard error is right on average over groups.
        Neighbouring values do not hash independently. If many users hold one value, the standard
        error can be wrong by up to a fifth.

        Parameters
        ----------
        values : list
            Different values: their labels, or their numbers if the estimate has no labels.
        label : str, optional
            The name of the group. By default it is the list of its values.

        Returns
        -------
        Estimate
            An estimate with one entry.

        Raises
        ------
        ValueError
            If a value is unknown or occurs twice, or if the estimate is post-processed. If not
            every report speaks of all these values.

        Examples
        --------
        >>> from multi_freq_ldpy import OUE
        >>> protocol = OUE(6, epsilon=2.0)
        >>> estimate = protocol.estimate(protocol.randomize([0, 1, 2, 3, 4, 5] * 500, rng=1))
        >>> group = estimate.group([0, 1, 2])
        >>> bool(abs(group.frequencies[0] - 0.5) < 3 * group.std[0])
        True
        """
        self._require_raw("group")
        chosen = self._numbers("values", values)
        if not chosen.size or np.unique(chosen).size != chosen.size:
            raise ValueError(
                "values must be a non-empty vector of different values, not"
                f" {validate.quote(values)}"
            )
        if (self.n != self.n[0]).any():
            raise ValueError(
                f"values {validate.quote(values)} have no standard error as a group: not every"
                " report speaks of all these values"
            )
        channel = self.channel.group(chosen.size)
        counts = None if self.counts is None else self.counts[chosen].sum(keepdims=True)
        values = self.values
        labels = (
            label if label is not None else ", ".join(str(values[i]) for i in chosen.tolist()),
        )
        frequencies = self.frequencies[chosen].sum(keepdims=True)
        return replace(
            self,
            frequencies=frequencies,
            n=self.n[:1],
            channel=channel,
            counts=counts,
            labels=labels,
        )

    def __getitem__(self, value: Any) -> "Estimate":
        """Return the estimate of one value.

        Parameters
        ----------
        value : label or int
            The label of the value, or its number if the estimate has no labels.

        Returns
        -------
        Estimate
            An estimate with one entry.

        Raises
        ------
        KeyError
            If there is no such value.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> protocol = GRR(2, epsilon=1.0)
        >>> estimate = protocol.estimate([0] * 60 + [1] * 40).labelled(["yes", "no"])
        >>> round(float(estimate["yes"]), 3)
        0.716
        """
        return self._at(place_of(value, self.values))

    def _at(self, i: int) -> "Estimate":
        counts = None if self.counts is None else self.counts[i : i + 1]
        return replace(
            self,
            frequencies=self.frequencies[i : i + 1],
            n=self.n[i : i + 1],
            counts=counts,
            labels=(self.values[i],),
        )

    def __iter__(self) -> Iterator["Estimate"]:
        return map(self._at, range(len(self)))

    def __float__(self) -> float:
        if len(self) != 1:
            raise TypeError(f"an estimate of {len(self)} values is not one number: choose a value")
        return float(self.frequencies[0])

    @overload
    def difference(  # type: ignore[overload-overlap]
        self, first: "Estimate", second: None = None, *, names: tuple[str, str] = GROUPS
    ) -> Differences: ...

    @overload
    def difference(self, first: Group, second: Group) -> Difference: ...

    def difference(
        self,
        first: "Group | Estimate",
        second: Group | None = None,
        *,
        names: tuple[str, str] = GROUPS,
    ) -> Difference | Differences:
        """Return the difference of the frequencies of two groups of values, or of users.

        Parameters
        ----------
        first : label, list of labels, or Estimate
            Values from whose frequency another is subtracted. If it is an ``Estimate`` of other
            users, that estimate is subtracted, value by value. No user may be in both estimates. To
            compare a group of values between users, subtract two results of ``group`` with the same
            label.
        second : label, or list of labels, optional
            Values whose frequency is subtracted. Leave it out if ``first`` is an estimate.
        names : tuple of str
            Names of the two groups of users, if ``first`` is an estimate.

        Returns
        -------
        Difference or Differences
            The difference with its error. If ``first`` is an estimate, one difference per value.

        Raises
        ------
        ValueError
            If a value is unknown or in both groups. If an estimate is post-processed. If not every
            report speaks of all these values. If two estimates are not of the same values.
        TypeError
            If ``second`` is missing, or if it is given together with an estimate.

        Examples
        --------
        >>> from multi_freq_ldpy import OUE
        >>> protocol = OUE(4, epsilon=2.0)
        >>> reports = protocol.randomize([0, 0, 0, 1, 2, 3] * 2000, rng=1)
        >>> estimate = protocol.estimate(reports).labelled("abcd")
        >>> estimate.difference("a", ["b", "c"])
        a is more frequent than b, c by 16.3 percentage points (95 % interval: 13.2 to 19.4)
        >>> others = protocol.estimate(protocol.randomize([0, 1, 2, 3] * 2000, rng=2))
        >>> others = others.labelled("abcd")
        >>> found = estimate.difference(others, names=("men", "women"))
        >>> round(found["a"].value, 3), round(found["a"].std, 3)
        (0.247, 0.015)
        >>> men, women = (each.group(["a", "b"], label="a or b") for each in (estimate, others))
        >>> round(men.difference(women)["a or b"].value, 3)
        0.172
        """
        if isinstance(first, Estimate):
            if second is not None:
                raise TypeError(
                    f"second must be None if first is an estimate, not {validate.quote(second)}"
                )
            return self._differences(first, names)
        if second is None:
            raise TypeError("second must be one or more values to subtract, not None")
        one, two = (
            [each] if isinstance(each, str) or not isinstance(each, Iterable) else list(each)
            for each in (first, second)
        )
        if set(self._numbers("first", one)) & set(self._numbers("second", two)):
            raise ValueError(
                f"first and second must have no value in common, not {validate.quote(first)} and"
                f" {validate.quote(second)}"
            )
        own, other, both = (self.group(each) for each in (one, two, [*one, *two]))
        pair = Within(own._part(), other._part(), both._part(), self.channel, (len(one), len(two)))
        return Difference(str(own.values[0]), str(other.values[0]), pair)

    def _differences(self, other: "Estimate", names: tuple[str, str]) -> "Differences":
        """Return the differences to an estimate of other users."""
        for each in (self, other):
            each._require_raw("difference")
        own, others = ([identity_of(label) for label in each.values] for each in (self, other))
        if own != others:
            raise ValueError(
                f"first must be an estimate of the values {validate.quote(list(self.values))}, not"
                f" of {validate.quote(list(other.values))}"
            )
        if other is self or (self.counts is not None and other.counts is self.counts):
            raise ValueError("first must be an estimate of other users, not of the same users")
        if (
            not isinstance(names, tuple | list)
            or len(names) != 2
            or not all(isinstance(each, str) for each in names)
        ):
            raise ValueError(f"names must be two names, one per group, not {validate.quote(names)}")
        entries = [
            Difference(*names, Between(self._at(i)._part(), other._at(i)._part()), str(label))
            for i, label in enumerate(self.values)
        ]
        return Differences(tuple(entries), tuple(self.values), self.name, self.kind)

    def _part(self) -> Part:
        """Return the only frequency as a part of a difference."""
        n = int(self.n[0])
        return Part(float(self.frequencies[0]), n, self.users, self.channel, self.counts)

    # Tables, plots and text

    @property
    def values(self) -> Sequence[Hashable]:
        """The labels of the values, or their numbers if there are no labels."""
        return range(len(self)) if self.labels is None else self.labels

    def to_frame(self, kind: str | None = None, level: float = 0.95) -> Any:
        """Return a table with one row per value.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            The kind of table. By default it is the kind that the reports came in.
        level : float
            Probability with which an interval covers the true value.

        Returns
        -------
        table
            Columns are value and frequency. A raw estimate also has std, low, high and outside.
            ``low`` and ``high`` are the limits of the interval. ``outside`` is true if the
            frequency lies outside its interval: a raw estimate may lie below 0 or above 1.

        Raises
        ------
        ValueError
            If ``kind`` is unknown, or ``level`` is out of range.
        ImportError
            If the library of this kind is not installed.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(2, epsilon=2.0).estimate([0] * 700 + [1] * 300).labelled(["yes", "no"])
        >>> table = estimate.to_frame("dict")
        >>> table["value"], [round(each, 3) for each in table["low"]]
        (['yes', 'no'], [0.736, 0.211])
        """
        from ..tables import frames

        return frames.build_table(kind or self.kind, self._columns(level))

    def _columns(self, level: float) -> dict[str, Any]:
        columns: dict[str, Any] = {"value": list(self.values), "frequency": self.frequencies}
        if self.method == "raw":
            limits = self.interval(level)
            columns |= {
                "std": self.std,
                **dict(zip(("low", "high"), limits.T, strict=True)),
                "outside": rendering.find_outside(self.frequencies, limits),
            }
        return columns

    def plot(
        self,
        truth: ArrayLike | None = None,
        level: float = 0.95,
        ax: "Axes | None" = None,
        *,
        title: str | None = None,
        color: str = "#0072B2",
        **keywords: Any,
    ) -> "Axes":
        """Draw the frequencies with their intervals, and the true frequencies if they are given.

        Parameters
        ----------
        truth : array, or mapping by label, optional
            True frequencies, or counts.
        level : float
            Probability with which an interval covers the true value.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default they are those of a new figure.
        title : str, optional
            Title of the plot. By default it is the name of the attribute.
        color : str
            Colour of the estimates.
        **keywords
            Further keywords of ``Axes.bar``, or of ``Axes.plot`` for many values.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing. ``axes.figure.savefig(path)`` writes the chart to a file.

        Raises
        ------
        ValueError
            If ``truth`` does not have one entry per value, or ``level`` is out of range.
        ImportError
            If matplotlib is not installed.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from multi_freq_ldpy import GRR
        >>> estimate = GRR(2, epsilon=2.0).estimate([0] * 700 + [1] * 300).labelled(["yes", "no"])
        >>> axes = estimate.plot(truth=[0.75, 0.25], ax=Figure().subplots())
        >>> [label.get_text() for label in axes.get_xticklabels()]
        ['yes', 'no']
        """
        from . import plots

        axes: Axes = plots.draw_bars(self, truth, level, ax, title, color, **keywords)
        return axes

    def __repr__(self) -> str:
        return rendering.to_text(self)

    def _repr_html_(self) -> str:
        return rendering.to_html([self])

    def _numbers(self, name: str, values: Any) -> NDArray[np.int64]:
        """Return the numbers of values that are given by number or by label."""
        if self.labels is None:
            chosen = validate.integers(name, values, 0, len(self) - 1, what="a value of the domain")
            if chosen.ndim != 1:
                raise ValueError(
                    f"{name} must be a non-empty vector of different values, not"
                    f" {validate.quote(values)}"
                )
            return chosen
        if isinstance(values, str) or np.ndim(values) != 1:
            raise ValueError(f"{name} must be a list of labels, not {validate.quote(values)}")
        places = {identity_of(label): i for i, label in enumerate(self.labels)}
        for label in values:
            if not isinstance(label, Hashable) or identity_of(label) not in places:
                raise ValueError(
                    f"{name} must be among the labels {validate.quote(self.labels[:20])}, not"
                    f" {validate.quote(label)}"
                )
        return np.array([places[identity_of(label)] for label in values], np.int64)

    def _require_raw(self, what: str) -> None:
        if self.method != "raw":
            raise ValueError(f"{self.method} estimates have no {what}: ask the raw estimate for it")
