"""Time one package, this one or another, in its environment.

A request is one line of JSON, and so is its answer.

``{"prepare": what, "seconds": s}`` sets up work that takes about s seconds. With "users", the work
is for that number of users. The answer is the number of users. ``{"run": true}`` does the work
once, and the answer is its seconds. The functions of the paper have the same names in two packages,
so the same code calls both.
"""

import inspect
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

D = 3
MODULES = {
    "pure_frequency_oracles": ("GRR", "UE", "LH", "SS", "HE", "ADP"),
    "mdim_freq_est": ("SPL_solution", "SMP_solution", "RSpFD_solution"),
    "long_freq_est": ("L_GRR", "L_SUE", "L_SOUE", "L_OUE", "L_OSUE", "L_LH", "L_ADP", "dBitFlipPM"),
    "long_mdim_freq_est": ("L_SPL_Solution", "L_SMP_Solution"),
}


def main() -> None:
    if len(sys.argv) > 2 and (found := version(sys.argv[1])) != sys.argv[2]:
        raise SystemExit(f"{sys.argv[1]} is {found}, not {sys.argv[2]}")
    find = pure if sys.argv[1] == "pure-ldp" else paper
    work: Callable[[], object] = int
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "prepare" in request:
                prepare = find(request["prepare"])
                work, n = (
                    (prepare(request["users"]), request["users"])
                    if "users" in request
                    else sized(prepare, request["seconds"])
                )
                answer: dict[str, Any] = {"n": n}
            else:
                answer = {"seconds": timed(work)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def sized(
    prepare: Callable[[int], Callable[[], object]], seconds: float
) -> tuple[Callable[[], object], int]:
    """Return work that takes about the given seconds, and its number of users.

    The number is smaller if preparing the work would take more than twenty times the seconds.
    """
    n = 64  # enough users for each attribute to be sampled
    prepare(n)()  # compiles
    while True:
        started = time.perf_counter()
        work = prepare(n)
        prepared = time.perf_counter() - started
        took = min(timed(work) for _ in range(2))
        if max(took, prepared) > seconds / 10 or n >= 2**22:
            break
        n *= 4
    n = max(64, min(2**22, int(n * min(seconds / took, 20 * seconds / prepared))))
    return prepare(n), n


# The functions of the paper


@cache
def functions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for package, modules in MODULES.items():
        for module in modules:
            content = vars(import_module(f"multi_freq_ldpy.{package}.{module}"))
            found |= {
                name: each
                for name, each in content.items()
                if "Client" in name or "Aggregator" in name
            }
    return found


def arguments(function: Callable[..., Any], k: int, optimal: bool) -> tuple[Any, ...]:
    """Return the arguments after the first one, by the names of the parameters."""
    sizes = [k] * D
    known: dict[str, Any] = {
        "k": k,
        "lst_k": sizes,
        "b": k,
        "lst_b": sizes,
        "d_bits": max(1, k // 5),
        "d": D,
        "optimal": optimal,
        "use_thresh": True,
    }
    known |= {
        "epsilon": 1.0,
        "eps_perm": 2.0,
        "eps_1": 1.0,
        "nb_iter": 10,
        "tol": 1e-12,
        "err_func": "max_abs",
    }
    parameters = list(
        inspect.signature(getattr(function, "py_func", function)).parameters.values()
    )[1:]
    return tuple(known[each.name] for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)


def paper(what: dict[str, Any]) -> Callable[[int], Callable[[], object]]:
    """Return a function that prepares calls of the paper's functions for n users.

    ``what`` has the stem of the functions (SPL_GRR), k, optimal, and the task: Client, or the name
    of an aggregator.
    """
    stem, k, task = what["stem"], what["k"], what["task"]
    client = functions()[f"{stem}_Client"]
    rest = arguments(client, k, what["optimal"])
    several = stem.startswith(("SPL", "SMP", "RSpFD"))

    kept: list[Any] = []

    def prepare(n: int) -> Callable[[], object]:
        # The same steps as in the paper's listings
        values = np.random.default_rng(n).integers(k, size=(n, D) if several else n)
        if task == "Client":
            return lambda: [client(value, *rest) for value in values]
        kept.extend(client(value, *rest) for value in values[len(kept) :])
        reports = kept[:n]
        aggregator = functions()[f"{stem}_{task}"]
        known = arguments(aggregator, k, what["optimal"])
        return lambda: aggregator(reports, *known)

    return prepare


# pure-ldp


def pure(what: dict[str, Any]) -> Callable[[int], Callable[[], object]]:
    from pure_ldp import frequency_oracles as oracles

    warnings.simplefilter("ignore")
    kind, options = what["stem"], what["options"]
    k = what["k"]
    client = getattr(oracles, f"{kind}Client")(1.0, k, **options)
    server = getattr(oracles, f"{kind}Server")(1.0, k, **options)

    kept: list[Any] = []

    def prepare(n: int) -> Callable[[], object]:
        values = np.random.default_rng(n).integers(1, k + 1, size=n).tolist()
        if what["task"] == "Client":
            return lambda: [client.privatise(value) for value in values]
        kept.extend(client.privatise(value) for value in values[len(kept) :])
        reports = kept[:n]

        def aggregate() -> object:
            server.reset()
            server.aggregate_all(reports)
            return server.estimate_all(range(1, k + 1), suppress_warnings=True)

        return aggregate

    return prepare


if __name__ == "__main__":
    main()
