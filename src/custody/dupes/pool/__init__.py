"""A map of a pure function over many items, on several processes of this machine or on a Ray cluster.

May touch: Python processes that it starts and ends, loopback sockets for Ray, the environment variable ``RAY_ADDRESS``,
and a temporary folder and a random token for a local Ray cluster. It opens no user files.
"""

from custody.dupes.pool.pool_map import BACKENDS, Backend, pool_map
from custody.dupes.pool.work import WorkerLost, WorkError

__all__ = ["BACKENDS", "Backend", "WorkError", "WorkerLost", "pool_map"]
