"""
Several attributes
==================

A record has several answers. What is done with the budget makes the difference.
"""

# %%
# ``SPL`` splits the budget over the attributes, ``SMP`` has every user report one of them with all
# of it, and ``RSFD`` hides which one
# among fakes. A ``Survey`` puts names to the numbers.
from functools import partial

from multi_freq_ldpy import OUE, RSFD, SMP, SPL, Survey, compare, datasets

people = datasets.population(40_000, rng=1)
names = ["smokes", "status", "household", "region"]
survey = Survey(
    {name: datasets.CATEGORIES[name] for name in names}, epsilon=2.0, solution=SMP, protocol=OUE
)
estimates = survey.estimate(survey.randomize(people, rng=1))
print(estimates["status"])

# %%
# All attributes side by side, with the truth:
truth = {name: [people[name].count(label) for label in survey.attributes[name]] for name in names}
_ = estimates.plot(truth=truth)

# %%
# The three solutions compared. With small budgets RS+FD has the smallest error, and it promises
# less: the ε asked for is kept
# between records that differ in one attribute only.
table = {name: people[name] for name in names}
found = compare(
    {"SPL": partial(SPL, OUE), "SMP": partial(SMP, OUE), "RS+FD": partial(RSFD, OUE)},
    table,
    budgets=[0.5, 1, 2, 4],
    rng=1,
)
_ = found.plot()

# %%
# What each promises, for any two records and for two that differ in one attribute:
for solution in (SPL, SMP, RSFD):
    privacy = Survey(survey.attributes, epsilon=2.0, solution=solution, protocol=OUE).privacy
    print(
        f"{solution.__name__:5} any two records: {privacy.report:.2f}   one attribute:"
        f" {privacy.report_attribute:.2f}"
    )
