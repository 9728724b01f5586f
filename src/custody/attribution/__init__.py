"""Which session wrote a line, and how sure we are (document 000).

A pure floor: it may import ``model`` and the standard library's value tools; it knows no other domain.
"""
