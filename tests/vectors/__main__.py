"""Writing of all vectors: ``python -m tests.vectors``."""

from multi_freq_ldpy import registry

from . import classes, devices, draws, explanations, ids, refused, surveys, weights, write

for name in (*registry.ENTRIES, "nested"):
    write(name, classes.make(name))
write("weights", weights.make())
write("draws", draws.make())
write("again", devices.make())
write("clients", devices.make_clients())
write("surveys", surveys.make())
write("explanations", explanations.make())
write("refused", refused.make())
write("ids", list(ids.make()))
