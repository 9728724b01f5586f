"""The command line: one file per verb, each declaring its own arguments.

A thin surface: asks ``app``, shows what ``wire`` shapes, never touches the world or an engine. Data goes to stdout,
talk to stderr.
"""
