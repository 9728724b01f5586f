"""SQL that only pages need, typed rows out.

May touch the open database that it is given.
"""
