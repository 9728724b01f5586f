"""The program that agents' hooks run: it writes one durable event file.

May touch: the spool folder. Standard library only, because these files are copied beside the store and run there by any
Python.
"""
