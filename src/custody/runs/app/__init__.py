"""Use cases of runs: the runs of sessions, and whether the files of a change were tested.

May touch the workspace and the store, and stores nothing; the pure files above decide.
"""
