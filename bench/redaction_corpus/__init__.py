"""Generated secrets and harmless texts for redaction: seeded, no network, no real secret.

Here: how samples are drawn, and the seen half of the kinds, which rules and tests may look at. The other half is in
a folder of its own, which only the figures read.
"""
