"""
Several attributes
==================

How many of my users smoke, and how many are married, if each sends only one report?
"""

# %%
# The question
# ------------
# A survey has four questions. Its owner wants the shares of all answers. But each user
# wants to spend only one budget ε on all four answers together.

# %%
# The data
# --------
# The users are a synthetic population of 40,000. A record holds the answers of one
# user, one per attribute.
from functools import partial

from matplotlib import pyplot as plt

from multi_freq_ldpy import RSFD, SMP, SPL, Survey, best, compare, datasets

population = datasets.population(40_000, rng=1)
names = ["smokes", "status", "household", "region"]
people = {name: population[name] for name in names}
attributes = {name: datasets.CATEGORIES[name] for name in names}
for name in names:
    print(f"{name:9} {len(attributes[name]):2} answers, such as {people[name][0]!r}")

# %%
# Choosing a solution
# -------------------
# A solution says how a record uses the budget. The package has three solutions:
#
# - ``SPL`` splits the budget: every attribute is reported with ε/4.
# - ``SMP`` samples: each user reports one attribute, with all of ε.
# - ``RSFD`` (RS+FD) samples too, and hides the sampled attribute among fake reports.
#
# For each attribute, ``best`` chooses the protocol of least variance. The table shows
# the privacy loss between any two records, and between two records that differ in one
# attribute. The last column is the standard error of the share of smokers, if the share
# is 25 %.
surveys = {
    solution.__name__: Survey(attributes, epsilon=2.0, solution=solution, protocol=best)
    for solution in (SPL, SMP, RSFD)
}
print("       any two records   one attribute   standard error")
for name, survey in surveys.items():
    privacy, error = survey.privacy, survey.solution.variance(40_000, 0.25)[0] ** 0.5
    losses = f"{privacy.report:15.2f} {privacy.report_attribute:15.2f}"
    print(f"{name:5}  {losses} {100 * error:14.2f} %")

# %%
# This survey must protect the whole record with ε = 2. SPL and SMP do so, and SMP has
# the smaller error. RS+FD does not do so, because both its losses are larger than 2
# here.
#
# The picture shows the mean squared error of all shares on these data. RS+FD has the
# smallest error only for small budgets.
ways = {"SPL": SPL, "SMP": SMP, "RS+FD": RSFD}
figure, axes = plt.subplots(figsize=(4.4, 4.0), layout="constrained")
found = compare(
    {name: partial(way, best) for name, way in ways.items()},
    people,
    budgets=[0.5, 1, 2, 4],
    rng=1,
)
found.plot(ax=axes)
below = {"loc": "upper left", "bbox_to_anchor": (0, -0.2), "ncols": 2}
_ = axes.legend(**below, fontsize=8, frameon=False)

# %%
# Randomizing on the device
# -------------------------
# A device holds one record. Its report has a few bytes: the number of the sampled
# attribute, and the randomized answer.
survey = surveys["SMP"]
record = {name: column[0] for name, column in people.items()}
print("record:", record)
print("report:", survey.randomize_one(record, rng=4).hex())
reports = survey.randomize(people, rng=1)

# %%
# Estimating
# ----------
# About a quarter of the users report each attribute. The standard error includes the
# error of this sampling.
estimates = survey.estimate(reports)
print(estimates["smokes"])
print(estimates["status"])

# %%
# Bars show the estimates, and whiskers show 95 % intervals. Diamonds show the true
# shares, which are known only in a simulation.
figure, panels = plt.subplots(2, 1, figsize=(4.4, 6.2), layout="constrained")
for axes, name in zip(panels, ["status", "region"], strict=True):
    truth = [people[name].count(label) for label in attributes[name]]
    estimates[name].plot(truth=truth, ax=axes)

# %%
# Groups of answers and differences between answers have errors of their own.
status = estimates["status"]
print(status.group(["divorced", "widowed"], label="was married"))
print(status.difference("married", "single"))

# %%
# The answer
# ----------
# Each interval covers the true share with a probability of 95 %.
wanted = [("smokes", "yes", "smoke"), ("status", "married", "are married")]
for name, label, words in wanted:
    answer = estimates[name][label]
    low, high = 100 * answer.interval()[0]
    print(
        f"About {100 * float(answer):.1f} % of the users {words}"
        f" (95 % interval: {low:.1f} % to {high:.1f} %)."
    )
