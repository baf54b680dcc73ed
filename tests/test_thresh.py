"""Tests of Thresh: its exact loss by enumeration, its devices, and its estimates."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from multi_freq_ldpy import GRR, Stream, Thresh, exact
from multi_freq_ldpy.longitudinal.thresh import Device, Devices

SILENT = 2


class Echo:
    """A protocol without noise, so that messages are the bits that a device would tell."""

    def randomize(self, bits: NDArray[np.int64], rng: Any) -> NDArray[np.uint8]:
        return bits.astype(np.uint8)


def noiseless(epochs: int, votes: int, answers: int) -> Thresh:
    """Return a collection whose messages have no noise."""
    thresh = Thresh(1.0, epochs, votes, answers)
    thresh.__dict__.update(voting=Echo(), answering=Echo())
    return thresh


def list_messages(
    thresh: Thresh, decisions: tuple[int, ...], devices: type[Devices]
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the noiseless messages for all inputs, one row each, and the kind of each message.

    An input is a wish in every epoch and a local mean, 0 or 1, in every update.
    """
    epochs, updates = len(decisions), sum(decisions)
    inputs = np.array(list(product((False, True), repeat=epochs + updates)))
    own = devices(thresh, len(inputs), 1)
    wishes, means = inputs[:, :epochs].T, iter(inputs[:, epochs:].T.astype(float))
    columns, kinds = [], []
    for wanted, decision in zip(wishes, decisions, strict=True):
        columns.append(own.vote(wanted))
        kinds.append(0)
        if decision:
            columns.append(own.answer(next(means)))
            kinds.append(1)
    return np.stack(columns, axis=1).astype(np.int64), kinds


def largest_ratio(
    epochs: int,
    votes: int,
    answers: int,
    odds: tuple[Any, Any],
    devices: type[Devices] = Devices,
) -> Any:
    """Return the largest ratio over all decisions, all pairs of inputs and all messages.

    ``odds`` are those of a vote and of an answer. A silent device is seen to be silent.
    """
    thresh = noiseless(epochs, votes, answers)
    largest: Fraction | float = Fraction(1)
    for decisions in product((0, 1), repeat=epochs):
        told, kinds = list_messages(thresh, decisions, devices)
        for seen in np.unique(told, axis=0) if (told == SILENT).any() else bits(len(kinds)):
            # The probability of these messages for each input, up to one common factor
            weights = np.ones(len(told), object)
            for column, kind in enumerate(kinds):
                own = told[:, column]
                match = np.where(own == seen[column], odds[kind], 1)
                weights *= np.where((own == SILENT) == (seen[column] == SILENT), match, 0)
            least, most = weights.min(), weights.max()
            largest = max(largest, Fraction(most) / Fraction(least) if least else inf)
    return largest


def bits(length: int) -> NDArray[np.int64]:
    return np.array(list(product((0, 1), repeat=length)))


@pytest.mark.parametrize(
    ("size", "ratio"),
    [((3, 1, 1), 12), ((3, 1, 2), 36), ((4, 2, 1), 48), ((4, 1, 3), 108), ((2, 2, 1), 12)],
)
def test_losses_by_enumeration(
    size: tuple[int, int, int], ratio: int, proved: Callable[[str, int], None]
) -> None:
    """Enumerate all inputs, decisions and messages at odds 2 of a vote and 3 of an answer."""
    assert largest_ratio(*size, (2, 3)) == ratio
    proved("largest ratios of Thresh", 1)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 7.5])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.999])
@pytest.mark.parametrize("size", [(3, 1, 1), (2, 2, 1), (2, 1, 2)])
def test_losses_are_exact_and_keep_the_budget(
    size: tuple[int, int, int], share: float, epsilon: float
) -> None:
    thresh = Thresh(epsilon, *size, share=share)
    odds = thresh.voting.ratio, thresh.answering.ratio
    ratio = thresh.privacy.ratio_history
    assert ratio is not None
    assert largest_ratio(*size, odds) == ratio <= exact.exp(Fraction(epsilon))[0]
    assert thresh.privacy.history == pytest.approx(epsilon, rel=1e-9)
    assert thresh.privacy.ratio == max(odds)
    assert thresh.privacy.ratio_lifetime == ratio


class FallsSilent(Devices):
    """Exhausted devices send nothing."""

    def vote(self, wants: Any) -> Any:
        exhausted = self.yes >= self.thresh.votes
        return np.where(exhausted, SILENT, super().vote(wants))


class CountsOwnUpdates(Devices):
    """A device counts only the updates that it wanted."""

    used: Any = 0

    def vote(self, wants: Any) -> Any:
        self.wanted = np.asarray(wants)
        return super().vote(wants)

    def answer(self, means: Any) -> Any:
        told = np.asarray(means) * self.wanted * (self.used < self.thresh.answers)
        self.used = self.used + self.wanted
        self.updates = -1  # never exhausted by the updates of others
        return super().answer(told)


class NeverExhausted(Devices):
    """A device votes as often as it wants."""

    def vote(self, wants: Any) -> Any:
        self.yes = np.zeros_like(self.yes)
        return super().vote(wants)


@pytest.mark.parametrize(
    ("devices", "ratio"), [(FallsSilent, inf), (CountsOwnUpdates, 36), (NeverExhausted, 24)]
)
def test_faults_of_devices_show(devices: type[Devices], ratio: float) -> None:
    assert largest_ratio(3, 1, 1, (2, 3), devices) == ratio > 12


def test_a_budget_divided_by_the_number_of_votes_is_exceeded() -> None:
    """Two histories differ in twice as many votes as one history has."""
    right = Thresh(1.0, 3, 1, 1)
    wrong = GRR(2, 0.5).ratio, right.answering.ratio
    assert largest_ratio(3, 1, 1, wrong) > exact.exp(Fraction(1))[1]


def test_a_budget_is_not_spent_on_epochs_that_do_not_exist() -> None:
    assert Thresh(1.0, 2, 2, 1).voting.epsilon == 0.25
    assert Thresh(1.0, 9, 2, 1).voting.epsilon == 0.125
    assert Thresh(1.0, 9, 2, 3, 0.25).answering.epsilon == 0.25


# Means of the users, and the variance of one answer divided by the stated one
SPREADS = [
    (np.full(4000, 0.5), 1.0),
    (np.full(4000, 0.1), 1.0),
    (np.repeat([0.0, 1.0], 2000), None),
    (np.linspace(0, 1, 4000), None),
]


@pytest.mark.statistical
@pytest.mark.parametrize(("means", "stated"), SPREADS)
def test_estimates_are_unbiased_with_their_errors(
    means: NDArray[np.float64], stated: float | None
) -> None:
    """Repeat one update 2000 times: four standard errors, and 7 % of the standard deviation."""
    thresh, stream = Thresh(2.0, 4, 1, 2), Stream(5)
    found, errors = [], []
    for _ in range(2000):
        devices = Devices(thresh, len(means), stream)
        devices.vote(means > 0.5)
        estimate = thresh.estimate(devices.answer(means))
        found.append(estimate.frequencies[1])
        errors.append(estimate.std[1])
        assert estimate.frequencies.sum() == pytest.approx(1)
    spread, error = float(np.std(found)), float(np.mean(errors))
    assert abs(np.mean(found) - means.mean()) < 4 * spread / len(found) ** 0.5
    p, q = (float(each) for each in thresh.answering.chances)
    ones = q + means * (p - q)
    exactly = float(np.sqrt((ones * (1 - ones)).sum()) / len(means) / (p - q))
    assert spread == pytest.approx(exactly, rel=0.07)
    if stated is None:
        assert error > 1.01 * exactly
    else:
        assert error == pytest.approx(exactly, rel=0.01)


def test_exhausted_devices_move_the_estimate_toward_0() -> None:
    thresh, n = Thresh(8.0, 4, 1, 2), 40_000
    devices, means = Devices(thresh, n, 1), np.full(n, 0.75)
    found = []
    for _ in range(3):
        devices.vote(np.zeros(n, bool))
        found.append(float(thresh.estimate(devices.answer(means)).frequencies[1]))
    assert found == pytest.approx([0.75, 0.75, 0.0], abs=0.02)


def test_collections_follow_changes() -> None:
    """Updates happen in the first epoch and after a change, until answers are used up."""
    thresh = Thresh(6.0, 8, 3, 2)
    means = np.repeat([[0.2, 0.2, 0.2, 0.7, 0.7, 0.2, 0.2, 0.2]], 50_000, axis=0)
    found = thresh.simulate(means, tolerance=0.1, rng=3)
    assert [each is not None for each in found] == [True, False, False, True] + [False] * 4
    for each, wanted in zip(found, means[0], strict=True):
        if each is not None:
            low, high = each.interval(0.9999)[1]
            assert low < wanted < high
    again = thresh.simulate(means, 0.1, Stream(3))
    for one, two in zip(found, again, strict=True):
        assert (one is None) == (two is None)
        assert one is None or two is None or (one.frequencies == two.frequencies).all()
    assert thresh.simulate(means, tolerance=1.0, rng=3)[3] is None
    assert thresh.simulate(means, tolerance=0.1, rng=3, threshold=1.0) == [None] * 8


@pytest.mark.statistical
def test_no_update_without_a_wish() -> None:
    """Draw 20 000 epochs in which no device wants an update, at a risk of 1/10 for 10 epochs."""
    thresh, stream, n = Thresh(1.0, 10, 1, 1), Stream(1), 100
    nothing, updates = np.zeros(n, bool), 0
    for _ in range(2000):
        devices = Devices(thresh, n, stream)
        votes = [devices.vote(nothing) for _ in range(10)]
        updates += any(thresh.decide(each, thresh.threshold(n, 0.1)) for each in votes)
    assert 0 < updates < 200


def test_decisions_at_the_threshold() -> None:
    thresh = Thresh(4.0, 4, 1, 1)
    votes, share = [1, 1, 1, 0], 0.75 - thresh.voting.channel.q
    assert thresh.decide(votes, share - 1e-9)
    assert not thresh.decide(votes, share + 1e-9)
    assert not thresh.decide(votes)
    assert thresh.decide(votes * 1000)
    assert thresh.threshold(400) == pytest.approx(thresh.threshold(100) / 2)


def test_a_device_is_one_of_many_devices() -> None:
    thresh = Thresh(2.0, 6, 2, 2)
    device, devices = Device(thresh, rng=7), Devices(thresh, 1, 7)
    for wanted, mean in ((True, 0.3), (False, 0.9), (True, 1.0), (True, 0.5), (True, 0.0)):
        assert device.vote(wanted) == devices.vote([wanted])[0]
        assert device.answer(mean) == devices.answer([mean])[0]
    assert (device.epoch, device.yes, device.updates) == (5, 2, 5)
    last = Device(thresh, device.epoch, device.yes, device.updates)
    assert last.vote(True) in (0, 1)
    assert last.yes == 2, "a restored device must stay exhausted"
    with pytest.raises(ValueError, match="epochs=6"):
        last.vote(False)
    assert last.answer(0.5) in (0, 1)
    with pytest.raises(ValueError, match="at most one per epoch"):
        last.answer(0.5)


def test_messages_of_a_device_differ_from_call_to_call() -> None:
    """Draw from the operating system: 64 equal votes of one device have probability 10⁻¹⁶."""
    votes = [Device(Thresh(0.1, 2, 1, 1)).vote(True) for _ in range(64)]
    assert len(set(votes)) == 2


GOOD = {"epsilon": 1.0, "epochs": 4, "votes": 2, "answers": 3, "share": 0.5}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, "epsilon must be"),
    ({"epsilon": "1"}, "epsilon must be"),
    ({"epsilon": 1e-19}, "epsilon=1e-19 is too small"),
    ({"epochs": 0}, "epochs must be"),
    ({"epochs": 2.0}, "epochs must be"),
    ({"votes": 0}, "votes must be"),
    ({"votes": 5}, "votes must be at most epochs=4, not 5"),
    ({"answers": 5}, "answers must be at most epochs=4, not 5"),
    ({"answers": 1025, "epochs": 2000}, "answers must be"),
    ({"share": 0}, "share must be"),
    ({"share": 1.0}, "share must be"),
    ({"share": float("nan")}, "share must be"),
    ({"share": "half"}, "share must be"),
    ({"share": 10**400}, "share must be"),
    ({"share": 1e-300}, "epsilon=1.0 is too small"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_wrong_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    assert Thresh(**GOOD)
    with pytest.raises((ValueError, TypeError), match=message):
        Thresh(**(GOOD | given))


THRESH = Thresh(**GOOD)
CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: THRESH.decide([]), "votes must not be empty"),
    (lambda: THRESH.decide([0, 2]), r"votes\[1\] = 2"),
    (lambda: THRESH.decide([0.5]), "votes must be integers"),
    (lambda: THRESH.decide([0, 1], threshold=-0.1), "threshold must be"),
    (lambda: THRESH.estimate([]), "answers must not be empty"),
    (lambda: THRESH.estimate([0, -1]), r"answers\[1\] = -1"),
    (lambda: THRESH.threshold(0), "n must be"),
    (lambda: THRESH.threshold(10, 0.0), "risk must be"),
    (lambda: THRESH.simulate([[0.5] * 3], 0.1), r"means must have shape \(users, epochs=4\)"),
    (lambda: THRESH.simulate([[0.5] * 3 + [1.5]], 0.1), "means must be"),
    (lambda: THRESH.simulate([[0.5] * 4], 2.0), "tolerance must be"),
    (lambda: Devices(THRESH, 0), "n must be"),
    (lambda: Devices(GRR(2, 1.0), 1), "thresh must be"),  # type: ignore[arg-type]
    (lambda: Devices(THRESH, 2).vote([True]), r"wants must have shape \(2,\)"),
    (lambda: Devices(THRESH, 2).vote([1, 0]), "wants must be True or False"),
    (lambda: Devices(THRESH, 2).answer([0.5, 0.5]), "at most one per epoch"),
    (lambda: Devices(THRESH, 2).answer([0.5]), r"means must have shape \(2,\)"),
    (lambda: Device(THRESH).vote(0.5), "wants must be"),  # type: ignore[arg-type]
    (lambda: Device(THRESH, 1).answer(float("nan")), "mean must be"),
    (lambda: Device(THRESH, 5), "epoch must be"),
    (lambda: Device(THRESH, 1, 2), "yes must be"),
    (lambda: Device(THRESH, 1, 1, 2), "updates must be"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_wrong_input_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_refused_input_changes_nothing() -> None:
    devices = Devices(THRESH, 2, 1)
    devices.vote([True, True])
    for call in (lambda: devices.vote([True]), lambda: devices.answer([2.0, 0.0])):
        with pytest.raises(ValueError, match="must"):
            call()
    assert (devices.epoch, devices.updates, devices.yes.tolist()) == (1, 0, [1, 1])
