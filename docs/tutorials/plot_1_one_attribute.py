"""
One attribute
=============

A question with a few answers, many people, and nobody who wants to tell.
"""

# %%
# Forty thousand people who do not exist are asked for their schooling. A protocol is made of the
# number of answers and the budget ε: what
# one report says about any two answers differs by a factor of e^ε at most.
import numpy as np

from multi_freq_ldpy import GRR, OUE, SS, compare, datasets, recommend

people = datasets.population(40_000, rng=1)
answers = np.array([datasets.SCHOOLING.index(each) for each in people["schooling"]])
protocol = OUE(len(datasets.SCHOOLING), epsilon=1.0)

# %%
# On each device an answer becomes a report. With ``rng`` left out the randomness is the operating
# system's, as it has to be when data are
# real.
reports = protocol.randomize(answers, rng=1)
print(
    "one report on the wire:",
    reports[0].tobytes().hex(),
    "for the answer",
    datasets.SCHOOLING[answers[0]],
)

# %%
# The collector counts and estimates. Every frequency comes with its error.
estimate = protocol.estimate(reports).labelled(datasets.SCHOOLING, "schooling")
print(estimate)

# %%
# Bars are the estimates, whiskers 95 % intervals, diamonds the truth, which only a simulation
# knows.
truth = np.bincount(answers) / len(answers)
_ = estimate.plot(truth=truth)

# %%
# Groups of answers and differences have errors of their own.
print(estimate.group(["bachelor", "master or more"], label="university"))
print(estimate.difference("secondary", "primary"))

# %%
# Frequencies are unbiased, so a rare one may come out below 0. The nearest distribution has none of
# that, and no error either.
print(estimate.norm_sub())

# %%
# Which protocol has the least error? In theory, and on these data:
print(recommend(k=6, epsilon=1.0, n=40_000))
found = compare([GRR, OUE, SS], answers, budgets=[0.25, 0.5, 1, 2, 4], rng=1)
_ = found.plot()
