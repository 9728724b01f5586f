"""Agents: a server of read-only tools about this repository, in the Model Context Protocol.

May use the answers of why, blame, dupes and the ledger. Whatever comes from records is framed as data.
"""
