#!/usr/bin/env python3
"""Documents as in figures 18 and 19 of the PowerEN paper, beside other libraries: `plot.py ROWS.csv FOLDER`.

ROWS.csv is what the benches of crates/xml wrote (LOOKASIDE_XML_CSV). FOLDER gets throughput.svg, latency.svg and table.md."""

import csv
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "openssl"))
import chart  # noqa: E402

BENCHES = {"events": "Events, with namespaces", "tree": "Trees", "select": "Events, and XPath expressions in the same pass",
           "schema": "Events, and XML Schema in the same pass"}
# Rows of the table alone.
NOT_DRAWN = {"index alone", "own 1", "own 1000", "all 1", "all 10", "all 100", "all 1000"}
# Colours are those of the other charts.
COLOURS = ["synchronous", "software", "ipsec-mb", "asynchronous"]


def short(document: str) -> str:
    """A name that fits under a bar."""
    return document.removesuffix(".xml").split(".")[0].split("_")[0][:11]


def panels(rows: list[dict[str, str]], value, logarithmic: bool) -> list[chart.Panel]:
    """One for each bench; documents by their size, as in the paper."""
    found = []
    for bench, title in BENCHES.items():
        here = [row for row in rows if row["bench"] == bench and row["contender"] not in NOT_DRAWN]
        if not here:
            continue
        sizes = {row["document"]: int(row["bytes"]) for row in here}
        documents = sorted(sizes, key=sizes.get)
        by = {(row["contender"], row["document"]): row for row in here}
        bars = {}
        for contender in dict.fromkeys(row["contender"] for row in here):
            values = [by.get((contender, document)) for document in documents]
            bars[contender] = [row and value(row) for row in values]
        found.append(chart.Panel(f"{title}: {', '.join(bars)}", [short(one) for one in documents], bars, logarithmic))
    return found


def rate(row: dict[str, str]) -> chart.Value:
    """MB/s."""
    size = float(row["bytes"]) * 1e3
    return chart.Value(*(size / float(row[key]) for key in ("most_ns", "median_ns", "least_ns")))


def latency(row: dict[str, str]) -> chart.Value:
    """Microseconds."""
    return chart.Value(*(float(row[key]) / 1e3 for key in ("least_ns", "median_ns", "most_ns")))


def picture(title: str, y_title: str, all_panels: list[chart.Panel]) -> str:
    """Each panel's contenders have the colours of their order."""
    names = list(dict.fromkeys(name for panel in all_panels for name in panel.bars))
    text = chart.svg(title, ["CPU time of one core, medians; documents by their size.",
                             "Ours is first in each panel; the colours follow the order of its names."],
                     y_title, "document", all_panels, columns=1)
    colour = {name: COLOURS[min(list(panel.bars).index(name), 3)]
              for panel in all_panels for name in panel.bars}
    for name in names:
        text = text.replace(f'class="{name}"', f'class="{colour[name]}"')
    return text


def table(rows: list[dict[str, str]]) -> str:
    lines = []
    for bench, title in BENCHES.items():
        cells = defaultdict(dict)
        for row in rows:
            if row["bench"] == bench:
                cells[row["document"], row["bytes"]][row["contender"]] = row
        if not cells:
            continue
        contenders = list(dict.fromkeys(name for found in cells.values() for name in found))
        lines += [f"{title}: MB/s (microseconds)", "", "| document | bytes | " + " | ".join(contenders) + " |",
                  "|---|---|" + "---|" * len(contenders)]
        for (document, size), found in cells.items():
            shown = (f"{rate(row).median:.0f} ({latency(row).median:,.1f})" if (row := found.get(name)) else ""
                     for name in contenders)
            lines.append(f"| {document} | {size} | " + " | ".join(shown) + " |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Pictures and table."""
    with open(sys.argv[1], encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "throughput.svg").write_text(
        picture("XML: throughput", "MB/s", panels(rows, rate, False)))
    (folder / "latency.svg").write_text(
        picture("XML: latency of a document", "microseconds", panels(rows, latency, True)))
    (folder / "table.md").write_text(table(rows))
    print(f"{folder}/throughput.svg, {folder}/latency.svg, {folder}/table.md")


main()
