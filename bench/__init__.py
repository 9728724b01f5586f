"""Figures behind every claim of "faster" or "safe": ratios against a named baseline, growth in steps, faults.

This package is not part of custody itself. It may import any package of ``custody``, start programs and read the clock;
nothing in ``src/custody`` imports it.
"""
