"""Somebody's code in a process of its own, which asks us for everything it wants done.

May touch: processes of Python that it starts and ends, the pipes to them. The process gets an environment without
secrets, a limit of memory, and the end of its process group with its own. It is held apart, not locked in: it may read
the files that this user may read.
"""

from custody.sdk.worker.process import CapturedOutput, Limits, WorkerEnd, WorkerProcess

__all__ = ["CapturedOutput", "Limits", "WorkerEnd", "WorkerProcess"]
