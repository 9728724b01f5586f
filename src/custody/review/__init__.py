"""What to read in a change, in which order, and what records show about each hunk.

The files at the top are pure: they may import ``core`` and JSON shapes, and touch nothing outside.
"""
