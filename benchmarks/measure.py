"""Measurements in this process, in turns with the processes of other packages."""

import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from peers import INSTALLED, Worker, python_of
from progress import Progress
from rows import DOMAINS, ROWS, Ours, Row, inputs, openssl, timed, with_threads

from multi_freq_ldpy import (
    BLH,
    GRR,
    LGRR,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    OLH,
    OUE,
    RSFD,
    SHE,
    SMP,
    SPL,
    SS,
    SUE,
    THE,
    Panel,
    Steps,
    compare,
)
from multi_freq_ldpy.core import parallel
from multi_freq_ldpy.kernels import bit_counts, chacha, hashing, symbols
from multi_freq_ldpy.longitudinal.network import Network

Results = dict[str, Any]


class Peers:
    """The processes of other packages, and one process for the functions of this package.

    A process starts when it is first needed.
    """

    def __init__(self) -> None:
        self._workers: dict[str, Worker | None] = {}

    def get(self, package: str) -> Worker | None:
        if package not in self._workers:
            ours = package == "ours"
            python = sys.executable if ours else python_of(package)
            release = "" if ours else INSTALLED[package][0].partition("==")[2]
            self._workers[package] = (
                Worker("multi-freq-ldpy" if ours else package, python, release) if python else None
            )
        return self._workers[package]

    def close(self) -> None:
        for worker in self._workers.values():
            if worker:
                worker.close()


def best(contenders: dict[str, Callable[[], float]], times: int) -> dict[str, float]:
    """Let all contenders take turns, and return the shortest time of each."""
    rounds = [{name: each() for name, each in contenders.items()} for _ in range(times)]
    return {name: min(each[name] for each in rounds) for name in contenders}


def peer_work(
    peers: Peers, package: str, what: Results | None, seconds: float, users: int | None = None
) -> tuple[Callable[[], float], int] | None:
    """Return a function that runs a task of another package, and the number of users.

    Return None if the package does not have the task or cannot be installed.
    """
    worker = peers.get(package) if what else None
    if not worker:
        return None
    assert what is not None
    return worker.run, worker.prepare(what, seconds, users)


def batch(peers: Peers, domains: tuple[int, ...], seconds: float, times: int) -> list[Results]:
    """Randomize and aggregate (tally and estimate) many users, in nanoseconds per user."""
    found: list[Results] = []
    progress, cores = Progress("batch", len(ROWS) * len(domains)), parallel.count_threads()
    for i, (row, k) in enumerate((row, k) for row in ROWS for k in domains):
        progress.at(i, f"{row.name}, k = {k}")
        ours = Ours(row.make(k), seconds)
        both: Results = {"protocol": row.name, "k": k, "task": "both"}
        for task in ("randomize", "aggregate"):
            work = ours.randomize if task == "randomize" else ours.aggregate
            limit = (
                ours.read
                if task == "aggregate"
                else ours.copy
                if row.name == "GRR"
                else ours.generate
            )
            contenders: dict[str, Callable[[], float]] = {
                "one": partial(with_threads, 1, work),
                "all": partial(with_threads, cores, work),
                "limit": limit,
            }
            users = dict.fromkeys(contenders, ours.n)
            for package, what in described(row, k, task).items():
                if theirs := peer_work(peers, package, what, seconds):
                    contenders[package], users[package] = theirs
            cell = {
                name: took / users[name] * 1e9 for name, took in best(contenders, times).items()
            }
            found.append({"protocol": row.name, "k": k, "task": task, "n": ours.n, **cell})
            for name, each in cell.items():
                both[name] = both.get(name, 0.0) + each
            if task == "randomize":
                found[-1]["bytes"] = ours.consumed()
                found[-1]["bits"] = sum(protocol.cells for protocol in ours.protocol.leaves)
        found.append(both)
    progress.at(len(ROWS) * len(domains))
    return found


def described(row: Row, k: int, task: str) -> dict[str, Results | None]:
    """Return the requests to the other packages."""
    function = {
        "stem": row.paper[0],
        "optimal": row.paper[1],
        "k": k,
        "task": "Client" if task == "randomize" else "Aggregator_MI",
    }
    pure = (
        {"stem": row.pure[0], "options": row.pure[1], "k": k, "task": function["task"]}
        if row.pure
        else None
    )
    return {"multi-freq-ldpy": function, "pure-ldp": pure}


def breakdown(domains: tuple[int, ...], seconds: float, times: int) -> list[Results]:
    """Measure the steps of ``randomize`` with one thread.

    The steps are: inputs checked and copied, random bytes made, and the rest.
    """
    found = []
    for row in ROWS:
        for k in domains:
            ours = Ours(row.make(k), seconds)
            size = ours.consumed()
            contenders: dict[str, Callable[[], float]] = {
                "randomize": lambda ours=ours: with_threads(1, ours.randomize),  # type: ignore[misc]
                "inputs": lambda ours=ours: timed(lambda: ours.protocol._inputs(ours.values)),  # type: ignore[misc]
                "bytes": lambda ours=ours, size=size: stream(round(size * ours.n)),  # type: ignore[misc]
            }
            cell = {name: took / ours.n * 1e9 for name, took in best(contenders, times).items()}
            found.append({"protocol": row.name, "k": k, "consumed": size, **cell})
    return found


WORDS = np.empty(2**14, np.uint32)


def stream(size: int) -> float:
    """Return the seconds that the package's own ChaCha20 takes for ``size`` bytes.

    They are measured on 32 megabytes at most.
    """
    key, zero = np.frombuffer(bytes(32), "<u4"), np.uint64(0)
    pieces = max(1, min(size, 2**25) // WORDS.nbytes)
    chacha.fill(key, zero, zero, WORDS)

    def fill() -> None:
        for _ in range(pieces):
            chacha.fill(key, zero, zero, WORDS)

    return timed(fill) * size / (pieces * WORDS.nbytes)


def limits(times: int) -> Results:
    """Measure work that is near the limits of the machine."""
    random = best({"ours": lambda: stream(2**25), "openssl": lambda: openssl(2**25)}, 3 * times)
    grr, values = GRR(100, 1.0), np.arange(10**7) % 100
    grr.randomize(values[:10])
    copied = best(
        {
            "one": lambda: with_threads(1, lambda: grr.randomize(values)),
            "all": lambda: timed(lambda: grr.randomize(values)),
            "copy": lambda: timed(values.copy),
        },
        times,
    )
    hashed = {}
    for k in (100, 1000):
        protocol = OLH(k, 1.0)
        n = 2 * 10**7 // k
        reports = protocol.randomize(np.arange(n) % k)
        parts, counting = (
            [reports[name].astype(np.uint64) for name in ("seed", "symbol")],
            protocol.family.counting(n)[1],
        )
        hashes, drawn = (
            np.random.default_rng(1).integers(protocol.g, size=(n, k)),
            np.random.default_rng(2).integers(protocol.g, size=(n, 1)),
        )
        kernel = partial(hashing.count, *parts, np.uint64(protocol.prime), *counting)
        kernel()
        contenders: dict[str, Callable[[], float]] = {
            "kernel": lambda kernel=kernel: timed(kernel),  # type: ignore[misc]
            "one": lambda p=protocol, r=reports: with_threads(1, lambda: p.tally(r)),  # type: ignore[misc]
            "all": lambda p=protocol, r=reports: timed(lambda: p.tally(r)),  # type: ignore[misc]
            "numpy": lambda h=hashes, s=drawn: timed(lambda: h == s),  # type: ignore[misc]
        }
        hashed[str(k)] = best(contenders, times)
    return {"chacha": random, "grr": copied, "hashing": hashed, "count": counted(times)}


def counted(times: int) -> Results:
    """Measure ``count`` of 1000 checked reports, as in a service, and its kernel alone."""
    found = {}
    for protocol, kernel in ((GRR(100, 1.0), symbols.count), (OUE(100, 1.0), bit_counts.count)):
        reports = protocol.randomize(np.arange(1000) % 100)
        counts = np.zeros(104, np.int64)
        work: dict[str, Callable[[], object]] = {
            "count": partial(protocol.count, reports),
            "kernel": partial(kernel, reports, counts[: 8 * -(-100 // 8)]),
        }
        for each in work.values():
            each()
        contenders: dict[str, Callable[[], float]] = {
            name: partial(timed, each) for name, each in work.items()
        }
        found[type(protocol).__name__] = best(contenders, 100 * times)
    return found


def histories(users: int, rounds: int, times: int) -> Results:
    """Measure panels over many rounds, the solver, and the simulation of whole histories."""
    values = np.random.default_rng(1).integers(0, 10, users)
    whole, chain = Steps(10, 1.0, rounds, 3), LOSUE(10, 2.0, 1.0)
    for mechanism in (whole, chain):  # compiles and loads
        Panel(mechanism, 1000, rng=1).tally(values[:1000])
    panel = Panel(whole, users, rng=1)
    peaks, seconds, reports = [], 0.0, 0
    for r in range(rounds):
        changing = np.random.default_rng(r).integers(0, users, users * 3 // rounds)
        values[changing] = (values[changing] + 1) % 10
        start = time.perf_counter()
        tally = panel.tally(values)
        seconds += time.perf_counter() - start
        reports += tally.users
        if r in (rounds // 8, rounds - 1):
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    other = Panel(chain, users, rng=1)
    once = min(timed(lambda: other.tally(values)) for _ in range(3 * times))
    many = np.ones(2**16)
    links = [many[2**h :: 2**h] for h in range(16)]
    few = np.zeros((4, rounds), np.int64)
    few[1, rounds // 3 :], few[2, rounds // 2 :], few[3] = 1, 1, 1
    boolean = Steps(2, 1.0, rounds, 3)
    work: dict[str, Callable[[], float]] = {
        "solver": lambda: timed(lambda: Network(many, links, 1.0, [4.0] * 16).variances),
        "simulated": lambda: timed(lambda: boolean.simulate(few, 1, counts=[10**9 // 4] * 4)),
        "blocks": lambda: timed(lambda: Steps(10, 1.01 + time.perf_counter() % 1, 1024, 3)),
    }
    return {
        "users": users,
        "rounds": rounds,
        "seconds": seconds,
        "reports": reports,
        "chain": once / users,
        "early": peaks[0],
        "late": peaks[1],
        **best(work, times),
    }


def simulation(users: int, times: int) -> list[Results]:
    """Simulate a billion users, and randomize a hundred thousand with the batch API."""
    found, k = [], 1000
    two: dict[str, Any] = {
        "L-GRR": LGRR,
        "L-SUE": LSUE,
        "L-SOUE": LSOUE,
        "L-OUE": LOUE,
        "L-OSUE": LOSUE,
    }
    mechanisms: dict[str, Any] = {cls.__name__: cls(k, 1.0) for cls in (GRR, SUE, OUE, THE)}
    mechanisms |= {name: cls(k, 2.0, 1.0) for name, cls in two.items()}
    mechanisms |= {f"SPL[{cls.__name__}]": SPL(cls, [k] * 3, 1.0) for cls in (GRR, SUE, OUE, THE)}
    mechanisms |= {f"SPL[{name}]": SPL(cls, [k] * 3, 2.0, 1.0) for name, cls in two.items()}
    for name, protocol in mechanisms.items():
        held = np.full(k, users // k)
        d = len(protocol.parts)
        counts = held if d == 1 else [held] * d
        values = inputs(protocol, 10**5)
        work: dict[str, Callable[[], float]] = {
            "simulated": lambda p=protocol, c=counts: timed(lambda: p.estimate(p.simulate(c))),  # type: ignore[misc]
            "batch": lambda p=protocol, v=values: timed(lambda: p.estimate(p.randomize(v))),  # type: ignore[misc]
        }
        found.append({"protocol": name, **best(work, times)})
    for cls in (SS, OLH):
        protocol = cls(k, 1.0)
        n = 2 * 10**5
        values, counts = inputs(protocol, n), np.full(k, n // k)
        work = {
            "simulated": lambda p=protocol, c=counts: timed(lambda: p.estimate(p.simulate(c))),  # type: ignore[misc]
            "batch": lambda p=protocol, v=values: timed(lambda: p.estimate(p.randomize(v))),  # type: ignore[misc]
        }
        found.append({"protocol": cls.__name__, "users": n, **best(work, times)})
    return found


TUTORIALS: dict[
    str, dict[str, tuple[Any, str, bool]]
] = {  # the protocol, then the stem and the option of the paper's functions
    "one attribute": {
        "GRR": (GRR, "GRR", True),
        "SUE": (SUE, "UE", False),
        "OUE": (OUE, "UE", True),
        "BLH": (BLH, "LH", False),
        "OLH": (OLH, "LH", True),
        "SS": (SS, "SS", True),
        "THE": (THE, "HE", True),
        "SHE": (SHE, "HE", True),
    },
    "three attributes": {
        "SPL[GRR]": (partial(SPL, GRR), "SPL_GRR", True),
        "SPL[OUE]": (partial(SPL, OUE), "SPL_UE", True),
        "SMP[GRR]": (partial(SMP, GRR), "SMP_GRR", True),
        "SMP[OUE]": (partial(SMP, OUE), "SMP_UE", True),
        "RS+FD[GRR]": (partial(RSFD, GRR), "RSpFD_GRR", True),
        "RS+FD[OUE]": (partial(RSFD, OUE), "RSpFD_UE_zero", True),
    },
    "over time": {
        "L-GRR": (LGRR, "L_GRR", True),
        "L-SUE": (LSUE, "L_SUE", True),
        "L-SOUE": (LSOUE, "L_SOUE", True),
        "L-OUE": (LOUE, "L_OUE", True),
        "L-OSUE": (LOSUE, "L_OSUE", True),
    },
}


def tutorials(peers: Peers, users: int = 45_000, k: int = 74, repeats: int = 30) -> list[Results]:
    """Compare protocols with ten budgets, as in the paper's tutorials.

    Version 0.2.5 is timed at one budget. The time of the comparison is computed from its time per
    user.
    """
    found = []
    for name, contenders in TUTORIALS.items():
        numbers: list[Any] = np.arange(0.5, 5.5, 0.5).tolist()
        budgets = [(2 * each, each) for each in numbers] if name == "over time" else numbers
        domain: Any = [k] * 3 if name == "three attributes" else k
        values = np.random.default_rng(1).integers(
            k, size=(users, 3) if isinstance(domain, list) else users
        )
        factories = {each: factory for each, (factory, _, _) in contenders.items()}
        compare(factories, values, budgets[:1], 1, "norm", k=domain)  # compiles
        took = timed(partial(compare, factories, values, budgets, repeats, "norm", k=domain))
        cell: Results = {
            "name": name,
            "ours": took,
            "users": users,
            "k": k,
            "protocols": len(contenders),
        }
        seconds = 0.0
        for _, stem, optimal in contenders.values():
            for task in ("Client", "Aggregator_MI"):
                work = peer_work(
                    peers,
                    "multi-freq-ldpy",
                    {"stem": stem, "optimal": optimal, "k": k, "task": task},
                    0.5,
                )
                if work:
                    seconds += work[0]() / work[1] * users
        found.append(
            cell | ({"multi-freq-ldpy": seconds * len(budgets) * repeats} if seconds else {})
        )
    return found


STEMS = (
    *(
        "GRR",
        "UE",
        "LH",
        "SS",
        "ADP",
        "L_GRR",
        "L_SUE",
        "L_SOUE",
        "L_OUE",
        "L_OSUE",
        "L_LH",
        "L_ADP",
        "dBitFlipPM",
    ),
    *(
        f"{solution}_{each}"
        for solution in ("SPL", "SMP")
        for each in ("GRR", "UE", "LH", "SS", "ADP")
    ),
    *("RSpFD_GRR", "RSpFD_UE_zero", "RSpFD_UE_rnd", "RSpFD_ADP"),
    *(
        f"{solution}_{each}"
        for solution in ("SPL", "SMP")
        for each in ("L_GRR", "L_SUE", "L_SOUE", "L_OUE", "L_OSUE", "L_ADP", "dBitFlipPM")
    ),
)


def functions(peers: Peers, seconds: float, times: int) -> list[Results]:
    """Call the functions of the paper in both packages, as in its listings.

    Times are microseconds per call or per report.
    """
    found = []
    several = [*[(stem, True) for stem in STEMS], ("UE", False), ("LH", False), ("L_LH", False)]
    cells = [
        (*each, k, task)
        for each in several
        for k in DOMAINS
        for task in ("Client", "Aggregator_MI", "Aggregator_IBU")
    ]
    cells = [
        cell
        for cell in cells
        if cell[3] != "Aggregator_IBU" or not cell[0].startswith(("SPL", "SMP", "RSpFD", "dBit"))
    ]
    progress = Progress("functions", len(cells))
    for i, (stem, optimal, k, task) in enumerate(cells):
        progress.at(i, f"{stem}, k = {k}, {task}")
        what = {"stem": stem, "optimal": optimal, "k": k, "task": task}
        contenders: dict[str, Callable[[], float]] = {}
        users: dict[str, int] = {}
        # Both packages have the same number of users, because each call has a fixed cost
        for package in (
            "multi-freq-ldpy",
            "ours",
        ):
            try:
                work = peer_work(peers, package, what, seconds, users.get("multi-freq-ldpy"))
            except RuntimeError as error:  # some functions of version 0.2.5 raise an exception
                if package == "ours":
                    raise
                print(f"left out: {error}", file=sys.stderr)
                work = None
            if work:
                contenders[package], users[package] = work
        took = best(contenders, times)
        # More turns for both packages if their times are close
        if len(took) == 2 and took["ours"] > 0.8 * took["multi-freq-ldpy"]:
            took = {
                name: min(each, took[name]) for name, each in best(contenders, 6 * times).items()
            }
        found.append(what | {name: each / users[name] * 1e6 for name, each in took.items()})
    progress.at(len(cells))
    return found
