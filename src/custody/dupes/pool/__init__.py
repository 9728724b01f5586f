"""The pool: one pure function over many items, on several processes of this machine or on a Ray cluster.

May touch: processes of Python that it starts and ends, the sockets of the loopback interface that Ray needs, the
environment for ``RAY_ADDRESS``, and a folder of its own for Ray's files while a cluster runs, with a random token for
that cluster. It opens no file of the user's and knows nothing of what the function does.
"""

from custody.dupes.pool.pool_map import BACKENDS, Backend, pool_map
from custody.dupes.pool.work import WorkerLost, WorkError

__all__ = ["BACKENDS", "Backend", "WorkError", "WorkerLost", "pool_map"]
