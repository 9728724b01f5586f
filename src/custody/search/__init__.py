"""Search: sessions found by words of their prompts, answers, commands, files and commits.

``model`` splits texts into words and ranks sessions. ``queries`` has the index, which is derived from views and
transcripts and catches up when a search needs it. ``app`` brings both together. May touch ``workspace``, ``store``,
``capture`` and ``git``.
"""
