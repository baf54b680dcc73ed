"""A post-processing written outside the package: Norm-Cut.

>>> from multi_freq_ldpy import OUE, compare
>>> protocol = OUE(6, epsilon=2.0)
>>> estimate = protocol.estimate(protocol.randomize([0, 0, 0, 1, 1, 2] * 5000, rng=1))
>>> estimate.postprocess("norm_cut").frequencies.round(2)
array([0.5 , 0.34, 0.16, 0.  , 0.  , 0.  ])
>>> found = compare([OUE], [0, 0, 1], [1.0], k=9, estimator="norm_cut", metric="mae", rng=1)
>>> found.estimator
'norm_cut'
"""

import numpy as np

from multi_freq_ldpy.estimation.postprocess import METHODS, Method, Vector


def norm_cut(frequencies: Vector) -> Vector:
    """Keep the largest frequencies until they add up to 1; the others are 0."""
    kept = np.clip(frequencies, 0.0, None)
    order = np.argsort(-kept, kind="stable")
    before = np.cumsum(kept[order]) - kept[order]
    kept[order] = np.minimum(kept[order], np.clip(1 - before, 0.0, None))
    return kept


METHODS["norm_cut"] = Method(lambda raw: norm_cut(raw.frequencies))
