"""The verbs of the call graph.

May touch the terminal. Asks use cases and renders their reports.
"""
