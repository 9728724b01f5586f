"""What people say about code: which hunks of a change they read, and which lines they wrote by hand.

May touch the store and git through its workspace, and uses the answers of other packages. Such a statement explains
lines and changes. It never makes a verdict milder unless somebody vouches who does not profit.
"""
