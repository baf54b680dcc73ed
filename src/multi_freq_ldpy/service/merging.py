"""Tallies that other services counted, added once."""

import random
import uuid
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from ..core.tally import Tally
from . import schema
from .groups import SHARDS, add_counts, find_open
from .surveys import Conflict, Served, insert_new


def merge_tally(
    connection: Connection, served: Served, number: int, name: bytes, tally: Tally
) -> int:
    """Add the tally of another service to a round, once.

    Parameters
    ----------
    connection : Connection
        Connection that writes.
    served : Served
        The survey.
    number : int
        Number of the round.
    name : bytes
        Id of the tally, of 16 bytes. A repeated call with the same id changes nothing.
    tally : Tally
        The tally, which is of this survey and this round.

    Returns
    -------
    int
        The number of users that were added, or 0 if the id was there before.

    Raises
    ------
    Conflict
        If the round is not open.
    """
    key = find_open(connection, served, number)
    if key is None:
        raise Conflict("round-closed", f"round {number} does not take tallies")
    own: Any = name if connection.dialect.name == "sqlite" else uuid.UUID(bytes=name)
    if not insert_new(connection, schema.merged, {"round": key, "id": own}):
        return 0
    n = np.broadcast_to(tally.n, tally.counts.shape)
    shard = random.SystemRandom().randrange(SHARDS)
    add_counts(connection, key, shard, tally.counts, n, tally.users)
    return tally.users
