"""Records: list, show, erase and verify them, with their sessions and gaps.

May touch the store, through its workspace.
"""
