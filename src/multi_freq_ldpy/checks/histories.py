"""Checks of the mechanisms that protect whole histories.

Small mechanisms are enumerated in exact arithmetic: every history, every path and every report. So
is every way in which a device may be off, copied or restored. Devices run the same rules.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.randomness import Source, Stream
from ..core.tally import Tally
from ..longitudinal.averages import Asked
from ..longitudinal.blocks import Block
from ..longitudinal.client import Client
from ..longitudinal.diary import Diary, Told
from ..longitudinal.history import History
from ..longitudinal.panel import Panel
from ..longitudinal.paths import Paths
from ..mechanism import Mechanism, find_silent
from .tools import NotApplicable, Z, enclose_exponential, holds, refuses

MOST_HISTORIES = 81
MOST_USERS = 20_000
Schedule = tuple[int, tuple[tuple[bool, bool], ...]]
"""The round before which a device is copied, and for each round whether both copies are asked."""

Shown = frozenset[tuple[int, int, int, int]]
"""Told symbols: the round, the place in the report, the entry of the block, and the sign."""


def require_history(mechanism: Mechanism) -> History:
    """Return a history, or raise ``NotApplicable``."""
    if not isinstance(mechanism, History):
        raise NotApplicable("it does not protect whole histories")
    return mechanism


def require_small(mechanism: Mechanism) -> History:
    """Return a history whose inputs can all be listed, or raise ``NotApplicable``."""
    history = require_history(mechanism)
    if history.rounds > 4 or history.k**history.rounds > MOST_HISTORIES:
        raise NotApplicable("it has too many histories to enumerate")
    return history


def list_histories(history: History) -> list[tuple[int, ...]]:
    """Return all histories of values."""
    return list(product(range(history.k), repeat=history.rounds))


def whole_histories(mechanism: Mechanism) -> None:
    """Check the largest ratio over all pairs of histories and all their reports.

    It must be the ratio that the mechanism states, and at most e^ε for each window.
    """
    history = require_small(mechanism)
    laws = [history.law(each) for each in list_histories(history)]
    for law in laws:
        holds(sum(law.values()) == 1, f"a distribution adds up to {sum(law.values())}, not to 1")
    worst = Fraction(1)
    for sent in set().union(*laws):
        chances = [law.get(sent, Fraction(0)) for law in laws]
        holds(min(chances) > 0, f"the reports {sent} are impossible for some histories only")
        worst = max(worst, max(chances) / min(chances))
    stated = history.privacy.ratio_history
    holds(worst == stated, f"the largest ratio is {float(worst)!r}, not {float(stated or 0)!r}")
    often = -(-history.rounds // history._window)
    bound = enclose_exponential(often * Fraction(history.epsilon))[1]
    holds(worst <= bound, f"the largest ratio {float(worst)!r} exceeds e^{history.epsilon}")


def missed_rounds(mechanism: Mechanism) -> None:
    """Check the budget if a device is off, is copied, or is restored from an old copy.

    A device is copied before some round. In every round, none, one or both of the copies are asked,
    with the same value. All reports of both together must keep the budget, and the rounds of
    reports must be the same for all histories.
    """
    history = require_small(mechanism)
    stated = history.privacy.ratio_history or Fraction(0)
    often = -(-history.rounds // history._window)
    values = np.array(list_histories(history))
    for path, _ in history._every_path():
        block = history.kinds[int(path.kinds[0])].block
        paths = Paths(*(np.repeat(each, len(values)) for each in vars(path).values()))
        for first, restorable in product(range(history.rounds), (True, False)):
            for schedule in list_schedules(history.rounds, first, restorable):
                rounds, told = show(history, paths, values, schedule, first, restorable)
                where = f"for the schedule {schedule}, the first round {first} and {path}"
                if block is None:
                    holds(len(rounds) <= often, f"a value is reported {len(rounds)} times, {where}")
                    continue
                worst = find_worst(block, told)
                holds(
                    worst is not None and worst <= stated,
                    f"the ratio is {'infinite' if worst is None else float(worst)}, {where}",
                )


def list_schedules(rounds: int, first: int, restorable: bool) -> Iterator[Schedule]:
    """Yield every way in which a device and a copy of it are asked, from the first round on.

    A device that is not restorable is never copied.
    """
    for copied in range(first, rounds) if restorable else (rounds,):
        # Before it is copied, there is one device
        choices = [
            ((False, False),)
            if r < first
            else ((False, False), (True, False))
            if r < copied
            else ((False, False), (False, True), (True, False), (True, True))
            for r in range(rounds)
        ]
        for asked in product(*choices):
            yield copied, asked


def show(
    history: History,
    paths: Paths,
    values: NDArray[np.int64],
    schedule: Schedule,
    first: int,
    restorable: bool,
) -> tuple[frozenset[int], frozenset[Shown]]:
    """Return the rounds in which one of two copies reports, and what the users tell.

    There is one user per history, and all of them have the same path.
    """
    devices = [Diary(history, paths, first, restorable) for _ in range(2)]
    copied, asked = schedule
    rounds: set[int] = set()
    shown: list[set[tuple[int, int, int, int]]] = [set() for _ in values]
    for r, both in enumerate(asked):
        if r == copied:
            devices[1].states = devices[0].states.copy()
        for device in (each for each, is_asked in zip(devices, both, strict=True) if is_asked):
            for told in device.decide(r, values[:, r]):
                rounds.add(r)
                holds(len(told.who) == len(values), f"silence in round {r} depends on values")
                for i, user in enumerate(told.who.tolist()):
                    shown[user].update(list_symbols(history, r, told, i))
    return frozenset(rounds), frozenset(map(frozenset, shown))


def list_symbols(
    history: History, round: int, told: Told, i: int = 0
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the told symbols of one report: round, place, entry of the block, and sign."""
    entry = int(told.entry[i])
    if entry < 0:
        return
    if history.symbols_per_change == 2:
        yield round, int(told.start[i]), entry, -1
        yield round, int(told.end[i]), entry + 1, 1
    else:
        one = slice(i, i + 1)
        sign = history._sign(told.start[one], told.end[one], told.rows[one])
        yield round, 0, entry, int(sign[0])


@cache
def find_worst(block: Block, every: frozenset[Shown]) -> Fraction | None:
    """Return the largest ratio between users of one path who tell different symbols.

    None means that the ratio has no bound.
    """
    places = sorted({each[:2] for told in every for each in told})
    worst = Fraction(1)
    for outputs in product(block.base, repeat=len(places)):
        drawn = dict(zip(places, outputs, strict=True))
        chances = [weigh(block, told, drawn) for told in every]
        if min(chances) == 0:
            return None
        worst = max(worst, max(chances) / min(chances))
    return worst


def weigh(block: Block, told: Shown, drawn: dict[tuple[int, int], int]) -> Fraction:
    """Return the probability of symbols, divided by their probability as base noise."""
    entries: dict[int, int] = {}
    chance = Fraction(1)
    for round, place, entry, sign in told:
        symbol = sign * drawn[round, place]
        if entry >= block.symbols or entries.setdefault(entry, symbol) != symbol:
            return Fraction(0)
        chance /= block.base[symbol]
    for symbol in entries.values():
        chance *= block.base[symbol]
    return chance * block.mean_density(len(entries), sum(entries.values()))


def told_means(mechanism: Mechanism) -> None:
    """Check that the mean of every kind of reports is exact, also if rounds are missed.

    The means are exact for every choice of missed rounds, so also for every distribution of it. The
    means of reports of steps are those of the changes. So the estimate, which solves for the
    rounds, is unbiased.
    """
    history = require_small(mechanism)
    for values in list_histories(history):
        if count_changes(history, values) <= bound_of(history):
            for asked in product((True, False), repeat=history.rounds):
                check_means(history, values, asked)
    check_solution(history)


def bound_of(history: Any) -> int:
    """Return the number of changes for which estimates are unbiased."""
    if hasattr(history, "changes"):
        return int(history.changes)
    if hasattr(history, "reports"):
        return int(history.reports // history.rounds.bit_length() - 1)
    return int(history.rounds)


def count_changes(history: History, values: Sequence[int]) -> int:
    """Return the number of changes of a history, as its mechanism counts them."""
    before = (0, *values) if history.grounded and hasattr(history, "changes") else values
    return int(np.count_nonzero(np.diff(before)))


def check_means(history: History, values: Sequence[int], asked: Sequence[bool]) -> None:
    """Check the means of all kinds of reports, given the rounds in which a device is asked."""
    totals: dict[tuple[int, int], Any] = {}
    for path, share in history._every_path():
        diary = Diary(history, path)
        for r, is_asked in enumerate(asked):
            for told in diary.decide(r, np.array([values[r]])) if is_asked else ():
                mean = mean_of(history, told)
                count, total = totals.get((r, told.kind), (Fraction(0), 0 * mean))
                totals[r, told.kind] = count + share, total + share * mean
    for r in range(history.rounds):
        for node in history.nodes(r):
            count, total = totals.get((r, node.kind), (Fraction(0), None))
            if all(asked):
                chance = history._chance(node, Asked())
                holds(
                    abs(float(count) - chance) < 1e-12,
                    f"reports of kind {node.kind} in round {r} have the probability {count}, not"
                    f" {chance}",
                )
            if not count:
                continue
            for v in range(history.k):
                now = int(values[r] == v)
                if node.start is not None:
                    now -= int((values[node.start - 1] if node.start else 0) == v)
                holds(
                    total[v] == count * now,
                    f"reports of kind {node.kind} in round {r} have the mean"
                    f" {float(total[v] / count)!r} for value {v}, not {now}, for the history"
                    f" {values} asked in {asked}",
                )


def mean_of(history: History, told: Told) -> NDArray[Any]:
    """Return the mean of what a report contributes to the estimate of its kind."""
    block = history.kinds[told.kind].block
    found = np.array([Fraction(0)] * history.k)
    if block is None:
        found[int(told.end[0])] += 1
        return found
    # A told symbol has the mean gap, and base noise has the mean 0
    symbols = {place: sign for _, place, _, sign in list_symbols(history, 0, told)}
    if history.encoding == "row":
        row, sign = int(told.rows[0]), symbols.get(0, 0)
        for v in range(history.k):
            odd = (row & v).bit_count() % 2
            found[v] += history._row_factor * (1 - 2 * odd) * sign
    elif history.k == 2:
        found += np.array([-symbols.get(0, 0), symbols.get(0, 0)])
    else:
        for place, sign in symbols.items():
            found[place] += sign
    return found


def check_solution(history: History) -> None:
    """Check that means without noise give the true frequencies, smoothed and round by round."""
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.ones(history.k), history.rounds)
    numbers = [
        [1000 * history._chance(node, Asked()) for node in history.nodes(r)]
        for r in range(history.rounds)
    ]
    for last in range(1, history.rounds + 1):
        means = history._estimator.average(numbers[:last])
        for r in range(last):
            for node in history.nodes(r):
                if node.start:
                    h = (node.end - node.start).bit_length() - 1
                    means.steps[h][node.end // 2**h - 2] = truth[r] - truth[node.start - 1]
                else:
                    means.values[r] = truth[r]
        found = means.network.estimate(means.values, means.steps)
        holds(
            np.allclose(found, truth[:last], atol=1e-9),
            f"exact means of {last} rounds do not give the true frequencies",
        )


def round_by_round(mechanism: Mechanism) -> None:
    """Check that all ways to ask give the same bits, and that later values change nothing.

    A round asked again has the same answer, for another value too. An earlier round is refused.
    """
    history = require_history(mechanism)
    n, rounds = 200, history.rounds
    rng = np.random.default_rng(5)
    values = rng.integers(0, history.k, (n, rounds))
    source = Source.of(Stream(7), history._label, n)
    whole = np.empty(n, history.report_dtype)
    history._randomize(values, source, whole)
    halves = np.empty(n, history.report_dtype)
    history._randomize(values[:77], source, halves[:77])
    history._randomize(values[77:], source.skip(77), halves[77:])
    holds(whole.tobytes() == halves.tobytes(), "two batches give other reports than one (seed 7)")
    members, split = history._members(source, n), history._members(source, n)
    for r in range(min(rounds, 64)):
        all_at_once = members.answer(values[:, r], r)
        holds(
            all_at_once.tobytes() == np.ascontiguousarray(whole[:, r]).tobytes(),
            f"round {r} asked alone gives other reports than whole histories (seed 7)",
        )
        again = members.answer((values[:, r] + 1) % history.k, r)
        holds(again.tobytes() == all_at_once.tobytes(), f"round {r} asked again differs (seed 7)")
        who = rng.permutation(n)
        for some in (who[:50], who[50:]):
            part = split.answer(values[some, r], r, some)
            holds(
                part.tobytes() == all_at_once[some].tobytes(),
                f"round {r} asked in two calls gives other reports (seed 7)",
            )
        other = split.answer((values[who[:9], r] + 1) % history.k, r, who[:9])
        holds(other.tobytes() == all_at_once[who[:9]].tobytes(), f"round {r} asked again differs")
    refuses(lambda: members.answer(values[:, 0], 0), "round", 0)
    check_clients(history)


def check_clients(history: History) -> None:
    """Check that a client is the only user of a panel with its key."""
    values = np.random.default_rng(6).integers(0, history.k, history.rounds)
    secrets = [bytes([i] * 32) for i in range(12)]
    for secret in secrets:
        client, again = Client(history, secret), Client(history, secret)
        for r in range(min(history.rounds, 16)):
            one, two = client.report(int(values[r])), again.report(int(values[r]), round=r)
            holds(
                (one is None and two is None)
                or (one is not None and two is not None and one.tobytes() == two.tobytes()),
                f"two clients with the secret {secret.hex()} differ in round {r}",
            )
        spent = (0.0, history.privacy.history)
        holds(client.spent in spent, f"a client has spent {client.spent}")


def bad_histories(mechanism: Mechanism) -> None:
    """Check that wrong histories, rounds and tallies are refused before anything is changed."""
    history = require_history(mechanism)
    k, rounds = history.k, history.rounds
    for wrong in (
        [0] * (rounds - 1),
        [0] * (rounds + 1),
        [k] * rounds,
        [-1] * rounds,
        [0.5] * rounds,
    ):
        refuses(lambda wrong=wrong: history.randomize(wrong, 1), "histories", wrong)  # type: ignore[misc]
    refuses(lambda: history.at(rounds), "round", rounds)
    refuses(lambda: history.at(-1), "round", -1)
    panel = Panel(history, 100, rng=1)
    tallies = [panel.tally(np.zeros(100, np.int64)) for _ in range(2)]
    refuses(lambda: tallies[0] + tallies[1], "mechanisms", "two rounds")
    refuses(lambda: history.estimate(tallies[::-1]), "reports[0]", "two rounds")
    refuses(lambda: panel.report(np.zeros(100, np.int64), round=0), "round", 0)
    holds(panel._members.last == 1, "a refused round was answered")
    for tally in tallies:
        holds(Tally.from_bytes(tally.to_bytes()) == tally, "the bytes of a tally give another one")


def round_encoding(mechanism: Mechanism) -> None:
    """Check that every round accepts exactly the reports that have a probability above 0.

    All bytes are tried if reports have two bytes. Otherwise these are copies of honest reports with
    one byte changed.
    """
    history = require_small(mechanism)
    laws = [history.law(each) for each in list_histories(history)]
    for r in range(history.rounds):
        own = history.at(r)
        support = {sent[r] for law in laws for sent, chance in law.items() if chance} - {None}
        honest = sorted(each for each in support if each is not None)
        tried = {
            report[:i] + bytes([byte]) + report[i + 1 :]
            for report in honest[:: -(-len(honest) // 50)]
            for i in range(own.report_bytes)
            for byte in range(256)
        }
        if own.report_bytes <= 2:
            tried = {bytes(each) for each in product(range(256), repeat=own.report_bytes)}
        listed = sorted(tried | set(honest))
        refused = own._refused(np.frombuffer(b"".join(listed), own.report_dtype))
        for report, no in zip(listed, refused.tolist(), strict=True):
            what = "refused" if no else "accepted"
            holds(no != (report in support), f"round {r}: the bytes {report!r} are {what}")


def counted(mechanism: Mechanism) -> None:
    """Check counts against contributions, and simulated tallies against their domain."""
    history = require_history(mechanism)
    n = 300
    values = np.random.default_rng(3).integers(0, history.k, (n, history.rounds))
    reports = history.randomize(values, 11)
    tally = history.tally(reports)
    slow = history.contributions(reports).sum(axis=0)
    holds(np.array_equal(tally.counts, slow), "counts are not the sums of contributions (seed 11)")
    for r, part in enumerate(tally):
        sent = reports[:, r]
        sent = np.ascontiguousarray(sent[~find_silent(sent)])
        alone = history.at(r).tally(sent)
        same = np.array_equal(alone.counts, part.counts) and np.array_equal(alone.n, part.n)
        holds(same, f"the tally of round {r} differs from that of its reports (seed 11)")
        holds(
            history.at(r).tally(sent[:9]) + history.at(r).tally(sent[9:]) == alone,
            f"tallies of round {r} do not add up (seed 11)",
        )


def over_time(mechanism: Mechanism) -> None:
    """Check bias, variance and coverage of all rounds, for users who change.

    Tallies are simulated. The bias must be within 6 standard errors. On average over rounds, the
    variance must be within 10 per cent of the stated one, plus 6 standard errors.
    """
    history = require_history(mechanism)
    many, repetitions = make_histories(history), 100
    values, counts = many
    n = int(counts.sum())
    truth = np.array(
        [np.bincount(values[:, r], counts, history.k) / n for r in range(history.rounds)]
    )
    found, stated = [], []
    for seed in range(repetitions if history._draws_together else 20):
        rounds: Any = history.estimate(history.simulate(values, seed, counts=counts))
        found.append([each.frequencies for each in rounds])
        stated.append([each.std**2 for each in rounds])
    errors, variances = np.array(found) - truth, np.array(stated).mean(axis=0)
    limit = Z * np.sqrt(variances / len(errors))
    off = np.abs(errors.mean(axis=0)) - limit
    worst = np.unravel_index(np.argmax(off), off.shape)
    holds(
        off.max() <= 0,
        f"the mean error in round {worst[0]} is {errors.mean(axis=0)[worst]:.5f} (seeds from 0),"
        f" more than {limit[worst]:.5f}",
    )
    ratio = float((errors**2).mean(axis=0).sum() / variances.sum())
    slack = 0.1 + Z * spread_of(errors, variances)
    holds(
        abs(ratio - 1) <= slack,
        f"variances are {ratio:.3f} times the stated ones (seeds from 0), which differs from 1 by"
        f" more than {slack:.3f}",
    )


def spread_of(errors: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    """Return the standard error of a ratio of variances, whose rounds are correlated."""
    each = (errors**2).sum(axis=(1, 2)) / variances.sum()
    return float(each.std() / np.sqrt(len(each)))


def make_histories(history: History) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a few histories within the bound, with the number of users of each."""
    most = max(1, min(bound_of(history), 3))
    rng = np.random.default_rng(2)
    found = []
    for _ in range(8):
        row = np.zeros(history.rounds, np.int64)
        value = 0 if history.grounded else int(rng.integers(history.k))
        row[:] = value
        for t in sorted(rng.choice(np.arange(1, history.rounds), most, replace=False)):
            value = (value + 1 + int(rng.integers(history.k - 1))) % history.k
            row[t:] = value
        found.append(row)
    counts = rng.multinomial(MOST_USERS, np.full(len(found), 1 / len(found)))
    return np.array(found), counts
