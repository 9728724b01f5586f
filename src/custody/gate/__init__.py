"""The verdict on a change before it is merged, with its reasons by code.

The files at the top and ``checks`` are pure: they may import ``core``, the pure files of the questions and the standard
library's value tools. Evidence is passed in: a check never searches, and missing evidence never counts as good.
"""
