"""Tallies: the counts of reports, and the mechanism that made these reports.

Tallies of disjoint users add exactly.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import validate
from .channel import Affine
from .deprecation import accept_old_names, old_attribute

if TYPE_CHECKING:
    from ..mechanism import Mechanism
    from ..protocol import Protocol
    from ..solutions.rsfd import Attribute

MAGIC = b"MFLT"
VERSION = 1
DIGEST = 16
_HEADER = struct.Struct("<4sBIQQ")  # magic, version, length of the spec, users, entries of n


def digest_of(data: bytes) -> bytes:
    """Return the digest by which damaged data is detected.

    It does not show who wrote the data.
    """
    import hashlib

    return hashlib.blake2b(data, digest_size=DIGEST).digest()


class Part(NamedTuple):
    """An attribute as the aggregator sees it, and the place of its counts in a tally."""

    seen: "Protocol | Attribute"
    entries: slice


class Specs(NamedTuple):
    """The functions that turn mechanisms into specs, and specs into mechanisms."""

    write: Callable[[Any], dict[str, Any]]
    read: Callable[[dict[str, Any]], "Mechanism"]


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of reports made by one protocol, or by one solution over several attributes.

    ``a + b`` is the tally of the reports of both, for *disjoint* users. ``tally[j]`` is the tally
    of attribute j alone. The bytes of a tally contain neither ``invalid`` nor ``survey``.
    ``Survey.pack`` writes the survey.

    Parameters
    ----------
    mechanism : protocol or solution
        The mechanism that made the reports.
    counts : array of int64
        One count per value, attributes one after the other.
    n : int or array of int64
        Number of reports that speak of each value: one number for all values, or one entry per
        value. The attribute ``n`` always has one entry per value.
    users : int
        Number of users who made the reports. The default, −1, means n, if n is one number.
    invalid : int
        Number of messages that were left out because they are invalid reports (see ``tally``).
    survey : str, optional
        Digest of the survey that counted. None means that no survey is known. Tallies of different
        surveys cannot be added.

    Raises
    ------
    TypeError
        If a field has the wrong type.
    ValueError
        If no reports can have these counts, or if ``users`` is missing although n is an array.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, Tally
    >>> protocol = GRR(3, epsilon=1.0)
    >>> tally = protocol.tally([0, 2, 2]) + protocol.tally([1])
    >>> tally.counts, tally.n
    (array([1, 1, 2]), array([4, 4, 4]))
    >>> Tally.from_bytes(tally.to_bytes()) == tally
    True
    """

    # Set by the package: the registry knows the classes, but this module may not import it
    _specs: ClassVar[Specs]

    mechanism: "Mechanism"
    counts: NDArray[np.int64]
    n: NDArray[np.int64]
    users: int = -1
    invalid: int = 0
    survey: str | None = None

    protocol = old_attribute("protocol", "mechanism")

    def __post_init__(self) -> None:
        counts = validate.integers("counts", self.counts, -(2**62), 2**62, what="a count").copy()
        n = validate.integers("n", self.n, 0, 2**62, what="a number of reports")
        if n.ndim and n.shape != counts.shape:
            raise ValueError(
                f"n must be a number or have the shape of counts, {counts.shape}, not {n.shape}"
            )
        users = validate.Integer(-1, 2**62)("users", self.users)
        if users < 0:
            if n.ndim:
                raise ValueError("users must be given if n has one entry per value")
            users = int(n)
        if (n > users).any():
            raise ValueError(f"n must not exceed users={users}, not {validate.quote(self.n)}")
        n = np.broadcast_to(n.copy(), counts.shape)  # one number in memory if one was given
        self.mechanism._check_counts(counts, n, users)
        counts.flags.writeable = n.flags.writeable = False
        invalid = validate.Integer(0, 2**62)("invalid", self.invalid)
        if self.survey is not None and not isinstance(self.survey, str):
            raise TypeError(f"survey must be a digest or None, not {validate.quote(self.survey)}")
        for name, value in (("counts", counts), ("n", n), ("users", users), ("invalid", invalid)):
            object.__setattr__(self, name, value)

    @classmethod
    def _trust(
        cls,
        mechanism: Any,
        counts: NDArray[np.int64],
        n: int | NDArray[np.int64],
        users: int,
        invalid: int = 0,
        survey: str | None = None,
    ) -> "Tally":
        """Return a tally of counts made by this package, without checking them again."""
        n = np.broadcast_to(n, counts.shape)
        tally = object.__new__(cls)
        values = (mechanism, counts, n, users, invalid, survey)
        for each, value in zip(fields(cls), values, strict=True):
            if isinstance(value, np.ndarray):
                value = value.view()
                value.flags.writeable = False
            object.__setattr__(tally, each.name, value)
        return tally

    def _counted_by(self, survey: str | None) -> "Tally":
        """Return the same tally with the digest of the survey that counted it."""
        return Tally._trust(self.mechanism, self.counts, self.n, self.users, self.invalid, survey)

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally, tuple(getattr(self, each.name) for each in fields(self))

    def __add__(self, other: "Tally") -> "Tally":
        if not isinstance(other, Tally):
            return NotImplemented
        if other.mechanism != self.mechanism:
            raise ValueError(
                "tallies of different mechanisms cannot be added:"
                f" {validate.quote(self.mechanism)} and {validate.quote(other.mechanism)}"
            )
        if not self._may_share_survey(other):
            raise ValueError(
                f"tallies of different surveys cannot be added: {self.survey} and {other.survey}"
            )
        n = self.n[0] + other.n[0] if self.mechanism._answers_all else self.n + other.n
        return Tally(
            self.mechanism,
            self.counts + other.counts,
            n,
            self.users + other.users,
            self.invalid + other.invalid,
            self.survey or other.survey,
        )

    def _may_share_survey(self, other: "Tally") -> bool:
        """Tell whether two tallies may come from one survey.

        They may if one of the surveys is unknown.
        """
        return None in (self.survey, other.survey) or self.survey == other.survey

    def __radd__(self, other: object) -> "Tally":
        """Return this tally if ``other`` is 0, so that ``sum(tallies)`` works."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __getitem__(self, attribute: int) -> "Tally":
        """Return the tally of one attribute.

        Parameters
        ----------
        attribute : int
            Index of the attribute. Negative indices count from the last one.

        Returns
        -------
        Tally
            The counts of this attribute. ``users``, ``invalid`` and ``survey`` stay the same.

        Raises
        ------
        IndexError
            If there is no such attribute.
        TypeError
            If ``attribute`` is not an integer.
        """
        parts = self.mechanism.parts
        if (
            not -len(parts)
            <= (j := validate.Integer(-(2**62), 2**62)("attribute", attribute))
            < len(parts)
        ):
            raise IndexError(f"attribute must be one of 0, …, {len(parts) - 1}, not {attribute}")
        seen, entries = parts[j]
        return Tally._trust(
            seen, self.counts[entries], self.n[entries], self.users, self.invalid, self.survey
        )

    @property
    def channel(self) -> Affine:
        """The channel of the only attribute. For several attributes use ``tally[j].channel``."""
        if len(self.mechanism.parts) > 1:
            raise ValueError(
                "a tally of several attributes has one channel per attribute: use tally[j].channel"
                f" with j from 0 to {len(self.mechanism.parts) - 1}"
            )
        return self.mechanism.parts[0].seen.channel

    def __iter__(self) -> Iterator["Tally"]:
        """Iterate over the attributes."""
        return (self[j] for j in range(len(self.mechanism.parts)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        same = self.mechanism == other.mechanism and self.users == other.users
        return (
            same
            and self._may_share_survey(other)
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.n, other.n)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """Return the tally as bytes, together with the spec of its mechanism.

        Returns
        -------
        bytes
            A format with a version and a digest. Numbers are little endian.

        Raises
        ------
        ValueError
            If the mechanism is not in the registry.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR
        >>> GRR(3, epsilon=1.0).tally([0, 2, 2]).to_bytes()[:4]
        b'MFLT'
        """
        import json

        spec = json.dumps(self._specs.write(self.mechanism), sort_keys=True).encode()
        entries = 0 if self.mechanism._answers_all else self.n.size  # one number for all values
        header = _HEADER.pack(MAGIC, VERSION, len(spec), self.users, entries)
        n = self.n if entries else self.n[:1]
        data = header + spec + n.astype("<i8").tobytes() + self.counts.astype("<i8").tobytes()
        return data + digest_of(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tally":
        """Return the tally that ``to_bytes`` wrote.

        Parameters
        ----------
        data : bytes
            The bytes of one tally.

        Returns
        -------
        Tally
            The tally. ``invalid`` is 0 and ``survey`` is None.

        Raises
        ------
        TypeError
            If ``data`` is not bytes.
        ValueError
            If ``data`` is damaged, is of another version, or is not a tally.

        Examples
        --------
        >>> from multi_freq_ldpy import GRR, Tally
        >>> data = GRR(3, epsilon=1.0).tally([0, 2, 2]).to_bytes()
        >>> Tally.from_bytes(data).counts
        array([1, 0, 2])
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"data must be bytes, not {validate.quote(data)}")
        data = bytes(data)
        if len(data) < _HEADER.size or data[:4] != MAGIC:
            raise ValueError(f"data is not a tally: it starts with {validate.quote(data[:8])}")
        _, version, length, users, entries = _HEADER.unpack_from(data)
        if version != VERSION:
            raise ValueError(
                f"data is a tally of version {version}; this package reads version {VERSION}"
            )
        if digest_of(data[:-DIGEST]) != data[-DIGEST:]:
            raise ValueError(
                f"data is a damaged tally: the {len(data)} bytes do not match their digest"
            )
        data = data[:-DIGEST]
        body = _HEADER.size + length
        rest = len(data) - body
        if rest < 0 or rest % 8 or users > 2**62 or max(entries, 1) * 8 > rest:
            raise ValueError(f"data is not a complete tally: {len(data)} bytes")
        try:
            spec = validate.parse_json("its spec", data[_HEADER.size : body])
        except ValueError as error:
            raise ValueError(f"data is not a tally: {error}") from None
        numbers = np.frombuffer(data, "<i8", offset=body).astype(np.int64)
        split = max(entries, 1)
        n = numbers[:split] if entries else numbers[0]
        try:
            mechanism = cls._specs.read(spec)
            tally = cls(mechanism, numbers[split:], n, users)
        except TypeError as error:
            raise ValueError(f"data is not a tally: {error}") from None
        if mechanism._answers_all != (entries == 0):
            raise ValueError(
                f"data is not a tally: n has {entries} entries, which {validate.quote(mechanism)}"
                " does not write"
            )
        return tally


Tally.__init__ = accept_old_names(protocol="mechanism")(Tally.__init__)  # type: ignore[method-assign]
