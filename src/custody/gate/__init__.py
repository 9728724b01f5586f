"""What is to be said about a change before it lands: one verdict, with its reasons by code.

A pure floor above the domains: it may import them, ``model`` and the standard library's value tools. What was seen of a
change is handed in; a check never goes looking, and what nobody saw is never taken for good news.
"""
