"""Reports as bytes: fixed length, little endian, no header.

Decoding refuses whatever no honest client can send.
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
    r"""Return the reports (one or many) as n·``mechanism.report_bytes`` bytes.

    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.encode(GRR(300, epsilon=1.0), [1, 258])
    b'\x01\x00\x02\x01'
    """
    return require_mechanism(mechanism)._as_reports(reports).tobytes()


@accept_old_names(protocol="mechanism")
def decode(mechanism: Mechanism, data: bytes) -> NDArray[Any]:
    """Return the reports in ``data``, a whole number of them.

    A report that the mechanism cannot produce is a ValueError.

    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.decode(GRR(3, epsilon=1.0), bytes([2, 0]))
    array([2, 0], dtype=uint8)
    """
    return mechanism._as_reports(_split(require_mechanism(mechanism), data))


def _split(mechanism: Mechanism, data: bytes) -> NDArray[Any]:
    """Return bytes as an array of messages of the length of reports."""
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
    """Return the tally of the reports in ``data``, each of which is checked once.

    Parameters
    ----------
    mechanism : Mechanism
        The protocol or solution that made the reports.
    data : bytes
        A whole number of reports, as on the wire.
    invalid : {"raise", "skip"}
        Whether reports that no honest client sends are refused, or left out and counted in
        ``tally.invalid``.
    large : bool
        Whether a domain of more than 2²⁸ values may be counted.

    Returns
    -------
    Tally
        What was counted.

    Raises
    ------
    ValueError
        If bytes are missing, or if a report is one that no honest client sends and ``invalid`` is
        "raise".

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.tally(GRR(3, epsilon=1.0), bytes([2, 0, 2])).counts
    array([1, 0, 2])
    """
    messages = _split(require_mechanism(mechanism), data)
    return mechanism._tally([mechanism._check_batch(messages, check_invalid(invalid))], large)
