"""Audits: a lower bound of ε, measured from the reports that a mechanism sends.

The mechanism may be one of this package, or any other program.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import inf, isnan, log
from typing import Any

import numpy as np

from .. import wire
from ..core import validate
from ..core.deprecation import accept_old_names
from ..core.randomness import Rng, as_stream
from ..longitudinal.client import Client
from ..longitudinal.panel import Panel
from ..mechanism import BATCH, Mechanism, require_single
from ..protocol import Protocol
from . import evidence, worst_case
from .evidence import Scores

LISTED = 2**16
"""Largest number of pairs of a report and an input for which the exact distribution chooses the
event.
"""


@dataclass(frozen=True)
class Audit:
    """A measured lower bound of ε, and the counts from which it follows.

    With probability ``confidence`` or more, the audited mechanism has a loss of at least
    ``epsilon`` between the two inputs.

    Parameters
    ----------
    epsilon : float
        The lower bound.
    confidence : float
        Probability with which the bound holds.
    inputs : pair
        The two inputs. The event is likelier for the first input.
    event : str
        The event, in words.
    seen : pair of int
        Number of samples in which the event happened, for each of the two inputs.
    of : pair of int
        Number of samples, for each of the two inputs.
    tests : int
        Number of events that were tested. The bound is corrected for this number.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, audit
    >>> found = audit(GRR(2, epsilon=1.0), n=10_000, rng=1)
    >>> found.inputs, found.of, found.epsilon <= 1.0
    ((0, 1), (5000, 5000), True)
    """

    epsilon: float
    confidence: float
    inputs: tuple[Any, Any]
    event: str
    seen: tuple[int, int]
    of: tuple[int, int]
    tests: int

    def __float__(self) -> float:
        return self.epsilon

    def __repr__(self) -> str:
        often = " and ".join(
            f"{s:,} of {n:,} times for {validate.quote(x)}"
            for s, n, x in zip(self.seen, self.of, self.inputs, strict=True)
        )
        best = f", the best of {self.tests} tests" if self.tests > 1 else ""
        return (
            f"ε ≥ {self.epsilon:.4f} (confidence {100 * self.confidence:g} %): {self.event},"
            f" {often}{best}"
        )


@accept_old_names(target="mechanism")
def audit(
    mechanism: Any,
    n: int = 10**6,
    confidence: float = 0.99,
    *,
    inputs: tuple[Any, Any] | None = None,
    statistic: Callable[[Any], float] | None = None,
    rounds: int = 1,
    rng: Rng = None,
) -> Audit:
    """Return a lower bound of the privacy loss of a mechanism, measured from its reports.

    Half of the reports are about one input, and half are about another. Bounds are Clopper–Pearson
    limits, corrected for the number of events tested.

    A *protocol or solution* is audited by its reports as bytes on the wire. The event is that the
    likelihood ratio of a report is large. It follows from the exact distribution of a report, and
    is chosen before anything is drawn. If that distribution is too large to list, a statistic takes
    its place. The statistic is the number of attributes that the report supports for the first
    input, minus the number for the second.

    A *callable* may be written by anyone. It gets an input and returns bytes or a report of any
    kind, independently of earlier calls. It is called about the two inputs in random order. Without
    ``statistic``, the differences between the two inputs are learnt from a part of the sample.

    If the exact distribution does not choose the event, one half of the sample chooses it. The
    other half tests it.

    With ``rounds`` above 1, a sample is a sequence of reports of one user about an unchanged value.
    A protocol or solution gets a new user's memory for each sequence. A callable ``mechanism()``
    must return a new client, itself a callable. The attacks are averaging and taking the most
    frequent report. Bounds are about the whole sequence.

    Parameters
    ----------
    mechanism : protocol, solution or callable
        The mechanism to audit.
    n : int
        Number of reports, at least 20. With ``rounds`` above 1, it is the number of users. Choose a
        smaller n for many rounds.
    confidence : float
        Probability with which the bound holds, from 0.5 to 1 − 10⁻¹².
    inputs : pair, optional
        The two inputs. A callable needs them. For a protocol or solution, None means the two inputs
        that the exact distribution tells apart best. If it is too large to list, None means the
        first and the last input.
    statistic : callable, optional
        A function from a report to a number. Large numbers, or small ones, must speak for the first
        input. With ``rounds`` above 1 the function gets the list of reports. None means the events
        and attacks described above.
    rounds : int
        Number of reports of one user in each sample.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None, the default, is the operating system: use it to collect. Seeds
        are for simulations. It applies to protocols and solutions, not to callables.

    Returns
    -------
    Audit
        The bound, with the event and its counts.

    Raises
    ------
    TypeError
        If ``mechanism`` is not a protocol, solution or callable, or if ``statistic`` is not
        callable.
    ValueError
        If a number is out of range, or if ``inputs`` is not a pair of inputs. For a callable, also
        if ``inputs`` is None, or if it is a method of one ``Client``. Also if the statistic is NaN.

    Examples
    --------
    >>> from multi_freq_ldpy import GRR, audit
    >>> found = audit(GRR(10, epsilon=1.0), n=200_000, rng=1)
    >>> 0.9 < found.epsilon <= 1.0
    True
    """
    half = validate.Integer(20, 2**40)("n", n) // 2
    risk = 1 - validate.probability("confidence", confidence, 0.5, 1 - 1e-12)
    times = validate.Integer(1, 2**20)("rounds", rounds)
    if isinstance(getattr(mechanism, "__self__", None), Client):
        raise ValueError(
            "mechanism must give independent reports, which one client does not: set rounds, and"
            " give a function that makes new clients"
        )
    if statistic is not None and not callable(statistic):
        raise TypeError(f"statistic must be a callable, not {validate.quote(statistic)}")
    if not isinstance(mechanism, Mechanism) and not callable(mechanism):
        raise TypeError(
            "mechanism must be a protocol, a solution or a callable, not"
            f" {validate.quote(mechanism)}"
        )
    if inputs is not None and (not isinstance(inputs, list | tuple) or len(inputs) != 2):
        raise ValueError(f"inputs must be a pair, not {validate.quote(inputs)}")
    if isinstance(mechanism, Mechanism):
        require_single(mechanism, "audit")
        pair, listed = _choose_pair(mechanism, inputs)
        if times == 1 and statistic is None and listed:
            return _audit_by_law(mechanism, pair, half, risk, rng)
        samples = _Samples(mechanism, pair, listed, half, times, rng)
        scores, names = samples.score(statistic), ["the statistic"] if statistic else samples.names
        learnt = 0
    else:
        if inputs is None:
            raise ValueError("inputs must be given for a callable: the two inputs to tell apart")
        pair = inputs[0], inputs[1]
        learnt = 0 if statistic else half // 4
        scores, names = _score_callable(mechanism, pair, half, times, statistic, learnt)
    return _test_scores(pair, scores, names, risk, learnt)


def _choose_pair(mechanism: Mechanism, inputs: Any) -> tuple[tuple[Any, Any], bool]:
    """Return the pair of inputs, and True if the distribution of reports can be listed.

    Given inputs are checked. Otherwise the result is the pair that is told apart best. If the
    distribution cannot be listed, the pair is the first and the last input.
    """
    ks = mechanism.ks
    ends = (
        (0, ks[0] - 1)
        if isinstance(mechanism, Protocol)
        else ((0,) * len(ks), tuple(k - 1 for k in ks))
    )
    given = ends if inputs is None else (inputs[0], inputs[1])
    for each in given:
        if not mechanism._inputs(each, "inputs")[1]:
            raise ValueError(
                f"inputs must be a pair of single inputs, not {validate.quote(inputs)}"
            )
    try:
        worst = worst_case.find_losses(mechanism, LISTED, LISTED)[0].inputs
    except worst_case.Unlisted:
        return given, False
    return worst if inputs is None and worst is not None else given, True


def _audit_by_law(
    mechanism: Mechanism, pair: tuple[Any, Any], half: int, risk: float, rng: Rng
) -> Audit:
    """Test the event that the likelihood ratio is large, by the exact distribution."""
    first, second = (mechanism.law(each) for each in pair)
    best: tuple[float, Any, bool] = (-inf, None, False)
    for swapped, likely, other in ((False, first, second), (True, second, first)):
        ratios: dict[Any, list[Any]] = {}
        for report, chance in likely.items():
            ratio = chance / other[report] if other.get(report) else inf
            sums = ratios.setdefault(ratio, [0, 0])
            sums[0], sums[1] = sums[0] + chance, sums[1] + other.get(report, 0)
        often = seldom = 0
        for ratio in sorted(ratios, reverse=True):
            often, seldom = often + ratios[ratio][0], seldom + ratios[ratio][1]
            shown = float(evidence.expected_loss(float(often), float(seldom), half, risk / 2))
            if shown > best[0]:
                best = shown, ratio, swapped
    _, cut, swapped = best
    inputs = pair[::-1] if swapped else pair
    likely, other = (second, first) if swapped else (first, second)
    if cut is None:
        return Audit(
            0.0, 1 - risk, pair, "no event is likelier for one input", (0, 0), (half, half), 1
        )
    event = {
        report
        for report, chance in likely.items()
        if not other.get(report) or chance / other[report] >= cut
    }
    stream, size = as_stream(rng), mechanism.report_bytes
    seen = []
    for value in inputs:
        hits = 0
        for many in _batch_sizes(half):
            data = wire.encode(mechanism, mechanism.randomize(np.array([value] * many), stream))
            hits += sum(
                often
                for report, often in evidence.count_reports(data, size).items()
                if report in event
            )
        seen.append(hits)
    how = (
        "the report is possible for one input only"
        if cut == inf
        else f"the likelihood ratio is {float(cut):.6g} or more"
    )
    return _bound_loss((inputs[0], inputs[1]), how, (seen[0], seen[1]), (half, half), risk, 1)


def _bound_loss(
    inputs: tuple[Any, Any],
    event: str,
    seen: tuple[int, int],
    of: tuple[int, int],
    risk: float,
    tests: int,
) -> Audit:
    """Return the bound that follows from counts.

    Each of the two probabilities gets half of the risk.
    """
    each = risk / (2 * tests)
    low, high = (
        evidence.lower_limit(seen[0], of[0], each),
        evidence.upper_limit(seen[1], of[1], each),
    )
    return Audit(
        max(0.0, log(low / high)) if low > 0 else 0.0, 1 - risk, inputs, event, seen, of, tests
    )


def _batch_sizes(n: int) -> Iterator[int]:
    return (min(BATCH, n - start) for start in range(0, n, BATCH))


class _Samples:
    """Sequences of reports of a protocol or solution about each of two inputs, as bytes.

    They are drawn one batch at a time.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        pair: tuple[Any, Any],
        listed: bool,
        half: int,
        rounds: int,
        rng: Rng,
    ) -> None:
        self.listed = listed
        self.mechanism, self.pair, self.half, self.rounds, self.stream = (
            mechanism,
            pair,
            half,
            rounds,
            as_stream(rng),
        )
        self.attacks: list[Any] = [self.supports] if rounds == 1 else [self.average, self.mode]
        self.names = (
            ["support of the first less the second"]
            if rounds == 1
            else ["averaging", "the most frequent report"]
        )

    def score(self, statistic: Callable[[Any], float] | None) -> list[tuple[Scores, Scores]]:
        """Return one score per sample, for each input.

        Scores come from the statistic, or from each attack on the same samples.
        """

        def by_statistic(data: bytes) -> Scores:
            assert statistic is not None
            return _apply_statistic(statistic, self._samples(data))

        attacks = [by_statistic] if statistic else self.attacks
        found: list[list[list[Scores]]] = [[[], []] for _ in attacks]
        for at, value in enumerate(self.pair):
            for many in self._sizes():
                data = self._batch(value, many)
                for scores, attack in zip(found, attacks, strict=True):
                    scores[at].append(attack(data))
        return [(np.concatenate(first), np.concatenate(second)) for first, second in found]

    def _sizes(self) -> Iterator[int]:
        step = max(
            1,
            min(
                BATCH,
                2**23
                // (
                    self.rounds * max(self.mechanism.report_bytes, self.mechanism.parts[-1][1].stop)
                ),
            ),
        )
        return (min(step, self.half - start) for start in range(0, self.half, step))

    def _batch(self, value: Any, many: int) -> bytes:
        values = np.array([value] * many)
        if self.rounds == 1:
            return wire.encode(self.mechanism, self.mechanism.randomize(values, self.stream))
        panel = Panel(self.mechanism, many, self.stream)
        each = [wire.encode(self.mechanism, panel.report(values)) for _ in range(self.rounds)]
        size = self.mechanism.report_bytes
        return np.stack(
            [np.frombuffer(data, np.uint8).reshape(many, size) for data in each], axis=1
        ).tobytes()

    def _samples(self, data: bytes) -> Iterator[Any]:
        """Yield each sample: a report as bytes, or a list of reports."""
        size = self.mechanism.report_bytes
        for i in range(0, len(data), size * self.rounds):
            sequence = [data[j : j + size] for j in range(i, i + size * self.rounds, size)]
            yield sequence if self.rounds > 1 else sequence[0]

    def supports(self, data: bytes) -> Scores:
        """Score reports by the support for the first input minus the support for the second.

        The support for an input is the number of attributes for which the report supports its
        value.
        """
        reports = wire.decode(self.mechanism, data)
        columns = [
            [
                part.start + int(each.cell_of(np.array([v]))[0])
                for each, (_, part), v in zip(
                    self.mechanism.leaves, self.mechanism.parts, x, strict=True
                )
            ]
            for x in map(np.atleast_1d, self.pair)
        ]
        supported = self.mechanism.contributions(reports) > 0
        return np.asarray(
            supported[:, columns[0]].sum(axis=1) - supported[:, columns[1]].sum(axis=1), np.float64
        )

    def average(self, data: bytes) -> Scores:
        """Score sequences by the average score of ``supports``."""
        return np.asarray(self.supports(data).reshape(-1, self.rounds).mean(axis=1))

    def mode(self, data: bytes) -> Scores:
        """Score sequences by the most frequent report.

        The score is the logarithm of its likelihood ratio as a permanent answer. If the
        distribution cannot be listed, it is the score of ``supports``.
        """
        often = [Counter(sequence).most_common(1)[0][0] for sequence in self._samples(data)]
        if not self.listed:
            return self.supports(b"".join(often))
        return np.array([self._lasting.get(report, 0.0) for report in often])

    @cached_property
    def _lasting(self) -> dict[bytes, float]:
        """The logarithm of the likelihood ratio of every permanent answer."""
        lasting: Any = self.mechanism.permanent or self.mechanism
        first, second = (lasting.law(each) for each in self.pair)
        chances = {
            report: (first.get(report, 0), second.get(report, 0)) for report in first | second
        }
        return {
            report: log(a / b) if a and b else inf if a else -inf
            for report, (a, b) in chances.items()
        }


def _apply_statistic(statistic: Callable[[Any], float], samples: Iterable[Any]) -> Scores:
    """Return the statistic of each sample. NaN raises an error."""
    scores = []
    for sample in samples:
        score = float(statistic(sample))
        if isnan(score):
            raise ValueError(
                f"statistic must be a number, not {score} for {validate.quote(sample)}"
            )
        scores.append(score)
    return np.array(scores)


def _score_callable(
    mechanism: Callable[..., Any],
    pair: tuple[Any, Any],
    half: int,
    rounds: int,
    statistic: Callable[[Any], float] | None,
    learnt: int,
) -> tuple[list[tuple[Scores, Scores]], list[str]]:
    """Return scores of the reports that a callable sends about two inputs.

    Scores come from the statistic, or from functions learnt from the first samples.
    """

    def sample(value: Any) -> Any:
        if rounds == 1:
            return mechanism(value)
        client = mechanism()
        return [client(value) for _ in range(rounds)]

    samples: list[list[Any]] = [[], []]
    # The order is random, because otherwise a clock in the reports would look like a leak
    for at in np.random.default_rng().permutation(np.repeat([0, 1], half)).tolist():
        samples[at].append(sample(pair[at]))
    if statistic is not None:
        first, second = (_apply_statistic(statistic, part) for part in samples)
        return [(first, second)], ["the statistic"]
    sequences = samples if rounds > 1 else [[[each] for each in part] for part in samples]
    modes = [
        [Counter(map(evidence.as_bytes, each)).most_common(1)[0][0] for each in part]
        for part in sequences
    ]
    rows = evidence.as_rows(
        [[evidence.as_numbers(one) for one in each] for part in sequences for each in part]
    )
    means = rows[:half], rows[half:]
    by_report = evidence.learn_reports(modes[0][:learnt], modes[1][:learnt])
    by_number = evidence.learn_numbers(means[0][:learnt], means[1][:learnt])
    names = (
        ["the report", "the numbers in the report"]
        if rounds == 1
        else ["the most frequent report", "averaging"]
    )
    return [
        (by_report(modes[0]), by_report(modes[1])),
        (by_number(means[0]), by_number(means[1])),
    ], names


def _test_scores(
    pair: tuple[Any, Any],
    scores: list[tuple[Scores, Scores]],
    names: list[str],
    risk: float,
    learnt: int,
) -> Audit:
    """Return the best bound over all kinds of scores.

    For each kind, one half of the samples chooses the order of the inputs, the sign and the
    threshold. The other half gives the bound. The first ``learnt`` samples of each input, from
    which scores were learnt, are not used for choosing either.
    """
    tests, found = len(scores), []
    for (first, second), name in zip(scores, names, strict=True):
        train = len(first) // 2
        choices = []
        for swapped, sign in product((False, True), (1.0, -1.0)):
            likely, other = (second, first) if swapped else (first, second)
            cut, shown = evidence.choose_threshold(
                sign * likely[learnt:train], sign * other[learnt:train], risk / (2 * tests)
            )
            choices.append((shown, swapped, sign, cut))
        _, swapped, sign, cut = max(choices)
        likely, other = (second, first) if swapped else (first, second)
        seen = tuple(int((sign * each[train:] >= cut).sum()) for each in (likely, other))
        of = len(likely) - train, len(other) - train
        inputs = (pair[1], pair[0]) if swapped else pair
        found.append(
            _bound_loss(
                inputs,
                f"the score of {name} is {'at least' if sign > 0 else 'at most'} {sign * cut:.4g}",
                (seen[0], seen[1]),
                of,
                risk,
                tests,
            )
        )
    return max(found, key=lambda each: each.epsilon)
