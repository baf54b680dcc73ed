"""Where randomness comes from: one ChaCha20 key stream, keyed by the operating system or by the caller's ``rng``."""

import hashlib
import os
import threading
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _check

KEY_BYTES = 32


class Stream:
    """A ChaCha20 key and a position: users are numbered along the stream, and each owns the randomness at its number.

    ``Stream()`` is keyed by the operating system, ``Stream(seed)`` by an integer, a ``SeedSequence``, a NumPy ``Generator`` or
    32 bytes, which makes it reproducible. Passed as ``rng``, it hands out the next users, so any split of a vector into batches gives
    the same reports to the bit, and no two calls share noise. Threads may share a stream.

    After a fork, a stream keyed by the operating system takes a new key in the child; a seeded one refuses to go on
    there, because parent and child would hand out the same noise: give each process its own with ``spawn``.

    >>> stream = Stream(7)
    >>> stream.position, stream.take(10), stream.position
    (0, 0, 10)
    >>> Stream(7).key == stream.key
    True
    """

    __slots__ = ("_key", "_lock", "_process", "_seeded", "position")

    def __init__(self, seed: "Rng" = None, position: int = 0) -> None:
        self._seeded = seed is not None
        self._key = _key(seed)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.position = _check.Integer(0, 2**62)("position", position)

    @property
    def key(self) -> bytes:
        """The 32 bytes that determine everything the stream will hand out."""
        self._after_fork()
        return self._key

    def take(self, n: int) -> int:
        """Hand out the next n users: return the number of the first and move on."""
        with self._lock:
            self._after_fork()
            first = self.position
            self.position = _check.Integer(0, 2**62)("position", first + n)
        return first

    def spawn(self, n: int) -> list["Stream"]:
        """Return n independent streams, the same ones every time: one for each process, experiment or repetition."""
        return [Stream(subkey(self.key, b"spawn %d" % i)) for i in range(_check.Integer(0, 2**62)("n", n))]

    def _after_fork(self) -> None:
        if self._process == os.getpid():
            return
        if self._seeded:
            raise RuntimeError("a seeded Stream made before a fork would repeat its parent's noise: spawn one for each process")
        self._key, self._process, self.position = os.urandom(KEY_BYTES), os.getpid(), 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.key, self.position)

    def __repr__(self) -> str:
        return f"<Stream at position {self.position}>"  # the key stays out of logs


Rng: TypeAlias = None | int | np.integer[Any] | bytes | np.random.SeedSequence | np.random.Generator | Stream
"""What ``rng`` may be. The same int gives the same noise at every call: use a ``Stream`` for several batches."""


def as_stream(rng: Rng) -> Stream:
    """Return ``rng`` itself if it is a Stream, else a new one keyed by it; ``None`` means the operating system."""
    return rng if isinstance(rng, Stream) else Stream(rng)


def as_generator(rng: Rng) -> np.random.Generator:
    """Return a NumPy Generator for simulations, which make no report; a Stream moves on by one."""
    if isinstance(rng, np.random.Generator):
        return rng
    stream = as_stream(rng)
    seed = subkey(stream.key, b"simulate %d" % stream.take(1))
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(int.from_bytes(seed, "little"))))


def subkey(key: bytes, label: bytes) -> bytes:
    """Return an independent key for a purpose (keyed BLAKE2b, a pseudo-random function)."""
    return hashlib.blake2b(label, key=key, digest_size=KEY_BYTES).digest()


def _key(seed: Rng) -> bytes:
    if seed is None:
        return os.urandom(KEY_BYTES)
    if isinstance(seed, Stream):
        return seed.key
    if isinstance(seed, bytes):
        if len(seed) != KEY_BYTES:
            raise ValueError(f"rng given as bytes must be a key of {KEY_BYTES} bytes, not {len(seed)}")
        return seed
    if isinstance(seed, np.random.Generator):
        return seed.bytes(KEY_BYTES)
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        if seed < 0:
            raise ValueError(f"rng given as an integer must not be negative: {seed}")
        seed = np.random.SeedSequence(int(seed))
    if isinstance(seed, np.random.SeedSequence):
        return seed.generate_state(KEY_BYTES // 4, np.uint32).astype("<u4").tobytes()
    raise TypeError(f"rng must be None, an int, a SeedSequence, a Generator, a Stream or 32 bytes, not {seed!r}")


@dataclass(frozen=True, slots=True)
class Source:
    """The randomness of consecutive users for one purpose: what ``_randomize`` draws from."""

    key: NDArray[np.uint32]
    first: int

    @classmethod
    def of(cls, stream: Stream, label: bytes, n: int) -> "Source":
        """Take n users from the stream, for the purpose named by ``label``."""
        key = np.frombuffer(subkey(stream.key, label), "<u4")
        return cls(key, stream.take(n))

    def skip(self, n: int) -> "Source":
        """Return the source of the users after the first n."""
        return Source(self.key, self.first + n)

    def words(self, n: int, each: int) -> NDArray[np.uint64]:
        """Return ``each`` uniform 64-bit words for n users, shape (n, each): all that a protocol without a kernel needs."""
        from .kernels import chacha

        size = 8 * n * each
        buffer = np.empty((size + 64 + chacha.FILL) // 8, np.uint64)
        start = chacha.read(self.key, np.uint64(8 * self.first * each), size, buffer) // 8
        return buffer[start : start + n * each].reshape(n, each)
