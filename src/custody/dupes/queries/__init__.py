"""SQL over the index of changes, typed rows out.

May touch the open database that it is given.
"""
