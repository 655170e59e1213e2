"""How long until a fresh process has imported Mnemic, and until its service answers?"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.table import Line, bounded

_IMPORT = "import time; t = time.perf_counter(); import mnemic; print(time.perf_counter() - t)"
_START = """
import asyncio, time
from mnemic import MemoryService
async def main():
    start = time.perf_counter()
    async with MemoryService.open({data!r}, key_file={key!r}):
        print(time.perf_counter() - start)
asyncio.run(main())
"""
_TEXT = "We moved the weekly review to Thursday because the office is quieter then, number {}."


def imports(times: int = 5) -> Line:
    """Measure ``import mnemic`` in fresh processes."""
    return bounded("import mnemic", median(_run(_IMPORT) for _ in range(times)), "s", 0.3)


def starts(later: int = 3) -> list[Line]:
    """Measure the first start (initdb, schema, key, calibration of the encoder) and later ones."""
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        place = Path(folder)
        script = _START.format(data=str(place / "data"), key=str(place / "key.key"))
        first = _run(script)
        again = median(_run(script) for _ in range(later))
    return [
        bounded("first start, with initdb", first, "s", 5),
        bounded("later start", again, "s", 1.5),
    ]


async def encoder(queries: int = 100, texts: int = 320) -> list[Line]:
    """Measure the default encoder: single queries, and texts in one call."""
    from mnemic.embedding.local import LocalEncoder

    model = LocalEncoder()
    await model.embed(["warm"])
    single = []
    for number in range(queries):
        start = time.perf_counter()
        await model.embed([_TEXT.format(number)])
        single.append((time.perf_counter() - start) * 1000)
    start = time.perf_counter()
    await model.embed([_TEXT.format(-number) for number in range(texts)])
    rate = texts / (time.perf_counter() - start)
    await model.aclose()
    return [
        Line("encoder, one query, p50", f"{median(single):.2f} ms"),
        Line("encoder, many texts", f"{rate:,.0f} texts/s"),
    ]


def measured() -> list[Line]:
    """Return every line of this module."""
    return [imports(), *starts(), *asyncio.run(encoder())]


def _run(script: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return float(done.stdout.split()[-1])
