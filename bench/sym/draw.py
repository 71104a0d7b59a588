"""Draws what `cargo bench --bench sym` measured: one page with pictures and all figures.

    draw.py FOLDER     with sizes.csv, and calls.csv, sets.csv and threads.csv where they are

Rates against sizes, as paper 3's table 6; rates against the number of engines, as paper 5's figures
10 and 11; one request for cipher and MAC against two, as its section 6.2.1.
"""

import csv
import datetime
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "openssl"))

import chart  # noqa: E402

SERIES = {"requests": "requests_gbit_s", "burst": "burst_gbit_s", "ipsec-mb": "ipsec_mb_gbit_s",
          "openssl": "openssl_gbit_s"}


def rows(path: Path) -> list[dict]:
    """The rows of a CSV file; none without it."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def value(text: str, labelled: bool = True) -> chart.Value | None:
    """A bar of one figure; none where it was not measured."""
    if not text:
        return None
    number = float(text)
    label = f"{number:.0f}" if number >= 10 else f"{number:.1f}"
    return chart.Value(number, number, number, label if labelled else "")


def grouped(measured: list[dict], key: str) -> dict[str, list[dict]]:
    """The rows by one of their columns, in the file's order."""
    groups: dict[str, list[dict]] = {}
    for row in measured:
        groups.setdefault(row[key], []).append(row)
    return groups


def machine() -> str:
    """The CPU's name and how many there are."""
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else 'unknown CPU'}, {os.cpu_count()} CPUs"


def by_size(measured: list[dict]) -> str:
    """Rates of one core against the size of a packet."""
    panels = [
        chart.Panel(name, [row["bytes"] for row in of],
                    {series: [value(row[column], series == "burst") for row in of]
                     for series, column in SERIES.items()})
        for name, of in grouped(measured, "algorithm").items()
    ]
    about = ["32 packets in flight, in place, one core, CPU time.",
             "requests: one for each packet; burst: one for 32; the rivals called bare."]
    return chart.svg("Symmetric algorithms", about, "Gbit/s of one core", "bytes", panels)


def by_engines(measured: list[dict]) -> str:
    """Rates of wall clock against the number of engines."""
    panels = []
    for name, of in grouped(measured, "algorithm").items():
        sizes = list(dict.fromkeys(row["bytes"] for row in of))
        bars = {
            f"{n}-engine{'s' if n != '1' else ''}": [value(row["gbit_s"]) for row in these]
            for n, these in grouped(of, "engines").items()
        }
        panels.append(chart.Panel(name, sizes, bars))
    about = ["One thread submits bursts of 32 packets; wall clock."]
    return chart.svg("Engines", about, "Gbit/s", "bytes", panels)


def main() -> None:
    folder = Path(sys.argv[1])
    sizes, calls = rows(folder / "sizes.csv"), rows(folder / "calls.csv")
    engines, sets = rows(folder / "threads.csv"), rows(folder / "sets.csv")
    pictures = []
    for name, picture in (("sizes.svg", by_size(sizes) if sizes else ""),
                          ("engines.svg", by_engines(engines) if engines else "")):
        if picture:
            (folder / name).write_text(picture)
            pictures.append(picture)
    table = [["algorithm", "bytes", *SERIES, "burst against the better rival"]]
    for row in sizes:
        rivals = [float(row[c]) for c in ("ipsec_mb_gbit_s", "openssl_gbit_s") if row[c]]
        ratio = f"{float(row['burst_gbit_s']) / max(rivals):.2f}" if rivals else ""
        table.append([row["algorithm"], row["bytes"], *(row[c] for c in SERIES.values()), ratio])
    if calls:
        table.append(["one request against two", "", "", "", "", "", ""])
        table += [[r["chain"], r["bytes"], r["one_call_ns"] + " ns", r["two_calls_ns"] + " ns",
                   "", "", r["two_to_one"]] for r in calls]
    if sets:
        table.append(["bursts of one session against bursts of 32", "", "", "", "", "", ""])
        table += [[r["algorithm"], r["bytes"], r["one_session_ns"] + " ns",
                   r["sessions_32_ns"] + " ns", "", "", r["ratio"]] for r in sets]
    about = [f"{machine()}; {datetime.date.today()}; make bench-sym", "Gbit/s of one core."]
    (folder / "index.html").write_text(
        chart.page("Symmetric algorithms, beside their rivals", about, pictures, table))
    print(f"{folder}/index.html")


if __name__ == "__main__":
    main()
