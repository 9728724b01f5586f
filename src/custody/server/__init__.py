"""The service of a team: the HTTP API, pages, projects, jobs, pull requests.

May touch sockets, the event loop and its own threads; it calls use cases, never an adapter. Its third parties
(litestar, uvicorn, uvloop, httptools, prometheus_client) are imported nowhere else, and nothing here is imported before
``custody serve`` runs.

```text
listener      limits on a request's head: size, time                  (uvicorn)
gatekeeper    host, origin, token, project, rate, concurrency         401 403 429 431 503
endpoints     scope, time; body: type, size, unpacking                403 408 413 415
routes        one module per resource: its endpoints and their texts
writer_queue  one writer per project, group commits, answers after COMMIT; a few reader threads
problems      every error as application/problem+json, from one table
openapi       the OpenAPI document, generated from the endpoints
```

To add a resource: a module in ``routes`` with a tuple ``ENDPOINTS``, and its row in ``routes/__init__``. An endpoint is
an ``Endpoint`` (``endpoints.py``) with its path, its scope, what it takes and what it returns by status. Its ``handle``
is an ``async`` function from an ``EndpointCall`` to an ``HttpAnswer``: ``await call.body()`` is the body within the
limits, and ``await call.ask(question)`` is what ``question`` returns, a function of a ``Workspace`` that runs in a
thread of its own and may raise any of our errors. The description at ``/openapi.json``, the token, the limits, and the
tests that try every route without a token follow by themselves.
"""
