"""Grouped bars as SVG, several panels in one picture; readable in light and dark.

The look is that of `parcomp bench`: the same style sheet, the same tones.
"""

import math
from dataclasses import dataclass
from html import escape

STYLE = (
    ".la-chart{--bg:#fff;--ink:#1b1f24;--dim:#57606a;--grid:#e3e6ea;--axis:#8b949e;"
    "--software:#b84a00;--asynchronous:#0068a6;--synchronous:#00795a;"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',"
    "sans-serif}"
    "@media(prefers-color-scheme:dark){.la-chart{--bg:#14181d;--ink:#e8ebee;--dim:#a3acb6;"
    "--grid:#2b3138;--axis:#6b747e;--software:#ff9e4a;--asynchronous:#5ab4f0;"
    "--synchronous:#3dc99c}}"
    ".la-chart .bg{fill:var(--bg)}.la-chart text{fill:var(--ink);font-size:14px}"
    ".la-chart .title{font-size:19px;font-weight:700}.la-chart .sub,.la-chart .dim{fill:var(--dim)}"
    ".la-chart .small{font-size:12.5px}.la-chart .strong{font-weight:700}"
    ".la-chart .grid{stroke:var(--grid)}.la-chart .axis{stroke:var(--axis)}"
    ".la-chart .whisker{stroke:var(--ink);stroke-width:1.2;opacity:.55}"
    ".la-chart .software{fill:var(--software)}.la-chart .synchronous{fill:var(--synchronous)}"
    ".la-chart .asynchronous{fill:var(--asynchronous)}"
    ".la-chart .burst{fill:var(--asynchronous)}.la-chart .requests{fill:var(--synchronous)}"
    ".la-chart .openssl{fill:var(--software)}.la-chart .ipsec-mb{fill:var(--axis)}"
    ".la-chart rect[class*=engine]{fill:var(--asynchronous)}"
    ".la-chart rect[class='1-engine']{fill:var(--synchronous)}"
)

MARGIN = 24.0
WIDTH = 940.0
PANEL = 250.0


@dataclass
class Value:
    """The median of a bar, between the least and the most."""

    least: float
    median: float
    most: float
    # Written above the bar; may be empty.
    label: str = ""


@dataclass
class Panel:
    """One diagram: for each group a bar of every series, in their order."""

    title: str
    groups: list[str]
    bars: dict[str, list[Value | None]]
    # The axis grows by factors; all panels of a row alike.
    logarithmic: bool = False


def ticks(high: float) -> list[float]:
    """Round ticks from 0 to not less than `high`."""
    rough = max(high, 1e-9) / 4
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    return [n * step for n in range(math.ceil(high / step - 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten from not more than `low` to not less than `high`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0**n for n in range(first, max(last, first + 1) + 1)]


def svg(title: str, subtitle: list[str], y_title: str, x_title: str, panels: list[Panel], columns: int = 2) -> str:
    """The picture: panels side by side, where there are more than one, in so many columns."""
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    top = 44.0 + 19.0 * len(subtitle) + 34.0
    height = top + rows * (PANEL + 96.0)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="la-chart" role="img" '
        f'viewBox="0 0 {WIDTH:.0f} {height:.0f}">',
        f"<title>{escape(title)}</title><desc>{escape(' '.join(subtitle))}</desc>",
        f"<style>{STYLE}</style>",
        f'<rect class="bg" width="{WIDTH:.0f}" height="{height:.0f}"/>',
        f'<text x="{MARGIN}" y="30" class="title">{escape(title)}</text>',
    ]
    for row, line in enumerate(subtitle):
        out.append(f'<text x="{MARGIN}" y="{52 + 19 * row}" class="sub">{escape(line)}</text>')
    x = MARGIN
    for series in panels[0].bars:
        y = top - 26
        out.append(f'<rect class="{series}" x="{x:.1f}" y="{y:.1f}" width="13" height="13"/>')
        out.append(f'<text x="{x + 19:.1f}" y="{top - 14.5:.1f}" class="strong">{series}</text>')
        x += 40 + 8.2 * len(series)
    width = (WIDTH - 2 * MARGIN) / columns
    for nth, panel in enumerate(panels):
        # One scale for a row: its panels are compared with each other too.
        row = panels[nth - nth % columns:][:columns]
        values = [v for p in row for bars in p.bars.values() for v in bars if v]
        high = max((v.most for v in values), default=1.0)
        marks = decades(min(v.least for v in values), high) if panel.logarithmic else ticks(high * 1.06)
        left = MARGIN + width * (nth % columns)
        y = top + (PANEL + 96.0) * (nth // columns)
        out += panel_svg(panel, left, y + 44.0, width - 16.0, marks, y_title, x_title)
    out.append("</svg>\n")
    return "\n".join(out)


def panel_svg(panel, left, top, width, marks, y_title, x_title) -> list[str]:
    """The shapes of one panel, its plot beginning at `top`."""
    plot, bottom = left + 58.0, top + PANEL - 24.0
    right = left + width
    scale = math.log10 if panel.logarithmic else float
    low, high = scale(marks[0]), scale(marks[-1])

    def at(value: float) -> float:
        return bottom - (bottom - top) * (scale(value) - low) / (high - low)

    out = [
        f'<text x="{left:.1f}" y="{top - 34:.1f}" class="strong">{escape(panel.title)}</text>',
        f'<text x="{left:.1f}" y="{top - 16:.1f}" class="small dim">{escape(y_title)}</text>',
    ]
    for mark in marks:
        y = at(mark)
        kind = "axis" if mark == marks[0] else "grid"
        out.append(
            f'<line class="{kind}" x1="{plot:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}"/>'
        )
        out.append(
            f'<text class="small dim" text-anchor="end" x="{plot - 8:.1f}" y="{y + 4:.1f}">'
            f"{mark:,.{1 if 0 < mark < 1 else 0}f}</text>"
        )
    group = (right - plot) / len(panel.groups)
    bar = group * 0.8 / len(panel.bars)
    for g, name in enumerate(panel.groups):
        begin = plot + group * g + group * 0.1
        for s, (series, bars) in enumerate(panel.bars.items()):
            value = bars[g]
            if value is None:
                continue
            x, y = begin + bar * s, at(value.median)
            middle = x + bar / 2
            out.append(
                f'<rect class="{series}" x="{x + 1:.1f}" y="{y:.1f}" width="{bar - 2:.1f}" '
                f'height="{max(bottom - y, 0.5):.1f}"><title>{escape(series)}: '
                f"{value.median:,.0f} ({value.least:,.0f} to {value.most:,.0f})</title></rect>"
            )
            out.append(
                f'<line class="whisker" x1="{middle:.1f}" y1="{at(value.least):.1f}" '
                f'x2="{middle:.1f}" y2="{at(value.most):.1f}"/>'
            )
            if value.label:
                out.append(
                    f'<text class="small strong {series}" text-anchor="middle" '
                    f'x="{middle:.1f}" y="{at(value.most) - 5:.1f}">{escape(value.label)}</text>'
                )
        out.append(
            f'<text class="small dim" text-anchor="middle" x="{begin + group * 0.4:.1f}" '
            f'y="{bottom + 17:.1f}">{escape(name)}</text>'
        )
    out.append(
        f'<text class="small strong dim" text-anchor="middle" x="{(plot + right) / 2:.1f}" '
        f'y="{bottom + 36:.1f}">{escape(x_title)}</text>'
    )
    return out


PAGE_STYLE = (
    ":root{color-scheme:light dark;--bg:#f5f6f8;--card:#fff;--ink:#1b1f24;--dim:#57606a;"
    "--line:#dde1e6}"
    "@media(prefers-color-scheme:dark){:root{--bg:#0d1014;--card:#14181d;--ink:#e8ebee;"
    "--dim:#a3acb6;--line:#2b3138}}"
    "body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"
    "'Segoe UI',Roboto,'Liberation Sans','DejaVu Sans',sans-serif}"
    "main{max-width:1000px;margin:0 auto;padding:32px 20px 64px}"
    "h1{font-size:28px;line-height:1.2;margin:0 0 12px}h2{font-size:19px;margin:0 0 12px}"
    "section{background:var(--card);border:1px solid var(--line);border-radius:8px;"
    "padding:22px 26px;margin:22px 0}svg{width:100%;height:auto;display:block}"
    "figure{margin:0 -16px}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:14px}"
    "th,td{padding:3px 14px 3px 0;text-align:right;border-bottom:1px solid var(--line);"
    "white-space:nowrap}th{color:var(--dim);font-weight:600}"
    "th:nth-child(-n+3),td:nth-child(-n+3){text-align:left}.dim{color:var(--dim)}"
)


def page(title: str, about: list[str], pictures: list[str], rows: list[list[str]]) -> str:
    """One HTML page: nothing to fetch. The first row is the table's head."""
    head, *body = rows
    cells = lambda row, tag: "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
    table = "<tr>" + cells(head, "th") + "</tr>\n"
    table += "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in body)
    figures = "\n".join(f"<section><figure>{picture}</figure></section>" for picture in pictures)
    said = "\n".join(f'<p class="dim">{escape(line)}</p>' for line in about)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{said}\n{figures}\n"
        f'<section><h2>All figures</h2><div class="scroll"><table>\n{table}\n</table></div>'
        "</section>\n</main>\n</body>\n</html>\n"
    )
