"""Whether a change is already there (document 002).

The files at the top and ``facts`` are pure: they may import ``core``, ``sketch`` and the standard library's value
tools, and no other question.
"""
