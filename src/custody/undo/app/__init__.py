"""The use cases of ``undo``: select the work, make the patch, apply it."""
