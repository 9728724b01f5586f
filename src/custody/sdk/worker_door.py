"""A worker for whoever runs code through the bridge; the surfaces ask here, never the door itself."""

from custody.sdk.worker import Captured, Ending, Limits, Worker

__all__ = ["Captured", "Ending", "Limits", "Worker"]
