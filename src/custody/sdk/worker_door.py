"""A worker for whoever runs code through the bridge; the surfaces ask here, never the door itself."""

from custody.sdk.worker import CapturedOutput, Limits, WorkerEnd, WorkerProcess

__all__ = ["CapturedOutput", "Limits", "WorkerEnd", "WorkerProcess"]
