"""Delivery of reports: the same bytes are sent until the service has answered."""

import random
import time
from collections.abc import Callable
from itertools import count
from typing import IO, Any, TypeVar

from .batch import HEADER, ID_BYTES
from .remote import PATIENCE, Refused, Remote, path_of

FIRST_DELAY, LARGEST_DELAY = 0.5, 60.0
SHORTEST = 0.1
"""Least time for an answer, in seconds."""

MOST_RECORDS, MOST_BYTES = 1_000, 1_000_000
Result = TypeVar("Result")
jitter = random.SystemRandom().uniform


class NotDelivered(OSError):
    """Exception raised if the service did not answer in time. Reports in an outbox are kept.

    Examples
    --------
    >>> from multi_freq_ldpy.sender import NotDelivered
    >>> issubclass(NotDelivered, OSError)
    True
    """


def repeat(action: Callable[[float], Result], timeout: float) -> Result:
    """Call an action until it succeeds, with longer and longer delays that are drawn at random.

    Parameters
    ----------
    action : callable
        The action. It takes the seconds that it may wait, and raises OSError or ``Refused``.
    timeout : float
        Seconds in all.

    Returns
    -------
    object
        The result of the action.

    Raises
    ------
    Refused
        If the service refuses the request for good.
    OSError
        If the time is over.
    """
    end = time.monotonic() + timeout
    for attempt in count():
        try:
            return action(min(PATIENCE, max(SHORTEST, end - time.monotonic())))
        except Refused as error:
            if not error.passing:
                raise
            why, least = str(error), error.retry_after
        except OSError as error:
            why, least = str(error), 0.0
        longest = min(LARGEST_DELAY, FIRST_DELAY * 2 ** min(attempt, 10))
        delay = max(least, jitter(0, longest))
        if time.monotonic() + delay >= end:
            raise OSError(why)
        time.sleep(delay)
    raise AssertionError("the loop has no end")


def deliver(remote: Remote, name: str, body: bytes, many: int, timeout: float) -> tuple[int, int]:
    """Send a body until the service has answered.

    Parameters
    ----------
    remote : Remote
        The service.
    name : str
        Name of the survey.
    body : bytes
        The body of a submission.
    many : int
        Number of its records.
    timeout : float
        Seconds in all.

    Returns
    -------
    tuple of int
        The number of reports that were counted now, and that were counted before.

    Raises
    ------
    Refused
        If the service refuses the reports.
    NotDelivered
        If the time is over.
    """

    def send(seconds: float) -> tuple[int, int]:
        answer = remote.ask_json("POST", f"{path_of(name)}/reports", body, seconds)
        return _read_answer(remote, answer, many)

    try:
        return repeat(send, timeout)
    except OSError as error:
        raise NotDelivered(str(error)) from None


def _read_answer(remote: Remote, answer: Any, many: int) -> tuple[int, int]:
    """Return the numbers in an answer. Another program, such as a captive portal, has no such."""
    new, old = (
        (answer.get("counted"), answer.get("duplicates"))
        if isinstance(answer, dict)
        else (None, None)
    )
    if type(new) is int and type(old) is int and min(new, old) >= 0 and new + old == many:
        return new, old
    raise OSError(f"no service answers at {remote.url}: its answer is not that to reports")


def deliver_file(
    remote: Remote,
    name: str,
    file: IO[bytes],
    report_bytes: int,
    timeout: float,
    step: Callable[[int], None] = lambda many: None,
) -> tuple[int, int]:
    """Send the body in a file, in batches.

    Parameters
    ----------
    remote : Remote
        The service.
    name : str
        Name of the survey.
    file : file
        A binary file with the body of a submission of any length, at its start.
    report_bytes : int
        Length of a report.
    timeout : float
        Seconds in all for each batch.
    step : callable
        It is called with the number of records of each batch that was delivered.

    Returns
    -------
    tuple of int
        The number of reports that were counted now, and that were counted before.

    Raises
    ------
    Refused
        If the service refuses a batch. Earlier batches are counted.
    NotDelivered
        If the time is over.
    ValueError
        If the file does not end with a whole record.
    """
    header, size = file.read(HEADER.size), ID_BYTES + report_bytes
    most = max(1, min(MOST_RECORDS, (MOST_BYTES - HEADER.size) // size))
    counted = duplicates = 0
    while records := file.read(most * size):
        many, rest = divmod(len(records), size)
        if rest:
            raise ValueError(f"the body ends within a record of {size} bytes")
        new, old = deliver(remote, name, header + records, many, timeout)
        counted, duplicates = counted + new, duplicates + old
        step(many)
    return counted, duplicates
