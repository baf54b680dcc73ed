"""
A value that changes
====================

Can I follow the share of users without a job, and hide *when* each of them lost it?
"""

# %%
# The question
# ------------
# An agency asks 40,000 users every week for 64 weeks whether they are out of work. It
# wants to see how the share rises and falls. The week in which a user lost the job is as
# private as the answer itself. So the whole history of a user has to be protected, with
# the times of its changes.

# %%
# The data
# --------
# The data are synthetic: 0 means that a user works, 1 means out of work. In week 20 a
# crisis begins, and from week 40 on users find new jobs. Users change at most three
# times.
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from multi_freq_ldpy import LGRR, Client, Once, Panel, Steps

n, weeks = 40_000, 64
generator = np.random.default_rng(1)
answers = np.empty((weeks, n), np.int64)
answers[0] = generator.random(n) < 0.08
changes = np.zeros(n, np.int64)
for week in range(1, weeks):
    lost = 0.011 if 20 <= week < 40 else 0.002
    found = 0.02 if week < 40 else 0.05
    moves = generator.random(n) < np.where(answers[week - 1] == 1, found, lost)
    moves &= changes < 3
    answers[week] = np.where(moves, 1 - answers[week - 1], answers[week - 1])
    changes += moves
truth = answers.mean(axis=1)
counts = np.bincount(changes) / n
shares = 100 * truth[[0, 20, 40, 63]]
print("out of work in weeks 0, 20, 40 and 63:", shares.round(1), "%")
print("users with 0, 1, 2 and 3 changes:     ", (100 * counts).round(1), "%")

# %%
# Three promises
# --------------
# A budget of ε = 2 can protect three different things. The property ``privacy`` of a
# mechanism has one number for each promise:
#
# - **One report** (``report``): any two values in one week.
# - **A value that stays** (``lifetime``): two users whose values never change, and all
#   their reports.
# - **A whole history** (``history``): any two users, with any changes at any times, and
#   all their reports.
#
# Three mechanisms get this budget. ``LGRR`` remembers its permanent answers. With
# ``Once``, each user reports the value of one week, which is drawn beforehand. With
# ``Steps``, some users do the same, and the others report their changes through noise
# that is drawn beforehand.
mechanisms = {
    "LGRR": LGRR(2, eps_perm=2.0, eps_1=1.0),
    "Once": Once(2, epsilon=2.0, rounds=weeks),
    "Steps": Steps(2, epsilon=2.0, rounds=weeks, changes=3),
}
print(f"{'':8}{'one report':>12}{'a value that stays':>20}{'a whole history':>17}")
for name, mechanism in mechanisms.items():
    p = mechanism.privacy
    print(f"{name:8}{p.report:12.3f}{p.lifetime:20.3f}{p.history:17.3f}")

# %%
# Every promise of ``Once`` and ``Steps`` is at most 2. ``LGRR`` protects a single report
# and a value that stays, but it promises nothing about a whole history.

# %%
# Following the share
# -------------------
# A panel simulates all devices. Bands show 95 % intervals, and dashed lines show the
# true share.
names = {
    "LGRR": "L-GRR: protects a value that stays",
    "Once": "Once: protects the whole history",
    "Steps": "Steps: protects the whole history",
}
colours = {"LGRR": "#0072B2", "Once": "#D55E00", "Steps": "#009E73"}
rounds = {name: Panel(each, n, rng=2).run(answers) for name, each in mechanisms.items()}
figure, panels = plt.subplots(
    3, 1, figsize=(6.4, 7.2), sharex=True, sharey=True, layout="constrained"
)
for panel, (name, found) in zip(panels, rounds.items()):
    colour = colours[name]
    share = [100 * each.frequencies[1] for each in found]
    low, high = np.array([100 * each.interval()[1] for each in found]).T
    error = np.mean([100 * each.std[1] for each in found])
    panel.fill_between(range(weeks), low, high, color=colour, alpha=0.2, lw=0)
    panel.plot(share, color=colour, lw=1.6)
    panel.plot(100 * truth, "--", color="black", lw=1.1)
    panel.set_title(names[name], fontsize=10, loc="left", color=colour, weight="bold")
    panel.set_title(f"standard error {error:.1f} points", fontsize=9, loc="right")
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.25)
    panel.set_ylabel("out of work in %", fontsize=9)
panels[0].plot([], [], "--", color="black", lw=1.1, label="truth")
panels[0].fill_between([], [], [], color="grey", alpha=0.3, lw=0, label="95 % interval")
panels[0].legend(frameon=False, fontsize=9, loc="upper left", ncols=2)
panels[0].set_ylim(0, None)
_ = panels[-1].set_xlabel("week")

# %%
# ``Steps`` has a smaller error than ``Once`` under the same promise. ``LGRR`` has a
# smaller error than both, because it promises less. The next section shows the
# difference.

# %%
# What does an observer learn?
# ----------------------------
# An observer knows that a user either works all the time, or loses the job in week 32.
# At first the observer gives both histories the odds 1 : 1. Then the observer sees all
# 64 reports of the user. Here 2,000 users lose their job in week 32 and report with
# ``LGRR``. The observer computes the odds of the true history from the exact
# probabilities of the reports.
protocol = mechanisms["LGRR"]
histories = np.repeat([[0] * 32 + [1] * 32], 2000, axis=0)
panel = Panel(protocol, 2000, rng=3)
reports = np.stack([panel.report(histories[:, week]) for week in range(weeks)], axis=1)
first = np.array([[float(p) for p in protocol.permanent.law(v).values()] for v in (0, 1)])
keep, replace = (weight / 2**64 for weight in protocol.second)


def chances(part, value):
    """Return the probability of the reports of each user about one value."""
    ones = part.sum(axis=1)
    zeros = part.shape[1] - ones
    given_0, given_1 = keep**zeros * replace**ones, keep**ones * replace**zeros
    return first[value, 0] * given_0 + first[value, 1] * given_1


changed = chances(reports[:, :32], 0) * chances(reports[:, 32:], 1)
odds = changed / chances(reports, 0)
print(f"odds above 1000 : 1 for {100 * np.mean(odds > 1000):.0f} % of the users (LGRR)")
print(f"odds of at most {np.exp(2):.1f} : 1 for every user (Once and Steps)")

# %%
# Under ``LGRR`` the reports of most users disclose that, and when, the job was lost.
# Under ``Once`` and ``Steps`` no reports of any user change the odds by more than e^ε.

# %%
# Reporting from a device
# -----------------------
# A device is asked in every week, and it gives the number of the week. ``report``
# returns None in a week without report. The weeks with a report were drawn beforehand,
# so they say nothing about the value. The first report pays for the whole history.
history = mechanisms["Steps"]
with tempfile.TemporaryDirectory() as folder:
    client = Client.open(Path(folder) / "device", history)
    sent = {}
    for week, answer in enumerate(answers[:, 0]):
        report = client.report(answer, round=week)
        if report is not None:
            sent[week] = report.tobytes().hex()
    print("number of reports:", len(sent), "  loss of all of them:", client.spent)
for week in list(sent)[:3]:
    print(f"week {week:2}: report {sent[week]}")

# %%
# The device drew its plan from a new secret. So this page shows one possible plan, and
# the next run shows another one: a single report of the value, or reports of steps.
#
# The answer
# ----------
# The rounds of one history have correlated errors. ``difference`` takes this into
# account.
rise = rounds["Steps"].difference(40, 20)[1]
low, high = 100 * np.array(rise.interval())
print(
    f"From week 20 to week 40 the share rose by about {100 * rise.value:.1f} points"
    f" (95 % interval: {low:.1f} to {high:.1f})."
)
print(f"The true rise was {100 * (truth[40] - truth[20]):.1f} points.")
