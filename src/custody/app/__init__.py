"""One file per verb: gather, decide, keep.

May touch the world only through its doors; ``desk`` is the one place where they are wired together. Nothing here
prints.
"""
