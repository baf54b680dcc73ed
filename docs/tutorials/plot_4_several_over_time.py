"""
Several attributes over time
============================

Everything at once: records, asked for again and again.
"""

# %%
# With two budgets, ``SMP`` has every user report one attribute, the same for ever, drawn once from
# the device's secret.
import tempfile
from pathlib import Path

import numpy as np

from multi_freq_ldpy import SMP, SPL, Survey, datasets

attributes = {"transport": datasets.DRIFTING, "smokes": ("yes", "no")}
answers, generator = datasets.drifting(20_000, 8, rng=1), np.random.default_rng(1)
smokes = generator.random(20_000) < 0.3


def week(i):
    """Return the answers of a week as a table."""
    quit = generator.random(20_000) < 0.02 * i
    return {
        "transport": [datasets.DRIFTING[j] for j in answers[i].tolist()],
        "smokes": np.where(smokes & ~quit, "yes", "no").tolist(),
    }


tables = [week(i) for i in range(8)]
survey = Survey(attributes, eps_perm=4.0, eps_1=2.0, solution=SMP)
rounds = survey.panel(20_000, rng=1).run(tables)
_ = rounds.plot()

# %%
# The last round in numbers, beside what splitting the budgets would give:
print(rounds[-1]["smokes"])
split = (
    Survey(attributes, eps_perm=4.0, eps_1=2.0, solution=SPL).panel(20_000, rng=1).run(tables[-1:])
)
print(split[0]["smokes"])

# %%
# One device, with its secret in a file. A report is a few bytes.
with tempfile.TemporaryDirectory() as folder:
    client = survey.client(Path(folder) / "device")
    for transport in ("car", "car", "bicycle"):
        report = client.report({"transport": transport, "smokes": "no"})
        print(f"{transport:8} {report.hex()}  spent so far: {client.spent:g}")
