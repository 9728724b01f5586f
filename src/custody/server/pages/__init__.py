"""Pages: the answers of the commands as HTML, with small scripts.

May touch: templates and built files of this package. It calls ``app`` and knows nothing of HTTP, so that the same
pages are served (``server/routes/pages``) and written as files (``custody report --html``).

```text
page      a page: its name, its parameters, and a function from a Workspace to a PageView
book      every page
frame     a PageView as HTML: links, built files, content policy
files     the pages as files of a report
phrases   numbers, times and text of records, safe to show
charts    charts as SVG without a script
icons     icons as SVG
```

To add a page: a module with its ``PAGES``, its template, and its row in ``book``. A template uses
``{{ to('session', id=...) }}`` for a URL, ``{{ part('overview-share', 'Counting…') }}`` for a part that is loaded
later, ``{{ block('name', data) }}`` for the data of a script, and ``{{ count_noun(3, 'line') }}`` for plurals. It has
no inline script and no inline style: the content policy would block them. The components are macros of
``templates/_components.html``: verdict, risk, who, certainty, share of lines, chips, notes, empty, error and progress.
Scripts and styles are in ``web/src``, built into ``server/static``. ``app.css`` is on every page; a sheet named in
``web/build.mjs`` is on the pages that list it in ``PageView.styles``.
"""
