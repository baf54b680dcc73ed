"""Share of users whose reports of two rounds can be linked by comparing the reports."""

from typing import Any

import numpy as np

from multi_freq_ldpy import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE, DBitFlipPM, Panel

USERS = 1000
PROTOCOLS = (LOLH, LBLH, DBitFlipPM, LSUE, LSOUE, LOSUE, LOUE, LGRR)


def build(cls: Any, k: int) -> Any:
    """Return a protocol with eps_perm = 4 and, if it has a second round, eps_1 = 2."""
    return cls(k, 4.0, d_bits=4) if cls is DBitFlipPM else cls(k, 4.0, 2.0)


def share_linked(protocol: Any, seed: int = 3) -> float:
    """Return the share of users whose next report is the most similar to their last report.

    Some protocols send a part that never changes: the seed, or the whole report of dBitFlipPM.
    There this part is compared. For the other protocols, the values that both reports support are
    compared.
    """
    generator = np.random.default_rng(1)
    panel, values = Panel(protocol, USERS, seed), generator.integers(0, protocol.k, USERS)
    last, following = panel.report(values), panel.report(values)
    if last.dtype.names:
        rows = [
            (each["seed"] if "seed" in (last.dtype.names or ()) else each)
            .copy()
            .view(np.uint8)
            .reshape(USERS, -1)
            for each in (last, following)
        ]
        alike = (rows[0][:, np.newaxis] == rows[1]).all(axis=2).astype(float)
    else:
        x, y = (protocol.contributions(each).astype(float) for each in (last, following))
        alike = x @ y.T - (x.sum(axis=1)[:, np.newaxis] + y.sum(axis=1)) / 2
    alike += 1e-6 * generator.random(alike.shape)  # ties are broken by chance
    return float((alike.argmax(axis=1) == np.arange(USERS)).mean())


def main() -> None:
    sizes = (20, 100, 1000)
    print(f"{'protocol':12}" + "".join(f"{f'k = {k}':>10}" for k in sizes))
    for cls in PROTOCOLS:
        shares = [share_linked(build(cls, k)) for k in sizes]
        print(f"{cls.__name__:12}" + "".join(f"{share:10.1%}" for share in shares))


if __name__ == "__main__":
    main()
