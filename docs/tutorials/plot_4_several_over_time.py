"""
Several attributes over time
============================

Do my users smoke less and drive less after eight weeks, if no one tells me either?
"""

# %%
# The question
# ------------
# A campaign runs for eight weeks. Every week its owner asks 20,000 users two questions:
# how they travel, and whether they smoke. One budget protects both answers of a user in
# all weeks, as long as the answers stay the same.

# %%
# The data
# --------
# The data are synthetic. Three users in ten smoke at first, and some of them stop for
# ever in each week.
import tempfile
from pathlib import Path

import numpy as np

from multi_freq_ldpy import SMP, SPL, Rounds, Survey, datasets

n, weeks = 20_000, 8
generator = np.random.default_rng(1)
travel = datasets.drifting(n, weeks, rng=1)
smokes_at_first = generator.random(n) < 0.3
stops_in_week = generator.integers(1, 60, n)
smokes = [smokes_at_first & (week < stops_in_week) for week in range(weeks)]
tables = [
    {
        "transport": [datasets.DRIFTING[i] for i in travel[week].tolist()],
        "smokes": np.where(smokes[week], "yes", "no").tolist(),
    }
    for week in range(weeks)
]
print({name: column[:3] for name, column in tables[0].items()})

# %%
# Choosing a solution
# -------------------
# ``SMP`` lets each user report one attribute with both budgets. The attribute is drawn
# once and kept. ``SPL`` reports both attributes and halves the budgets. Both keep
# ``eps_perm`` for all reports about an unchanged record. The standard errors decide.
attributes = {"transport": datasets.DRIFTING, "smokes": ("yes", "no")}
for solution in (SPL, SMP):
    survey = Survey(attributes, eps_perm=4.0, eps_1=2.0, solution=solution)
    transport, smoking = 100 * survey.solution.variance(n, 0.3) ** 0.5
    print(
        f"{solution.__name__}  loss of all reports: {survey.privacy.lifetime:g}"
        f"  errors: {transport:.2f} and {smoking:.2f} points"
    )

# %%
# The last survey, with SMP, has the smaller errors.
#
# Randomizing on the device
# -------------------------
# A device keeps its secret and its ledger in a file. A report has two bytes: the number
# of the attribute, and the randomized answer. A new answer costs the budget again, if
# it belongs to the sampled attribute.
with tempfile.TemporaryDirectory() as folder:
    client = survey.client(Path(folder) / "device")
    for answer in ("car", "car", "bicycle"):
        report = client.report({"transport": answer, "smokes": "no"})
        print(f"{answer:8} report {report.hex()}  loss so far: {client.spent:g}")

# %%
# Estimating
# ----------
# A panel simulates all devices. Each week gives one estimate per attribute.
rounds = survey.panel(n, rng=2).run(tables)
print(rounds[-1]["smokes"])

# %%
# The pictures show the shares of three answers over the weeks. Bands are 95 %
# intervals, and dashed lines are the true shares, which only a simulation knows.
truth = np.array([np.bincount(row, minlength=6) for row in travel]) / n
figure = Rounds(each["transport"] for each in rounds).plot(["bicycle", "car"], truth)
figure.set_size_inches(4.8, 3.0)

# %%
truth = np.array([[each.mean(), 1 - each.mean()] for each in smokes])
figure = Rounds(each["smokes"] for each in rounds).plot(["yes"], truth)
figure.set_size_inches(4.8, 3.0)

# %%
# The answer
# ----------
# Each interval covers the true share of its week with a probability of 95 %. The
# standard error of a difference is never more than the sum of the two standard errors.
for name, label, words in (("transport", "car", "drive"), ("smokes", "yes", "smoke")):
    first, last = (rounds[week][name][label] for week in (0, weeks - 1))
    low, high = 100 * last.interval()[0]
    less, most = 100 * (float(first) - float(last)), 100 * (first.std[0] + last.std[0])
    print(
        f"At the end about {100 * float(last):.1f} % of the users {words}"
        f" (95 % interval: {low:.1f} % to {high:.1f} %).\n"
        f"The decrease is {less:.1f} points (standard error: at most {most:.1f})."
    )
