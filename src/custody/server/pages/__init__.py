"""Pages for people: what the verbs answer, to look at. Rendered here, from the same questions, with small islands.

May touch: templates and built files inside this package; it asks ``app`` and knows nothing of HTTP, so that the same
pages are served (``server/routes/pages``) and written as files (``custody report --html``).

```text
page     what a page is: its name, what it can be asked, and a function from a Workspace to a View
book     every page there is
links    where a page is: an address of the service, or a file of a report
shown    text of records as text: nothing in it can act, turn around or grow without end
frame    a View as HTML: one environment, everything escaped
charts   pictures of numbers, as SVG without a script
```

To add a page: a module with its ``PAGES``, its template, and its row in ``book``. A template says ``{{ to('session',
id=...) }}`` for an address and never writes one, ``{{ part('overview-share', 'Counting…') }}`` for what comes later,
``{{ block('name', data) }}`` for what an island reads, and has neither inline script nor inline style: the content
policy would not run them. Islands are in ``web/src``, built into ``server/static``.
"""
