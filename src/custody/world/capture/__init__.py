"""What captured events mean: one reader per agent format, from an agent's own shape to our views.

May touch nothing: readers are functions of what the store hands them. It may use the hook's redaction.
"""

from custody.world.capture.hooks import HOOK_VERSION, hook_views, snapshot_views

__all__ = ["HOOK_VERSION", "hook_views", "snapshot_views"]
