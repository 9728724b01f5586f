"""The command line: the table of verbs, and the verbs that belong to no single package.

May touch the terminal. Asks use cases, never the store, git or an engine. Data goes to stdout, messages to stderr.
"""
