"""How accurately tools attribute lines: generated histories with known authors, and each tool's answer per line."""
