"""The verbs of trust.

May touch the terminal. Calls use cases and renders their reports.
"""
