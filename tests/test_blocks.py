"""Tests of the parts of histories: blocks of noise, their draws, and least squares over rounds."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from multi_freq_ldpy.checks.tools import chi_square
from multi_freq_ldpy.longitudinal import paths
from multi_freq_ldpy.longitudinal.blocks import KINDS, Block, spread_ball, weigh_margins
from multi_freq_ldpy.longitudinal.ladder import Ladder
from multi_freq_ldpy.longitudinal.network import Network
from multi_freq_ldpy.longitudinal.paths import draw_blocks
from multi_freq_ldpy.randomness import Source

from .reference import block_of
from .test_privacy import e_to

# (symbols, bits, threshold, e^ε): mean of an entry, its second moment, and that of two entries
BALLS = {
    (1, 1, 1, 3): (Fraction(1, 2), 1, None),
    (2, 1, 2, 3): (Fraction(1, 3), 1, Fraction(1, 3)),
    (3, 1, 1, 3): (Fraction(1, 4), 1, 0),
    (1, 2, 1, 5): (Fraction(1, 2), Fraction(3, 4), None),
    (2, 3, 1, 8): (Fraction(49, 155), Fraction(13, 31), Fraction(7, 155)),
    (2, 3, 2, 8): (Fraction(7, 71), None, None),
    (2, 4, 1, 50): (Fraction(245, 559), None, None),
}
# ε: for 1, 2, 3, 4, 6, 8, 16 symbols the bits, the threshold, the gap and the cost
CHOSEN = {
    0.5: "1,1,.244919,16.6708 2,1,.101133,48.8860 1,1,.122459,66.6832 2,1,.071777,97.0513"
    " 1,2,.082881,145.578 1,2,.071777,194.103 1,2,.050528,391.692",
    1.0: "1,1,.462117,4.6827 1,2,.300489,11.0750 2,1,.168786,17.5507 1,2,.209620,22.7581"
    " 1,2,.168786,35.1015 1,2,.144636,47.8018 4,1,.035495,99.2161",
    2.0: "3,1,.444022,1.2680 1,2,.614979,2.6441 4,1,.177242,3.9790 5,1,.107491,5.4093"
    " 5,1,.088100,8.0525 6,1,.053483,10.9251 7,1,.026677,21.9558",
    4.0: "6,1,.455774,.1504 7,1,.227321,.3024 7,1,.185110,.4560 8,1,.113520,.6062"
    " 8,1,.092495,.9132 9,1,.056725,1.2140 10,1,.028354,2.4294",
}


@pytest.mark.parametrize("ball", BALLS)
def test_moments_of_balls(ball: tuple[int, int, int, int]) -> None:
    symbols, bits, threshold, odds = ball
    ways, total = weigh_margins(symbols, bits), 2 ** (bits * symbols)
    assert sum(ways.values()) == total
    above = Fraction(sum(w for m, w in ways.items() if m >= threshold), total)
    block = object.__new__(Block)
    fields = {"symbols": symbols, "bits": bits, "threshold": threshold, "kind": "ball"}
    high = odds * above / (odds * above + 1 - above)
    densities = spread_ball(symbols, bits, threshold, high)
    for name, value in {**fields, "densities": densities}.items():
        object.__setattr__(block, name, value)
    law = block.law()
    assert sum(law.values()) == 1
    assert block.ratio == odds
    mean, second, pair = BALLS[ball]
    assert block.gap == sum(b[0] * p for b, p in law.items()) == mean
    assert second in (None, sum(b[0] ** 2 * p for b, p in law.items()))
    assert pair in (None, sum(b[0] * b[-1] * p for b, p in law.items()))


@pytest.mark.parametrize("epsilon", CHOSEN)
def test_chosen_balls(epsilon: float) -> None:
    for symbols, row in zip((1, 2, 3, 4, 6, 8, 16), CHOSEN[epsilon].split(), strict=True):
        bits, threshold, gap, cost = row.split(",")
        block = Block(symbols, epsilon)
        assert (block.bits, block.threshold) == (int(bits), int(threshold)), symbols
        assert float(block.gap) == pytest.approx(float(gap), abs=6e-7)
        assert float(block.cost) == pytest.approx(float(cost), rel=5e-4)
        least = min(float(other.cost) for kind in KINDS if (other := Block(symbols, epsilon, kind)))
        assert float(block.cost) == least


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_keep_their_budget(kind: str, epsilon: float) -> None:
    for symbols in (1, 2, 3, 5):
        block = Block(symbols, epsilon, kind)
        law = block.law()
        assert sum(law.values()) == 1
        assert block.gap == sum(b[-1] * p for b, p in law.items()) > 0
        # The densities are those of the enumerated blocks, so their ratio is the loss
        base = {b: p / block.densities[sum(b)] for b, p in law.items()}
        assert len(set(base.values())) == 1 or block.bits > 1
        found = [law[b] / base[b] for b in law]
        assert max(found) / min(found) == block.ratio
        assert block.ratio <= e_to(epsilon)
        total = sum(weight for *_, weight in block.outcomes)
        for plus, minus, weight in block.outcomes:
            likely = [p for b, p in law.items() if (b.count(1), b.count(-1)) == (plus, minus)]
            assert Fraction(weight, total) == sum(likely)


def test_bad_blocks_are_refused() -> None:
    for given, message in (
        ((0, 1.0), "symbols"),
        ((65, 1.0), "symbols"),
        ((2, 0.0), "epsilon"),
        ((2, 1e-25), "epsilon=1e-25 is too small"),
        ((2, 1.0, "cube"), "kind must be one of ball, linear, product, not 'cube'"),
    ):
        with pytest.raises(ValueError, match=message):
            Block(*given)
    for kind in ("linear", "product"):
        with pytest.raises(ValueError, match="too small"):
            Block(2, 1e-25, kind)


def network(
    rounds: int, seed: int, holes: float
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return conductances to the ground and between rounds, and their matrix."""
    rng = np.random.default_rng(seed)
    ground = rng.random(rounds) * (rng.random(rounds) >= holes)
    matrix, links = np.diag(ground), []
    stride = 1
    while 2 * stride <= rounds:
        link = rng.random(rounds // stride - 1)
        link *= rng.random(len(link)) >= holes
        for i, weight in enumerate(link):
            step = np.zeros(rounds)
            step[(i + 2) * stride - 1], step[(i + 1) * stride - 1] = 1, -1
            matrix += weight * np.outer(step, step)
        links.append(link)
        stride *= 2
    return ground, links, matrix


@pytest.mark.parametrize("holes", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 16, 37, 100])
def test_the_ladder_solves_the_network(rounds: int, holes: float) -> None:
    """Check against a dense solution, with rounds that no value reaches."""
    for seed in range(10):
        ground, links, matrix = network(rounds, seed, holes)
        reached = ground > 0
        for _ in range(rounds):
            reached = reached | ((matrix != 0) @ reached)
        inside = np.ix_(reached, reached)
        dense = np.full((rounds, rounds), np.nan)
        dense[inside] = np.linalg.inv(matrix[inside])
        sources = np.random.default_rng(seed).normal(size=(rounds, 2))
        ladder = Ladder(ground, links)
        wanted = np.full_like(sources, np.nan)
        wanted[reached] = dense[inside] @ sources[reached]
        np.testing.assert_allclose(ladder.solve(sources), wanted, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(ladder.solve(sources[:, 0]), wanted[:, 0], 1e-9, 1e-10)
        diagonal, beside = ladder.covariances()
        np.testing.assert_allclose(diagonal, np.diag(dense), rtol=1e-10)
        both = reached[1:] & reached[:-1]
        np.testing.assert_allclose(beside[both], np.diag(dense, 1)[both], rtol=1e-9, atol=1e-12)


def fractions(numbers: str) -> NDArray[np.float64]:
    return np.array([float(Fraction(number)) for number in numbers.split()])


# Numbers of value reports and of step reports per user, costs; then covariances, A and B
NETWORKS = {
    "k = 2, four rounds": (
        Network(np.full(4, 1 / 8), [np.full(3, 1 / 4), np.full(1, 1 / 4)], 1.0, [4.0, 4.0]),
        np.array([[260, 60, 20, 20], [60, 180, 60, 60], [20, 60, 212, 68], [20, 60, 68, 212]]) / 45,
        fractions("40/9 8/3 248/75 248/75"),
        fractions("4/3 4/3 316/225 316/225"),
    ),
    "k = 3, three rounds": (
        Network(np.full(3, 1 / 6), [np.full(2, 1 / 2)], 25 / 18, [9.0]),
        np.array([[189775, 49375, 15625], [49375, 156025, 49375], [15625, 49375, 189775]]) / 30573,
        fractions("41276354/11539609 4994/1849 41276354/11539609"),
        fractions("14301250/11539609 2500/1849 14301250/11539609"),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str) -> None:
    network, covariances, from_values, from_steps = NETWORKS[name]
    found = [network.covariances_with(t) for t in range(len(covariances))]
    np.testing.assert_allclose(found, covariances, rtol=1e-12)
    np.testing.assert_allclose(network.variances, np.diag(covariances), rtol=1e-12)
    np.testing.assert_allclose(network.shares[0], from_values, rtol=1e-12)
    np.testing.assert_allclose(network.shares[1], from_steps, rtol=1e-12)
    # A by its definition: a sum over all reports of values
    slow = covariances**2 @ network.values / network.value_cost**2
    np.testing.assert_allclose(network.shares[0], slow, rtol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_squares_of_steps_by_two_ways(name: str) -> None:
    """Check the derivative for many rounds against the weights that few rounds list."""
    network = NETWORKS[name][0]
    factors = [np.linspace(0.5, 2, len(each)) for each in network.steps]
    columns = network.ladder.solve(np.eye(len(network.values)))
    flows = zip(network.links, network.flows(columns.T), factors, strict=True)
    slow = sum((flow**2 * link) @ factor for link, flow, factor in flows)
    np.testing.assert_allclose(network.sum_step_squares(factors), slow, rtol=1e-12)
    ones = [np.ones(len(each)) for each in network.steps]
    np.testing.assert_allclose(network.sum_step_squares(ones), network.shares[1], rtol=1e-12)


@pytest.mark.parametrize("rounds", [2, 3, 7, 16, 33])
def test_estimates_reproduce_consistent_reports(rounds: int) -> None:
    """Check that means without noise give the true frequencies, for every round and value."""
    rng = np.random.default_rng(rounds)
    truth = rng.random((rounds, 3))
    lengths = [2**h for h in range(8) if 2 * 2**h <= rounds]
    steps = [rng.integers(1, 9, rounds // length - 1) for length in lengths]
    means = [
        truth[2 * length - 1 :: length] - truth[length - 1 : -length : length] for length in lengths
    ]
    network = Network(rng.integers(0, 3, rounds) + (np.arange(rounds) == 0), steps, 1.5, lengths)
    np.testing.assert_allclose(network.estimate(truth, means), truth, atol=1e-12)


MEMORY = Source.keyed(bytes(range(32)))
BLOCKS = [
    *(Block(symbols, 1.0, kind) for kind in KINDS for symbols in (1, 2, 3)),
    Block(4, 4.0),
    Block(16, 1.0),
    Block(64, 20.0),
]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_drawn_blocks_equal_the_reference(block: Block) -> None:
    users = np.array([0, 1, 2, 7, 10**6, *range(100, 160)])
    found = draw_blocks(block, MEMORY, users)
    for user, entries in zip(users.tolist(), found.tolist(), strict=True):
        assert entries == block_of(block, bytes(range(32)), user), user


@pytest.mark.parametrize("block", [each for each in BLOCKS if each.symbols <= 4], ids=str)
def test_drawn_blocks_have_their_distribution(block: Block) -> None:
    """Check 10⁵ blocks by chi-square, with a limit of 5 deviations."""
    n, law = 10**5, block.law()
    found, numbers = np.unique(draw_blocks(block, MEMORY, np.arange(n)), axis=0, return_counts=True)
    observed = dict(zip(map(tuple, found.tolist()), numbers.tolist(), strict=True))
    assert observed.keys() <= law.keys()
    counts = np.array([observed.get(each, 0) for each in law])
    assert chi_square(counts, n * np.array([float(p) for p in law.values()]))[0] < 5


class Given:
    """Words of one user that a test chooses."""

    def __init__(self, *numbers: int) -> None:
        self._left = [np.array([number], np.uint64) for number in numbers]

    def read(self, who: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self._left.pop(0)

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("block", [Block(3, 1.0), Block(16, 1.0), Block(64, 20.0)], ids=str)
def test_words_at_a_bound_decide_exactly(block: Block) -> None:
    """Check integers at a bound and just below, whose first words do not decide."""
    weights = [weight for *_, weight in block.outcomes]
    length = sum(weights).bit_length()
    each = -(-length // 64)
    for i in {1, len(weights) // 2, len(weights) - 1}:
        for number, place in ((sum(weights[:i]), i), (sum(weights[:i]) - 1, i - 1)):
            shifted = number << -length % 64
            words = [shifted >> 64 * j & 2**64 - 1 for j in range(each - 1, -1, -1)]
            (plus,), (minus,) = paths._draw_numbers(block, Given(*words))
            assert (plus, minus) == block.outcomes[place][:2]
    # An integer that is too large is drawn again
    words = [2**64 - 1] * each + [0] * each
    (plus,), (minus,) = paths._draw_numbers(block, Given(*words))
    assert (plus, minus) == block.outcomes[0][:2]
