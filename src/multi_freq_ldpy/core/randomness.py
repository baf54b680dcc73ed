"""The source of all randomness: one ChaCha20 key stream.

Its key comes from the operating system or from the caller's ``rng``.
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

_forks = 0  # number of forks between this process and the one that imported the package
_renewing = threading.Lock()


def _after_fork() -> None:
    global _forks, _renewing
    _forks += 1
    _renewing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Stream:
    """A source of randomness: a ChaCha20 key and a position.

    Users are numbered along the stream. Each user owns the randomness at its number. Passed as
    ``rng``, a stream hands out the next users. So any split of a vector into batches gives the same
    reports to the bit, and no two calls share noise. Threads may share a stream.

    Noise must not be used twice. A stream keyed by the operating system gets a new key after a
    fork, in a copy and in a pickle. A seeded stream raises an error after a fork, and it cannot be
    pickled: two processes would hand out the same noise. ``Stream(seed).spawn(n)[i].key`` is the
    key of a stream for worker i. ``copy`` repeats the noise of a seeded stream, for callers who
    intend this.

    Parameters
    ----------
    seed : None, int, bytes, SeedSequence or Generator
        Origin of the key. None, the default, is the operating system: use it to collect. The other
        types make the stream reproducible, for simulations. Bytes are the key itself, 32 of them. A
        Generator gives its next 32 bytes.
    position : int
        Number of the next user.
    spawned : int
        Number of streams that this one has already spawned.

    Raises
    ------
    TypeError
        If ``seed`` has another type, or if ``position`` or ``spawned`` is not an integer.
    ValueError
        If ``seed`` is negative, or bytes of another length than 32, or if ``position`` or
        ``spawned`` is negative or above 2⁶².

    Examples
    --------
    >>> from multi_freq_ldpy import Stream
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
        """Hand out the next n users.

        Parameters
        ----------
        n : int
            Number of users.

        Returns
        -------
        int
            The number of the first of these users. The position moves on by n.

        Raises
        ------
        ValueError
            If n is negative, or if the position would exceed 2⁶².
        RuntimeError
            If the stream is seeded and was made before a fork.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> stream = Stream(1)
        >>> stream.take(100), stream.take(50), stream.position
        (0, 100, 150)
        """
        self._renew()
        with self._lock:
            first = self.position
            self.position = validate.Integer(first, 2**62)("position", first + n)
        return first

    def spawn(self, n: int) -> list["Stream"]:
        """Return n new independent streams, for processes, experiments or repetitions.

        Parameters
        ----------
        n : int
            Number of streams, from 0 to 2³².

        Returns
        -------
        list of Stream
            If this stream is seeded, so are they: the same calls give the same streams. Otherwise
            each is keyed by the operating system.

        Raises
        ------
        TypeError
            If n is not an integer.
        ValueError
            If n is outside [0, 2³²].
        RuntimeError
            If this stream is seeded and was made before a fork.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> first, second = Stream(1).spawn(2)
        >>> first.key == second.key, first.key == Stream(1).spawn(2)[0].key
        (False, True)
        """
        self._renew()
        count = validate.Integer(0, 2**32)("n", n)
        with self._lock:
            first = self._spawned
            self._spawned += count
        if not self._seeded:
            return [Stream() for _ in range(count)]
        return [Stream(subkey(self._key, b"spawn %d" % i)) for i in range(first, first + count)]

    def part(self, name: bytes) -> "Stream":
        """Return an independent stream for one purpose.

        Parameters
        ----------
        name : bytes
            The purpose.

        Returns
        -------
        Stream
            If this stream is seeded, the same name always gives the same stream. Otherwise the
            operating system keys a new one.

        Raises
        ------
        RuntimeError
            If this stream is seeded and was made before a fork.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> stream = Stream(1)
        >>> stream.part(b"noise").key == stream.part(b"noise").key != stream.part(b"fakes").key
        True
        """
        return Stream(subkey(self.key, b"part " + name)) if self._seeded else Stream()

    def _renew(self) -> None:
        """Take a new key after a fork, or raise an error if the stream is seeded.

        The lock is replaced too, because a thread that is missing in the child may have held it.
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
        """Return a stream that continues from the position of this one.

        Returns
        -------
        Stream
            If this stream is seeded, both hand out the same noise from now on: never use both for
            answers of real users. Otherwise the copy has a new key.

        Raises
        ------
        RuntimeError
            If this stream is seeded and was made before a fork.

        Examples
        --------
        >>> from multi_freq_ldpy import Stream
        >>> stream = Stream(1, position=10)
        >>> copy = stream.copy()
        >>> copy.position, copy.key == stream.key, Stream().copy().key == Stream().key
        (10, True, False)
        """
        return Stream(self.key, self.position, self._spawned) if self._seeded else Stream()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._seeded:
            raise TypeError(
                "a seeded Stream cannot be pickled or copied like other objects: two workers"
                " would repeat its noise. Send worker i the bytes stream.spawn(n)[i].key and make"
                " Stream(key) there. To repeat the noise on purpose, use stream.copy()"
            )
        return Stream, ()

    def __repr__(self) -> str:
        return f"<Stream at position {self.position}>"  # the key stays out of logs


Seed: TypeAlias = Union[int, "np.integer[Any]", bytes, "SeedSequence", "Generator", None]
Rng: TypeAlias = Union[Seed, Stream]  # noqa: UP007
"""The types that ``rng`` may have.

The same int or SeedSequence gives the same noise at every call. Use a ``Stream`` for several
batches.
"""


def as_stream(rng: Rng) -> Stream:
    """Return ``rng`` itself if it is a Stream, otherwise a new stream keyed by it.

    Parameters
    ----------
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None is the operating system: use it to collect. Seeds are for
        simulations. A key of 32 bytes is accepted too.

    Returns
    -------
    Stream
        The stream.

    Raises
    ------
    TypeError
        If ``rng`` has another type.
    ValueError
        If ``rng`` is a negative integer, or bytes of another length than 32.
    """
    return rng if isinstance(rng, Stream) else Stream(rng)


def as_generator(rng: Rng) -> "Generator":
    """Return a NumPy Generator for simulations that make no reports.

    Parameters
    ----------
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None is the operating system: use it to collect. Seeds are for
        simulations. A Stream moves on by one user.

    Returns
    -------
    Generator
        ``rng`` itself if it is a Generator, otherwise a new one.

    Raises
    ------
    TypeError
        If ``rng`` has another type.
    ValueError
        If ``rng`` is a negative integer, or bytes of another length than 32.
    RuntimeError
        If ``rng`` is a seeded Stream that was made before a fork.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    stream = as_stream(rng)
    first = stream.take(1)
    seed = subkey(stream.key, b"simulate %d" % first)
    return np.random.Generator(
        np.random.Philox(np.random.SeedSequence(int.from_bytes(seed, "little")))
    )


def subkey(key: bytes, label: bytes) -> bytes:
    """Return an independent key for one purpose, by keyed BLAKE2b (a pseudo-random function).

    Parameters
    ----------
    key : bytes
        A key of at most 64 bytes.
    label : bytes
        The purpose.

    Returns
    -------
    bytes
        A key of 32 bytes.
    """
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
    """The randomness of users for one purpose, from which ``_randomize`` draws.

    Parameters
    ----------
    key : array of uint32
        Key of the purpose, as 8 words.
    first : int
        Number of the first user.
    numbers : array of uint64, optional
        Numbers of the users. None means consecutive numbers: ``first``, ``first`` + 1 and so on.
    """

    key: NDArray[np.uint32] = field(repr=False)
    first: int
    numbers: NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, stream: Stream, label: bytes, n: int) -> "Source":
        """Take n users from a stream for one purpose.

        Parameters
        ----------
        stream : Stream
            The stream, which moves on by n users.
        label : bytes
            The purpose.
        n : int
            Number of users.

        Returns
        -------
        Source
            The source of these users.

        Raises
        ------
        ValueError
            If n is negative, or if the position would exceed 2⁶².
        RuntimeError
            If the stream is seeded and was made before a fork.
        """
        first = stream.take(n)  # before the key, which a fork renews
        return cls.keyed(subkey(stream.key, label), first)

    @classmethod
    def keyed(
        cls, key: bytes, first: int = 0, numbers: NDArray[np.uint64] | None = None
    ) -> "Source":
        """Return the source of users under a key of 32 bytes.

        Parameters
        ----------
        key : bytes
            Key of the purpose.
        first : int
            Number of the first user.
        numbers : array of uint64, optional
            Numbers of the users. None means consecutive numbers from ``first`` on.

        Returns
        -------
        Source
            The source. Its key is a read-only array, so that kernels see one type.
        """
        return cls(np.frombuffer(key, "<u4"), first, numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return Source.keyed, (self.key.tobytes(), self.first, self.numbers)

    def skip(self, n: int) -> "Source":
        """Return the source of the users after the first n.

        Parameters
        ----------
        n : int
            Number of users to leave out.

        Returns
        -------
        Source
            The source of the others.
        """
        numbers = None if self.numbers is None else self.numbers[n:]
        return self._like(self.key, self.first + n, numbers)

    def starting(self, first: int) -> "Source":
        """Return the source of consecutive users from another number on.

        Parameters
        ----------
        first : int
            Number of the first user.

        Returns
        -------
        Source
            The source, with the same key.
        """
        return self._like(self.key, first, None)

    def _like(
        self, key: NDArray[np.uint32], first: int, numbers: NDArray[np.uint64] | None
    ) -> "Source":
        """Return a source of the same class, so that a watched source stays watched."""
        return Source(key, first, numbers)

    def at(self, users: NDArray[np.int64]) -> "Source":
        """Return the source of some users.

        Parameters
        ----------
        users : array of int64
            The users, counted from ``first``.

        Returns
        -------
        Source
            The source, with a number for each of these users.

        Raises
        ------
        ValueError
            If these users would own a number of 2⁶³ or more.
        """
        return self.classes(users, 1, np.zeros(len(users), np.int64))

    def classes(self, users: NDArray[np.int64], count: int, chosen: NDArray[np.int64]) -> "Source":
        """Return the source in which each user owns several numbers, at one chosen number per user.

        Parameters
        ----------
        users : array of int64
            The users, counted from ``first``.
        count : int
            Number of numbers that each user owns.
        chosen : array of int64
            For each user, the index of the number that is used: 0, …, count − 1.

        Returns
        -------
        Source
            The source, with the chosen number of each of these users.

        Raises
        ------
        ValueError
            If these users would own a number of 2⁶³ or more.
        """
        if len(users) and (self.first + int(users.max()) + 1) * count > LAST_ADDRESS:
            raise ValueError(
                f"user {int(users.max())} is too far for {count} classes per user: use fewer users"
            )
        numbers = (users.astype(np.uint64) + np.uint64(self.first)) * np.uint64(
            count
        ) + chosen.astype(np.uint64)
        return self._like(self.key, 0, numbers)

    def users(self, n: int, stride: int) -> tuple[int, NDArray[np.uint64]]:
        """Return the users' numbers in the form that kernels take.

        Every user owns ``stride`` bytes of the key stream. Beyond the last address, bytes would
        repeat.

        Parameters
        ----------
        n : int
            Number of users.
        stride : int
            Number of bytes that each user owns.

        Returns
        -------
        first : int
            Number of the first user.
        numbers : array of uint64
            Numbers of the users. It is empty if they are consecutive.

        Raises
        ------
        ValueError
            If a user has no address.
        """
        last = self.first + n if self.numbers is None else int(self.numbers.max(initial=0)) + 1
        if last * stride > LAST_ADDRESS:
            raise ValueError(
                f"position {last} of the stream is too far for {stride} bytes per user: use fewer"
                " users, or another stream"
            )
        return self.first, CONSECUTIVE if self.numbers is None else self.numbers

    def start(self, n: int, stride: int) -> int:
        """Return the number of the first of n consecutive users.

        Parameters
        ----------
        n : int
            Number of users.
        stride : int
            Number of bytes that each user owns.

        Returns
        -------
        int
            The number of the first user.

        Raises
        ------
        TypeError
            If the users are not consecutive.
        ValueError
            If a user has no address.
        """
        self.require_consecutive()
        return self.users(n, stride)[0]

    def require_consecutive(self) -> None:
        """Raise an error unless users are consecutive, for draws that support no others.

        Raises
        ------
        TypeError
            If the users have numbers of their own.
        """
        if self.numbers is not None:
            raise TypeError("source must be of consecutive users here, not of listed users")

    def part(self, name: bytes) -> "Source":
        """Return the randomness of the same users for a part of this purpose.

        Parameters
        ----------
        name : bytes
            The part of the purpose.

        Returns
        -------
        Source
            The source, with a key of its own.
        """
        key = np.frombuffer(subkey(self.key.tobytes(), name), "<u4")
        return self._like(key, self.first, self.numbers)

    def below(self, n: int, m: int) -> NDArray[np.int64]:
        """Return one number for each of n users, exactly uniform in [0, m).

        Parameters
        ----------
        n : int
            Number of users.
        m : int
            The number of outcomes, less than 2³².

        Returns
        -------
        array of int64
            One number per user.

        Raises
        ------
        ValueError
            If a user has no address.
        """
        numbers = np.empty(n, np.int64)
        draws.choose("symbols", n).uniform(self.key, *self.users(n, 4), m, numbers)
        return numbers

    def rows(self, n: int, each: int) -> NDArray[np.uint8]:
        """Return ``each`` uniform bytes for each of n users, who may be listed users.

        Parameters
        ----------
        n : int
            Number of users.
        each : int
            Number of bytes per user, an even number.

        Returns
        -------
        array of uint8, shape (n, each)
            The bytes.

        Raises
        ------
        ValueError
            If a user has no address.
        """
        if not n:
            return np.empty((0, each), np.uint8)
        if self.numbers is None:
            size = n * each
            chacha = draws.choose("chacha", size)
            buffer = np.empty((size + 64 + chacha.FILL) // 8, np.uint64)
            start = chacha.read(self.key, np.uint64(self.start(n, each) * each), size, buffer)
            return buffer.view(np.uint8)[start : start + size].reshape(n, each)
        _, numbers = self.users(n, each)
        buffer = np.empty(n * each // 8 + 1, np.uint64)
        draws.choose("chacha", 64 * n).gather(self.key, numbers, each, buffer)
        return buffer.view(np.uint8)[: n * each].reshape(n, each)

    def words(self, n: int, each: int) -> NDArray[np.uint64]:
        """Return ``each`` uniform 64-bit words for each of n users.

        A protocol without a kernel needs no other draw.

        Parameters
        ----------
        n : int
            Number of users.
        each : int
            Number of words per user.

        Returns
        -------
        array of uint64, shape (n, each)
            The words.

        Raises
        ------
        TypeError
            If the users are not consecutive.
        ValueError
            If a user has no address.
        """
        self.require_consecutive()
        return self.rows(n, 8 * each).view(np.uint64).reshape(n, each)
