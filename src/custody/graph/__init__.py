"""What an agent called, inside what, in what order (document 004).

A pure floor: it may touch ``model``, the standard library's value tools and, in ``csr.py`` alone, numpy; it knows no
other domain.
"""
