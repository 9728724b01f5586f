"""The ledger: records, sessions, gaps, and whether all of it is as it was written."""
