"""Where randomness comes from.

One ChaCha20 key stream, keyed by the operating system or by the caller's ``rng``.
"""

import os
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

from . import draws, validate

if TYPE_CHECKING:
    from numpy.random import Generator, SeedSequence

KEY_BYTES = 32
LAST_ADDRESS = 2**63
CONSECUTIVE: NDArray[np.uint64] = np.empty(0, np.uint64)

_forks = 0  # how many forks lie between this process and the one that imported the package
_renewing = threading.Lock()


def _after_fork() -> None:
    global _forks, _renewing
    _forks += 1
    _renewing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Stream:
    """A ChaCha20 key and a position.

    Users are numbered along the stream, and each owns the randomness at its number.

    ``Stream()`` is keyed by the operating system, ``Stream(seed)`` by an integer, a
    ``SeedSequence``, a NumPy ``Generator`` or 32 bytes, which makes it reproducible. Passed as
    ``rng``, it hands out the next users, so any split of a vector into batches gives the same
    reports to the bit, and no two calls share noise. Threads may share a stream.

    Noise must not be used twice. After a fork, and in a copy or pickle, a stream keyed by the
    operating system has a new key. A seeded one refuses to go on after a fork, and cannot be
    pickled: two processes would hand out the same noise. ``Stream(seed).spawn(n)[i].key`` is the
    key of a stream for worker i, and ``copy`` repeats the noise for those who mean it.

    >>> stream = Stream(7)
    >>> stream.position, stream.take(10), stream.position
    (0, 0, 10)
    >>> Stream(7).key == stream.key
    True
    """

    __slots__ = ("_forks", "_key", "_lock", "_seeded", "_spawned", "position")

    def __init__(self, seed: "Seed" = None, position: int = 0, spawned: int = 0) -> None:
        self._seeded = seed is not None
        self._key = _key_of(seed)
        self._lock = threading.Lock()
        self._forks = _forks
        self.position = validate.Integer(0, 2**62)("position", position)
        self._spawned = validate.Integer(0, 2**62)("spawned", spawned)

    @property
    def key(self) -> bytes:
        """The 32 bytes that determine everything the stream will hand out."""
        self._renew()
        return self._key

    def take(self, n: int) -> int:
        """Hand out the next n users: return the number of the first and move on."""
        self._renew()
        with self._lock:
            first = self.position
            self.position = validate.Integer(first, 2**62)("position", first + n)
        return first

    def spawn(self, n: int) -> list["Stream"]:
        """Return n new independent streams: for processes, experiments or repetitions."""
        self._renew()
        count = validate.Integer(0, 2**32)("n", n)
        with self._lock:
            first = self._spawned
            self._spawned += count
        if not self._seeded:
            return [Stream() for _ in range(count)]
        return [Stream(subkey(self._key, b"spawn %d" % i)) for i in range(first, first + count)]

    def part(self, name: bytes) -> "Stream":
        """Return an independent stream for a purpose: where this one is seeded, always the same."""
        return Stream(subkey(self.key, b"part " + name)) if self._seeded else Stream()

    def _renew(self) -> None:
        """After a fork: take a new key, or refuse.

        The old lock may be held by a thread that no longer exists.
        """
        if self._forks == _forks:
            return
        if self._seeded:
            raise RuntimeError(
                "a seeded Stream made before a fork would repeat its parent's noise: make it in the"
                " child, as Stream(seed).spawn(n)[i]"
            )
        with _renewing:
            if self._forks != _forks:
                self._key, self._lock, self.position, self._forks = (
                    os.urandom(KEY_BYTES),
                    threading.Lock(),
                    0,
                    _forks,
                )

    def copy(self) -> "Stream":
        """Return a stream that goes on as this one does.

        Returns
        -------
        Stream
            Where this one is seeded, both hand out the same noise from here on: never use both for
            answers of real users. Otherwise the copy has a new key.

        Raises
        ------
        RuntimeError
            If this one is seeded and was made before a fork.
        """
        return Stream(self.key, self.position, self._spawned) if self._seeded else Stream()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._seeded:
            raise TypeError(
                "a seeded Stream cannot be pickled or copied like other objects: two workers"
                " would repeat its noise. Send worker i the bytes stream.spawn(n)[i].key and make"
                " Stream(key) there. stream.copy() repeats the noise for those who mean it"
            )
        return Stream, ()

    def __repr__(self) -> str:
        return f"<Stream at position {self.position}>"  # the key stays out of logs


Seed: TypeAlias = Union[int, "np.integer[Any]", bytes, "SeedSequence", "Generator", None]
Rng: TypeAlias = Union[Seed, Stream]  # noqa: UP007
"""What ``rng`` may be. The same int or SeedSequence gives the same noise at every call.

Use a ``Stream`` for several batches.
"""


def as_stream(rng: Rng) -> Stream:
    """Return ``rng`` itself if it is a Stream, else a new one keyed by it.

    ``None`` means the operating system.
    """
    return rng if isinstance(rng, Stream) else Stream(rng)


def as_generator(rng: Rng) -> "Generator":
    """Return a NumPy Generator for simulations, which make no report; a Stream moves on by one."""
    if isinstance(rng, np.random.Generator):
        return rng
    stream = as_stream(rng)
    first = stream.take(1)
    seed = subkey(stream.key, b"simulate %d" % first)
    return np.random.Generator(
        np.random.Philox(np.random.SeedSequence(int.from_bytes(seed, "little")))
    )


def subkey(key: bytes, label: bytes) -> bytes:
    """Return an independent key for a purpose (keyed BLAKE2b, a pseudo-random function)."""
    from hashlib import blake2b

    return blake2b(label, key=key, digest_size=KEY_BYTES).digest()


def _key_of(seed: Seed) -> bytes:
    if seed is None:
        return os.urandom(KEY_BYTES)
    if isinstance(seed, bytes):
        if len(seed) != KEY_BYTES:
            raise ValueError(
                f"rng given as bytes must be a key of {KEY_BYTES} bytes, not {len(seed)}"
            )
        return seed
    if isinstance(seed, np.random.Generator):
        return seed.bytes(KEY_BYTES)
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        if seed < 0:
            raise ValueError(f"rng given as an integer must not be negative: {seed}")
        seed = np.random.SeedSequence(int(seed))
    if isinstance(seed, np.random.SeedSequence):
        return seed.generate_state(KEY_BYTES // 4, np.uint32).astype("<u4").tobytes()
    raise TypeError(
        f"rng must be None, an int, a SeedSequence, a Generator, a Stream or 32 bytes, not {seed!r}"
    )


@dataclass(frozen=True, slots=True)
class Source:
    """The randomness of users for one purpose: what ``_randomize`` draws from.

    Users are numbered ``first``, ``first`` + 1 and so on, or as ``numbers`` says.
    """

    key: NDArray[np.uint32] = field(repr=False)
    first: int
    numbers: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, stream: Stream, label: bytes, n: int) -> "Source":
        """Take n users from the stream, for the purpose named by ``label``."""
        first = stream.take(n)  # before the key, which a fork renews
        return cls.keyed(subkey(stream.key, label), first)

    @classmethod
    def keyed(
        cls, key: bytes, first: int = 0, numbers: NDArray[np.uint64] | None = None
    ) -> "Source":
        """Return the source of users under a key of 32 bytes.

        The array cannot be written, so that kernels see one type.
        """
        return cls(np.frombuffer(key, "<u4"), first, numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return Source.keyed, (self.key.tobytes(), self.first, self.numbers)

    def skip(self, n: int) -> "Source":
        """Return the source of the users after the first n."""
        numbers = None if self.numbers is None else self.numbers[n:]
        return self._like(self.key, self.first + n, numbers)

    def starting(self, first: int) -> "Source":
        """Return the source of consecutive users from another number on."""
        return self._like(self.key, first, None)

    def _like(
        self, key: NDArray[np.uint32], first: int, numbers: NDArray[np.uint64] | None
    ) -> "Source":
        """Return a source that is watched where this one is."""
        return Source(key, first, numbers)

    def at(self, users: NDArray[np.int64]) -> "Source":
        """Return the source of the given users, counted from the first."""
        return self.classes(users, 1, np.zeros(len(users), np.int64))

    def classes(self, users: NDArray[np.int64], count: int, chosen: NDArray[np.int64]) -> "Source":
        """Return the source in which each of the given users, counted from the first, owns
        ``count`` numbers, at the chosen of them.
        """
        if len(users) and (self.first + int(users.max()) + 1) * count > LAST_ADDRESS:
            raise ValueError(
                f"user {int(users.max())} is too far for {count} classes: use fewer users"
            )
        numbers = (users.astype(np.uint64) + np.uint64(self.first)) * np.uint64(
            count
        ) + chosen.astype(np.uint64)
        return self._like(self.key, 0, numbers)

    def users(self, n: int, stride: int) -> tuple[int, NDArray[np.uint64]]:
        """Return the users' numbers as kernels take them, if users of ``stride`` bytes have
        addresses: past the last they would repeat.
        """
        last = self.first + n if self.numbers is None else int(self.numbers.max(initial=0)) + 1
        if last * stride > LAST_ADDRESS:
            raise ValueError(
                f"position {last} of the stream is too far for users of {stride} bytes: use fewer"
                " users, or another stream"
            )
        return self.first, CONSECUTIVE if self.numbers is None else self.numbers

    def start(self, n: int, stride: int) -> int:
        """Return the first of consecutive users, likewise."""
        self.require_consecutive()
        return self.users(n, stride)[0]

    def require_consecutive(self) -> None:
        """Refuse users with numbers of their own, for draws that know consecutive ones only."""
        if self.numbers is not None:
            raise TypeError("source must be of consecutive users here, not of listed ones")

    def part(self, name: bytes) -> "Source":
        """Return the randomness of the same users for a purpose within this one."""
        key = np.frombuffer(subkey(self.key.tobytes(), name), "<u4")
        return self._like(key, self.first, self.numbers)

    def below(self, n: int, m: int) -> NDArray[np.int64]:
        """Return a number for each of n users, exactly uniform in [0, m), m < 2³²."""
        numbers = np.empty(n, np.int64)
        draws.choose("symbols", n).uniform(self.key, *self.users(n, 4), m, numbers)
        return numbers

    def words(self, n: int, each: int) -> NDArray[np.uint64]:
        """Return ``each`` uniform 64-bit words for n users, shape (n, each).

        All that a protocol without a kernel needs.
        """
        size = 8 * n * each
        chacha = draws.choose("chacha", size)
        buffer = np.empty((size + 64 + chacha.FILL) // 8, np.uint64)
        start = (
            chacha.read(self.key, np.uint64(self.start(n, 8 * each) * 8 * each), size, buffer) // 8
        )
        return buffer[start : start + n * each].reshape(n, each)
