"""
Several attributes over time
============================

Do my users smoke less and drive less after eight weeks, if each answer is randomized?
"""

# %%
# The question
# ------------
# A campaign runs for eight weeks. Every week its owner asks 20,000 users two questions:
# how they travel, and whether they smoke. One budget covers both answers of a user in
# all weeks, as long as the answers stay the same.

# %%
# The data
# --------
# The data are synthetic. Three users in ten smoke at first. In each week some of them
# stop, and they do not begin again.
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
# With ``SMP``, each user reports one attribute with the two budgets undivided. The
# attribute is drawn once and kept. With ``SPL``, each user reports both attributes,
# each with half of the two budgets. In both cases, all reports about an unchanged
# record together lose at most ``eps_perm``. So the standard errors decide between the
# two solutions.
attributes = {"transport": datasets.DRIFTING, "smokes": ("yes", "no")}
for solution in (SPL, SMP):
    survey = Survey(attributes, eps_perm=4.0, eps_1=2.0, solution=solution)
    transport, smoking = 100 * survey.solution.variance(n, 0.3) ** 0.5
    print(
        f"{solution.__name__}  loss of all reports: {survey.privacy.lifetime:g}"
        f"  errors: {transport:.2f} and {smoking:.2f} points"
    )

# %%
# SMP has the smaller errors, so the survey below uses SMP.
#
# Randomizing on the device
# -------------------------
# A device keeps its secret and its ledger in a file. A report has two bytes: the number
# of the attribute, and the randomized answer. The device draws its attribute at random,
# once for ever. If it drew ``transport`` (00), the new answer in the last line costs
# ``eps_perm`` again, and the loss rises from 4 to 8. If it drew ``smokes`` (01), the
# loss stays at 4, because the answer to ``smokes`` never changes. This page is made
# without a seed, so it shows one of the two cases. The context names the survey, so
# that the file of another survey is refused.
with tempfile.TemporaryDirectory() as folder:
    context = bytes.fromhex(survey.digest)
    client = survey.client(Path(folder) / "device", context=context)
    for answer in ("car", "car", "bicycle"):
        report = client.report({"transport": answer, "smokes": "no"})
        print(f"{answer:8} report {report.hex()}  loss so far: {client.spent:g}")

# %%
# Estimating
# ----------
# A panel simulates all devices, and each week has one estimate per attribute.
rounds = survey.panel(n, rng=2).run(tables)
print(rounds[-1]["smokes"])

# %%
# The two pictures show the shares of three answers over the weeks. Bands show 95 %
# intervals. Dashed lines show the true shares, which are known only in a simulation.
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
# standard error of the difference between two weeks is never larger than the sum of the
# two standard errors.
for name, label, words in (("transport", "car", "drive"), ("smokes", "yes", "smoke")):
    first, last = (rounds[week][name][label] for week in (0, weeks - 1))
    low, high = 100 * last.interval()[0]
    less, most = 100 * (float(first) - float(last)), 100 * (first.std[0] + last.std[0])
    print(
        f"At the end about {100 * float(last):.1f} % of the users {words}"
        f" (95 % interval: {low:.1f} % to {high:.1f} %).\n"
        f"The decrease is {less:.1f} points (standard error: at most {most:.1f})."
    )
