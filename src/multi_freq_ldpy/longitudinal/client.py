"""Client: one device that reports over time."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import validate
from ..core.deprecation import accept_old_names, old_attribute
from ..core.randomness import KEY_BYTES, Source, Stream, subkey
from ..mechanism import Mechanism, Report, find_silent, require_mechanism
from .ledger import Ledger, State, Store


class Client:
    """One device that reports repeatedly.

    The permanent state is derived from a secret of 32 bytes. Besides the secret, only a ledger is
    kept.

    The secret, the mechanism and ``context`` determine the sampled attribute, the hash function,
    the held positions and the permanent answer for each memo class. So two processes with the same
    secret agree, and a restart changes nothing. The second round is always drawn anew from the
    operating system. With a one-shot protocol, every report costs its full budget again.

    A mechanism with rounds also has a state, which ``Client.open`` keeps in a file. Do not make a
    client with rounds again from its secret alone: after a restart it does not know what it told.

    With the secret, the true values can be inferred from the reports, so the secret has to stay on
    the device. If the secret is lost, a new secret costs the full budget again. ``Client.open``
    keeps the secret in a file, with the ledger.

    Parameters
    ----------
    mechanism : protocol or solution
        Mechanism of the reports.
    secret : bytes, optional
        Secret of 32 bytes. None, the default, draws a new one from the operating system.
    context : bytes
        Bytes that separate surveys. Clients with the same secret and different contexts have
        independent permanent states.
    limit : None
        Not accepted here, because a limit needs a file. Use ``Client.open``.
    first_round : int
        First round in which this user takes part, for mechanisms with rounds.

    Raises
    ------
    TypeError
        If ``mechanism`` is not a mechanism, or if ``secret`` or ``context`` is not bytes.
    ValueError
        If ``secret`` does not have 32 bytes, if ``limit`` is given, or if there is no such round.

    Examples
    --------
    >>> from multi_freq_ldpy import LGRR, Client
    >>> protocol = LGRR(5, eps_perm=2.0, eps_1=1.0)
    >>> client = Client(protocol)
    >>> reports = [client.report(3) for _ in range(100)]
    >>> client.spent
    2.0
    >>> client.report(4) in range(5), client.spent
    (True, 4.0)
    """

    _fresh: Callable[[], Stream] = Stream
    """The maker of the streams of second rounds. Only tests replace it."""

    @accept_old_names(protocol="mechanism")
    def __init__(
        self,
        mechanism: Mechanism,
        secret: bytes | None = None,
        context: bytes = b"",
        *,
        limit: None = None,
        first_round: int = 0,
    ) -> None:
        if limit is not None:
            raise ValueError(
                f"limit={validate.quote(limit)} needs a file that records the spent budget: use"
                " Client.open(path, mechanism, limit)"
            )
        if secret is not None and (not isinstance(secret, bytes) or len(secret) != KEY_BYTES):
            size = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__
            raise (ValueError if isinstance(secret, bytes) else TypeError)(
                f"secret must be {KEY_BYTES} bytes, not {size}"
            )
        own = os.urandom(KEY_BYTES) if secret is None else secret
        self._begin(mechanism, context, own, first_round=first_round)

    protocol = old_attribute("protocol", "mechanism")

    @classmethod
    @accept_old_names(protocol="mechanism")
    def open(
        cls,
        path: str | os.PathLike[str],
        mechanism: Mechanism,
        limit: float | None = None,
        context: bytes = b"",
        *,
        first_round: int = 0,
        restorable: bool = True,
    ) -> "Client":
        """Return the client of a file, and create the file if there never was one.

        The file holds the secret and the ledger, and only its owner can read it. The ledger lists
        the memo classes used, which are mostly the values themselves. The file is not encrypted.
        Processes may share the file.

        A new charge is on disk before ``report`` returns. So a crash can only charge for a report
        that was never sent. If an old copy of the file is restored, the charges since then are
        lost, but not the secret. A memo class whose charge is lost is charged again at its next
        report.

        If the file and its lock file are both removed, the next call begins as a new user. A new
        secret then costs the budget again.

        Parameters
        ----------
        path : str or Path
            File of the client. A lock file is kept beside it, with the suffix ".lock". Use one file
            per survey.
        mechanism : protocol or solution
            Mechanism of the reports.
        limit : float, optional
            Largest value of ``spent``. A report that would exceed it is refused with
            ``LimitReached``. An observer who misses the report can conclude that the value is new.
            The limit holds for the clients that are opened with it. None, the default, is no limit.
        context : bytes
            Bytes that separate surveys. The file records them, and refuses other bytes. Surveys
            with equal mechanisms need different contexts. ``bytes.fromhex(survey.digest)`` names a
            survey.
        first_round : int
            First round in which this user takes part, for mechanisms with rounds. It is recorded
            when the file is made, and not used later.
        restorable : bool
            True, the default, if an old copy of the file may be used again, for example from a
            backup. A device that missed a round of its path then falls silent, unless its noise has
            room for every step. False means that the application vouches for the opposite: the file
            is never copied nor restored. Then missed rounds cost less accuracy. If the word is
            broken, the privacy loss has no bound. The file records the choice.

        Returns
        -------
        Client
            The client of the file.

        Raises
        ------
        TypeError
            If ``mechanism``, ``path`` or ``context`` has the wrong type.
        ValueError
            If ``limit`` is not a budget, if the file is damaged, or if the file belongs to another
            mechanism or context. Also if ``restorable`` is not that of the file.
        FileNotFoundError
            If the directory does not exist, or if the file existed before and is gone.
        PermissionError
            If the file belongs to another user, or if other users have access to it.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from multi_freq_ldpy import LGRR, Client
        >>> protocol = LGRR(5, eps_perm=2.0, eps_1=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     reports = [Client.open(f"{folder}/client", protocol).report(3) for _ in range(3)]
        ...     Client.open(f"{folder}/client", protocol).spent
        2.0
        """
        client: Client = object.__new__(cls)
        most = None if limit is None else validate.budget("limit", limit)
        validate.flag("restorable", restorable)
        client._begin(
            mechanism, context, os.urandom(KEY_BYTES), Store(path), most, first_round, restorable
        )
        return client

    def _begin(
        self,
        mechanism: Mechanism,
        context: bytes,
        secret: bytes,
        store: Store | None = None,
        limit: float | None = None,
        first_round: int = 0,
        restorable: bool = True,
    ) -> None:
        self.mechanism, self._limit = require_mechanism(mechanism), limit
        if not isinstance(context, bytes):
            raise TypeError(f"context must be bytes, not {validate.quote(context)}")
        if mechanism.rounds is None and (first_round or not restorable):
            raise ValueError(
                "first_round and restorable are for mechanisms with rounds, not for"
                f" {validate.quote(mechanism)}"
            )
        self._store, self._lock, self._process = store, threading.Lock(), os.getpid()
        label = mechanism._label
        self._state = State(secret, label.decode(), context, Ledger())
        self._set_memory()
        if mechanism.rounds is not None:
            self._members = mechanism._members(self._memory, 1, first_round, restorable)
            self._state = replace(self._state, history=self._members.to_fields())
        if store is not None:
            found = store.open(self._state)
            for name, given, kept in (
                ("mechanism", self._state.label, found.label),
                ("context", context, found.context),
            ):
                if given != kept:
                    raise ValueError(
                        f"{name} of {store.path} is {validate.quote(kept)}, not"
                        f" {validate.quote(given)}: use one file per client"
                    )
            self._state = found
            if not {*found.ledger.classes, *found.ledger.reports} <= {
                *range(len(mechanism._prices))
            }:
                raise ValueError(
                    f"{store.path} cannot be used: its ledger has accounts that"
                    f" {validate.quote(mechanism)} does not have"
                )
            self._set_memory()
            if mechanism.rounds is not None:
                self._members = mechanism._members(self._memory, 1)
                self._read_history(found)
                if self._members.restorable != restorable:
                    raise ValueError(
                        f"restorable={restorable} is not the choice that {store.path} records"
                    )
        self._ledger = self._state.ledger  # with a file: as it was when the client was opened

    def _set_memory(self) -> None:
        """Derive the permanent randomness from the secret."""
        state, label = self._state, self.mechanism._label
        self._memory = Source.keyed(
            subkey(state.secret, b"client %d " % len(label) + label + state.context)
        )

    def _read_history(self, state: State) -> None:
        """Take the state of a history from the content of the file."""
        try:
            self._members.read_fields(state.history)
            if replace(state, history=self._members.to_fields()).to_bytes() != state.to_bytes():
                raise ValueError("its state is not in the form in which states are written")
        except (ValueError, TypeError, KeyError) as error:
            assert self._store is not None
            raise ValueError(f"{self._store.path} cannot be used: {error}") from None

    @property
    def secret(self) -> bytes:
        """The 32 bytes from which the permanent state is derived."""
        return self._state.secret

    @property
    def spent(self) -> float:
        """The privacy loss so far.

        It is the number of distinct memo classes used, times the loss of a permanent answer.
        ``SPL`` adds up the losses of its attributes. ``SMP`` counts the sampled attribute only.

        The number bounds the loss between two histories of values with one pattern of changes. For
        any two times, the memo classes at these times are equal in both histories, or different in
        both. The times when a value changes, and when it returns to an old value, are not hidden.

        With one-shot protocols it is the number of reports times ``privacy.report``. It then bounds
        the loss of the reports so far, between any two histories. ``privacy.history`` is infinite
        all the same, because it counts any number of reports.
        """
        ledger = self._store.read().ledger if self._store is not None else self._ledger
        return ledger.spent(self.mechanism._prices)

    def report(self, value: ArrayLike, round: int | None = None) -> Report | None:
        """Charge for a report about the present value, and return the report to send.

        Parameters
        ----------
        value : int or list of int
            Present value of the device. For a solution, the record, with one value per attribute.
        round : int, optional
            Number of the round, counted from 0, for mechanisms with rounds. A client with a file
            must be given it. None, the default, is the round after the last one.

        Returns
        -------
        array, scalar or None
            The report to send, an entry of an array of ``report_dtype``. To send it again, send the
            same bytes: another call draws fresh noise. A mechanism with rounds returns None if this
            user does not report in this round. The same round asked again has the same answer, for
            any value.

        Raises
        ------
        LimitReached
            If the charge would exceed the limit of the client. Nothing is charged.
        ValueError
            If ``value`` is not the value of one user or is outside the domain. If ``round`` is
            missing, or earlier than the last round. Also if the file is damaged or now belongs to
            another client.
        TypeError
            If ``value`` is not an integer.
        FileNotFoundError
            If the file of the client is gone.

        Examples
        --------
        >>> from multi_freq_ldpy import Client, DBitFlipPM, Steps
        >>> client = Client(DBitFlipPM(100, eps_perm=2.0, b=10))
        >>> first, second = client.report(42), client.report(47)
        >>> first.tobytes() == second.tobytes(), client.spent
        (True, 2.0)
        >>> other = client.report(12)
        >>> client.spent
        4.0
        >>> device = Client(Steps(3, epsilon=1.0, rounds=8, changes=1), secret=bytes(32))
        >>> [device.report(2, round=r) is not None for r in range(8)]
        [False, True, False, False, False, False, False, False]
        """
        if self.mechanism.rounds is not None:
            return self._report_round(value, round)
        if round is not None:
            raise ValueError(
                f"round={validate.quote(round)} is for mechanisms with rounds, not for"
                f" {validate.quote(self.mechanism)}"
            )
        values, single = self.mechanism._inputs(value, "value")
        if not single:
            raise ValueError(f"value must be that of one user, not {validate.quote(value)}")
        recalled = self.mechanism._recall(values, np.zeros(1, np.int64), self._memory)
        charges = self.mechanism._charges(recalled)
        if self._store is not None:
            self._store.charge(self._state, charges, self.mechanism._prices, self._limit)
        else:
            with self._own_lock():
                self._ledger = self._ledger.add_charges(charges)
        reports = np.empty(1, self.mechanism.report_dtype)
        self.mechanism._report(recalled, [self._fresh() for _ in self.mechanism.parts], reports)
        report: Report = reports[0]
        return report

    def _report_round(self, value: ArrayLike, round: int | None) -> Report | None:
        """Return the answer of one round, after the new state is committed."""
        values = self._members.check_values(value, single=True)
        if round is None and self._store is not None:
            raise ValueError("round must be given, because an old copy of the file may be in use")
        answers: list[Any] = []

        def answer(now: State) -> State:
            at = self._members.last + 1 if round is None else round
            answers.append(self._members.answer(values, at)[0])
            ledger = now.ledger.add_charges(self._members.charges())
            return replace(now, ledger=ledger, history=self._members.to_fields())

        def answer_from_file(now: State) -> State:
            self._read_history(now)
            return answer(now)

        if self._store is not None:
            prices = self.mechanism._prices
            self._store.change(self._state, answer_from_file, prices, self._limit)
        else:
            with self._own_lock():
                self._ledger = answer(replace(self._state, ledger=self._ledger)).ledger
        return None if find_silent(np.array(answers))[0] else answers[0]

    def _own_lock(self) -> threading.Lock:
        """Return a lock of this process.

        After a fork, a thread that no longer exists may hold the old lock.
        """
        if self._process != os.getpid():
            self._lock, self._process = threading.Lock(), os.getpid()
        return self._lock

    def __repr__(self) -> str:
        where = f", file {self._store.path!r}" if self._store is not None else ""
        return (  # the secret stays out of logs
            f"<Client of {validate.quote(self.mechanism)}{where}>"
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Client is one device and cannot be copied: give another process its secret, or the"
            " path of its file"
        )
