"""Tables of figures, and whether a budget was met."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def show(title: str, header: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    cells = [list(map(str, header)), *[[_text(value) for value in line] for line in lines]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    print(f"\n{title}")
    for number, line in enumerate(cells):
        print("  " + "  ".join(_aligned(cell, widths[n], first=n == 0) for n, cell in enumerate(line)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


def budget(what: str, found: float, most: float, unit: str = "x") -> bool:
    """Prints the verdict; nothing is asserted, since a busy machine is no bug."""
    met = found <= most
    print(f"  budget {what}: at most {most:g}{unit}, found {found:.2f}{unit}: {'met' if met else 'MISSED'}")
    return met


def at_least(what: str, found: float, least: float, unit: str = "x") -> bool:
    """The same, where more is better."""
    met = found >= least
    print(f"  budget {what}: at least {least:,g}{unit}, found {found:,.2f}{unit}: {'met' if met else 'MISSED'}")
    return met


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _text(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _aligned(cell: str, width: int, *, first: bool) -> str:
    return cell.ljust(width) if first else cell.rjust(width)
