"""
One attribute
=============

How many of my users smoke, if each answer is randomized?
"""

# %%
# The question
# ------------
# A health app has 40,000 users. Its owner wants to know the share of smokers, but the
# users do not want to tell.
#
# With local differential privacy, each device sends a randomized answer, the report.
# One report tells little about its user, but many reports together tell the share.

# %%
# The data
# --------
# The users are a synthetic population. In a real survey there is no list ``answers``,
# because each device knows only its own answer. A protocol numbers the values, so "yes"
# is 0 and "no" is 1.
import numpy as np
from matplotlib import pyplot as plt

from multi_freq_ldpy import GRR, OUE, SUE, compare, datasets, recommend

values = datasets.CATEGORIES["smokes"]
people = datasets.population(40_000, rng=1)
answers = np.array([values.index(each) for each in people["smokes"]])
print("values:", values)

# %%
# Choosing a protocol
# -------------------
# The budget ε limits how much one report tells. The probability of a report under one
# answer is at most e^ε times its probability under another answer. Here ε is 1, so the
# factor is 2.7.
#
# ``recommend`` lists the protocols with their errors. The column ``total`` is the
# expected squared error of all values together. The column ``rare`` is the standard
# error of a rare value.
print(recommend(k=2, epsilon=1.0, n=40_000))

# %%
# Four protocols share the smallest error, and GRR is the simplest of them. It sends the
# true answer with probability p, and the other answer with probability q.
protocol = GRR(2, epsilon=1.0)
p, q = protocol.channel.p, protocol.channel.q
print(f"p = {p:.3f}, q = {q:.3f}, p/q = {p / q:.3f}")

# %%
# Randomizing on the device
# -------------------------
# Each device turns its answer into a report. For real data, leave out ``rng``: the
# random numbers then come from the operating system. A seed is only for simulations.
reports = protocol.randomize(answers, rng=1)
for user in range(5):
    print(f"user {user}: {values[answers[user]]:3} → report {values[reports[user]]}")

# %%
# Estimating
# ----------
# The share of reports that say "yes" is not the share of smokers: the noise pulls it
# towards one half. The estimate corrects this.
estimate = protocol.estimate(reports).labelled(values, "smokes")
print(f"share of reports that say yes: {np.mean(reports == 0):.4f}")
print(estimate)

# %%
# Bars show the estimates, and whiskers show 95 % intervals. Diamonds show the true
# shares, which are known only in a simulation.
figure, axes = plt.subplots(figsize=(4.4, 3.4), layout="constrained")
_ = estimate.plot(truth=np.bincount(answers), ax=axes)

# %%
# A smaller ε protects better, but the estimates are less accurate. ``compare`` measures
# the errors of several protocols and budgets on these data.
figure, axes = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
found = compare([GRR, SUE, OUE], answers, budgets=[0.25, 0.5, 1, 2, 4], rng=1)
found.plot(ax=axes)
below = {"loc": "upper left", "bbox_to_anchor": (0, -0.2), "ncols": 2}
_ = axes.legend(**below, fontsize=8, frameon=False)

# %%
# The answer
# ----------
# The 95 % interval covers the true share with a probability of 95 %.
smokers = estimate["yes"]
share, error = 100 * float(smokers), 100 * smokers.std[0]
low, high = 100 * smokers.interval()[0]
print(
    f"About {share:.1f} % of the users smoke."
    f" The standard error is {error:.1f} points,\n"
    f"and the 95 % interval is {low:.1f} % to {high:.1f} %."
)
