"""The verbs of the gate.

May touch the terminal. Asks use cases and renders their reports.
"""
