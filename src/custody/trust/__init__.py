"""What an agent's record lets it land without a person looking (document 001).

A pure floor: it may import ``model`` and the standard library's value tools; it knows no other domain.
"""
