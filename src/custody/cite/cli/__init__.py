"""The verbs of citations.

May touch the terminal. Asks use cases and renders their reports.
"""
