"""Reports as bytes: fixed length, little endian, no header.

Decoding refuses every report that no honest client can send.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .core import validate
from .core.deprecation import accept_old_names
from .core.tally import Tally
from .mechanism import Mechanism, check_invalid, require_mechanism


@accept_old_names(protocol="mechanism")
def encode(mechanism: Mechanism, reports: object) -> bytes:
    r"""Return n reports as n·``mechanism.report_bytes`` bytes.

    Parameters
    ----------
    mechanism : Mechanism
        The protocol or solution that made the reports.
    reports : array or list
        One report, or several, as ``randomize`` returns them.

    Returns
    -------
    bytes
        The reports, one after the other.

    Raises
    ------
    ValueError
        If no honest client sends one of the reports, or if the shape is not that of reports.
    TypeError
        If ``mechanism`` is not a protocol or solution, or if the dtype is not that of reports.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.encode(GRR(300, epsilon=1.0), [1, 258])
    b'\x01\x00\x02\x01'
    """
    return require_mechanism(mechanism)._as_reports(reports).tobytes()


@accept_old_names(protocol="mechanism")
def decode(mechanism: Mechanism, data: bytes) -> NDArray[Any]:
    """Return the reports in ``data``.

    Parameters
    ----------
    mechanism : Mechanism
        The protocol or solution that made the reports.
    data : bytes
        A whole number of reports, as ``encode`` returns them.

    Returns
    -------
    array
        The reports, one entry or row per user.

    Raises
    ------
    ValueError
        If bytes are missing, or if no honest client sends one of the reports.
    TypeError
        If ``mechanism`` is not a protocol or solution, or if ``data`` is not bytes.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.decode(GRR(3, epsilon=1.0), bytes([2, 0]))
    array([2, 0], dtype=uint8)
    """
    return mechanism._as_reports(_split(require_mechanism(mechanism), data))


def _split(mechanism: Mechanism, data: bytes) -> NDArray[Any]:
    """Return bytes as an array of messages that have the length of a report."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data must be bytes, not {validate.quote(data)}")
    data, size = bytes(data), mechanism.report_bytes
    if len(data) % size:
        raise ValueError(
            f"data must be a multiple of {size} bytes, the length of a report, not {len(data)}"
            " bytes"
        )
    return np.frombuffer(data, mechanism.report_dtype, count=len(data) // size)


def tally(
    mechanism: Mechanism, data: bytes, *, invalid: str = "raise", large: bool = False
) -> Tally:
    """Return the tally of the reports in ``data``.

    Each report is checked once. The tally names no survey, so every survey with this mechanism
    accepts it. ``Survey.tally`` returns a tally that names its survey.

    Parameters
    ----------
    mechanism : Mechanism
        The protocol or solution that made the reports.
    data : bytes
        A whole number of reports, as ``encode`` returns them.
    invalid : {"raise", "skip"}
        Treatment of invalid reports, which no honest client sends. "raise" refuses all data. "skip"
        leaves invalid reports out and counts them in ``tally.invalid``. A report that was cut off
        raises an error in both cases, because the later reports cannot be found.
    large : bool
        True allows a domain of more than 2²⁸ values.

    Returns
    -------
    Tally
        The counts of the reports. ``survey`` is None.

    Raises
    ------
    ValueError
        If the length of ``data`` is not a multiple of the length of a report, for any ``invalid``.
        If a report is invalid and ``invalid`` is "raise". Also if the domain has more than 2²⁸
        values and ``large`` is False.
    TypeError
        If ``mechanism`` is not a protocol or solution, or if ``data`` is not bytes.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.tally(GRR(3, epsilon=1.0), bytes([2, 0, 2])).counts
    array([1, 0, 2])
    """
    messages = _split(require_mechanism(mechanism), data)
    return mechanism._tally([mechanism._check_batch(messages, check_invalid(invalid))], large)
