"""Every protocol on a grid: the subjects of all laws."""

from multi_freq_ldpy import BLH, GRR, OLH, OUE, SHE, SS, SUE, THE
from multi_freq_ldpy.protocol import OneShot

ONE_SHOT: list[type[OneShot]] = [GRR, BLH, OLH, SS, SUE, OUE, THE, SHE]

SMALL = [cls(k, epsilon) for cls in ONE_SHOT for k, epsilon in ((2, 1.0), (3, 0.5), (5, 3.0))]
LARGE = [cls(k, epsilon) for cls in ONE_SHOT if cls is not SHE for k, epsilon in ((64, 1.0), (100, 0.2), (260, 6.0))]
LARGE += [SHE(k, epsilon) for k, epsilon in ((40, 1.0), (20, 0.2), (60, 6.0))]  # exact noise takes longer to draw
CASES = SMALL + LARGE
