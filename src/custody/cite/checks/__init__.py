"""What is looked at in a report: a function for each kind of finding, which yields what it found.

Like all of ``cite``, they may touch nothing outside.
"""
