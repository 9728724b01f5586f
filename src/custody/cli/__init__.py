"""The command line: the table of verbs, and the verbs that combine several packages.

May touch the terminal. Calls use cases, never the store, git or an engine. Data goes to stdout, messages to stderr.
"""
