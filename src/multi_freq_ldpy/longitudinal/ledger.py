"""The ledger of a client, and the file that keeps it together with the secret."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ..core import validate
from ..core.randomness import KEY_BYTES
from ..core.tally import digest_of
from ..files.locks import hold_lock
from ..mechanism import Charge

VERSION = 1
WITH_HISTORY = 2
"""The version of files that hold the state of a history. All others have version 1."""
LARGEST_FILE = 2**28
LARGEST_NUMBER = 2**62
PART = 2**20
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
Charges = list[Charge]


class LimitReached(RuntimeError):
    """Exception raised instead of a report that would exceed the limit of the client.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from multi_freq_ldpy import GRR, Client, LimitReached
    >>> with TemporaryDirectory() as folder:
    ...     client = Client.open(f"{folder}/client", GRR(3, epsilon=1.0), limit=1.5)
    ...     try:
    ...         first, second = client.report(2), client.report(2)
    ...     except LimitReached as reached:
    ...         print(reached)
    a report would raise the spent budget from 1.0 to 2.0, above limit=1.5
    """


@dataclass(frozen=True)
class Ledger:
    """The charges of a client, by account.

    A memo class is charged once. Other reports are charged one by one.

    Parameters
    ----------
    classes : dict of int to frozenset of int
        Memo classes charged, by account.
    reports : dict of int to int
        Number of reports charged one by one, by account.
    """

    classes: dict[int, frozenset[int]] = field(default_factory=dict)
    reports: dict[int, int] = field(default_factory=dict)

    def add_charges(self, charges: Charges) -> "Ledger":
        """Return the ledger after these charges.

        Parameters
        ----------
        charges : list of tuple
            Pairs of an account and a memo class. None in place of the class charges for one report.

        Returns
        -------
        Ledger
            The new ledger, or this one if all the charges were made before.
        """
        classes, reports = dict(self.classes), dict(self.reports)
        for account, each in charges:
            if each is None:
                reports[account] = reports.get(account, 0) + 1
            else:
                classes[account] = classes.get(account, frozenset()) | {each}
        return (
            self if (classes, reports) == (self.classes, self.reports) else Ledger(classes, reports)
        )

    def spent(self, prices: tuple[float, ...]) -> float:
        """Return the cost of all charges together.

        Parameters
        ----------
        prices : tuple of float
            Cost of one charge, one per account.

        Returns
        -------
        float
            The sum of the costs.
        """
        times = [len(self.classes.get(j, ())) + self.reports.get(j, 0) for j in range(len(prices))]
        return float(sum(Fraction(price) * n for price, n in zip(prices, times, strict=True) if n))


@dataclass(frozen=True)
class State:
    """The content of a client's file."""

    secret: bytes = field(repr=False)
    label: str
    context: bytes
    ledger: Ledger
    history: Any = None

    def to_bytes(self) -> bytes:
        """Return the state as a line of JSON and a line with its digest."""
        import json

        body = {
            "version": VERSION if self.history is None else WITH_HISTORY,
            "secret": self.secret.hex(),
            "protocol": self.label,
            "context": self.context.hex(),
            "classes": {str(j): sorted(each) for j, each in self.ledger.classes.items()},
            "reports": {str(j): n for j, n in self.ledger.reports.items()},
        }
        if self.history is not None:
            body["history"] = self.history
        line = json.dumps(body, sort_keys=True).encode() + b"\n"
        return line + _digest(line)

    @classmethod
    def from_bytes(cls, data: bytes) -> "State":
        """Return the state that ``to_bytes`` wrote, and refuse other data with ValueError."""
        line, end, rest = data.partition(b"\n")
        if not end or _digest(line + end) != rest:
            raise ValueError("it is truncated or was altered: its digest does not match")
        try:
            body = validate.parse_json("it", line)
            if type(body["version"]) is not int or body["version"] not in (VERSION, WITH_HISTORY):
                raise ValueError(
                    f"it has version {validate.quote(body['version'])}; this package reads versions"
                    f" {VERSION} and {WITH_HISTORY}"
                )
            history = body["history"] if body["version"] == WITH_HISTORY else None
            secret, context = (bytes.fromhex(body[name]) for name in ("secret", "context"))
            classes = {
                int(j): frozenset(map(_check_number, each)) for j, each in body["classes"].items()
            }
            reports = {int(j): _check_number(n) for j, n in body["reports"].items()}
            if len(secret) != KEY_BYTES or not isinstance(body["protocol"], str):
                raise TypeError("secret or protocol")
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"it is not a client's file: {error!r}") from None
        state = cls(secret, body["protocol"], context, Ledger(classes, reports), history)
        if state.to_bytes() != data:
            raise ValueError(
                "it is not a client's file: its content or its format differs from that of one"
            )
        return state


def _check_number(n: object) -> int:
    if type(n) is not int or not 0 <= n <= LARGEST_NUMBER:
        raise TypeError(f"{validate.quote(n)} is not a number of the ledger")
    return n


def _digest(line: bytes) -> bytes:
    """Return the line by which a damaged file is detected."""
    return digest_of(line).hex().encode() + b"\n"


class Store:
    """A file with a client's state, readable by its owner only, with a lock file beside it.

    The lock file records that the file was once created.

    A commit is an atomic write. It writes a new file, makes it durable and renames it over the old
    one. After an interruption, the file is the complete old one or the complete new one.

    If the file was created before and is gone, opening it is an error. A new secret would reveal
    the values a second time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        given = os.fspath(path) if isinstance(path, str | os.PathLike) else path
        if not isinstance(given, str) or not given or "\0" in given:
            raise TypeError(
                f"path must be that of a file, as a string or a Path, not {validate.quote(path)}"
            )
        self.path = os.path.realpath(given)
        if not os.path.isdir(os.path.dirname(self.path)):
            raise FileNotFoundError(
                f"path {validate.quote(given)} is in a directory that does not exist"
            )
        if os.path.exists(self.path):
            _require_owned(self.path, os.stat(self.path))
        self._latest: tuple[bytes, State] | None = None

    def open(self, fresh: State) -> State:
        """Return the state in the file, or begin with ``fresh`` if the file was never created."""
        with self._lock_file() as lock:
            if os.path.exists(self.path):
                state = self.read()
            elif os.read(lock, 1):
                raise self._lost()
            else:
                state = fresh
                self._write(state)
            os.lseek(lock, 0, os.SEEK_SET)
            os.write(lock, b"1")
            os.fsync(lock)
        return state

    def _lost(self) -> FileNotFoundError:
        return FileNotFoundError(
            f"{self.path} is gone, and the secret with it: restore it, or remove"
            f" {self.path}.lock too to begin as a new user"
        )

    def charge(
        self, state: State, charges: Charges, prices: tuple[float, ...], limit: float | None
    ) -> None:
        """Commit charges, or refuse them before anything is changed."""

        def add(now: State) -> State:
            return replace(now, ledger=now.ledger.add_charges(charges))

        self.change(state, add, prices, limit)

    def change(
        self,
        state: State,
        change: Callable[[State], State],
        prices: tuple[float, ...],
        limit: float | None,
    ) -> None:
        """Commit a new state, or refuse it before anything is changed.

        The file stays locked while the new state is computed.
        """
        with self._lock_file():
            now = self.read()
            if (now.secret, now.label, now.context) != (state.secret, state.label, state.context):
                raise ValueError(
                    f"{self.path} has become another client's file since it was opened"
                )
            after = change(now)
            if after.ledger is not now.ledger:
                spent = after.ledger.spent(prices)
                if limit is not None and spent > limit * (1 + 1e-12):  # sums of budgets are rounded
                    raise LimitReached(
                        "a report would raise the spent budget from"
                        f" {now.ledger.spent(prices)!r} to {spent!r}, above {limit=!r}"
                    )
            if after.ledger is not now.ledger or after.history != now.history:
                self._write(after)

    def read(self) -> State:
        """Return the state in the file, checked."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | NO_LINK | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            raise self._lost() from None
        try:
            _require_owned(self.path, os.fstat(descriptor))
            data = bytearray()
            # os.read allocates the number of bytes that are requested
            while part := os.read(descriptor, min(PART, LARGEST_FILE + 1 - len(data))):
                data += part
        finally:
            os.close(descriptor)
        try:
            if len(data) > LARGEST_FILE:
                raise ValueError(f"it has more than {LARGEST_FILE} bytes")
            latest = self._latest  # another thread may replace it
            if latest is None or latest[0] != data:
                latest = self._latest = bytes(data), State.from_bytes(bytes(data))
            return latest[1]
        except ValueError as error:
            raise ValueError(f"{self.path} cannot be used: {error}") from None

    def _write(self, state: State) -> None:
        with suppress(FileNotFoundError):  # present after an interrupted commit
            os.unlink(f"{self.path}.new")
        descriptor = os.open(
            f"{self.path}.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, 0o600
        )
        content = state.to_bytes()
        try:
            data = memoryview(content)
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(f"{self.path}.new", self.path)
        self._latest = content, state
        if hasattr(os, "O_DIRECTORY"):
            directory = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    @contextmanager
    def _lock_file(self) -> Iterator[int]:
        """Hold the lock against other processes and other threads."""
        path = f"{self.path}.lock"
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
            try:
                _require_owned(path, os.fstat(descriptor))
                with hold_lock(descriptor):
                    if os.path.exists(path) and os.path.samestat(
                        os.fstat(descriptor), os.stat(path)
                    ):
                        yield descriptor
                        return
            finally:  # also if the lock file was removed: another process may hold a new one
                os.close(descriptor)


def _require_owned(path: str, about: os.stat_result) -> None:
    """Refuse everything but a regular file of this user that no other user can access."""
    if not stat.S_ISREG(about.st_mode):
        raise ValueError(f"{path} cannot be used: it is not a regular file")
    if hasattr(os, "geteuid") and (about.st_mode & 0o077 or about.st_uid != os.geteuid()):
        mode, owner = about.st_mode & 0o777, about.st_uid
        raise PermissionError(
            f"{path} must belong to this user and be accessible to no other user, not have mode"
            f" {mode:o} and owner {owner}"
        )
