"""Icons as SVG: 16 by 16, drawn in the color of the text around them."""

from markupsafe import Markup

SHAPES = {
    "check": '<path d="M3 8.5l3.2 3.2L13 4.8"/>',
    "alert": '<path d="M8 2.2l6.3 11.3H1.7zM8 6.5v3.2M8 11.6v.1"/>',
    "stop": '<path d="M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4"/>',
    "chevron": '<path d="M6 3.5L10.5 8 6 12.5"/>',
    "search": '<path d="M11.5 7a4.5 4.5 0 11-9 0 4.5 4.5 0 019 0zM10.4 10.400L14 14"/>',
    "clock": '<path d="M14 8A6 6 0 112 8a6 6 0 0112 0zM8 4.800V8l2.2 1.6"/>',
    "file": '<path d="M4 1.800h5l3.2 3.200v9.200H4zM9 1.800V5h3.2"/>',
    "terminal": '<path d="M2 3h12v10H2zM4.5 6l2.2 2-2.2 2M8.5 10.300h3"/>',
    "edit": '<path d="M10.8 2.600l2.6 2.6-7.8 7.8-3.2.6.6-3.200z"/>',
    "book": '<path d="M8 3.600C6.6 2.7 4.6 2.4 2 2.600v10c2.6-.2 4.6.1 6 1 1.4-.9 3.4-1.2 6-1v-10'
    'c-2.6-.2-4.6.1-6 1zM8 3.600v10"/>',
    "commit": '<path d="M10.8 8a2.8 2.8 0 11-5.6 0 2.8 2.8 0 015.6 0zM1.5 8h3.700M10.8 8h3.7"/>',
    "copy": '<path d="M5.2 5.200h8.300v8.300H5.200zM10.6 5.200V2.500H2.500v8.100h2.7"/>',
    "link": '<path d="M6.8 9.200l2.4-2.400M7.2 4.600l1.5-1.500a2.9 2.9 0 014.1 4.100l-1.5 1.500M8.8 11.4'
    'l-1.5 1.500a2.9 2.9 0 01-4.1-4.100l1.5-1.5"/>',
    "retry": '<path d="M13 6.500A5.3 5.3 0 003.4 5M3 9.500A5.3 5.3 0 0012.6 11M3.2 2.200v3h3M12.8 13.800v-3h-3"/>',
    "out": '<path d="M6.5 3H3v10h10V9.500M9 2.500h4.500V7M13.2 2.800L7.5 8.5"/>',
    "quote": '<path d="M3 4h10M3 8h10M3 12h6"/>',
    "test": '<path d="M6 2h4M6.8 2v4L3 13a1 1 0 00.9 1.400h8.200A1 1 0 0013 13L9.2 6V2M4.8 10h6.4"/>',
    "duplicate": '<path d="M2 2h8v8H2zM6 6h8v8H6z"/>',
    "theme": '<path d="M13.5 9.800A6 6 0 016.2 2.500a6 6 0 107.3 7.300z"/>',
    "eye": '<path d="M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM10 8a2 2 0 11-4 0 2 2 0 014 0z"/>',
    "lock": '<path d="M3 7h10v7H3zM5 7V5a3 3 0 016 0v2"/>',
    "person": '<path d="M10.8 5a2.8 2.8 0 11-5.6 0 2.8 2.8 0 015.6 0zM2.8 14c.5-3 2.6-4.5 5.2-4.5s4.7 1.5 5.2 4.5"/>',
    "close": '<path d="M4 4l8 8M12 4l-8 8"/>',
}


def render_icon(name: str, label: str = "") -> Markup:
    """Return an icon; without a label, screen readers skip it."""
    role = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    return Markup('<svg class="i" viewBox="0 0 16 16" {}>{}</svg>').format(role, Markup(SHAPES[name]))
