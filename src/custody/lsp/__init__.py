"""Editors: a language server that shows who wrote a line and why.

May use the answers of why, blame and the gate, and only here is pygls imported. It never writes into a file.
"""
