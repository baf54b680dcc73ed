"""Surveys: attributes with names, categories with labels, and tables as input and output."""

import json
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import registry, wire
from .adaptive import best
from .core import parallel, validate
from .core.privacy import Privacy
from .core.randomness import Rng, as_generator, as_stream
from .core.tally import Tally, digest_of
from .estimation.several import Estimates, Rounds
from .files.atomic import open_atomic
from .longitudinal.client import Client
from .longitudinal.panel import Panel
from .mechanism import Batch, check_invalid, gather_batches
from .rehearsal import BATCH, Rehearsal, cells_of, check_shares, expect
from .solutions.base import Solution
from .solutions.factories import Factory
from .solutions.smp import SMP
from .tables import frames
from .tables.labels import (
    Factored,
    as_python,
    check_attributes,
    check_label,
    encode_column,
    factor_list,
    identity_of,
    is_missing,
    label_cells,
    sort_labels,
)

VERSION = 1
LARGE = 10.0
"""The largest budget of a report without a warning. A larger budget protects little."""

MAGIC = b"MFLS"
REPORT = "report"
"""The name of the column of a table of reports. It holds bytes, as on the wire."""

SURVEY = "survey"
"""The key in the metadata of a table of reports. Its entry is the digest of their survey."""


DIFFERENT = "names, categories, their order, protocols or budgets differ"


class Survey:
    """Everything that clients and the aggregator of one collection share.

    A survey has attributes with names and declared categories, budgets, a solution and protocols.
    Tables are pandas or polars DataFrames, Arrow tables, or dicts of lists. Results are tables of
    the same kind.

    With one budget, users are asked once, and ``randomize`` makes one report per row. With two
    budgets, users are asked again and again. Then ``panel`` simulates many users, and ``client`` is
    one device.

    Parameters
    ----------
    attributes : mapping
        The categories of each attribute by name, in order. They are declared, and never taken from
        data.
    epsilon : float, optional
        Privacy budget of one report.
    eps_perm : float, optional
        Privacy budget of all reports about an unchanged value.
    eps_1 : float, optional
        Privacy budget of the first report.
    solution : type
        SPL, SMP or RSFD. Under SMP, the default, each user reports one attribute, drawn at random.
    protocol : class, callable, or list
        The protocol of all attributes, or a list with one protocol per attribute. ``best``, the
        default, chooses the protocol of least variance for each attribute.
    other : label, optional
        The category of labels that are not declared. Attributes that have this category use it. For
        other attributes, such a label is an error.
    missing : label, optional
        The category of missing values. Attributes that have this category use it. For other
        attributes, a missing value is an error.
    **options
        Options of the solution (``fake`` of RS+FD) or of the protocol.

    Raises
    ------
    ValueError
        If categories, budgets and solution do not fit together.
    TypeError
        If ``attributes`` is not a mapping from names to lists.

    Examples
    --------
    >>> from multi_freq_ldpy import Survey
    >>> ages = ["under 30", "30 to 60", "over 60"]
    >>> survey = Survey({"smokes": ["yes", "no"], "age": ages}, epsilon=2.0)
    >>> smokes, age = ["no", "no", "yes", "no"] * 2500, ["under 30", "over 60"] * 5000
    >>> people = {"smokes": smokes, "age": age}
    >>> reports = survey.randomize(people, rng=1)
    >>> {len(report) for report in reports["report"]}
    {2}
    >>> survey.estimate(reports)["smokes"]
    Estimate of smokes from 4,987 of 10,000 users: frequency ± standard error
    yes  0.2408 ± 0.0074
    no   0.7592 ± 0.0074
    """

    def __init__(
        self,
        attributes: Mapping[str, Iterable[Hashable]],
        epsilon: float | None = None,
        *,
        eps_perm: float | None = None,
        eps_1: float | None = None,
        solution: type[Solution] = SMP,
        protocol: Factory | Sequence[Factory] = best,
        other: Hashable = None,
        missing: Hashable = None,
        **options: Any,
    ) -> None:
        categories = check_attributes(attributes)
        if not (isinstance(solution, type) and issubclass(solution, Solution)):
            raise TypeError(f"solution must be SPL, SMP or RSFD, not {validate.quote(solution)}")
        given = {"epsilon": epsilon, "eps_perm": eps_perm, "eps_1": eps_1}
        budgets = {name: budget for name, budget in given.items() if budget is not None}
        made = solution(protocol, [len(each) for each in categories.values()], **budgets, **options)
        self._set(categories, made, other, missing)

    def _set(
        self, attributes: dict[str, tuple[Any, ...]], solution: Solution, other: Any, missing: Any
    ) -> None:
        other, missing = (
            None if each is None else check_label(name, as_python(each))
            for name, each in (("other", other), ("missing", missing))
        )
        for name, each in (("other", other), ("missing", missing)):
            if each is not None and not any(
                identity_of(each) in map(identity_of, labels) for labels in attributes.values()
            ):
                raise ValueError(
                    f"{name}={validate.quote(each)} must be a declared category of some attribute"
                )
        if other is not None and identity_of(other) == identity_of(missing):
            raise ValueError(
                f"other and missing must be different categories, not both {validate.quote(other)}"
            )
        self.attributes: Mapping[str, tuple[Any, ...]] = MappingProxyType(attributes)
        self.solution, self.other, self.missing = solution, other, missing
        if solution.privacy.report > LARGE:
            warnings.warn(
                f"a budget of {solution.privacy.report:g} protects little: a report may be"
                f" e^{solution.privacy.report:g} times likelier for one answer than for another",
                stacklevel=3,
            )

    @classmethod
    def from_table(
        cls,
        table: object,
        epsilon: float | None = None,
        columns: Iterable[str] | None = None,
        **options: Any,
    ) -> "Survey":
        """Return a survey whose categories are the values *found in the data*: for simulations.

        This method looks at the data. A collection with such categories would reveal which values
        occur, before anybody was asked.

        Missing values become no category, unless ``missing`` names one. Rows with missing values
        stay in the table, and ``randomize`` refuses them. So drop these rows before, or give
        ``missing``.

        Parameters
        ----------
        table : table
            A pandas or polars DataFrame, an Arrow table, or a dict of lists.
        epsilon : float, optional
            Privacy budget of one report.
        columns : list of str, optional
            The columns to ask for. None means all columns.
        **options
            Further parameters of ``Survey``. ``missing`` names the category of missing values. Each
            attribute with missing values gets this category.

        Returns
        -------
        Survey
            A survey with sorted categories: numbers by size, and text by alphabet.

        Raises
        ------
        ValueError
            If a column is absent, or if it has fewer than two values.
        TypeError
            If ``table`` is not a table, or if ``columns`` is not a list of names.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> people = {"smokes": ["no", "yes", "no"], "household": [2, 1, 4]}
        >>> Survey.from_table(people, epsilon=1.0).attributes["household"]
        (1, 2, 4)
        >>> answers = {"smokes": ["no", None, "yes"]}
        >>> survey = Survey.from_table(answers, epsilon=1.0, missing="no answer")
        >>> survey.attributes["smokes"], survey.encode(answers).ravel()
        (('no', 'yes', 'no answer'), array([0, 2, 1]))
        """
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of names, not {columns!r}")
        names = list(frames.names_of("table", table) if columns is None else columns)
        if not names:
            raise ValueError("table has no columns")
        attributes = {}
        for name, values in frames.columns_of("table", table, names).items():
            try:
                found = {
                    identity_of(as_python(each)): as_python(each)
                    for each in values
                    if not is_missing(each)
                }
            except TypeError as error:
                raise TypeError(f"table[{name!r}]: {error}") from None
            attributes[name] = sort_labels(found.values())
            if (
                options.get("missing") is not None
                and any(map(is_missing, values))
                and identity_of(options["missing"]) not in found
            ):
                attributes[name].append(options["missing"])
        return cls(attributes, epsilon, **options)

    # Files

    def to_spec(self) -> dict[str, Any]:
        """Return the survey as a dict that JSON can hold.

        Returns
        -------
        dict
            The version of the format, the attributes with their categories, ``other``, ``missing``
            and the spec of the solution.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> spec = Survey({"smokes": ["yes", "no"]}, epsilon=2.0).to_spec()
        >>> spec["attributes"], spec["solution"]["protocol"]
        ([{'name': 'smokes', 'categories': ['yes', 'no']}], 'SMP')
        """
        attributes = [
            {"name": name, "categories": list(labels)} for name, labels in self.attributes.items()
        ]
        spec = {
            "version": VERSION,
            "attributes": attributes,
            "other": self.other,
            "missing": self.missing,
        }
        return spec | {"solution": registry.to_spec(self.solution)}

    @classmethod
    def from_spec(cls, spec: object) -> "Survey":
        """Return the survey of a spec.

        Parameters
        ----------
        spec : dict
            The result of ``to_spec``, or a short form that can be written by hand. The short form
            has ``attributes`` as a dict of categories, and further arguments of ``Survey``.
            Solution and protocol are given by name.

        Returns
        -------
        Survey
            The survey.

        Raises
        ------
        ValueError
            If a field is unknown or has a wrong value, or if the fields do not fit together.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> spec = {"attributes": {"smokes": ["yes", "no"]}, "epsilon": 2.0, "protocol": "OUE"}
        >>> Survey.from_spec(spec)
        <Survey of smokes (2): SMP.of([OUE(k=2, epsilon=2.0)])>
        """
        if isinstance(spec, dict) and "version" not in spec and "attributes" in spec:
            return cls._from_short(spec)
        if not isinstance(spec, dict) or type(spec.get("version")) is not int:
            raise ValueError(
                "survey must be an object with a version, or with attributes and a budget, not"
                f" {validate.quote(spec)}"
            )
        if spec["version"] != VERSION:
            raise ValueError(
                f"survey has version {validate.quote(spec['version'])}; this package reads version"
                f" {VERSION}"
            )
        fields = {"version", "attributes", "other", "missing", "solution"}
        if set(spec) != fields:
            raise ValueError(
                f"survey must have the fields {sorted(fields)}, not"
                f" {validate.quote(sorted(map(str, spec)))}"
            )
        entries = spec["attributes"]
        if not isinstance(entries, list) or not all(
            isinstance(each, dict) and set(each) == {"name", "categories"} for each in entries
        ):
            raise ValueError(
                f"attributes must be a list of names with categories, not {validate.quote(entries)}"
            )
        names = [each["name"] for each in entries if isinstance(each["name"], str)]
        if len(set(names)) != len(entries):
            raise ValueError(
                "attributes must have names, all different, not"
                f" {validate.quote([each['name'] for each in entries])}"
            )
        try:
            categories = check_attributes({each["name"]: each["categories"] for each in entries})
            solution = registry.from_spec(spec["solution"])
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not isinstance(solution, Solution) or list(solution.ks) != [
            len(labels) for labels in categories.values()
        ]:
            raise ValueError(
                f"solution must be over the declared categories, not {validate.quote(solution)}"
            )
        survey: Survey = object.__new__(cls)
        try:
            survey._set(categories, solution, spec["other"], spec["missing"])
        except TypeError as error:
            raise ValueError(str(error)) from None
        return survey

    @classmethod
    def _from_short(cls, spec: dict[str, Any]) -> "Survey":
        """Return the survey of the short form that is written by hand."""
        given = dict(spec)
        for field, known in (("solution", registry.SOLUTIONS), ("protocol", registry.PROTOCOLS)):
            names = given.get(field, [])
            for name in names if isinstance(names, list) else [names]:
                if name not in (known if isinstance(name, str) else ()):
                    raise ValueError(
                        f"{field} must be one of {', '.join(known)}, not {validate.quote(name)}"
                    )
            if isinstance(names, list):
                given |= {field: [known[name] for name in names]} if names else {}
            else:
                given[field] = known[names]
        if not given.keys() & {"epsilon", "eps_perm", "eps_1"}:
            raise ValueError("survey must have a budget: epsilon, or eps_perm and eps_1")
        try:
            return cls(**given)
        except TypeError as error:
            raise ValueError(str(error)) from None

    @property
    def digest(self) -> str:
        """The identifier of this survey, in hexadecimal digits.

        It is a hash of the spec: names, categories, their order, protocols and budgets.
        """
        return digest_of(json.dumps(self.to_spec(), sort_keys=True).encode()).hex()

    def pack(self, tally: Tally) -> bytes:
        """Return a tally as bytes that only this survey unpacks.

        Parameters
        ----------
        tally : Tally
            A tally that ``tally`` or ``unpack`` of this survey returned.

        Returns
        -------
        bytes
            The digest of the survey, and the tally.

        Raises
        ------
        ValueError
            If the tally is of another survey, or of another protocol.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> data = survey.pack(survey.tally([bytes([0, 1])]))
        >>> survey.unpack(data).users
        1
        """
        return MAGIC + bytes.fromhex(self.digest) + self._own(tally).to_bytes()

    def unpack(self, data: bytes) -> Tally:
        """Return the tally in the bytes that ``pack`` returned.

        Parameters
        ----------
        data : bytes
            The result of ``pack``.

        Returns
        -------
        Tally
            The tally. It knows this survey: ``estimate`` of another survey refuses it.

        Raises
        ------
        ValueError
            If the bytes are not the tally of a survey, or if they are of another survey.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> data = survey.pack(survey.tally([bytes([0, 0]), bytes([0, 1])]))
        >>> survey.unpack(data).counts
        array([1, 1])
        """
        own = MAGIC + bytes.fromhex(self.digest)
        if isinstance(data, bytearray | memoryview):
            data = bytes(data)
        if not isinstance(data, bytes) or data[: len(MAGIC)] != MAGIC:
            raise ValueError(
                "data is not a tally of a survey: it starts with"
                f" {validate.quote(data[:8] if isinstance(data, bytes) else data)}"
            )
        if data[: len(own)] != own:
            raise ValueError(f"data is a tally of another survey: {DIFFERENT}")
        return self._own(Tally.from_bytes(data[len(own) :]))._counted_by(self.digest)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the survey as JSON, for clients and aggregators.

        Parameters
        ----------
        path : str or path
            Name of the file. The write is atomic: the file appears completely or not at all.
        force : bool
            True overwrites an existing file.

        Raises
        ------
        FileExistsError
            If the file exists and ``force`` is False.

        Examples
        --------
        >>> import tempfile
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     survey.save(f"{folder}/survey.json")
        ...     Survey.load(f"{folder}/survey.json") == survey
        True
        """
        with open_atomic(path, validate.flag("force", force)) as file:
            file.write((json.dumps(self.to_spec(), indent=2, ensure_ascii=False) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Survey":
        """Return the survey in a file.

        Parameters
        ----------
        path : str or path
            Name of a file that ``save`` wrote, or that was written by hand (see ``from_spec``).

        Returns
        -------
        Survey
            The survey.

        Raises
        ------
        ValueError
            If the file is not a survey. The message names the file.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from multi_freq_ldpy import Survey
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "survey.json")
        ...     _ = path.write_text('{"attributes": {"smokes": ["yes", "no"]}, "epsilon": 2}')
        ...     Survey.load(path)
        <Survey of smokes (2): SMP.of([GRR(k=2, epsilon=2.0)])>
        """
        try:
            spec = validate.parse_json("it", Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is not a survey: {error}") from None
        try:
            return cls.from_spec(spec)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)} is not a survey: {error}") from None

    # Main methods

    @property
    def privacy(self) -> Privacy:
        """The exact privacy losses of the users who take part."""
        return self.solution.privacy

    @property
    def longitudinal(self) -> bool:
        """True if users are asked again and again, with two budgets."""
        return self.solution.permanent is not None

    def encode(self, table: object) -> NDArray[np.int64]:
        """Return the rows of a table as indexes of categories.

        Parameters
        ----------
        table : table
            One row per user, with one column per attribute. Further columns are ignored.

        Returns
        -------
        array of int, shape (n, d)
            One row per user and one column per attribute.

        Raises
        ------
        ValueError
            If a column is absent, or if a label is missing or not declared. The message names the
            row.
        TypeError
            If ``table`` is not a table.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"], "age": ["young", "old"]}, epsilon=2.0)
        >>> survey.encode({"smokes": ["no", "yes"], "age": ["old", "old"]})
        array([[1, 1],
               [0, 1]])
        """
        return np.ascontiguousarray(self._encode_table(table))

    def _encode_table(self, table: object) -> NDArray[np.int64]:
        """Return the result of ``encode``, with each attribute contiguous in memory."""
        return self._encode_columns(frames.factor_columns("table", table, self.attributes))

    def _encode_columns(
        self, columns: Mapping[str, Factored], one: bool = False
    ) -> NDArray[np.int64]:
        rows = len(next(iter(columns.values())).codes)
        encoded = np.empty((len(columns), rows), np.int64)
        jobs = [
            partial(encode_column, name, columns[name], labels, self.other, self.missing, out, one)
            for (name, labels), out in zip(self.attributes.items(), encoded, strict=True)
        ]
        parallel.map_jobs(jobs)
        return encoded.T

    def typed(self, columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        """Return columns of text, as in a CSV file, with the declared labels in place of the text.

        Parameters
        ----------
        columns : mapping
            Lists of text by attribute.

        Returns
        -------
        dict of str to list
            The declared label for each text that is written like this label. Other texts stay.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"age": [17, 18, 19]}, epsilon=2.0)
        >>> survey.typed({"age": ["18", "17", "none"]})
        {'age': [18, 17, 'none']}
        """
        written = {
            name: {str(label): label for label in labels}
            for name, labels in self.attributes.items()
        }
        return {
            name: [written[name].get(each, each) for each in columns[name]]
            for name in self.attributes
        }

    def randomize(self, table: object, rng: Rng = None) -> Any:
        """Return a table of reports, with one row per user.

        Parameters
        ----------
        table : table
            One row per user, with one column per attribute. Further columns are ignored.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        table
            A table of the same kind. Its column "report" holds bytes, as on the wire.

        Raises
        ------
        ValueError
            If a column is absent, or if a label is missing or not declared. Also if the survey asks
            users again and again.
        TypeError
            If ``table`` is not a table.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> reports = survey.randomize({"smokes": ["no", "yes", "no"]}, rng=1)
        >>> [report.hex() for report in reports["report"]]
        ['0000', '0000', '0001']
        """
        self._require_once("survey.panel(n) or survey.client(path)")
        return self._table(table, self.solution.randomize(self._encode_table(table), rng))

    def randomize_one(self, answers: Mapping[str, Any], rng: Rng = None) -> bytes:
        """Return the report of one user, as a device sends it.

        Parameters
        ----------
        answers : mapping
            One label per attribute. Further keys are ignored.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        bytes
            The report on the wire.

        Raises
        ------
        ValueError
            If an attribute is absent, or if its label is not declared. Also if the survey asks
            users again and again. In this case, use ``client``.
        TypeError
            If ``answers`` is not a mapping.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> len(survey.randomize_one({"smokes": "no"}))
        2
        """
        self._require_once("survey.client(path)")
        return wire.encode(self.solution, self.solution.randomize(self._encode_one(answers), rng))

    def tally(self, reports: object, *, invalid: str = "raise") -> Tally:
        """Count reports.

        Parameters
        ----------
        reports : table, list of bytes, array, or iterable of batches
            The reports. A table has a column "report" of bytes. An array is the result of
            ``solution.randomize``.
        invalid : {"raise", "skip"}
            Treatment of invalid reports. "raise" refuses all reports and names the row of the first
            invalid one. "skip" leaves invalid reports out, and ``tally.invalid`` is their number.

        Returns
        -------
        Tally
            The counts of the reports. The tally knows this survey: ``estimate`` of another survey
            refuses it.

        Raises
        ------
        ValueError
            If a report is invalid and ``invalid`` is "raise". Also if the metadata of a table name
            another survey.
        TypeError
            If ``reports`` is of another type.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> tally = survey.tally([bytes([0, 1]), b"hello"], invalid="skip")
        >>> tally.users, tally.invalid
        (1, 1)
        """
        check_invalid(invalid)
        return self.solution._tally(
            self._reports(batch, invalid, name) for batch, name in self._batches(reports)
        )._counted_by(self.digest)

    def estimate(self, reports: object) -> Estimates:
        """Return the frequencies of each attribute with their errors.

        Parameters
        ----------
        reports : Tally, table, list of bytes, array, or iterable of batches
            A tally of this survey, or reports as ``tally`` takes them.

        Returns
        -------
        Estimates
            Labelled estimates, one per attribute.

        Raises
        ------
        ValueError
            If a report is invalid, or if the tally is of another survey.
        TypeError
            If ``reports`` is of another type.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> reports = survey.randomize({"smokes": ["no", "no", "yes", "no"] * 1000}, rng=1)
        >>> survey.estimate(reports)["smokes"]
        Estimate of smokes from 4,000 users: frequency ± standard error
        yes  0.2459 ± 0.0067
        no   0.7541 ± 0.0067
        """
        kind = (
            None
            if isinstance(reports, Tally) or not frames.is_table(reports)
            else frames.kind_of(reports)
        )
        counted = self._own(reports) if isinstance(reports, Tally) else self.tally(reports)
        return self.labelled(self.solution.estimate(counted), kind)

    def labelled(self, estimates: Estimates, kind: str | None = None) -> Estimates:
        """Return estimates of ``survey.solution`` with the names and labels of this survey.

        Parameters
        ----------
        estimates : Estimates
            Estimates of ``survey.solution``.
        kind : {"pandas", "polars", "pyarrow", "dict"}, optional
            Kind of the tables that ``to_frame`` makes. None means the first kind that is installed.

        Returns
        -------
        Estimates
            The same frequencies and errors, with names and labels.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> found = survey.solution.estimate(survey.solution.simulate([[300, 700]], rng=1))
        >>> survey.labelled(found)["smokes"].values
        ('yes', 'no')
        """
        cells = [
            label_cells(labels, protocol)
            for labels, protocol in zip(self.attributes.values(), self.solution.leaves, strict=True)
        ]
        return estimates.labelled(cells, self.attributes, kind)

    def rehearse(
        self,
        n: int,
        shares: Mapping[str, Any] | None = None,
        rounds: int = 1,
        rng: Rng = None,
    ) -> Rehearsal:
        """Simulate the whole collection before anybody is asked.

        Users are drawn from a population in which the attributes are independent. Each user
        randomizes a record. The aggregator counts the reports and estimates.

        Parameters
        ----------
        n : int
            Number of users.
        shares : mapping, optional
            The assumed frequencies by attribute. They are a list in the order of the categories, or
            a mapping by category, and are scaled to add up to 1. An attribute without frequencies
            is uniform.
        rounds : int
            Number of reports of each user about an unchanged record. More than 1 needs a survey
            with two budgets.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. A seed makes the rehearsal reproducible.

        Returns
        -------
        Rehearsal
            The expected errors and the observed errors, by attribute. Both are errors of the
            estimate of one round, also if ``rounds`` is above 1. ``over_rounds`` states the smaller
            error of all rounds together.

        Raises
        ------
        ValueError
            If ``n`` or ``rounds`` is out of range, or if ``shares`` has unknown attributes or
            categories. Also if ``rounds`` is above 1 for a survey that asks once.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"], "age": ["young", "old"]}, epsilon=2.0)
        >>> survey.rehearse(10_000, {"smokes": {"yes": 0.2, "no": 0.8}}, rng=1)
        Rehearsal with 10,000 simulated users, who send 2 bytes each.
        Errors are standard errors of a category, in percentage points.
        attribute  categories  answers  expected  largest  seen
        smokes              2    5,000      0.83     0.83  0.40
        age                 2    5,000      0.93     0.93  0.09
        """
        users = validate.Integer(1, 2**40)("n", n)
        times = validate.Integer(1, 2**20)("rounds", rounds)
        truth = check_shares(self.attributes, {} if shares is None else shares)
        if times > 1:
            self._require_rounds("rounds")
        stream = as_stream(rng)
        generator = as_generator(stream.part(b"rehearse"))
        totals = [self.tally([])] * times
        for start in range(0, users, BATCH):
            many = min(BATCH, users - start)
            records = np.column_stack(
                [generator.choice(len(own), many, p=own) for own in truth.values()]
            )
            for i, counted in enumerate(self._simulate(records, times, stream)):
                totals[i] = totals[i] + counted
        found = [self.estimate(total) for total in totals]
        cells = {
            name: cells_of(protocol, own)
            for protocol, (name, own) in zip(self.solution.leaves, truth.items(), strict=True)
        }
        squares = [
            [np.nanmean((each.frequencies - cells[name]) ** 2) for each in column]
            for name, column in zip(cells, zip(*found, strict=True), strict=True)
        ]
        answers, expected = expect(self.solution, truth, users)
        errors = [float(np.sqrt(np.mean(each))) for each in squares]
        size = self.solution.report_bytes
        return Rehearsal(users, times, size, cells, answers, expected, errors, found[-1])

    def _simulate(self, records: NDArray[np.int64], rounds: int, rng: Rng) -> Iterable[Tally]:
        """Yield the tallies of some users, round after round."""
        if not self.longitudinal:
            yield self.tally(self.solution.randomize(records, rng))
            return
        panel = Panel(self.solution, len(records), rng)
        for _ in range(rounds):
            yield panel.tally(records)._counted_by(self.digest)

    def panel(self, n: int, rng: Rng = None) -> "SurveyPanel":
        """Return n simulated users who report round after round.

        Parameters
        ----------
        n : int
            Number of users.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        SurveyPanel
            The users, with their permanent answers.

        Raises
        ------
        ValueError
            If the survey has one budget and asks once.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> panel = survey.panel(4, rng=1)
        >>> answers = {"smokes": ["no", "yes", "no", "no"]}
        >>> [panel.tally(answers).counts.tolist() for _ in range(2)]
        [[0, 4], [0, 4]]
        """
        self._require_rounds("panel")
        return SurveyPanel(self, Panel(self.solution, n, rng))

    def client(
        self, path: str | os.PathLike[str], limit: float | None = None, context: bytes = b""
    ) -> "SurveyClient":
        """Return one device that reports again and again.

        The method ``Client.open`` opens the file of the device. Use one file per survey. The file
        records the mechanism and the context, but not the names and labels of the survey. So pass
        ``context=bytes.fromhex(survey.digest)``: then the file of another survey is refused.

        Parameters
        ----------
        path : str or path
            Name of the file with the secret and the ledger. It is created if it does not exist. A
            lock file is kept beside it.
        limit : float, optional
            Largest privacy loss over all reports, as ``spent`` counts it. None means no limit. The
            file does not keep the limit, so give it each time.
        context : bytes
            Name of this use of the secret. Different contexts have independent permanent answers.
            The context of a file cannot be changed.

        Returns
        -------
        SurveyClient
            The device.

        Raises
        ------
        ValueError
            If the survey has one budget and asks once, or if the file is damaged. Also if the file
            belongs to another mechanism or context. Without a context, the file of another survey
            with an equal mechanism is accepted.
        FileNotFoundError
            If the directory does not exist, or if the file existed before and is gone.
        PermissionError
            If the file belongs to another user, or if other users have access to it.

        Examples
        --------
        >>> import tempfile
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     context = bytes.fromhex(survey.digest)
        ...     device = survey.client(f"{folder}/device", limit=8.0, context=context)
        ...     len(device.report({"smokes": "no"})), round(device.spent, 3)
        (2, 4.0)
        """
        self._require_rounds("client")
        return SurveyClient(self, Client.open(path, self.solution, limit, context))

    # Helpers of the main methods

    def _own(self, tally: Tally) -> Tally:
        """Return a tally of this survey, and refuse the tally of another survey."""
        if isinstance(tally, Tally) and tally.survey not in (None, self.digest):
            raise ValueError(f"tally is of another survey: {DIFFERENT}")
        return self.solution._as_tally(tally)

    def _require_note(self, name: str, note: object) -> None:
        """Refuse reports whose note is the digest of another survey.

        A note that is not a digest has another meaning, and is ignored.
        """
        digest = isinstance(note, str) and len(note) == len(self.digest)
        if digest and note != self.digest and not set(str(note)) - set("0123456789abcdef"):
            raise ValueError(f"{name} are of another survey: {DIFFERENT}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Survey.from_spec, (self.to_spec(),)

    def _encode_one(self, answers: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the indexes of the labels of one user."""
        if not isinstance(answers, Mapping):
            raise TypeError(f"answers must map attributes to labels, not {validate.quote(answers)}")
        if absent := [name for name in self.attributes if name not in answers]:
            raise ValueError(
                f"answers must have {', '.join(map(repr, absent))}, not only"
                f" {', '.join(map(repr, answers))}"
            )
        columns = {name: factor_list([answers[name]]) for name in self.attributes}
        (record,) = self._encode_columns(columns, one=True)
        return np.asarray(record)

    def _require_once(self, remedy: str) -> None:
        if self.longitudinal:
            raise ValueError(
                f"a survey with two budgets asks again and again: use {remedy}, not randomize"
            )

    def _require_rounds(self, verb: str) -> None:
        if not self.longitudinal:
            raise ValueError(
                f"a survey with one budget asks once: use randomize, not {verb}, or give it two"
                " budgets, eps_perm and eps_1"
            )

    def _table(self, table: Any, reports: NDArray[Any]) -> Any:
        """Return the reports about the rows of a table, as a table of the same kind."""
        built = frames.build_reports(frames.kind_of(table), REPORT, reports, table)
        return frames.add_note(built, SURVEY, self.digest)

    def _batches(self, reports: Any) -> Iterable[tuple[Any, str]]:
        """Return batches of reports, and the name of each."""
        if frames.is_table(reports) or hasattr(reports, "__array__"):
            return [(reports, "reports")]
        if not isinstance(reports, Iterable) or isinstance(reports, str | bytes | Tally):
            raise TypeError(
                f"reports must be a table with a column {REPORT!r}, an array, or an iterable of"
                f" reports or batches, not {validate.quote(reports)}"
            )

        def is_batch(part: Any) -> bool:
            return isinstance(part, list) or hasattr(part, "__array__") or frames.is_table(part)

        return gather_batches(reports, is_batch)

    def _reports(self, batch: Any, invalid: str, name: str) -> Batch:
        """Return checked reports, and the number of messages that were left out."""
        if getattr(getattr(batch, "dtype", None), "kind", "") == "O":
            batch = list(batch)  # a column of pandas
        if isinstance(batch, list):
            batch = {REPORT: batch}
        if not frames.is_table(batch):
            return self.solution._check_batch(batch, invalid, name)
        self._require_note(name, frames.read_note(batch, SURVEY))
        size = self.solution.report_bytes
        kept, wrong, entries = frames.messages_of(name, batch, REPORT, size)
        if wrong.size and invalid == "raise":
            i = int(wrong[0])
            raise ValueError(
                f"{name}, row {i}: a report of this survey has {size} bytes, not"
                f" {validate.quote(as_python(entries[i]))}"
            )
        messages = np.frombuffer(kept, self.solution.report_dtype, count=len(kept))
        reports, refused = self.solution._check_batch(messages, invalid, name)
        return reports, wrong.size + refused

    def __eq__(self, other: object) -> bool:
        # As JSON, because True equals 1 in Python
        return isinstance(other, Survey) and json.dumps(self.to_spec()) == json.dumps(
            other.to_spec()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ", ".join(f"{name} ({len(labels)})" for name, labels in self.attributes.items())
        return f"<Survey of {names}: {validate.quote(self.solution)}>"


@dataclass(frozen=True)
class SurveyPanel:
    """The simulated users of a survey over time, with tables as input and output.

    Parameters
    ----------
    survey : Survey
        The survey.
    panel : Panel
        The users of ``survey.solution``.

    Examples
    --------
    >>> from multi_freq_ldpy import Survey
    >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
    >>> panel = survey.panel(1000, rng=1)
    >>> rounds = panel.run([{"smokes": ["no"] * 1000}] * 2)
    >>> [each["smokes"].frequencies.round(2) for each in rounds]
    [array([-0.01,  1.01]), array([-0.02,  1.02])]
    """

    survey: Survey
    panel: Panel

    def report(self, table: object, users: ArrayLike | None = None) -> Any:
        """Return a table of reports about the present answers.

        Parameters
        ----------
        table : table
            One row per user who reports, with one column per attribute.
        users : array of int, optional
            The numbers of the users, one per row. None means that all users report, in order.

        Returns
        -------
        table
            A table of the same kind, with the column "report".

        Raises
        ------
        ValueError
            If a label is missing or not declared, or if ``users`` does not fit the table.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> panel = survey.panel(2, rng=1)
        >>> [report.hex() for report in panel.report({"smokes": ["no", "yes"]})["report"]]
        ['0001', '0001']
        """
        return self.survey._table(table, self.panel.report(self.survey._encode_table(table), users))

    def tally(self, table: object, users: ArrayLike | None = None) -> Tally:
        """Return the tally of the reports that ``report`` would return.

        Parameters
        ----------
        table : table
            One row per user who reports, with one column per attribute.
        users : array of int, optional
            The numbers of the users, one per row. None means that all users report, in order.

        Returns
        -------
        Tally
            A tally that knows this survey.

        Raises
        ------
        ValueError
            If a label is missing or not declared, or if ``users`` does not fit the table.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> survey.panel(1000, rng=1).tally({"smokes": ["no"] * 1000}).counts
        array([109, 891])
        """
        counted = self.panel.tally(self.survey._encode_table(table), users)
        return counted._counted_by(self.survey.digest)

    def run(self, rounds: Iterable[object]) -> Rounds:
        """Return the labelled estimates of each round.

        Parameters
        ----------
        rounds : iterable of tables
            One table per round, with one row per user.

        Returns
        -------
        Rounds
            One entry per round.

        Raises
        ------
        ValueError
            If a label is missing or not declared, or if a table does not have one row per user.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> found = survey.panel(1000, rng=1).run([{"smokes": ["no"] * 1000}] * 2)
        >>> len(found), found[1]["smokes"].frequencies.round(2)
        (2, array([-0.02,  1.02]))
        """
        found = Rounds()
        for table in rounds:
            found.append(
                self.survey.labelled(
                    self.survey.solution.estimate(self.tally(table)), frames.kind_of(table)
                )
            )
        return found


@dataclass(frozen=True)
class SurveyClient:
    """One device of a survey over time.

    Parameters
    ----------
    survey : Survey
        The survey.
    client : Client
        The client of ``survey.solution``.

    Examples
    --------
    >>> import tempfile
    >>> from multi_freq_ldpy import Survey
    >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     device = survey.client(f"{folder}/device")
    ...     reports = [device.report({"smokes": "no"}) for _ in range(3)]
    ...     len(reports), round(device.spent, 3)
    (3, 4.0)
    """

    survey: Survey
    client: Client

    def report(self, answers: Mapping[str, Any]) -> bytes:
        """Return the report that the device sends about its present answers.

        Parameters
        ----------
        answers : mapping
            One label per attribute. Further keys are ignored.

        Returns
        -------
        bytes
            The report on the wire. Reports about equal answers have the same permanent answer, but
            fresh noise. To send a report again, send the same bytes: do not call this method again.

        Raises
        ------
        ValueError
            If an attribute is absent, or if its label is not declared.
        LimitReached
            If the report would exceed the limit. Nothing is charged.

        Examples
        --------
        >>> import tempfile
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(survey.client(f"{folder}/device").report({"smokes": "no"}))
        2
        """
        record = self.survey._encode_one(answers)
        return wire.encode(self.survey.solution, self.client.report(record))

    @property
    def spent(self) -> float:
        """The privacy loss so far."""
        return self.client.spent
