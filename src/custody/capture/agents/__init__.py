"""One package per agent, from its own shapes to custody's views; no agent imports another.

May touch the transcripts and databases that the caller names.
"""
