"""Runs `mnemic ingest FILE` with the stub embedder, for tests that kill it: no time goes into a model."""

from __future__ import annotations

import sys
from unittest.mock import patch

from stub_embedder import StubEmbedder

from mnemic.cli.main import main
from mnemic.service import MemoryService

if __name__ == "__main__":
    sys.argv[:] = ["mnemic", "ingest", sys.argv[1]]
    with patch.object(MemoryService, "_configured_embedder", lambda _: StubEmbedder()):
        main()
