"""The use cases of ``undo``: select the work, make the patch, apply it.

May touch the store and git through the workspace, and files of the work tree.
"""
