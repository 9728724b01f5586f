"""The verbs of ``why``.

May touch the terminal. Asks use cases and renders their reports.
"""
