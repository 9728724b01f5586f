"""The verbs of trust.

May touch the terminal. Asks use cases and renders their reports.
"""
