"""Settings files as people have them."""
