"""Sender: it sends the reports of a device or of a gateway, each until the service has counted it.

A report is drawn once per survey and round, and stored before it is sent. A retry sends the same
bytes.
"""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from .core import validate
from .sending.bodies import report_bytes_of, write_body
from .sending.known import Pinned, choose_round, pin, require_accepted, require_same
from .sending.outbox import REFUSED, SENT, SILENT, WAITING, Entry, Outbox
from .sending.spool import create_spool, find_name, hold_spool, list_spools
from .service.batch import HEADER, read_header, write_batch
from .service.delivery import NotDelivered as NotDelivered
from .service.delivery import deliver, deliver_file, repeat
from .service.ids import check_name
from .service.remote import LOCAL, Refused, Remote
from .service.schedule import LARGEST_ROUND
from .survey import Survey

SENT_BEFORE = "sent before"
FOR_EVER = ("round-closed", "wrong-survey", "not-a-report", "too-large")
"""Problems after which a report of a device is never sent again."""

FOR_EVER_IN_FILES = FOR_EVER[:-1]  # the limit of the service may be raised
ASKING = 10.0
"""Most seconds to ask for a survey that the outbox knows. A device may be offline."""


@dataclass(frozen=True)
class Delivery:
    """The result of an answer.

    Parameters
    ----------
    round : int
        Number of the round.
    report : bytes or None
        The report that was sent, or None.
    state : str
        "sent", "sent before", or "silent" if this device does not report in this round.

    Examples
    --------
    >>> from multi_freq_ldpy.sender import Delivery
    >>> Delivery(0, bytes(2), "sent").state
    'sent'
    """

    round: int
    report: bytes | None = field(repr=False)
    state: str


class Sender:
    """The sender of a device or of a gateway.

    Parameters
    ----------
    url : str
        Address of the service.
    outbox : str or path, optional
        File of the reports that are not sent yet. It is created if there never was one, and only
        its owner can read it. Its lock, the sender secret, the clients of surveys over time and the
        waiting batches are in files beside it. Use one outbox per device and service. None, the
        default, keeps nothing: then only ``submit`` works.
    token : str, optional
        Token of the requests, for surveys that need one.

    Raises
    ------
    ValueError
        If ``url`` is not an address of HTTP, or if the outbox is damaged or foreign.
    FileNotFoundError
        If the outbox or its secret existed before and is gone.
    PermissionError
        If a file belongs to another user, or if other users have access to it.

    Examples
    --------
    >>> from multi_freq_ldpy import Sender
    >>> Sender("http://127.0.0.1:8000")
    <Sender to http://127.0.0.1:8000>
    """

    def __init__(
        self,
        url: str = LOCAL,
        outbox: str | os.PathLike[str] | None = None,
        token: str | None = None,
    ) -> None:
        # A token is sent with reports only: an invite, for example, may read nothing
        self._remote, self._public = Remote(url, token), Remote(url)
        self._outbox = None if outbox is None else Outbox(outbox)
        self._surveys: dict[str, Survey] = {}

    def __repr__(self) -> str:
        where = "" if self._outbox is None else f", outbox {self._outbox.path!r}"
        return f"<Sender to {self._remote.url}{where}>"

    def answer(
        self,
        name: str,
        answers: Mapping[str, Any],
        round: int | None = None,
        *,
        limit: float | None = None,
        timeout: float = 60.0,
    ) -> Delivery:
        """Draw the report of a round, store it, and send it.

        A round has one report. Asked again, a waiting report is sent with the same bytes, for any
        answers, and a report that was sent is not sent again.

        Parameters
        ----------
        name : str
            Name of the survey.
        answers : mapping
            One label per attribute. Further keys are ignored.
        round : int, optional
            Number of the round, counted from 0. None, the default, is the latest round that takes
            reports. Without an answer of the service, it is the round by the clock of the device.
        limit : float, optional
            Largest privacy loss over all reports, for surveys over time. None means no limit. It is
            not kept, so give it each time.
        timeout : float
            Seconds in all.

        Returns
        -------
        Delivery
            The round, the report and its state.

        Raises
        ------
        NotDelivered
            If the service does not answer in time. The report is kept, and ``flush`` sends it.
        Refused
            If the survey or the round takes no reports, or if the service refuses the report.
        LimitReached
            If the report would exceed the limit. Nothing changes.
        ValueError
            If there is no outbox, or if an answer is not declared. Also if the service has another
            survey under this name than before. Nothing is drawn.
        OSError
            If the service does not answer and the survey or the round is not known. Also if the
            outbox cannot be written: then nothing is sent.

        Examples
        --------
        >>> import tempfile
        >>> from multi_freq_ldpy import Sender
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sender = Sender("http://127.0.0.1:1", f"{folder}/outbox")
        ...     try:
        ...         sender.answer("smoking", {"smokes": "no"}, timeout=0.1)
        ...     except OSError as error:
        ...         print(str(error).partition(": ")[0])
        no service answers at http://127.0.0.1:1
        """
        outbox = self._require_outbox("answer")
        check_name(name)
        end = time.monotonic() + validate.budget("timeout", timeout)
        pinned, about = self._ask(name, timeout)
        survey = self._survey(pinned)
        number = choose_round(name, survey, pinned, about, round)
        if limit is not None and not survey.longitudinal:
            raise ValueError(f"limit={validate.quote(limit)} is for surveys over time")

        def draw() -> bytes | None:
            if about is not None:
                require_accepted(name, about, number)
            return self._draw(survey, answers, number, limit)

        entry, _ = outbox.enter(name, pinned, number, draw)
        if entry.state == WAITING:
            self._send(entry, max(end - time.monotonic(), 0.0))
            return Delivery(number, entry.report, SENT)
        if entry.state == REFUSED:
            raise Refused(
                409, f"The report of round {number} of {name} was refused. None is drawn again."
            )
        return Delivery(number, None, SILENT if entry.state == SILENT else SENT_BEFORE)

    def flush(self, timeout: float = 60.0) -> int:
        """Send everything that waits in the outbox.

        Parameters
        ----------
        timeout : float
            Seconds without a delivery after which the call ends.

        Returns
        -------
        int
            The number of reports that were sent.

        Raises
        ------
        NotDelivered
            If the service does not answer in time. The reports are kept.
        Refused
            If the service refuses a report. All others are sent before.
        ValueError
            If there is no outbox, or if a file is damaged or foreign.

        Examples
        --------
        >>> import tempfile
        >>> from multi_freq_ldpy import Sender
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Sender("http://127.0.0.1:1", f"{folder}/outbox").flush()
        0
        """
        outbox = self._require_outbox("flush")
        seconds = validate.budget("timeout", timeout)
        sent, refused = 0, None
        contents = outbox.read()
        for entry in [each for _, each in sorted(contents.reports.items())]:
            if entry.state == WAITING:
                try:
                    self._send(entry, seconds)
                    sent += 1
                except Refused as error:
                    refused = refused or error
        for path in list_spools(outbox.path):
            try:
                sent += self._flush_spool(path, contents.surveys, seconds)
            except Refused as error:
                refused = refused or error
        if refused is not None:
            raise refused
        return sent

    def submit(
        self,
        name: str,
        reports: object,
        ids: Iterable[bytes] | None = None,
        round: int = 0,
        *,
        survey: Survey | None = None,
        timeout: float = 60.0,
    ) -> tuple[int, int]:
        """Send reports of other devices, as a gateway.

        With an outbox, the reports are stored before they are sent. If the service does not answer,
        ``flush`` sends them again with the same ids.

        Parameters
        ----------
        name : str
            Name of the survey.
        reports : table, array, list of bytes, or bytes
            The reports. A table has a column "report" of bytes. Bytes are reports one after the
            other, as ``wire.encode`` returns them.
        ids : list of bytes, optional
            One id of 16 bytes per report. A report that is submitted again with the same id counts
            once. None, the default, draws random ids.
        round : int
            Number of the round, counted from 0.
        survey : Survey, optional
            The survey of the reports. If the service has another one under this name, nothing is
            sent. None, the default, trusts that the reports are of the survey of the service.
        timeout : float
            Seconds without a delivery after which the call ends.

        Returns
        -------
        tuple of int
            The number of reports that were counted now, and that were counted before.

        Raises
        ------
        NotDelivered
            If the service does not answer in time.
        Refused
            If the service refuses the reports. Earlier batches are counted.
        ValueError
            If a report is invalid, or if the ids are not those of the reports. Nothing is sent.
        TypeError
            If ``reports`` is of another type.

        Examples
        --------
        >>> from multi_freq_ldpy import Sender
        >>> try:
        ...     Sender("http://127.0.0.1:1").submit("smoking", [bytes(2)], timeout=0.1)
        ... except OSError as error:
        ...     print(str(error).partition(": ")[0])
        no service answers at http://127.0.0.1:1
        """
        check_name(name)
        number = validate.Integer(0, LARGEST_ROUND)("round", round)
        seconds = validate.budget("timeout", timeout)
        pinned, _ = self._ask(name, seconds)
        if survey is not None and survey.digest != pinned.digest:
            raise ValueError(
                f"the reports are of the survey with digest {survey.digest}, and {name} has"
                f" {pinned.digest}"
            )
        served = self._survey(pinned)
        body = write_body(served, pinned.digest, number, reports, ids)
        if self._outbox is None:
            size = report_bytes_of(served)
            try:
                return deliver_file(self._remote, name, BytesIO(body), size, seconds)
            except NotDelivered as error:
                raise NotDelivered(
                    f"{error}. Some reports may be counted: submit all again with the same ids"
                ) from None
        self._outbox.pin(name, pinned)
        with create_spool(self._outbox.path, name, body) as (path, file):
            return self._send_spool(path, file, name, pinned, seconds)

    def _require_outbox(self, verb: str) -> Outbox:
        if self._outbox is None:
            raise ValueError(f"{verb} needs an outbox: use Sender(url, outbox)")
        return self._outbox

    def _ask(self, name: str, timeout: float) -> tuple[Pinned, dict[str, Any] | None]:
        """Return a survey, and the answer of the service, or None if it does not answer.

        Without an answer, the survey is that of the outbox.
        """
        known = None if self._outbox is None else self._outbox.read().surveys.get(name)
        if known is None:
            about = repeat(lambda seconds: self._public.describe(name, seconds), timeout)
            return pin(name, about), about
        try:
            about = self._public.describe(name, min(ASKING, timeout / 2))
        except OSError:
            return known, None
        except Refused as error:
            if error.passing:
                return known, None
            raise
        require_same(name, known, about["digest"])
        return known, about

    def _survey(self, pinned: Pinned) -> Survey:
        """Return the survey of a spec, whose digest is checked."""
        found = self._surveys.get(pinned.digest)
        if found is None:
            found = self._surveys[pinned.digest] = pinned.build()
        return found

    def _draw(
        self, survey: Survey, answers: Mapping[str, Any], number: int, limit: float | None
    ) -> bytes | None:
        """Return a new report, after it was charged, or None for a silent user."""
        survey._encode_one(answers)  # refused before a client is made
        if not survey.longitudinal:
            return survey.randomize_one(answers)
        assert self._outbox is not None
        path, context = f"{self._outbox.path}.{survey.digest}", bytes.fromhex(survey.digest)
        if survey.rounds is None:
            return survey.client(path, limit, context).report(answers)
        return survey.client(path, limit, context, first_round=number).report(answers, number)

    def _send(self, entry: Entry, timeout: float) -> None:
        """Send a waiting report, and note the final answer."""
        assert self._outbox is not None and entry.report is not None
        body = write_batch(entry.digest, entry.round, [(entry.id, entry.report)])
        try:
            deliver(self._remote, entry.survey, body, 1, timeout)
        except NotDelivered as error:
            raise NotDelivered(f"{error}. The report is kept and will be sent by flush()") from None
        except Refused as error:
            if error.kind in FOR_EVER:
                self._outbox.mark(entry, REFUSED)
            raise
        self._outbox.mark(entry, SENT)

    def _flush_spool(self, path: str, known: Mapping[str, Pinned], timeout: float) -> int:
        """Send the reports of a file that another call has left. Returns their number."""
        with hold_spool(path) as file:
            if file is None:
                return 0
            try:
                name, digest = find_name(path, known), read_header(file.read(HEADER.size)).digest
                if name is None or digest != known[name].digest:
                    raise ValueError("its survey is not in the outbox")
                file.seek(0)
                return sum(self._send_spool(path, file, name, known[name], timeout))
            except Refused:
                raise
            except ValueError as error:
                raise ValueError(f"{path} cannot be used: {error}") from None

    def _send_spool(
        self, path: str, file: Any, name: str, pinned: Pinned, timeout: float
    ) -> tuple[int, int]:
        """Send the reports of a file, and remove it."""
        size = report_bytes_of(self._survey(pinned))
        try:
            found = deliver_file(self._remote, name, file, size, timeout)
        except NotDelivered as error:
            raise NotDelivered(
                f"{error}. The reports are kept and will be sent by flush()"
            ) from None
        except Refused as error:
            if error.kind in FOR_EVER_IN_FILES:
                os.replace(path, f"{path}.refused")
            raise
        os.unlink(path)
        return found
