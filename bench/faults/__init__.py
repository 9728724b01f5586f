"""Deliberate faults in counted rounds: what was broken, how often, and what was lost.

A fault is one function from a :class:`~bench.faults.frame.Trial` to figures. The command runs it with many rounds, the
tests run the same function with few.
"""
