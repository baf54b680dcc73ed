"""The ledger of a client, and the file that keeps it together with the secret."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ..core import validate
from ..core.randomness import KEY_BYTES
from ..core.sealed import seal, unseal
from ..files.private import PrivateFile
from ..mechanism import Charge

VERSION = 1
WITH_HISTORY = 2
"""The version of files that hold the state of a history. All others have version 1."""
LARGEST_NUMBER = 2**62
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
        return seal(body)

    @classmethod
    def from_bytes(cls, data: bytes) -> "State":
        """Return the state that ``to_bytes`` wrote, and refuse other data with ValueError."""
        try:
            body = unseal(data)
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


class Store(PrivateFile):
    """A file with a client's state, readable by its owner only, with a lock file beside it.

    If the file was created before and is gone, opening it is an error. A new secret would reveal
    the values a second time.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        real = validate.file_path("path", path)
        super().__init__(
            real,
            f", and the secret with it: restore it, or remove {real}.lock too to begin as a new"
            " user",
        )
        self._latest: tuple[bytes, State] | None = None

    def open(self, fresh: State) -> State:
        """Return the state in the file, or begin with ``fresh`` if the file was never created."""
        with self.begin() as new:
            if not new:
                return self.read()
            self._write(fresh)
            return fresh

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
        with self.lock_file():
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
        data = self.read_bytes()
        latest = self._latest  # another thread may replace it
        if latest is None or latest[0] != data:
            try:
                latest = self._latest = data, State.from_bytes(data)
            except ValueError as error:
                raise ValueError(f"{self.path} cannot be used: {error}") from None
        return latest[1]

    def _write(self, state: State) -> None:
        content = state.to_bytes()
        self.write_bytes(content)
        self._latest = content, state
