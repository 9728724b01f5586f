"""Records: list, show, erase and verify them, with their sessions and gaps.

May touch the store, through the workspace that it is given.
"""
