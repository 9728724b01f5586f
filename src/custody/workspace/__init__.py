"""One repository with its store, its spool, its clock and the rules in force, per command.

May touch git, the store, the spool, the environment, the clock and randomness: it passes them to the use cases.
"""
