"""User code in a process of its own, which asks us for every tool call.

May touch: Python processes that it starts and ends, and the pipes to them. The process gets an environment without
secrets and a memory limit, and its process group ends with it. It is separated, not sandboxed: it can read the files
that this user can read.
"""

from custody.sdk.worker.process import CapturedOutput, Limits, WorkerEnd, WorkerProcess

__all__ = ["CapturedOutput", "Limits", "WorkerEnd", "WorkerProcess"]
