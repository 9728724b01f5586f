"""What a statement rests on, and whether that holds (document 003).

A pure floor: it may import ``model``, ``sketch``, its own parsers and the standard library's value tools; it knows no
other domain.
"""
