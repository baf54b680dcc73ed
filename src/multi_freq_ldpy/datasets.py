"""Synthetic populations, so that every example runs without a download.

One is a census of nine attributes. Another has answers that change over time.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .core import validate

Seeds: TypeAlias = int | np.random.SeedSequence | np.random.Generator | None
"""The types of ``rng``, as for ``numpy.random.default_rng``."""

AGES = tuple(range(17, 91))
REGIONS = (
    "coast",
    "capital",
    "north",
    "south",
    "east",
    "west",
    "hills",
    "lakes",
    "border",
    "plain",
    "islands",
    "forest",
)
SCHOOLING = ("none", "primary", "secondary", "vocational", "bachelor", "master or more")
WORK = (
    *("services", "trade", "health", "industry", "education", "transport", "building", "farming"),
    *("offices", "computing", "law", "arts", "police", "research", "fishing"),
)
INCOMES = (
    "under 10k",
    "10k to 20k",
    "20k to 30k",
    "30k to 40k",
    "40k to 60k",
    "60k to 80k",
    "80k to 120k",
    "over 120k",
)

CATEGORIES: dict[str, tuple[Any, ...]] = {
    "sex": ("female", "male"),
    "age": AGES,
    "region": REGIONS,
    "schooling": SCHOOLING,
    "work": WORK,
    "income": INCOMES,
    "household": ("1", "2", "3", "4", "5 or more"),
    "status": ("single", "married", "divorced", "widowed"),
    "smokes": ("yes", "no"),
}
"""The attributes of ``population`` and their categories, 2 to 74 per attribute."""

DEPENDENCE: dict[tuple[str, str], float] = {
    ("schooling", "income"): 0.6,
    ("age", "status"): 0.7,
    ("sex", "smokes"): 0.15,
}
"""Pairs of attributes that depend on each other, with a probability.

With this probability the second attribute follows from the first. Otherwise it is drawn from its
own distribution.
"""


def marginals() -> dict[str, NDArray[np.float64]]:
    """Return the distributions from which the attributes of ``population`` are drawn.

    Income, status and smokes follow from another attribute for some users. Their final frequencies
    therefore differ from these distributions. Regions and work fall off like Zipf's law. Ages have
    two peaks, near 28 and 58.

    Returns
    -------
    dict of str to array
        The probabilities of the categories of each attribute, in the order of ``CATEGORIES``.

    Examples
    --------
    >>> from multi_freq_ldpy import datasets
    >>> datasets.marginals()["schooling"]
    array([0.02, 0.1 , 0.34, 0.24, 0.2 , 0.1 ])
    """
    ages = np.array(AGES)
    two_peaks = (
        1.2 * np.exp(-(((ages - 28) / 9) ** 2) / 2) + np.exp(-(((ages - 58) / 12) ** 2) / 2) + 0.02
    )
    laws: dict[str, Any] = {
        "sex": [0.51, 0.49],
        "age": two_peaks,
        "region": 1 / np.arange(1, len(REGIONS) + 1),
        "schooling": [0.02, 0.10, 0.34, 0.24, 0.20, 0.10],
        "work": np.arange(1, len(WORK) + 1) ** -1.3,
        "income": [0.12, 0.2, 0.22, 0.17, 0.14, 0.08, 0.05, 0.02],
        "household": [0.3, 0.33, 0.17, 0.14, 0.06],
        "status": [0.4, 0.42, 0.13, 0.05],
        "smokes": [0.2, 0.8],
    }
    return {name: np.asarray(law, np.float64) / np.sum(law) for name, law in laws.items()}


def population(n: int, rng: Seeds = None) -> dict[str, list[Any]]:
    """Return a synthetic population of n users with the nine attributes of ``CATEGORIES``.

    These are sex and smokes (2 categories), status (4), household (5), schooling (6), income (8),
    region (12), work (15) and age (74). Region and work fall off like Zipf's law. Age has two
    peaks, near 28 and 58.

    Three pairs depend on each other (``DEPENDENCE``). Income follows from schooling with
    probability 0.6, status from age with 0.7, and smokes from sex with 0.15. In all other cases
    values are drawn independently from ``marginals()``.

    Parameters
    ----------
    n : int
        Number of users.
    rng : None, int, SeedSequence or Generator
        Source of randomness, as for ``numpy.random.default_rng``. None gives a different population
        at every call. Nothing here needs to be secret.

    Returns
    -------
    dict of str to list
        A table: for each attribute, the category of each user.

    Raises
    ------
    ValueError
        If ``n`` is not from 1 to 2⁴⁰.

    Examples
    --------
    >>> from multi_freq_ldpy import datasets
    >>> people = datasets.population(10_000, rng=1)
    >>> len(datasets.CATEGORIES["age"]), people["region"][:3]
    (74, ['capital', 'capital', 'capital'])
    """
    users, generator = validate.Integer(1, 2**40)("n", n), np.random.default_rng(rng)
    drawn = {name: generator.choice(len(law), users, p=law) for name, law in marginals().items()}
    follows = {
        "income": np.minimum(
            drawn["schooling"] + generator.integers(0, 3, users), len(INCOMES) - 1
        ),
        "status": np.select(
            [drawn["age"] < 10, drawn["age"] < 45, drawn["age"] < 60], [0, 1, 2], 3
        ),
        "smokes": drawn["sex"],
    }
    for (_, second), share in DEPENDENCE.items():
        drawn[second] = np.where(generator.random(users) < share, follows[second], drawn[second])
    return {
        name: [categories[i] for i in drawn[name].tolist()]
        for name, categories in CATEGORIES.items()
    }


DRIFTING = ("walk", "bicycle", "bus", "train", "car", "none")
KEEPS = 0.9


def drifting(n: int, rounds: int, rng: Seeds = None) -> NDArray[np.int64]:
    """Return the answers of n users in each of several rounds.

    From one round to the next, each user keeps the answer with probability 0.9. Otherwise the user
    draws a new answer. The distribution of new answers changes, round by round, from mostly "car"
    to mostly "bicycle" and "train".

    Parameters
    ----------
    n : int
        Number of users.
    rounds : int
        Number of rounds.
    rng : None, int, SeedSequence or Generator
        Source of randomness, as for ``numpy.random.default_rng``. None gives different answers at
        every call.

    Returns
    -------
    array
        Indexes into ``DRIFTING``, shape (rounds, n).

    Raises
    ------
    ValueError
        If ``n`` is not from 1 to 2⁴⁰, or if ``rounds`` is not from 1 to 2³¹.

    Examples
    --------
    >>> from multi_freq_ldpy import datasets
    >>> answers = datasets.drifting(5000, 12, rng=1)
    >>> answers.shape, float((answers[1:] == answers[:-1]).mean().round(2))
    ((12, 5000), 0.92)
    """
    users, times = validate.Integer(1, 2**40)("n", n), validate.Integer(1, 2**31)("rounds", rounds)
    generator = np.random.default_rng(rng)
    before, after = (
        np.array([0.1, 0.08, 0.12, 0.1, 0.5, 0.1]),
        np.array([0.12, 0.36, 0.12, 0.25, 0.08, 0.07]),
    )
    answers = np.empty((times, users), np.int64)
    for i in range(times):
        law = before + (after - before) * (i / max(1, times - 1))
        answers[i] = generator.choice(len(law), users, p=law)
        if i:
            keep = generator.random(users) < KEEPS
            answers[i, keep] = answers[i - 1, keep]
    return answers
