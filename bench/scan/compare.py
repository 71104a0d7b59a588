#!/usr/bin/env python3
"""Sets of patterns as in figures 8 and 9 of the PowerEN paper: ours beside Hyperscan and Vectorscan.

  compare.py --bench PROGRAM --out DIR [--rival LIBRARY]... [--rounds N] [--cpu N] [NAME...]

Makes the sets and inputs (workload.py), runs the bench `sets` on them, and writes DIR/table.md and DIR/scan.svg, with what
the paper's chip reached, all its lanes together. NAMEs choose sets: simple100, complex500, long200 ..."""

import argparse
import csv
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "openssl"))
import chart  # noqa: E402

SIMPLE = [100, 200, 300, 600, 1000, 2000, 3500]
COMPLEX = [50, 100, 200, 500, 1000, 2000]
# Gbit/s of the whole chip, read from the paper's figures and text.
CHIP = {"simple100": 45, "simple200": 45, "simple300": 45, "simple600": 45, "simple1000": 36,
        "simple3500": 17, "complex50": 51, "complex100": 51, "complex200": 51, "complex2000": 16}
SETS = {
    "Simple: strings of 10": [f"simple{n}" for n in SIMPLE],
    "Complex, strings of 4 to 14": [f"complex{n}" for n in COMPLEX],
    "Complex, strings of 8 to 14": [f"long{n}" for n in COMPLEX],
}


def run(a, folder: Path) -> list[dict[str, str]]:
    """The rows of the bench: a set, a mode and a library each."""
    names = a.names or [name for names in SETS.values() for name in names]
    out = a.out / "rows.csv"
    command = [a.bench, "--rounds", str(a.rounds), "--csv", str(out)]
    for rival in a.rival:
        command += ["--rival", rival]
    if a.cpu is not None:
        command = ["taskset", "-c", str(a.cpu), *command]
    subprocess.run([*command, str(folder), *names], check=True)
    with out.open() as lines:
        return list(csv.DictReader(lines))


def table(rows: list[dict[str, str]]) -> str:
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    rates = {(row["set"], row["mode"], row["library"]): float(row["gbit_per_s"]) for row in rows}
    lines = ["| set | mode | " + " | ".join(libraries) + " | ours beside the best |",
             "|---|---|" + "---|" * (len(libraries) + 1)]
    for name, mode in dict.fromkeys((row["set"], row["mode"]) for row in rows):
        own, *others = [rates.get((name, mode, library)) for library in libraries]
        best = max((rate for rate in others if rate), default=None)
        cells = [f"{rate:.1f}" if rate else "" for rate in (own, *others)]
        ratio = f"{own / best:.2f}" if best else ""
        lines.append(f"| {name} | {mode} | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines) + "\n"


def picture(rows: list[dict[str, str]]) -> str:
    libraries = list(dict.fromkeys(row["library"] for row in rows))
    # Colours are those of the other charts: ours, the rivals, the hardware.
    series = dict(zip(libraries, ["synchronous", "software", "openssl"]))
    panels = []
    for title, names in SETS.items():
        for mode in ("block", "stream"):
            present = {row["set"] for row in rows if row["mode"] == mode}
            names_here = [name for name in names if name in present]
            if not names_here:
                continue
            bars = {}
            for library in libraries:
                found = {row["set"]: row for row in rows
                         if row["mode"] == mode and row["library"] == library}
                bars[library] = [
                    chart.Value(*(float(found[name][key]) for key in ("least", "gbit_per_s", "most")))
                    if name in found else None for name in names_here]
            bars["the paper's chip"] = [chart.Value(c, c, c) if (c := CHIP.get(name)) else None
                                        for name in names_here]
            groups = ["".join(filter(str.isdigit, name)) for name in names_here]
            panels.append(chart.Panel(f"{title}; {mode}", groups, bars))
    text = chart.svg(
        "Pattern matching: one core beside a chip",
        ["Scans of 1000 bytes, CPU time of one core, medians; the chip is all of the PowerEN's engine.",
         "Sets and inputs as in section 5.3 of the paper (bench/scan/workload.py)."],
        "Gbit/s", "patterns", panels)
    for library, colour in [*series.items(), ("the paper's chip", "ipsec-mb")]:
        text = text.replace(f'class="{library}"', f'class="{colour}"')
    return text


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bench", required=True), p.add_argument("--out", type=Path, required=True)
    p.add_argument("--rival", action="append", default=[])
    p.add_argument("--rounds", type=int, default=11), p.add_argument("--cpu", type=int)
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    folder = a.out / "workload"
    if not (folder / "long2000.in").is_file():
        subprocess.run([sys.executable, str(HERE / "workload.py"), str(folder)], check=True)
    rows = run(a, folder)
    (a.out / "table.md").write_text(table(rows))
    (a.out / "scan.svg").write_text(picture(rows))
    print(table(rows), end="")
    print(f"{a.out}/table.md, {a.out}/scan.svg")


main()
