"""SQL over records that belongs to no single question, typed rows out.

May touch the open database that it is given.
"""
