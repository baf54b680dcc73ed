"""The pictures of the documentation, made by the package itself: ``make pictures``."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure, SubFigure

from multi_freq_ldpy import GRR, OLH, OUE, SS, Survey, compare, datasets

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"


def main() -> None:
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "pictures"  # the same file every time
    FOLDER.mkdir(exist_ok=True)
    people = datasets.population(40_000, rng=1)
    survey = Survey(datasets.CATEGORIES, epsilon=4.0)
    estimates = survey.estimate(survey.randomize(people, rng=2))
    truth = [
        [people[name].count(label) for label in labels]
        for name, labels in survey.attributes.items()
    ]
    keep("survey", estimates.plot(truth))
    keep("landing", draw_landing(people))

    answers = datasets.drifting(20_000, 12, rng=1)
    transport = Survey({"transport": datasets.DRIFTING}, eps_perm=3.0, eps_1=1.5)
    tables = [{"transport": [datasets.DRIFTING[i] for i in row]} for row in answers.tolist()]
    shares = (
        np.array([np.bincount(row, minlength=len(datasets.DRIFTING)) for row in answers])
        / answers.shape[1]
    )
    keep("rounds", transport.panel(20_000, rng=1).run(tables).plot(truth=[shares]))

    k = 100  # the same comparison as in docs/choosing.md
    weights = 1 / np.arange(1, k + 1)
    values = np.random.default_rng(1).choice(k, size=100_000, p=weights / weights.sum())
    found = compare([GRR, OLH, OUE, SS], values, budgets=[0.5, 1.0, 2.0, 4.0], k=k, rng=1)
    keep("comparison", found.plot().figure)


def draw_landing(people: dict[str, list[Any]]) -> Figure:
    """Draw one question, small enough to be read on a phone."""
    survey = Survey({"income": datasets.CATEGORIES["income"]}, epsilon=1.0)
    estimate = survey.estimate(survey.randomize(people, rng=1))["income"]
    figure, ax = plt.subplots(figsize=(4.4, 3.3), layout="constrained")
    truth = [people["income"].count(label) for label in survey.attributes["income"]]
    estimate.plot(truth, ax=ax, title="income of 40,000 people, ε = 1")
    return figure


def keep(name: str, figure: Figure | SubFigure) -> None:
    assert isinstance(figure, Figure)
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
