"""Whether a change is already there (document 002).

A pure floor: it may import ``model`` and the standard library's value tools; it knows no other domain.
"""
