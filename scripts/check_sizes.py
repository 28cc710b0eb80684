"""A file that outgrows its noun, or a function that outgrows a screen, is where bugs live: say so before it lands."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_LINES = 400
FUNCTION_LINES = 60


def tracked() -> list[Path]:
    """Python files that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def too_big(path: Path) -> list[str]:
    text = path.read_text("utf-8")
    name = path.relative_to(ROOT)
    found: list[str] = []
    lines = text.count("\n")
    if lines > FILE_LINES:
        found.append(f"{name}: {lines} lines, at most {FILE_LINES}: split it by noun")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                found.append(f"{name}:{node.lineno}: {node.name} has {length} lines, at most {FUNCTION_LINES}")
    return found


def main() -> int:
    found = [problem for path in tracked() for problem in too_big(path)]
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
