"""One device over time."""

import os
import threading
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..core import validate
from ..core.deprecation import accept_old_names, old_attribute
from ..core.randomness import KEY_BYTES, Source, Stream, subkey
from ..mechanism import Mechanism, Report, require_mechanism
from .ledger import Ledger, State, Store


class Client:
    """One device that reports again and again.

    All that must last is derived from a secret of 32 bytes; besides it only a ledger is kept.

    The sampled attribute, the hash function, the held positions and the permanent answer for each
    memo class are functions of the secret, the protocol and ``context`` (bytes that tell surveys
    apart), so two processes with the same secret agree, and a restart changes nothing. The second
    round comes from the operating system, always anew. With a one-shot protocol every report costs
    as much again.

    The secret tells the true values from the reports, so it has to stay on the device; to lose it
    and go on with a new one costs as much again. ``Client.open`` keeps it in a file, with the
    ledger.

    >>> from multi_freq_ldpy import LGRR
    >>> protocol = LGRR(5, eps_perm=2.0, eps_1=1.0)
    >>> client = Client(protocol)
    >>> reports = [client.report(3) for _ in range(100)]
    >>> client.spent
    2.0
    >>> client.report(4) in range(5), client.spent
    (True, 4.0)
    """

    @accept_old_names(protocol="mechanism")
    def __init__(
        self,
        mechanism: Mechanism,
        secret: bytes | None = None,
        context: bytes = b"",
        *,
        limit: None = None,
    ) -> None:
        if limit is not None:
            raise ValueError(
                f"limit={validate.quote(limit)} needs a file that remembers what was spent: use"
                " Client.open(path, mechanism, limit)"
            )
        if secret is not None and (not isinstance(secret, bytes) or len(secret) != KEY_BYTES):
            size = f"{len(secret)} bytes" if isinstance(secret, bytes) else type(secret).__name__
            raise (ValueError if isinstance(secret, bytes) else TypeError)(
                f"secret must be {KEY_BYTES} bytes, not {size}"
            )
        self._begin(mechanism, context, os.urandom(KEY_BYTES) if secret is None else secret)

    protocol = old_attribute("protocol", "mechanism")

    @classmethod
    @accept_old_names(protocol="mechanism")
    def open(
        cls,
        path: str | os.PathLike[str],
        mechanism: Mechanism,
        limit: float | None = None,
        context: bytes = b"",
    ) -> "Client":
        """Return the client of a file, which is made, readable by its owner only, if there never
        was one.

        The file holds the secret and the ledger, which lists the memo classes used: mostly the
        values themselves. Before ``report`` returns, a new charge is on disk, so that a crash can
        only charge for a report that was never sent. Processes may share the file. A ``limit``
        refuses, with ``LimitReached``, every report that would bring ``spent`` above it; it holds
        for the clients that are opened with it. Whoever sees that a report is missing can conclude
        that the value was a new one. An old copy of the file that is put back has forgotten what
        was spent since, though not the secret.
        """
        client: Client = object.__new__(cls)
        most = None if limit is None else validate.budget("limit", limit)
        client._begin(mechanism, context, os.urandom(KEY_BYTES), Store(path), most)
        return client

    def _begin(
        self,
        mechanism: Mechanism,
        context: bytes,
        secret: bytes,
        store: Store | None = None,
        limit: float | None = None,
    ) -> None:
        self.mechanism, self._limit = require_mechanism(mechanism), limit
        if not isinstance(context, bytes):
            raise TypeError(f"context must be bytes, not {validate.quote(context)}")
        self._store, self._lock, self._process = store, threading.Lock(), os.getpid()
        self._state = State(secret, mechanism._label.decode(), context, Ledger())
        if store is not None:
            found = store.open(self._state)
            for name, given, kept in (
                ("mechanism", self._state.label, found.label),
                ("context", context, found.context),
            ):
                if given != kept:
                    raise ValueError(
                        f"{name} of {store.path} is {validate.quote(kept)}, not"
                        f" {validate.quote(given)}: one file a client"
                    )
            self._state = found
            if not {*found.ledger.classes, *found.ledger.reports} <= {
                *range(len(mechanism._prices))
            }:
                raise ValueError(
                    f"{store.path} cannot be used: its ledger has accounts that"
                    f" {validate.quote(mechanism)} does not have"
                )
        self._ledger = self._state.ledger  # where there is a file, only what it was when opened
        label = mechanism._label
        self._memory = Source.keyed(
            subkey(self._state.secret, b"client %d " % len(label) + label + context)
        )

    @property
    def secret(self) -> bytes:
        """The 32 bytes from which all that lasts is derived."""
        return self._state.secret

    @property
    def spent(self) -> float:
        """The privacy loss so far.

        Distinct memo classes used, times the loss of a permanent answer.

        It bounds the loss between two histories of one pattern: at any two times, either both have
        the same class as before or both have another. When a value changes, and when it is the old
        one again, is not hidden. ``SPL`` adds up its attributes, ``SMP`` has the sampled one only;
        with one-shot protocols it is the number of reports times ``privacy.report``, and bounds the
        loss between any two histories.
        """
        ledger = self._store.read().ledger if self._store is not None else self._ledger
        return ledger.spent(self.mechanism._prices)

    def report(self, value: ArrayLike) -> Report:
        """Return what the device sends about its present value (or record), after it has been
        charged for.
        """
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
        self.mechanism._report(recalled, [Stream() for _ in self.mechanism.parts], reports)
        report: Report = reports[0]
        return report

    def _own_lock(self) -> threading.Lock:
        """Return a lock of this process.

        After a fork, the old one may be held by a thread that no longer exists.
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
            "a Client is one device: give its secret, or the path of its file, to another process,"
            " not a copy"
        )
