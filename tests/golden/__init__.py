"""Golden answers: the bytes that users and programs see, stored as files and compared with each run.

A restructuring must leave them as they are. A change of behavior updates them on purpose::

    python -m tests.golden           rewrite every file of tests/golden/answers
    python -m tests.golden demo      rewrite those whose name starts with "demo"
"""
