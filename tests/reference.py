"""Slow reference implementations of all draws, in Python integers.

Tests compare the draws of the package with this reference, bit for bit. The page docs/wire.md
specifies the draws, and each function names its section.
"""

import math
import struct
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any

from multi_freq_ldpy import GRR, HR, LGRR, RSFD, SHE, SMP, SPL, SS, Bloom, DBitFlipPM
from multi_freq_ldpy.longitudinal.chains import LongitudinalHashing, LongitudinalUnary
from multi_freq_ldpy.longitudinal.memoized import Chain, Memoized
from multi_freq_ldpy.protocols.hashing import LocalHashing
from multi_freq_ldpy.protocols.unary import UnaryEncoding

MASK = 2**32 - 1


@lru_cache(maxsize=2**12)
def chacha_block(key: bytes, nonce: int, block: int) -> bytes:
    """Section ChaCha20: 64 bytes of the key stream (RFC 8439, section 2.3).

    Counter and nonce have 64 bits each.
    """
    start = [
        *struct.unpack("<4I", b"expand 32-byte k"),
        *struct.unpack("<8I", key),
        *struct.unpack("<4I", struct.pack("<QQ", block, nonce)),
    ]
    x = list(start)

    def quarter_round(a: int, b: int, c: int, d: int) -> None:
        for i, j, m, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[i] = (x[i] + x[j]) & MASK
            mixed = x[m] ^ x[i]
            x[m] = (mixed << bits | mixed >> (32 - bits)) & MASK

    for _ in range(10):
        for columns in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter_round(*columns)
        for diagonals in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter_round(*diagonals)
    return struct.pack("<16I", *((a + b) & MASK for a, b in zip(x, start, strict=True)))


class Bytes:
    """Sections Main stream and Words read on: both by byte address."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    def number(self, address: int, size: int) -> int:
        first = address // 64
        data = b"".join(
            chacha_block(self.key, 0, b) for b in range(first, (address + size - 1) // 64 + 1)
        )
        return int.from_bytes(data[address - 64 * first :][:size], "little")

    def on(self, address: int) -> Iterator[int]:
        block = 0
        while True:
            yield from struct.unpack("<8Q", chacha_block(self.key, address + 1, block))
            block += 1


def offset(word: int, t: int, q: int) -> int:
    """Section Symbol: the distance of the new symbol from the old one."""
    return 0 if word < t else 1 + (word - t) // q


def symbol(stream: Bytes, user: int, value: int, m: int, weights: tuple[int, int]) -> int:
    """Section Symbol."""
    high = stream.number(4 * user, 4) << 32
    word = high
    if offset(high, *weights) != offset(high | MASK, *weights):
        word |= next(stream.on(4 * user)) >> 32
    return (value + offset(word, *weights)) % m


def grr(protocol: GRR, stream: Bytes, user: int, value: int) -> bytes:
    """Section Symbol, and the layout of GRR."""
    return symbol(stream, user, value, protocol.k, protocol.weights).to_bytes(
        protocol.report_bytes, "little"
    )


def byte(stream: Bytes, address: int, q: int) -> int:
    """Section Byte of bits: eight bits of probability q/2⁶⁴ from two bytes at ``address``."""
    chance = [(q ** b.bit_count() * (2**64 - q) ** (8 - b.bit_count())) << 16 for b in range(256)]
    word = stream.number(address, 2)
    for b in range(256):
        word -= chance[b] >> 512
        if word < 0:
            return b
    words = stream.on(address)
    while True:
        b = next(words) >> 56
        rest = chance[b] % 2**512
        for i in reversed(range(8)):
            drawn, digit = next(words), rest >> (64 * i) & (2**64 - 1)
            if drawn < digit:
                return b
            if drawn > digit:
                break


def coin(stream: Bytes, address: int, p: int) -> bool:
    """Section Own bit: decide with probability p/2⁶⁴ from two bytes at ``address``."""
    word, top = stream.number(address, 2), p >> 48
    return word < top if word != top else next(stream.on(address)) >> 16 < p % 2**48


def row(stream: Bytes, address: int, k: int, q: int) -> int:
    """Section Row of bits."""
    width = (k + 7) // 8
    return sum(byte(stream, address + 2 * c, q) << (8 * c) for c in range(width)) % 2**k


def own_and_others(stream: Bytes, user: int, value: int, k: int, weights: tuple[int, int]) -> int:
    """Section Unary report."""
    p, q = weights
    width = (k + 7) // 8
    address = user * (2 * width + 2)
    bits = row(stream, address, k, q)
    if value < 0:  # a fake, which has no value
        return bits
    return bits & ~(1 << value) | coin(stream, address + 2 * width, p) << value


def unary(protocol: UnaryEncoding, stream: Bytes, user: int, value: int) -> bytes:
    """Section Unary report, and its layout."""
    return own_and_others(stream, user, value, protocol.k, protocol.weights).to_bytes(
        protocol.report_bytes, "little"
    )


def below(word: int, k: int, digits: int = 32) -> int | None:
    """Section Uniform number: a number below k from ``digits`` bits, or None if it is rejected."""
    return None if word * k % 2**digits < 2**digits % k else word * k >> digits


def subset(protocol: SS, stream: Bytes, user: int, value: int) -> bytes:
    """Section Set, and the layout of SS."""
    chosen = a_set(stream, user, value, protocol.k, protocol.omega, protocol.weight)
    return chosen.to_bytes(protocol.report_bytes, "little")


def a_set(stream: Bytes, user: int, value: int, k: int, omega: int, weight: int) -> int:
    """Section Set: omega out of k values, with the own value with probability weight/2⁶⁴.

    The value −1 stands for a set without a user's value.
    """
    width, digits = (k + 7) // 8, 16 if k <= 4096 else 32
    spread = math.isqrt(25 * omega * (k - omega) // k)
    fewer = spread * (k - 2 * omega) // (4 * k)
    if min(omega, k - omega) <= 6:
        fewer = omega if omega <= 6 else omega - k
    corrections, head = spread // 2 + 2 + abs(fewer), 2 * width + 2
    address = user * (head + digits // 8 * corrections)
    bits = row(stream, address, k, 2**64 * (omega - fewer) // k)
    own = coin(stream, address + 2 * width, weight) if value >= 0 else False
    if value >= 0:
        bits &= ~(1 << value)
    words = iter(
        [stream.number(address + head + digits // 8 * i, digits // 8) for i in range(corrections)]
    )
    further = stream.on(address + head)
    while bits.bit_count() != omega - own:
        word = next(words, None)
        x = below(next(further) >> (64 - digits) if word is None else word, k, digits)
        if x is None or x == value:
            continue
        if (bits.bit_count() < omega - own) != bool(bits >> x & 1):
            bits ^= 1 << x
    return bits | own << max(value, 0)


def a_seed(stream: Bytes, address: int, prime: int) -> int:
    """Section Seed."""
    functions = prime * (prime - 1)
    word, further = stream.number(address, 8), stream.on(address)
    while word < 2**64 % functions:
        word = next(further)
    return word % functions


def bucket_of(prime: int, g: int, seed: int, value: int) -> int:
    """Section Local hashing."""
    return g * (((1 + seed // prime) * value + seed % prime) % prime) // prime


def hashed(protocol: LocalHashing | LongitudinalHashing, seed: int, symbol: int) -> bytes:
    """Section Layout of reports: a seed and a symbol."""
    parts = zip(
        (seed, symbol),
        (protocol.report_dtype[name].itemsize for name in ("seed", "symbol")),
        strict=True,
    )
    return b"".join(number.to_bytes(size, "little") for number, size in parts)


def hashing(protocol: LocalHashing, stream: Bytes, user: int, value: int) -> bytes:
    """Section Hashed symbol."""
    law = protocol.prime, protocol.g, protocol.weights
    return hashed(protocol, *seed_and_symbol(stream, user, value, *law))


def seed_and_symbol(
    stream: Bytes, user: int, value: int, prime: int, g: int, weights: tuple[int, int]
) -> tuple[int, int]:
    """Section Hashed symbol: return the seed and the symbol of a user.

    The value −1 stands for a uniform symbol.
    """
    seed = a_seed(stream, 16 * user, prime)
    word = stream.number(16 * user + 8, 8)
    if value >= 0:
        return seed, (bucket_of(prime, g, seed, value) + offset(word, *weights)) % g
    further = stream.on(16 * user + 8)
    while word < 2**64 % g:
        word = next(further)
    return seed, word % g


def second_round(protocol: Chain, key: bytes, user: int, permanent: bytes) -> bytes:
    """Section Reports of a device with memory: a report, given the permanent answer."""
    stream = Bytes(key)
    if isinstance(protocol, LGRR):
        value = symbol(
            stream, user, int.from_bytes(permanent, "little"), protocol.k, protocol.second
        )
        return value.to_bytes(protocol.report_bytes, "little")
    if isinstance(protocol, LongitudinalHashing):
        size = protocol.report_dtype["seed"].itemsize
        sent = symbol(
            stream, user, int.from_bytes(permanent[size:], "little"), protocol.g, protocol.second
        )
        return permanent[:size] + sent.to_bytes(len(permanent) - size, "little")
    assert isinstance(protocol, LongitudinalUnary)
    kept, other = int.from_bytes(permanent, "little"), protocol.second[1]
    bits = again(stream, user, protocol.k, other, protocol.half, kept)
    return bits.to_bytes(protocol.report_bytes, "little")


def again(stream: Bytes, user: int, k: int, q: int, half: bool, permanent: int) -> int:
    """Section Second round of bits: return k bits."""
    width = (k + 7) // 8
    address = user * (2 * width + -(-width // 2) * 2 * half)
    uniform = stream.number(address + 2 * width, width) if half else -1
    return row(stream, address, k, q) ^ permanent & uniform


def buckets(protocol: DBitFlipPM, held: int, answers: Any, value: int) -> tuple[bytes, int]:
    """Section Held bits: a report, and the rank of the value's bucket, or −1 if it is not held.

    ``answers`` draws the bits, given this rank.
    """
    bucket = value * protocol.b // protocol.k
    rank = (held % (1 << bucket)).bit_count() if held >> bucket & 1 else -1
    sizes = (protocol.report_dtype[name].itemsize for name in ("positions", "bits"))
    return (
        b"".join(
            number.to_bytes(size, "little")
            for number, size in zip((held, answers(rank)), sizes, strict=True)
        ),
        rank,
    )


def positions(protocol: DBitFlipPM, stream: Bytes, user: int) -> int:
    """Section Held bits: the held positions."""
    return (
        a_set(stream, user, -1, protocol.b, protocol.d_bits, 0)
        if protocol.d_bits < protocol.b
        else 2**protocol.b - 1
    )


def remembered(protocol: Memoized, memory: bytes, user: int, value: int) -> tuple[bytes, int]:
    """Sections Numbers in memory and Memo classes: a permanent answer, and its class."""
    if isinstance(protocol, DBitFlipPM):
        held, stream = (
            positions(protocol, Bytes(part(memory, "positions")), user),
            Bytes(part(memory, "bits")),
        )

        def answers(rank: int) -> int:
            number = user * (protocol.d_bits + 1) + rank + 1
            return own_and_others(stream, number, rank, protocol.d_bits, protocol.weights)

        report, rank = buckets(protocol, held, answers, value)
        return report, rank + 1
    if isinstance(protocol, LongitudinalHashing):
        seed = a_seed(Bytes(part(memory, "seed")), 8 * user, protocol.prime)
        bucket = bucket_of(protocol.prime, protocol.g, seed, value)
        kept = symbol(
            Bytes(part(memory, "symbol")),
            user * protocol.g + bucket,
            bucket,
            protocol.g,
            protocol.permanent.weights,
        )
        return hashed(protocol, seed, kept), bucket
    assert isinstance(protocol, Chain)
    return randomize(protocol.permanent, memory, user * protocol.k + value, value), value


def first_report(protocol: Memoized, key: bytes, user: int, value: int) -> bytes:
    """Section Use of keys: a new report of a protocol over time."""
    if isinstance(protocol, DBitFlipPM):
        held, stream = (
            positions(protocol, Bytes(part(key, "positions")), user),
            Bytes(part(key, "bits")),
        )
        return buckets(
            protocol,
            held,
            lambda rank: own_and_others(stream, user, rank, protocol.d_bits, protocol.weights),
            value,
        )[0]
    assert isinstance(protocol, Chain)
    return second_round(
        protocol,
        part(key, "report"),
        user,
        randomize(protocol.permanent, part(key, "permanent"), user, value),
    )


def exponential_coin(words: Iterator[int], gamma: int) -> bool:
    """Section Integer noise: a coin of probability e^(−gamma/2³²)."""
    run = 1
    while True:
        choice = None
        while choice is None:
            word = next(words)
            choice = below(word >> 32, run)
        if choice or word & MASK >= gamma:
            return run % 2 == 1
        run += 1


def noise(words: Iterator[int], weight: int) -> int:
    """Section Integer noise."""
    while True:
        word = next(words)
        whole = word >> 32
        if not exponential_coin(words, whole):
            continue
        while exponential_coin(words, 2**32):
            whole += 2**32
        size = whole // weight
        if size or not word & 1:
            return -size if word & 1 else size


def hadamard(protocol: HR, key: bytes, user: int, value: int) -> bytes:
    """Section Hadamard response."""
    size = 2
    while size <= protocol.k:
        size *= 2
    index = uniform(part(key, "index"), user, size)
    own = protocol.weights[0]
    odd = symbol(Bytes(part(key, "parity")), user, 0, 2, (own, 2**64 - own))
    if (index & (value + 1)).bit_count() % 2 != odd:
        index ^= (value + 1) & -(value + 1)
    return index.to_bytes(protocol.report_bytes, "little")


def bloom_filter(protocol: Bloom, seed: int, value: int) -> list[int]:
    """Section Bloom: the filter of a value."""
    found: list[int] = []
    draw = 0
    while len(found) < protocol.hashes:
        message = seed | (value // 16) << 64 | draw << 96
        digest = blake2b(message.to_bytes(16, "little")).digest()
        word = int.from_bytes(digest[value % 16 * 4 :][:4], "little")
        if word >= 2**32 % protocol.bits and word % protocol.bits not in found:
            found.append(word % protocol.bits)
        draw += 1
    return found


def bloom(protocol: Bloom, key: bytes, user: int, value: int) -> bytes:
    """Section Bloom."""
    width = -(-protocol.bits // 8)
    seed = Bytes(part(key, "seed")).number(8 * user, 8)
    noise = Bytes(part(key, "noise"))
    sent = row(noise, 2 * width * user, protocol.bits, protocol.weights[1])
    for place in bloom_filter(protocol, seed, value) if value >= 0 else []:
        sent ^= 1 << place
    return seed.to_bytes(8, "little") + sent.to_bytes(width, "little")


def histogram(protocol: SHE, stream: Bytes, user: int, value: int) -> bytes:
    """Section Integer noise: all entries of a report."""
    entries = noisy(stream, user, value, protocol.k, protocol.weight)
    return struct.pack(f"<{protocol.k}i", *entries)


def noisy(stream: Bytes, user: int, value: int, k: int, weight: int) -> list[int]:
    """Section Integer noise: return a row of noise with a 1 added at the value, within 32 bits."""
    words = stream.on(user)
    entries = [noise(words, weight) + (v == value) for v in range(k)]
    return [max(-(2**31) + 1, min(2**31 - 1, each)) for each in entries]


@cache
def uniform(key: bytes, user: int, m: int) -> int:
    """Section Uniform number: that of a user, below m."""
    return uniform_number(Bytes(key), user, m)


def uniform_number(stream: Bytes, user: int, m: int) -> int:
    """Section Uniform number: return a user's uniform number below m."""
    number = below(stream.number(4 * user, 4), m)
    further = stream.on(4 * user)
    while number is None:
        number = below(next(further) >> 32, m)
    return number


def part(key: bytes, name: str) -> bytes:
    """Section Names of parts."""
    return blake2b(name.encode(), key=key, digest_size=32).digest()


def own_values(solution: Any, j: int, record: list[int]) -> Any:
    """Section Use of keys: one part of a record, a value or a record of its own."""
    sizes = [len(each.ks) for each in solution.protocols]
    first = sum(sizes[:j])
    single = not hasattr(solution.protocols[j], "protocols")
    return record[first] if single else record[first : first + sizes[j]]


def splitting(solution: SPL, key: bytes, user: int, record: list[int]) -> bytes:
    """Section Use of keys: the parts of SPL."""
    return b"".join(
        randomize(each, part(key, str(j)), user, own_values(solution, j, record))
        for j, each in enumerate(solution.protocols)
    )


def sampling(solution: SMP, key: bytes, user: int, record: list[int]) -> bytes:
    """Sections Sampled attribute and Numbers under SMP: the report of one user.

    Users are divided into blocks of 65536. The users of a block who sampled the same attribute are
    numbered from the first user of the block on.
    """
    first = user - user % 65536
    parts, choice = len(solution.protocols), part(key, "attribute")
    sampled = [uniform(choice, u, parts) for u in range(first, user + 1)]
    j = sampled[-1]
    report = randomize(
        solution.protocols[j],
        part(key, str(j)),
        first + sampled[:-1].count(j),
        own_values(solution, j, record),
    )
    return (j.to_bytes(solution.report_dtype["attribute"].itemsize, "little") + report).ljust(
        solution.report_bytes, b"\0"
    )


def weighted(stream: Bytes, user: int, weights: tuple[int, ...]) -> int:
    """Section Sampled attribute: return a user's number, drawn with weights over 2⁶⁴."""
    word, number = stream.number(8 * user, 8), 0
    while word >= sum(weights[: number + 1]):
        number += 1
    return number


def hiding(solution: RSFD, key: bytes, user: int, record: list[int]) -> bytes:
    """Sections Sampled attribute and Fakes."""
    if solution.weights:
        sampled = weighted(Bytes(part(key, "attribute")), user, solution.weights)
    else:
        sampled = uniform(part(key, "attribute"), user, solution.d)
    reports = []
    for j, each in enumerate(solution.protocols):
        value = record[j]
        if j != sampled:
            zero = solution.fake == "zero" and isinstance(each, UnaryEncoding)
            value = (
                -1
                if zero or isinstance(each, LocalHashing | HR | Bloom)
                else uniform(part(key, f"fake {j}"), user, each.k)
            )
        reports.append(randomize(each, part(key, str(j)), user, value))
    return b"".join(reports)


def randomize(protocol: Any, key: bytes, user: int, value: Any) -> bytes:
    """Section Layout of reports: the report of one user."""
    for solution, draw in ((SPL, splitting), (SMP, sampling), (RSFD, hiding)):
        if isinstance(protocol, solution):
            return draw(protocol, key, user, value)
    if isinstance(protocol, Memoized):
        return first_report(protocol, key, user, value)
    stream = Bytes(key)
    if isinstance(protocol, GRR):
        return grr(protocol, stream, user, value)
    if isinstance(protocol, UnaryEncoding):
        return unary(protocol, stream, user, value)
    if isinstance(protocol, SS):
        return subset(protocol, stream, user, value)
    if isinstance(protocol, LocalHashing):
        return hashing(protocol, stream, user, value)
    if isinstance(protocol, HR):
        return hadamard(protocol, key, user, value)
    if isinstance(protocol, Bloom):
        return bloom(protocol, key, user, value)
    assert isinstance(protocol, SHE)
    return histogram(protocol, stream, user, value)


def report_again(mechanism: Any, memory: bytes, fresh: list[bytes], value: Any) -> bytes:
    """Section Reports of a device with memory.

    There is one fresh key per attribute.
    """
    if isinstance(mechanism, SPL | SMP):
        parts, columns = mechanism.protocols, iter(fresh)
        keys = [[next(columns) for _ in each.ks] for each in parts]
        chosen = range(len(parts))
        if isinstance(mechanism, SMP):
            j = uniform(part(memory, "attribute"), 0, len(parts))
            chosen = range(j, j + 1)
        reports = [
            report_again(parts[j], part(memory, str(j)), keys[j], own_values(mechanism, j, value))
            for j in chosen
        ]
        if isinstance(mechanism, SPL):
            return b"".join(reports)
        number = j.to_bytes(mechanism.report_dtype["attribute"].itemsize, "little")
        return (number + reports[0]).ljust(mechanism.report_bytes, b"\0")
    key = part(fresh[0], mechanism._label.decode())
    if not isinstance(mechanism, Memoized):
        return randomize(mechanism, key, 0, value)
    permanent, _ = remembered(mechanism, memory, 0, value)
    if isinstance(mechanism, DBitFlipPM):
        return permanent
    assert isinstance(mechanism, Chain)
    return second_round(mechanism, part(key, "report"), 0, permanent)


def block_of(block: Any, key: bytes, user: int) -> list[int]:
    """Section Draw of a block, with integers of any length and one word after the other."""
    words = Bytes(part(key, "block")).on(user)
    total = sum(weight for *_, weight in block.outcomes)
    length = total.bit_length()
    number = total
    while number >= total:
        number = 0
        for _ in range(-(-length // 64)):
            number = number << 64 | next(words)
        number >>= -length % 64
    for plus, minus, weight in block.outcomes:  # noqa: B007
        number -= weight
        if number < 0:
            break
    entries = []
    for left in range(block.symbols, 0, -1):
        word = next(words) if left > 1 else 0
        while word >= 2**64 - 2**64 % left:
            word = next(words)
        choice = word % left
        entries.append(1 if choice < plus else -1 if choice < plus + minus else 0)
        plus, minus = plus - (entries[-1] == 1), minus - (entries[-1] == -1)
    return entries


def window_of(history: Any) -> int:
    """Section Path: the number of rounds after which a value is reported again."""
    return min(getattr(history, "window", None) or history.rounds, history.rounds)


def path_of(history: Any, key: bytes, user: int) -> tuple[int, int, int]:
    """Section Path: a user's kind, the round of the value, and the row of the matrix."""
    plan = part(key, "plan")
    name = type(history).__name__
    if name == "Once":
        return 0, uniform(part(plan, "round"), user, window_of(history)), 1
    if name == "Tree":
        return uniform(part(plan, "kind"), user, len(history.kinds)), 0, 1
    if name == "DDRM":
        return 0, 0, 1
    coins = Bytes(part(plan, "kind")).number(8 * user, 8)
    tosses = {0.5: 1, 0.75: 2, 1.0: 0}[history.values]
    kind, row = 0, 1
    bits = [coins >> 63 - i & 1 for i in range(64)]
    if tosses and all(bits[:tosses]):
        kind = 1
        while kind < len(history.lengths) and bits[tosses + kind - 1]:
            kind += 1
    if history.encoding == "row" and history.order > 2:
        row += uniform(part(plan, "row"), user, history.order - 1)
    return kind, uniform(part(plan, "round"), user, history.rounds), row


def whole_history(history: Any, key: bytes, user: int, values: list[int]) -> list[bytes | None]:
    """Section Answer of a round: all reports of a user who misses no round."""
    kind, at, row = path_of(history, key, user)
    started = {0: 0} if history.grounded else {}
    found: list[bytes | None] = []
    told = 0
    for r, value in enumerate(values):
        t, sent = r + 1, None
        number = user * history.rounds + r
        own = history.kinds[kind]
        length = own.length
        if own.block is None:
            if r % window_of(history) == at:
                value_key = part(key, "value")
                sent = bytes([0]) + randomize(history._one_shot, value_key, number, value)
        elif type(history).__name__ == "DDRM":
            coin = Bytes(part(part(key, "plan"), "coin")).number(2 * number, 2) & 1
            kind = coin if t % 2 == 0 else 0
            length = t & -t if kind else 1
        if own.block is not None and t % length == 0:
            if t - length in started:
                nodes = history.rounds // length - (not history.grounded)
                ordinal = t // length - (1 if history.grounded else 2)
                if type(history).__name__ == "DDRM":
                    ordinal, nodes = t - 1, history.rounds
                ends = started[t - length], value
                who = user, number, kind, row
                content, told = step(history, key, who, ends, told, ordinal, nodes)
                sent = bytes([history._first_kind + kind]) + content
            started[t] = value
        elif own.block is not None:
            started[t] = value
        found.append(None if sent is None else sent.ljust(1 + history._longest, b"\0"))
    return found


def step(
    history: Any,
    key: bytes,
    who: tuple[int, int, int, int],
    ends: tuple[int, int],
    told: int,
    ordinal: int,
    nodes: int,
) -> tuple[bytes, int]:
    """Sections Base noise, Told symbols, Report of a round: a step, and the symbols told so far."""
    user, number, kind, row = who
    start, end = ends
    block = history.kinds[kind].block
    many, size = history.symbols, history._base_bytes
    base = Bytes(part(key, "base"))
    symbols = []
    for place in range(many):
        head = base.number((number * many + place) * size, size) >> 8 * size - block.bits
        symbols.append((1, -1)[head] if head < 2 else 0)
    wanted = {}
    if history.encoding == "row":
        signs = [1 - 2 * ((row & v).bit_count() % 2) for v in (start, end)]
        wanted = {0: (signs[1] - signs[0]) // 2}
    elif history.k == 2:
        wanted = {0: end - start}
    elif start != end:
        wanted = {start: -1, end: 1}
    wanted = {place: sign for place, sign in wanted.items() if sign}
    each = 2 if many > 1 else 1
    roomy = block.symbols >= each * nodes
    first = each * ordinal if roomy else told
    if wanted and first + each <= block.symbols:
        entries = block_of(block, key, user)
        for i, (place, sign) in enumerate(wanted.items()):
            symbols[place] = sign * entries[first + i]
        told += 0 if roomy else each
    some = sum(1 << i for i, symbol in enumerate(symbols) if symbol)
    minus = sum(1 << i for i, symbol in enumerate(symbols) if symbol < 0)
    width = -(-many // 8)
    head = row.to_bytes(history._row_bytes, "little") if history._row_bytes else b""
    return head + some.to_bytes(width, "little") + minus.to_bytes(width, "little"), told
