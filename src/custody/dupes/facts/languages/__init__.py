"""One module per language, each with its ``Reader``: which nodes of its syntax are facts, and which facts they are.

Like all of ``facts``, they may touch nothing outside.
"""
