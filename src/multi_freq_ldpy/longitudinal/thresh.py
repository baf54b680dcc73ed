"""Thresh: users vote on when to estimate again, and answer only when enough of them ask for it.

Messages go both ways. In every epoch each device votes, the aggregator decides, and after a
decision to update each device answers. So this class is not a mechanism, which has reports only.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import exact, validate
from ..core.channel import Affine
from ..core.privacy import Privacy
from ..core.randomness import Rng, Source, as_stream
from ..estimation.estimate import Estimate
from ..protocol import check_declared, declared
from ..protocols.grr import GRR

MOST_EPOCHS = 2**16
MOST_MESSAGES = 2**10
"""The largest numbers of votes and answers: the exact loss is a power with this exponent."""

Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class Thresh:
    """Estimates of a mean that are renewed only when enough users vote for it.

    A device has a local mean from 0 to 1, for example the share of days on which an event occurred.
    In every epoch it sends a vote: a bit that says whether it wants a new estimate, through
    randomized response. The aggregator decides from all votes. After a decision to update, every
    device sends an answer: a bit that is 1 with the probability of its local mean, through
    randomized response.

    A device votes "yes" at most ``votes`` times, and answers truly in the first ``answers``
    updates. Later it votes as if it wanted no update, and answers as if its local mean were 0. All
    messages of a device together keep ``epsilon`` between any two histories, for every sequence of
    decisions.

    Two histories have different votes in at most 2·``votes`` epochs. So the budget of one vote is
    share·ε/min(2·votes, epochs), and the budget of one answer is (1 − share)·ε/answers.

    Joseph, Roth, Ullman and Waggoner, "Local differential privacy for evolving data", NeurIPS 2018.

    Parameters
    ----------
    epsilon : float
        Privacy budget of the whole history.
    epochs : int
        Number of epochs, from 1 to 65536.
    votes : int
        Largest number of times that a device votes "yes", from 1 to 1024 and at most ``epochs``.
    answers : int
        Number of updates in which a device answers truly, from 1 to 1024 and at most ``epochs``.
    share : float
        Share of the budget that is spent on votes, between 0 and 1.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the budget is too small for one vote or one answer.
    TypeError
        If a parameter has the wrong type.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy import Thresh
    >>> thresh = Thresh(epsilon=4.0, epochs=6, votes=2, answers=2)
    >>> round(thresh.privacy.history, 9)
    4.0
    >>> means = np.repeat([[0.2, 0.2, 0.2, 0.8, 0.8, 0.8]], 20_000, axis=0)
    >>> found = thresh.simulate(means, tolerance=0.1, rng=1)
    >>> [each and round(float(each.frequencies[1]), 2) for each in found]
    [0.19, None, None, 0.8, None, None]
    """

    epsilon: float = declared(validate.budget)
    epochs: int = declared(validate.Integer(1, MOST_EPOCHS))
    votes: int = declared(validate.Integer(1, MOST_MESSAGES))
    answers: int = declared(validate.Integer(1, MOST_MESSAGES))
    share: float = declared(validate.Between(0, 1), 0.5)

    def __post_init__(self) -> None:
        check_declared(self)
        for name in ("votes", "answers"):
            if (given := getattr(self, name)) > self.epochs:
                raise ValueError(f"{name} must be at most epochs={self.epochs}, not {given}")
        _ = self.voting, self.answering

    # Budgets

    @property
    def _different(self) -> int:
        """The largest number of epochs in which two histories have different votes."""
        return min(2 * self.votes, self.epochs)

    @cached_property
    def voting(self) -> GRR:
        """The protocol of one vote: randomized response on a bit."""
        return self._divide(Fraction(self.share) / self._different)

    @cached_property
    def answering(self) -> GRR:
        """The protocol of one answer: randomized response on a bit."""
        return self._divide((1 - Fraction(self.share)) / self.answers)

    def _divide(self, part: Fraction) -> GRR:
        """Return the protocol whose budget is a part of the whole budget, rounded down."""
        try:
            return GRR(2, exact.below(Fraction(self.epsilon) * part))
        except ValueError:
            raise exact.too_small(self.epsilon, 2) from None

    @cached_property
    def privacy(self) -> Privacy:
        """The exact losses. The loss ``history`` holds between any two histories.

        The loss ``report`` is that of one message. Devices with unchanged means may want updates
        at different times, so ``lifetime`` equals ``history``.
        """
        vote, answer = self.voting.ratio, self.answering.ratio
        ratio = vote**self._different * answer**self.answers
        whole = Privacy.of(ratio)
        return replace(
            Privacy.of(max(vote, answer), None, whole), history=whole.report, ratio_history=ratio
        )

    # Aggregator

    def threshold(self, n: int, risk: float = 0.001) -> float:
        """Return the share of "yes" beyond the noise that rarely occurs without any wish.

        Parameters
        ----------
        n : int
            Number of users.
        risk : float
            Largest probability that there is an update in any epoch although no user wants one.

        Returns
        -------
        float
            Threshold for ``decide``, by Hoeffding's inequality for all epochs together.

        Raises
        ------
        ValueError
            If ``n`` is not positive, or if ``risk`` is not between 0 and 1.
        TypeError
            If ``n`` is not an integer.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> round(Thresh(epsilon=4.0, epochs=6, votes=2, answers=2).threshold(20_000), 4)
        0.0147
        """
        users = validate.Integer(1, 2**62)("n", n)
        chance = validate.Between(0, 1)("risk", risk)
        return sqrt(log(self.epochs / chance) / (2 * users))

    def decide(self, votes: ArrayLike, threshold: float | None = None) -> bool:
        """Return whether the votes of one epoch ask for an update.

        Parameters
        ----------
        votes : array of int
            Votes of all devices, each 0 or 1.
        threshold : float, optional
            Number by which the share of "yes" must exceed the share that noise alone gives. None,
            the default, is ``threshold(n)`` for n votes.

        Returns
        -------
        bool
            True if every device is asked for an answer.

        Raises
        ------
        ValueError
            If there are no votes, if a vote is neither 0 nor 1, or if ``threshold`` is not from 0
            to 1.
        TypeError
            If a vote is not an integer.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> thresh = Thresh(epsilon=4.0, epochs=6, votes=2, answers=2)
        >>> round(thresh.voting.channel.q, 4)
        0.3775
        >>> thresh.decide([0, 1, 1, 0, 1], threshold=0.1)
        True
        """
        found = _check_bits("votes", votes)
        least = (
            self.threshold(len(found))
            if threshold is None
            else validate.probability("threshold", threshold)
        )
        return bool(found.mean() > self.voting.channel.q + least)

    def estimate(self, answers: ArrayLike) -> Estimate:
        """Return the mean of the local means, with its error.

        It is unbiased in the first ``answers`` updates. Later devices answer as if their
        local means were 0.

        Parameters
        ----------
        answers : array of int
            Answers of the devices in one update, each 0 or 1.

        Returns
        -------
        Estimate
            Frequency 1 is the mean, and frequency 0 is the rest. The standard error is right if all
            local means are equal. Otherwise it is an upper bound.

        Raises
        ------
        ValueError
            If there are no answers, or if an answer is neither 0 nor 1.
        TypeError
            If an answer is not an integer.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> thresh = Thresh(epsilon=4.0, epochs=6, votes=2, answers=2)
        >>> thresh.estimate([0] * 6000 + [1] * 4000)
        Estimate from 10,000 users: frequency ± standard error
        0  0.716 ± 0.011
        1  0.284 ± 0.011
        """
        bits = _check_bits("answers", answers)
        n, (p, q) = len(bits), (float(each) for each in self.answering.chances)
        mean = (float(bits.mean()) - q) / (p - q)
        # The bit of a device is random before the noise too, unless its local mean is 0 or 1
        one = q + min(max(mean, 0.0), 1.0) * (p - q)
        noise = one * (1 - one) / (p - q) ** 2
        channel = Affine(1.0, 0.0, 1 + noise, noise, -noise, -noise)
        return Estimate(np.array([1 - mean, mean]), np.full(2, n), channel, None, n)

    # Simulation

    def simulate(
        self,
        means: ArrayLike,
        tolerance: float,
        rng: Rng = None,
        threshold: float | None = None,
    ) -> list[Estimate | None]:
        """Return the estimates that a whole collection publishes.

        A device wants an update if its local mean has moved by more than ``tolerance`` since the
        last update. Before the first update, every device wants one. The aggregator makes at most
        ``answers`` updates, because later answers say nothing.

        Parameters
        ----------
        means : array of float, shape (users, epochs)
            Local mean of each user in each epoch, from 0 to 1.
        tolerance : float
            Largest change of a local mean for which its device wants no update.
        rng : None, int, SeedSequence, Generator or Stream
            Source of randomness. None, the default, is the operating system: use it to collect.
            Seeds are for simulations.
        threshold : float, optional
            Threshold of ``decide``. None, the default, is ``threshold(n)`` for n users.

        Returns
        -------
        list
            One entry per epoch: a new ``Estimate``, or None if the last one stays.

        Raises
        ------
        ValueError
            If ``means`` has another shape, or if a local mean, ``tolerance`` or ``threshold`` is
            not from 0 to 1.

        Examples
        --------
        >>> import numpy as np
        >>> from multi_freq_ldpy import Thresh
        >>> thresh = Thresh(epsilon=4.0, epochs=3, votes=1, answers=1)
        >>> found = thresh.simulate(np.full((10_000, 3), 0.25), tolerance=0.1, rng=1)
        >>> [each is not None for each in found]
        [True, False, False]
        """
        every = validate.numbers("means", means, 0, 1)
        if every.ndim != 2 or every.shape[1] != self.epochs or not len(every):
            raise ValueError(
                f"means must have shape (users, epochs={self.epochs}), not {every.shape}"
            )
        least = validate.probability("tolerance", tolerance)
        devices = Devices(self, len(every), rng)
        found: list[Estimate | None] = []
        held = np.full(len(every), np.inf)
        for own in every.T:
            asked = self.decide(devices.vote(np.abs(own - held) > least), threshold)
            if asked and devices.updates < self.answers:
                held = own
                found.append(self.estimate(devices.answer(own)))
            else:
                found.append(None)
        return found


class Devices:
    """Devices of one collection, epoch by epoch, for simulations.

    Every device acts like a ``Device``.

    Parameters
    ----------
    thresh : Thresh
        Parameters of the collection.
    n : int
        Number of users.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None, the default, is the operating system: use it to collect. Seeds
        are for simulations.

    Raises
    ------
    TypeError
        If ``thresh`` is not a ``Thresh``, or if ``n`` is not an integer.
    ValueError
        If ``n`` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> from multi_freq_ldpy import Thresh
    >>> from multi_freq_ldpy.longitudinal.thresh import Devices
    >>> thresh = Thresh(epsilon=4.0, epochs=6, votes=2, answers=2)
    >>> devices = Devices(thresh, 10_000, rng=1)
    >>> thresh.decide(devices.vote(np.ones(10_000, bool)))
    True
    >>> float(thresh.estimate(devices.answer(np.full(10_000, 0.3))).frequencies[1].round(2))
    0.31
    """

    def __init__(self, thresh: Thresh, n: int, rng: Rng = None) -> None:
        if not isinstance(thresh, Thresh):
            raise TypeError(f"thresh must be a Thresh, not {validate.quote(thresh)}")
        self.thresh, self.n = thresh, validate.Integer(1, 2**40)("n", n)
        self.epoch, self.updates = 0, 0
        self.yes = np.zeros(self.n, np.int64)
        self._stream = as_stream(rng)

    def vote(self, wants: ArrayLike) -> Bits:
        """Begin the next epoch, and return the vote of each device.

        Parameters
        ----------
        wants : array of bool
            True for each device that wants an update.

        Returns
        -------
        array of uint8
            One vote per device, 0 or 1.

        Raises
        ------
        ValueError
            If all epochs are over, or if ``wants`` does not have one entry per device.
        TypeError
            If an entry is neither True nor False.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> from multi_freq_ldpy.longitudinal.thresh import Devices
        >>> devices = Devices(Thresh(epsilon=40.0, epochs=2, votes=1, answers=1), 4, rng=1)
        >>> devices.vote([True, True, False, False])
        array([1, 1, 0, 0], dtype=uint8)
        >>> devices.yes
        array([1, 1, 0, 0])
        """
        wishes = np.asarray(wants)
        if wishes.dtype != np.bool_:
            raise TypeError(f"wants must be True or False, not {validate.quote(wants)}")
        self._check_length("wants", wishes)
        if self.epoch == self.thresh.epochs:
            raise ValueError(f"votes of all epochs={self.thresh.epochs} are over")
        told = wishes & (self.yes < self.thresh.votes)
        self.epoch += 1
        self.yes = self.yes + told
        return self._randomize(self.thresh.voting, told)

    def answer(self, means: ArrayLike) -> Bits:
        """Return the answer of each device, after a decision to update.

        A local mean is rounded up to a multiple of 2⁻⁵³.

        Parameters
        ----------
        means : array of float
            Local mean of each device, from 0 to 1.

        Returns
        -------
        array of uint8
            One answer per device, 0 or 1.

        Raises
        ------
        ValueError
            If there was one answer per epoch already, or if a local mean is not from 0 to 1. Also
            if ``means`` does not have one entry per device.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> from multi_freq_ldpy.longitudinal.thresh import Devices
        >>> devices = Devices(Thresh(epsilon=40.0, epochs=2, votes=1, answers=1), 4, rng=1)
        >>> votes = devices.vote([True, True, True, True])
        >>> devices.answer([0.0, 0.0, 1.0, 1.0])
        array([0, 0, 1, 1], dtype=uint8)
        """
        own = validate.numbers("means", means, 0, 1)
        self._check_length("means", own)
        if self.updates == self.epoch:
            raise ValueError(
                f"answers are at most one per epoch: there were {self.updates} in"
                f" {self.epoch} epochs"
            )
        words = Source.of(self._stream, b"thresh", self.n).words(self.n, 1)[:, 0]
        told = (words >> np.uint64(11)) * 2.0**-53 < own
        if self.updates >= self.thresh.answers:
            told[:] = False
        self.updates += 1
        return self._randomize(self.thresh.answering, told)

    def _randomize(self, protocol: GRR, told: NDArray[np.bool_]) -> Bits:
        return np.asarray(protocol.randomize(told.astype(np.int64), self._stream))

    def _check_length(self, name: str, given: NDArray[np.generic]) -> None:
        if given.shape != (self.n,):
            raise ValueError(
                f"{name} must have shape ({self.n},), one entry per device, not {given.shape}"
            )


class Device:
    """One device, epoch by epoch.

    Its state is three numbers: ``epoch``, ``yes`` and ``updates``. Store them before a message is
    sent. If a device begins again, or continues from an old state, its messages cost more than
    the budget.

    Parameters
    ----------
    thresh : Thresh
        Parameters of the collection.
    epoch : int
        Number of votes so far.
    yes : int
        Number of times that the device voted "yes" so far.
    updates : int
        Number of updates so far.
    rng : None, int, SeedSequence, Generator or Stream
        Source of randomness. None, the default, is the operating system: use it to collect. Seeds
        are for simulations.

    Raises
    ------
    TypeError
        If ``thresh`` is not a ``Thresh``, or if a number is not an integer.
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from multi_freq_ldpy import Thresh
    >>> from multi_freq_ldpy.longitudinal.thresh import Device
    >>> device = Device(Thresh(epsilon=40.0, epochs=6, votes=2, answers=2), rng=1)
    >>> device.vote(True), device.answer(0.9)
    (1, 1)
    >>> device.epoch, device.yes, device.updates
    (1, 1, 1)
    """

    def __init__(
        self, thresh: Thresh, epoch: int = 0, yes: int = 0, updates: int = 0, *, rng: Rng = None
    ) -> None:
        self._devices = Devices(thresh, 1, rng)
        self._devices.epoch = validate.Integer(0, thresh.epochs)("epoch", epoch)
        most = min(self.epoch, thresh.votes)
        self._devices.yes[0] = validate.Integer(0, most)("yes", yes)
        self._devices.updates = validate.Integer(0, self.epoch)("updates", updates)

    @property
    def epoch(self) -> int:
        """The number of votes so far."""
        return self._devices.epoch

    @property
    def yes(self) -> int:
        """The number of times that the device voted "yes" so far, before randomization."""
        return int(self._devices.yes[0])

    @property
    def updates(self) -> int:
        """The number of updates so far."""
        return self._devices.updates

    def vote(self, wants: bool) -> int:
        """Begin the next epoch, and return the vote to send.

        Parameters
        ----------
        wants : bool
            True if the device wants an update.

        Returns
        -------
        int
            The vote, 0 or 1.

        Raises
        ------
        ValueError
            If all epochs are over.
        TypeError
            If ``wants`` is neither True nor False.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> from multi_freq_ldpy.longitudinal.thresh import Device
        >>> Device(Thresh(epsilon=40.0, epochs=6, votes=2, answers=2), rng=1).vote(True)
        1
        """
        return int(self._devices.vote([validate.flag("wants", wants)])[0])

    def answer(self, mean: float) -> int:
        """Return the answer to send, after a decision to update.

        Parameters
        ----------
        mean : float
            Local mean of the device, from 0 to 1.

        Returns
        -------
        int
            The answer, 0 or 1.

        Raises
        ------
        ValueError
            If ``mean`` is not from 0 to 1, or if there was one answer per epoch already.

        Examples
        --------
        >>> from multi_freq_ldpy import Thresh
        >>> from multi_freq_ldpy.longitudinal.thresh import Device
        >>> device = Device(Thresh(epsilon=40.0, epochs=6, votes=2, answers=2), rng=1)
        >>> device.vote(True), device.answer(1.0)
        (1, 1)
        """
        return int(self._devices.answer([validate.probability("mean", mean)])[0])


def _check_bits(name: str, given: ArrayLike) -> NDArray[np.int64]:
    """Return one bit per device, checked."""
    bits, _ = validate.values(name, given, 2)
    if not len(bits):
        raise ValueError(f"{name} must not be empty: {validate.quote(given)}")
    return bits
