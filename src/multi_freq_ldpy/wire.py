"""Reports as bytes: fixed length, little endian, no header. Decoding refuses whatever no honest client can send."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _check
from .mechanism import Mechanism, checked


def encode(protocol: Mechanism, reports: object) -> bytes:
    r"""Return the reports (one or many) as n·``protocol.report_bytes`` bytes.

    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.encode(GRR(300, epsilon=1.0), [1, 258])
    b'\x01\x00\x02\x01'
    """
    return checked(protocol)._as_reports(reports).tobytes()


def decode(protocol: Mechanism, data: bytes) -> NDArray[Any]:
    """Return the reports in ``data``, a whole number of them; a report that the protocol cannot produce is a ValueError.

    >>> from multi_freq_ldpy import GRR, wire
    >>> wire.decode(GRR(3, epsilon=1.0), bytes([2, 0]))
    array([2, 0], dtype=uint8)
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data must be bytes, not {_check.shown(data)}")
    data = bytes(data)
    size = checked(protocol).report_bytes
    if len(data) % size:
        raise ValueError(f"data must be a multiple of {size} bytes, the length of a report, not {len(data)} bytes")
    return protocol._as_reports(np.frombuffer(data, protocol.report_dtype, count=len(data) // size))
