"""Surveys: attributes with names, categories with labels, and tables as input and output."""

import json
import os
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import registry, wire
from .adaptive import best
from .analysis.explanation import Explanation, explain
from .core import parallel, validate
from .core.privacy import Privacy
from .core.randomness import Rng, as_generator, as_stream
from .core.tally import Tally, digest_of
from .estimation.several import Estimates, Rounds
from .files.atomic import open_atomic
from .longitudinal.client import Client
from .longitudinal.once import Once
from .longitudinal.panel import Panel
from .longitudinal.steps import Steps
from .mechanism import Batch, check_invalid, find_silent, gather_batches
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
"""The largest budget without a warning. A larger budget protects little."""

MAGIC = b"MFLS"
REPORT = "report"
"""The name of the column of a table of reports. It holds bytes, as on the wire."""

SURVEY = "survey"
"""The key in the metadata of a table of reports. Its entry is the digest of their survey."""


AT = ", round "
"""The text before the number of the round, in the metadata of a table of reports of one round."""

BY_NAME = {"Steps": Steps, "Once": Once}
"""The protocols of surveys with rounds, for any number of categories."""

DIFFERENT = "names, categories, their order, protocols or budgets differ"


class Survey:
    """Everything that clients and the aggregator of one collection share.

    A survey has attributes with names and declared categories, budgets, a solution and protocols.
    Tables are pandas or polars DataFrames, Arrow tables, or dicts of lists. Results are tables of
    the same kind.

    With one budget, users are asked once, and ``randomize`` makes one report per row. With two
    budgets, users are asked again and again. Then ``panel`` simulates many users, and ``client`` is
    one device.

    With one budget and ``rounds``, users are asked in each of these rounds, and ``epsilon`` is the
    budget of the whole history. It also hides when an answer changes. Reports are counted round by
    round, and ``estimate`` takes the tallies of the rounds so far.

    Parameters
    ----------
    attributes : mapping
        The categories of each attribute by name, in order. They are declared, and never taken from
        data.
    epsilon : float, optional
        Privacy budget of one report. With ``rounds``, of all reports of a user.
    eps_perm : float, optional
        Privacy budget of all reports about an unchanged value.
    eps_1 : float, optional
        Privacy budget of the first report.
    rounds : int, optional
        Number of rounds of a survey that protects whole histories. None, the default, means that
        the survey has no rounds.
    changes : int, optional
        Largest number of changes of an answer after the first round, for ``rounds``. Privacy holds
        for any number of changes, but estimates are unbiased only up to this one.
    solution : type
        SPL, SMP or RSFD. Under SMP, the default, each user reports one attribute, drawn at random.
        With ``rounds``, SPL or SMP.
    protocol : class, callable, or list
        The protocol of all attributes, or a list with one protocol per attribute. ``best``, the
        default, chooses the protocol of least variance for each attribute. With ``rounds``, the
        default is ``Steps``, and ``Once`` needs no ``changes``.
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
    >>> yearly = Survey({"smokes": ["yes", "no"]}, epsilon=2.0, rounds=12, changes=2)
    >>> yearly.privacy.history, yearly.rounds
    (2.0, 12)
    """

    def __init__(
        self,
        attributes: Mapping[str, Iterable[Hashable]],
        epsilon: float | None = None,
        *,
        eps_perm: float | None = None,
        eps_1: float | None = None,
        rounds: int | None = None,
        changes: int | None = None,
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
        if rounds is not None or changes is not None:
            protocol, extra = _choose_history(protocol, budgets, rounds, changes)
            options |= extra
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
        privacy, over_time = solution.privacy, solution.rounds is not None
        if (loss := privacy.history if over_time else privacy.report) > LARGE:
            who, what = (
                ("the reports of a user", "history") if over_time else ("a report", "answer")
            )
            warnings.warn(
                f"a budget of {loss:g} protects little: {who} may be e^{loss:g} times likelier for"
                f" one {what} than for another",
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
        known: Mapping[str, Any]
        protocols = BY_NAME if "rounds" in given else registry.PROTOCOLS
        for field, known in (("solution", registry.SOLUTIONS), ("protocol", protocols)):
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
        """True if users are asked again and again, with two budgets or with rounds."""
        return self.solution.permanent is not None or self.rounds is not None

    @property
    def rounds(self) -> int | None:
        """The number of rounds, if the survey protects whole histories. None otherwise."""
        return self.solution.rounds

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
        table : table, or list of tables
            One row per user, with one column per attribute. Further columns are ignored. For a
            survey with rounds, one table per round so far, with the same users in the same rows.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.

        Returns
        -------
        table, or list of tables
            A table of the same kind. Its column "report" holds bytes, as on the wire. For a survey
            with rounds, one table per round, with one row per user who reports in this round.

        Raises
        ------
        ValueError
            If a column is absent, or if a label is missing or not declared. Also if the survey has
            two budgets. If there are more tables than rounds.
        TypeError
            If ``table`` is not a table. For a survey with rounds, if it is not a list of tables.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> reports = survey.randomize({"smokes": ["no", "yes", "no"]}, rng=1)
        >>> [report.hex() for report in reports["report"]]
        ['0000', '0000', '0001']
        """
        if self.rounds is not None:
            return self._randomize_rounds(table, rng)
        self._require_once("survey.panel(n) or survey.client(path)")
        return self._table(table, self.solution.randomize(self._encode_table(table), rng))

    def _randomize_rounds(self, tables: Any, rng: Rng) -> list[Any]:
        """Return one table of reports per round."""
        if not isinstance(tables, list | tuple) or not all(map(frames.is_table, tables)):
            raise TypeError(
                f"table must be a list of tables, one per round, not {validate.quote(tables)}"
            )
        if len(tables) > (self.rounds or 0):
            raise ValueError(
                f"table must have at most rounds={self.rounds} tables, not {len(tables)}"
            )
        if not tables:
            return []
        panel = self.panel(len(self._encode_table(tables[0])), rng)
        return [panel.report(each) for each in tables]

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

    def explain(self, report: bytes, answers: Mapping[str, Any] | None = None) -> list[Explanation]:
        """Return what a report says of each attribute, and how likely it is under each answer.

        All numbers are exact. With two budgets they are about one report alone.
        ``privacy.lifetime`` bounds what all reports about one answer say together.

        Parameters
        ----------
        report : bytes
            The report on the wire.
        answers : mapping, optional
            The answers of the user, one label per attribute. Odds are then relative to them. RS+FD
            needs them, because the attributes of a report belong together. None, the default, means
            odds relative to the least likely label.

        Returns
        -------
        list of Explanation
            One entry per attribute.

        Raises
        ------
        ValueError
            If no device sends this report, or if the answers are missing under RS+FD or not
            declared. Also if the probabilities of a protocol are not fractions (SHE), and for
            surveys with rounds. A report of a round depends on earlier rounds.
        TypeError
            If ``report`` is not bytes, or if ``answers`` is not a mapping.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"], "age": ["<40", ">=40"]}, epsilon=2.0)
        >>> smokes, age = survey.explain(bytes([0, 1]))
        >>> smokes
        smokes: the report supports no
          yes  1 times as likely
          no   7.38906 times as likely
        >>> age.sent, float(age.ratio)
        (False, 1.0)
        """
        if self.rounds is not None:
            raise ValueError(
                "a report of a survey with rounds depends on earlier rounds: it is not explained"
            )
        record = None if answers is None else self._encode_one(answers)
        return explain(self.solution, self.attributes, report, record)

    def tally(self, reports: object, *, invalid: str = "raise", round: int | None = None) -> Tally:
        """Count reports.

        Parameters
        ----------
        reports : table, list of bytes, array, or iterable of batches
            The reports. A table has a column "report" of bytes. An array is the result of
            ``solution.randomize``.
        invalid : {"raise", "skip"}
            Treatment of invalid reports. "raise" refuses all reports and names the row of the first
            invalid one. "skip" leaves invalid reports out, and ``tally.invalid`` is their number.
        round : int, optional
            Number of the round of these reports, counted from 0. A survey with rounds needs it.

        Returns
        -------
        Tally
            The counts of the reports. The tally knows this survey: ``estimate`` of another survey
            refuses it.

        Raises
        ------
        ValueError
            If a report is invalid and ``invalid`` is "raise". Also if the metadata of a table name
            another survey or another round. If ``round`` is missing, or if there is no such round.
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
        own = self._at(round)
        return own._tally(
            self._reports(own, batch, invalid, name, round)
            for batch, name in self._batches(reports)
        )._counted_by(self.digest)

    def _at(self, round: int | None) -> Solution:
        """Return the solution whose reports are counted: that of a round, if there are rounds."""
        if self.rounds is None:
            if round is not None:
                raise ValueError(
                    f"round={validate.quote(round)} is for surveys with rounds, not for"
                    f" {validate.quote(self)}"
                )
            return self.solution
        if round is None:
            raise ValueError(
                "round must be given, because the reports of a survey with rounds are counted"
                " round by round"
            )
        return self.solution.at(round)

    @overload
    def estimate(  # type: ignore[overload-overlap]
        self, reports: Sequence[Tally], *, smooth: bool = True, users: int | None = None
    ) -> Rounds: ...

    @overload
    def estimate(self, reports: object) -> Estimates: ...

    def estimate(
        self, reports: object, *, smooth: bool = True, users: int | None = None
    ) -> Estimates | Rounds:
        """Return the frequencies of each attribute with their errors.

        Parameters
        ----------
        reports : Tally, table, list of bytes, array, or iterable of batches
            A tally of this survey, or reports as ``tally`` takes them. For a survey with rounds, a
            list with one entry per round so far, in their order: its tally, or its reports.
        smooth : bool
            For a survey with rounds. True, the default, uses the reports of all these rounds for
            every round. False uses only the reports up to the round itself.
        users : int, optional
            For a survey with rounds: the number of users who take part. By default it is computed
            from the numbers of reports.

        Returns
        -------
        Estimates or Rounds
            Labelled estimates, one per attribute. For a survey with rounds, one ``Estimates`` per
            round.

        Raises
        ------
        ValueError
            If a report is invalid, or if the tally is of another survey. If a tally is not that of
            its round.
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
        if self.rounds is not None:
            return self._estimate_rounds(reports, smooth, users)
        if not smooth or users is not None:
            raise ValueError("smooth and users are for surveys with rounds")
        kind = _kind_of(reports)
        counted = self._own(reports) if isinstance(reports, Tally) else self.tally(reports)
        return self.labelled(self.solution.estimate(counted), kind)

    def em(self, reports: object) -> Estimates:
        """Return the maximum-likelihood distribution of each attribute, given the reports.

        Reports hold more information than their counts, so this needs the reports themselves.

        Parameters
        ----------
        reports : table, list of bytes, array, or iterable of batches
            Reports as ``tally`` takes them, not a tally.

        Returns
        -------
        Estimates
            Labelled distributions without errors, one per attribute.

        Raises
        ------
        ValueError
            If a report is invalid, or if the metadata of a table name another survey.
        TypeError
            If the survey has rounds, or if the method is not known for its solution.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0)
        >>> reports = survey.randomize({"smokes": ["no", "no", "yes", "no"] * 1000}, rng=1)
        >>> survey.em(reports)["smokes"].frequencies.round(4)
        array([0.2459, 0.7541])
        """
        if self.rounds is not None:
            raise TypeError(f"em is for surveys without rounds, not for {validate.quote(self)}")
        batches = [
            self._reports(self.solution, batch, "raise", name, None)[0]
            for batch, name in self._batches(reports)
        ]
        return self.labelled(self.solution.em(batches), _kind_of(reports))

    def _estimate_rounds(self, reports: object, smooth: bool, users: int | None) -> Rounds:
        """Return the labelled estimates of every round so far."""
        if not isinstance(reports, list | tuple):
            raise TypeError(
                "reports must be a list with the tally or the reports of each round so far, not"
                f" {validate.quote(reports)}"
            )
        tallies = [
            self._own(each) if isinstance(each, Tally) else self.tally(each, round=r)
            for r, each in enumerate(reports)
        ]
        kind = _kind_of(reports[0]) if reports else None
        return self._label_rounds(self.solution.estimate(tallies, smooth, users), kind)

    def _label_rounds(self, rounds: Rounds, kind: str | None) -> Rounds:
        """Return estimates of all rounds with the names and labels of this survey."""
        found = Rounds(self.labelled(each, kind) for each in rounds if isinstance(each, Estimates))
        found._compares = rounds._compares
        return found

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
            with two budgets. A survey with rounds is always rehearsed with all its rounds.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations. A seed makes the rehearsal reproducible.

        Returns
        -------
        Rehearsal
            The expected errors and the observed errors, by attribute. Both are errors of the
            estimate of one round, also if ``rounds`` is above 1. ``over_rounds`` states the smaller
            error of all rounds together. For a survey with rounds, the simulated records do not
            change, and the errors are root mean squares over the rounds.

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
        if self.rounds is not None:
            if times not in (1, self.rounds):
                raise ValueError(f"rounds must be {self.rounds}, those of the survey, not {times}")
            times = self.rounds
        elif times > 1:
            self._require_rounds("rounds")
        stream = as_stream(rng)
        generator = as_generator(stream.part(b"rehearse"))
        totals = [self.tally([], round=r) for r in self._numbered(times)]
        for start in range(0, users, BATCH):
            many = min(BATCH, users - start)
            records = np.column_stack(
                [generator.choice(len(own), many, p=own) for own in truth.values()]
            )
            for i, counted in enumerate(self._simulate(records, times, stream)):
                totals[i] = totals[i] + counted
        found = self._estimate_each(totals, users)
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
        size, whole = self._at(0 if self.rounds else None).report_bytes, self.rounds is not None
        return Rehearsal(users, times, size, cells, answers, expected, errors, found[-1], whole)

    def _numbered(self, times: int) -> Sequence[int | None]:
        """Return the numbers of some rounds, or None for each if the survey has no rounds."""
        return range(times) if self.rounds is not None else [None] * times

    def _estimate_each(self, totals: list[Tally], users: int) -> list[Estimates]:
        """Return the estimates of each round."""
        if self.rounds is None:
            return [self.estimate(total) for total in totals]
        rounds = self.estimate(totals, users=users)
        return [each for each in rounds if isinstance(each, Estimates)]

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
            If the survey asks once.

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
        self,
        path: str | os.PathLike[str],
        limit: float | None = None,
        context: bytes = b"",
        *,
        first_round: int = 0,
        restorable: bool = True,
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
        first_round : int
            First round in which this user takes part, for a survey with rounds. It is recorded when
            the file is made, and not used later.
        restorable : bool
            True, the default, if an old copy of the file may be used again. It is for surveys with
            rounds: see ``Client.open``.

        Returns
        -------
        SurveyClient
            The device.

        Raises
        ------
        ValueError
            If the survey asks once, or if the file is damaged. Also if the file belongs to another
            mechanism or context. Without a context, the file of another survey with an equal
            mechanism is accepted.
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
        opened = Client.open(
            path, self.solution, limit, context, first_round=first_round, restorable=restorable
        )
        return SurveyClient(self, opened)

    # Helpers of the main methods

    def _own(self, tally: Tally) -> Tally:
        """Return a tally of this survey, and refuse the tally of another survey."""
        if isinstance(tally, Tally) and tally.survey not in (None, self.digest):
            raise ValueError(f"tally is of another survey: {DIFFERENT}")
        if self.rounds is not None and isinstance(tally, Tally):
            return self.solution.at(self.round_of(tally))._as_tally(tally)
        return self.solution._as_tally(tally)

    def round_of(self, tally: Tally) -> int:
        """Return the round whose reports a tally of this survey counts.

        Parameters
        ----------
        tally : Tally
            A tally of one round.

        Returns
        -------
        int
            The round, counted from 0.

        Raises
        ------
        ValueError
            If the tally is not of a round of this survey.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, epsilon=2.0, rounds=12, changes=2)
        >>> survey.round_of(survey.tally([], round=5))
        5
        """
        parts = getattr(tally.mechanism, "protocols", ())
        found = getattr(parts[0], "round", None) if parts else None
        if found is None or self.rounds is None or found >= self.rounds:
            raise ValueError(
                f"tally must be that of a round of {validate.quote(self)}, not of"
                f" {validate.quote(tally.mechanism)}"
            )
        return int(found)

    def _note(self, round: int | None) -> str:
        """Return the note of a table of reports: the digest, and the round if there are rounds."""
        return self.digest if round is None else f"{self.digest}{AT}{round}"

    def _require_note(self, name: str, note: object, round: int | None = None) -> None:
        """Refuse reports whose note names another survey, or another round.

        A note that does not start with a digest has another meaning, and is ignored.
        """
        digest, _, at = note.partition(AT) if isinstance(note, str) else ("", "", "")
        if len(digest) != len(self.digest) or set(digest) - set("0123456789abcdef"):
            return
        if digest != self.digest:
            raise ValueError(f"{name} are of another survey: {DIFFERENT}")
        if at and at != str(round):
            raise ValueError(f"{name} are of round {at}, not of round {round}")

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
            over_time = "two budgets" if self.rounds is None else "rounds"
            raise ValueError(
                f"a survey with {over_time} asks again and again: use {remedy}, not randomize"
            )

    def _require_rounds(self, verb: str) -> None:
        if not self.longitudinal:
            raise ValueError(
                f"a survey with one budget asks once: use randomize, not {verb}, or give it two"
                " budgets, eps_perm and eps_1"
            )

    def _table(self, table: Any, reports: NDArray[Any], round: int | None = None) -> Any:
        """Return the reports about the rows of a table, as a table of the same kind."""
        kind = frames.kind_of(table)
        if round is not None:
            sent = np.flatnonzero(~find_silent(reports))
            reports, table = reports[sent], table.iloc[sent] if kind == "pandas" else table
        built = frames.build_reports(kind, REPORT, reports, table)
        return frames.add_note(built, SURVEY, self._note(round))

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

    def _reports(
        self, solution: Solution, batch: Any, invalid: str, name: str, round: int | None
    ) -> Batch:
        """Return checked reports, and the number of messages that were left out."""
        if getattr(getattr(batch, "dtype", None), "kind", "") == "O":
            batch = list(batch)  # a column of pandas
        if isinstance(batch, list):
            batch = {REPORT: batch}
        if not frames.is_table(batch):
            return solution._check_batch(batch, invalid, name)
        self._require_note(name, frames.read_note(batch, SURVEY), round)
        size = solution.report_bytes
        kept, wrong, entries = frames.messages_of(name, batch, REPORT, size)
        if wrong.size and invalid == "raise":
            i = int(wrong[0])
            raise ValueError(
                f"{name}, row {i}: a report of this survey has {size} bytes, not"
                f" {validate.quote(as_python(entries[i]))}"
            )
        messages = np.frombuffer(kept, solution.report_dtype, count=len(kept))
        reports, refused = solution._check_batch(messages, invalid, name)
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


def _choose_history(
    protocol: Any, budgets: dict[str, float], rounds: int | None, changes: int | None
) -> tuple[Any, dict[str, int]]:
    """Return the protocol of a survey with rounds, and the options that it takes."""
    if rounds is None:
        raise ValueError(f"changes={validate.quote(changes)} needs rounds, the number of rounds")
    if set(budgets) != {"epsilon"}:
        raise ValueError(
            f"rounds={validate.quote(rounds)} needs the budget epsilon of the whole history, not"
            f" {', '.join(budgets) or 'no budget'}"
        )
    if protocol is best:
        protocol = Steps
        if changes is None:
            raise ValueError(
                f"rounds={validate.quote(rounds)} needs changes, the number of changes of an"
                " answer, or protocol=Once"
            )
    for each in protocol if isinstance(protocol, list | tuple) else [protocol]:
        if isinstance(each, type) and each not in BY_NAME.values():
            raise ValueError(
                f"protocol must be {' or '.join(BY_NAME)} with rounds={validate.quote(rounds)}, or"
                f" a function of k, epsilon and rounds, not {each.__name__}"
            )
        if each is Once and changes is not None:
            raise ValueError(f"changes={validate.quote(changes)} is not for Once: leave it out")
    given = {"rounds": rounds} | ({} if changes is None else {"changes": changes})
    return protocol, given


def _kind_of(reports: Any) -> str | None:
    """Return the kind of a table, or None for anything else."""
    if isinstance(reports, Tally) or not frames.is_table(reports):
        return None
    return frames.kind_of(reports)


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

    def report(
        self, table: object, users: ArrayLike | None = None, round: int | None = None
    ) -> Any:
        """Return a table of reports about the present answers.

        Parameters
        ----------
        table : table
            One row per user who reports, with one column per attribute.
        users : array of int, optional
            The numbers of the users, one per row. None means that all users report, in order.
        round : int, optional
            Number of the round, counted from 0, for a survey with rounds. None, the default, is the
            round after the last one.

        Returns
        -------
        table
            A table of the same kind, with the column "report". For a survey with rounds, it has one
            row per user who reports in this round.

        Raises
        ------
        ValueError
            If a label is missing or not declared, or if ``users`` does not fit the table. If there
            is no such round.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> panel = survey.panel(2, rng=1)
        >>> [report.hex() for report in panel.report({"smokes": ["no", "yes"]})["report"]]
        ['0001', '0001']
        """
        encoded, at = self.survey._encode_table(table), self._at(round)
        return self.survey._table(table, self.panel.report(encoded, users, at), at)

    def _at(self, round: int | None) -> int | None:
        """Return the round that is asked, or None if the survey has no rounds."""
        return round if self.survey.rounds is None else self.panel._next(round)

    def tally(
        self, table: object, users: ArrayLike | None = None, round: int | None = None
    ) -> Tally:
        """Return the tally of the reports that ``report`` would return.

        Parameters
        ----------
        table : table
            One row per user who reports, with one column per attribute.
        users : array of int, optional
            The numbers of the users, one per row. None means that all users report, in order.
        round : int, optional
            Number of the round, counted from 0, for a survey with rounds. None, the default, is the
            round after the last one.

        Returns
        -------
        Tally
            A tally that knows this survey.

        Raises
        ------
        ValueError
            If a label is missing or not declared, or if ``users`` does not fit the table. If there
            is no such round.

        Examples
        --------
        >>> from multi_freq_ldpy import Survey
        >>> survey = Survey({"smokes": ["yes", "no"]}, eps_perm=4.0, eps_1=2.0)
        >>> survey.panel(1000, rng=1).tally({"smokes": ["no"] * 1000}).counts
        array([109, 891])
        """
        counted = self.panel.tally(self.survey._encode_table(table), users, round)
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
        survey, tallies, kinds = self.survey, [], []
        for table in rounds:
            tallies.append(self.tally(table))
            kinds.append(frames.kind_of(table))
        if survey.rounds is not None:
            found = survey.solution.estimate(tallies, users=self.panel.n)
            return survey._label_rounds(found, kinds[0] if kinds else None)
        return Rounds(
            survey.labelled(survey.solution.estimate(each), kind)
            for each, kind in zip(tallies, kinds, strict=True)
        )


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

    @overload
    def report(self, answers: Mapping[str, Any]) -> bytes: ...

    @overload
    def report(self, answers: Mapping[str, Any], round: int) -> bytes | None: ...

    def report(self, answers: Mapping[str, Any], round: int | None = None) -> bytes | None:
        """Return the report that the device sends about its present answers.

        Parameters
        ----------
        answers : mapping
            One label per attribute. Further keys are ignored.
        round : int, optional
            Number of the round, counted from 0. A survey with rounds needs it.

        Returns
        -------
        bytes or None
            The report on the wire. Reports about equal answers have the same permanent answer, but
            fresh noise. To send a report again, send the same bytes: do not call this method again.
            For a survey with rounds, None means that this user does not report in this round. Then
            nothing is charged and nothing is sent. The same round asked again has the same result.

        Raises
        ------
        ValueError
            If an attribute is absent, or if its label is not declared. If ``round`` is missing, or
            earlier than the last round.
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
        report = self.client.report(self.survey._encode_one(answers), round)
        return None if report is None else wire.encode(self.survey._at(round), report)

    @property
    def spent(self) -> float:
        """The privacy loss so far."""
        return self.client.spent
