"""Are modules and functions small? Files stop at 400 lines, functions at 40 (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

MOST_LINES, MOST_FUNCTION_LINES = 400, 40


def too_large(path: Path) -> list[str]:
    """Return what is too large in one file."""
    text = path.read_text(encoding="utf-8")
    found = []
    if (lines := text.count("\n")) > MOST_LINES:
        found.append(f"{path}: {lines} lines")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            if size > MOST_FUNCTION_LINES:
                found.append(f"{path}:{node.lineno} {node.name}: {size} lines")
    return found


def main(root: str) -> int:
    """Print what is too large below ``root``."""
    found = [line for path in sorted(Path(root).rglob("*.py")) for line in too_large(path)]
    print("\n".join(found) or "sizes: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
