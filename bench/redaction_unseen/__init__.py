"""The unseen half: kinds, surroundings and harmless texts that no rule and no rule's test may look at.

Only ``bench/redaction.py`` imports this folder; a test holds that. It was written before the first rule, from the shapes
that the services publish.
"""
