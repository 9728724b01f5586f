"""The story of ``custody demo``: a sample repository, sessions of two agents, commits of a person, six changes.

May touch: its own temporary folder, git and a database in it; while the story runs, this process's environment,
working directory, standard streams and clock, all restored at the end. Reads no settings and no files of the user.
"""
