"""The JSON of shared chains."""
