"""Runs `mnemic ingest FILE` with the stub embedder, for tests that kill it: no time goes into a model."""

from __future__ import annotations

import sys
from unittest.mock import patch

from mnemic import parts
from mnemic.cli.main import main
from stub_embedder import StubEmbedder

if __name__ == "__main__":
    sys.argv[:] = ["mnemic", "ingest", sys.argv[1]]
    with patch.object(parts, "_configured_embedder", lambda settings, keep: StubEmbedder()):
        main()
