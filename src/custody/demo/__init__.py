"""The story of ``custody demo``: a sample repository, sessions of two agents and a person, six changes, every verb.

May touch: a temporary folder of its own, git and a database in it; while the story runs, this process's environment,
working directory, standard streams and clock, all put back afterwards. Reads no setting and no file of the user's.
"""
