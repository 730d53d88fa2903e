"""One HTML file that needs nothing else: style, script, plotly and data stand in it, and it may not fetch anything."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from airoas import __version__
from airoas.errors import OptionError
from airoas.tables import plain

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; form-action 'none'; base-uri 'none'"
)


def page(title: str, parts: list[str], data: dict[str, Any] | None = None) -> str:
    """A page of these parts, which are HTML already; the title is not. data: for the charts, which need plotly."""
    scripts = [f"<script>\n{_source('theme.js')}</script>"]
    if data is not None:
        scripts.append(f'<script type="application/json" id="data">{embedded(data | {"templates": _templates()})}</script>')
        scripts.append(f"<script>{_plotly()}</script>")
        scripts.append(f"<script>\n{_source('steps.js')}</script>")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>
{_source("page.css")}</style>
</head>
<body>
<header><h1>{escape(title)}</h1><button type="button" id="theme">light or dark</button></header>
<main>
{chr(10).join(parts)}
</main>
<footer>airoas {__version__}</footer>
{chr(10).join(scripts)}
</body>
</html>
"""


def embedded(data: Any) -> str:
    """JSON that may stand in a page: whatever it holds, no tag begins in it."""
    return json.dumps(plain(data), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _source(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise OptionError("plotly is not installed", "pip install 'airoas[viz]'.") from None
    script: str = get_plotlyjs()
    return script.replace("</script", "<\\/script")


def _templates() -> dict[str, Any]:
    """plotly's colours for a light and a dark page."""
    import plotly.io

    return {mode: plotly.io.templates[name].to_plotly_json() for mode, name in (("light", "plotly_white"), ("dark", "plotly_dark"))}
