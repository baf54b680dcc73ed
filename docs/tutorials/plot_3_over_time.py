"""One attribute over time
=======================

The same question, week after week. Fresh noise would average out; a permanent answer under fresh
noise does not.
"""

# %%
# Two budgets: ``eps_1`` for one report, ``eps_perm`` for all reports about an unchanged answer,
# however many.
import numpy as np

from multi_freq_ldpy import (
    LGRR,
    LOSUE,
    LOUE,
    LSOUE,
    LSUE,
    Client,
    Survey,
    compare,
    datasets,
    over_rounds,
)

survey = Survey({"transport": datasets.DRIFTING}, eps_perm=3.0, eps_1=1.5, protocol=LOSUE)
answers = datasets.drifting(20_000, 12, rng=1)
tables = [{"transport": [datasets.DRIFTING[i] for i in row]} for row in answers.tolist()]
rounds = survey.panel(20_000, rng=1).run(tables)

# %%
# Twelve rounds of twenty thousand simulated devices; bands are 95 % intervals, the truth is dashed.
truth = (
    np.array([np.bincount(row, minlength=len(datasets.DRIFTING)) for row in answers])
    / answers.shape[1]
)
_ = rounds.plot(truth=[truth])

# %%
# One device keeps a secret and a ledger of what it has spent: an answer that was given before costs
# nothing more. That holds between
# histories that change and return at the same times; when an answer changes is not hidden.
protocol = LOSUE(k=6, eps_perm=3.0, eps_1=1.5)
client = Client(protocol)
for week, answer in enumerate([4, 4, 4, 1, 4, 1]):
    client.report(answer)
    print(f"week {week}: {datasets.DRIFTING[answer]:8} spent so far: {client.spent:g}")

# %%
# Rounds of the same users share their permanent answers: ten rounds take the fresh noise away and
# leave the other. ``over_rounds`` knows.
panel = survey.panel(20_000, rng=2).panel
same = [panel.tally(answers[0][:, np.newaxis]) for _ in range(10)]
one, ten = survey.solution.estimate(same[0])[0], over_rounds(same)[0]
print("standard error of one round:", one.std.round(4))
print("standard error of ten:      ", ten.std.round(4))

# %%
# The protocols compared, for pairs of budgets:
found = compare(
    [LGRR, LSUE, LSOUE, LOUE, LOSUE],
    answers[0],
    budgets=[(2 * eps, eps) for eps in (0.5, 1.0, 2.0, 3.0)],
    rng=1,
)
_ = found.plot()
