"""What an agent's hook runs: the durable event file.

May touch: the spool folder. Standard library only, and nothing of ours, because these files are copied beside the
store and run there by whatever Python the machine has.
"""
