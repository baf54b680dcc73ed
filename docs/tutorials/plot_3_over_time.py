"""
One attribute over time
=======================

Do fewer of my users drive after twelve weeks, if each answer is randomized?
"""

# %%
# The question
# ------------
# A city asks 20,000 users every week how they travel. It wants to know whether fewer of
# them take the car in the twelfth week than in the first. The users do not want to
# tell.
#
# Fresh noise in every week would not protect the users, because an observer could
# average the reports of a user. The noise would then almost vanish.

# %%
# The data
# --------
# The data are synthetic: one answer per user and week, for twelve weeks. Most users
# keep their answer from one week to the next.
import numpy as np
from matplotlib import pyplot as plt

from multi_freq_ldpy import (
    LGRR,
    LOSUE,
    LSUE,
    Client,
    Survey,
    compare,
    datasets,
    over_rounds,
    recommend,
)

values = datasets.DRIFTING
answers = datasets.drifting(20_000, 12, rng=1)
tables = [{"transport": [values[i] for i in row]} for row in answers.tolist()]
kept = np.mean(answers[1:] == answers[:-1])
print("values:", values)
print(f"{100 * kept:.0f} % of the answers are those of the week before.")

# %%
# Choosing a protocol
# -------------------
# A protocol over time randomizes each value once. The result is the permanent answer of
# the user. Every report is the permanent answer with fresh noise, so there are two
# budgets. The budget of the first report is ``eps_1``. The budget of all reports about
# an unchanged value is ``eps_perm``.
print(recommend(k=6, epsilon=(3.0, 1.5), n=20_000))

# %%
# The picture shows the errors of three protocols on the answers of the first week, with
# eps_perm = 2 · eps_1.
figure, axes = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
found = compare(
    [LGRR, LSUE, LOSUE],
    answers[0],
    budgets=[(2 * eps, eps) for eps in (0.5, 1.0, 2.0, 3.0)],
    rng=1,
)
found.plot(ax=axes)
below = {"loc": "upper left", "bbox_to_anchor": (0, -0.2), "ncols": 2}
_ = axes.legend(**below, fontsize=8, frameon=False)

# %%
# L-GRR (``LGRR``) has the smallest error in the table. The column ``linked`` also shows
# that its reports can hardly be linked to one user.
protocol = LGRR(k=6, eps_perm=3.0, eps_1=1.5)

# %%
# Randomizing on the device
# -------------------------
# A device keeps a secret, from which it derives its permanent answers, and a ledger of
# its privacy loss. An answer that the user gave before costs nothing more. But the
# times at which an answer changes are not hidden.
client = Client(protocol)
for week, answer in enumerate([4, 4, 4, 1, 4, 1]):
    client.report(answer)
    print(f"week {week}: {values[answer]:8} loss so far: {client.spent:g}")

# %%
# Estimating
# ----------
# A panel simulates all 20,000 devices, and each week has its own estimate. Bands show
# 95 % intervals, and dashed lines show the true shares.
survey = Survey({"transport": values}, eps_perm=3.0, eps_1=1.5, protocol=LGRR)
rounds = survey.panel(20_000, rng=2).run(tables)
truth = np.array([np.bincount(row, minlength=6) for row in answers]) / 20_000
figure = rounds.plot(values=[["bicycle", "bus", "train", "car"]], truth=[truth])
figure.set_size_inches(4.8, 3.4)

# %%
# If all answers stay the same, several weeks together give a smaller error than one
# week. The error does not go to 0, because the noise of the permanent answers stays.
# ``over_rounds`` takes this noise into account. The example has ten weeks with the same
# answers.
panel = survey.panel(20_000, rng=3)
tallies = [panel.tally(tables[0]) for _ in range(10)]
one, ten = survey.estimate(tallies[0])[0], over_rounds(tallies)[0]
car = values.index("car")
print(f"standard error of one week:  {100 * one.std[car]:.2f} points")
print(f"standard error of ten weeks: {100 * ten.std[car]:.2f} points")

# %%
# The answer
# ----------
# Each interval covers the true share of its week with a probability of 95 %. The two
# weeks have the same users, so their errors are not independent. But the standard error
# of the difference is never larger than the sum of the two standard errors.
first, last = (rounds[week]["transport"]["car"] for week in (0, 11))
for week, share in ((0, first), (11, last)):
    low, high = 100 * share.interval()[0]
    print(
        f"In week {week}, about {100 * float(share):.1f} % of the users took the car"
        f" (95 % interval: {low:.1f} % to {high:.1f} %)."
    )
less, most = 100 * (float(first) - float(last)), 100 * (first.std[0] + last.std[0])
print(f"The decrease is {less:.1f} points (standard error: at most {most:.1f}).")
