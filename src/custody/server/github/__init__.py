"""GitHub: the shapes of its deliveries and reports, and the adapter to its API.

The shapes touch nothing; ``api`` may touch the network.
"""
