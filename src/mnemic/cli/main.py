"""The entry point of ``mnemic``: every command, and what happens before any of them."""

from __future__ import annotations

import errno
import sys

import typer

from mnemic._version import __version__
from mnemic.cli import (
    apikey,
    audit,
    consent,
    database,
    demo,
    embedding,
    episodes,
    erase,
    evaluate,
    ingest,
    jobs,
    keys,
    mcp,
    memory,
    profiles,
    projects,
    resources,
    serve,
    sessions,
    tasks,
)
from mnemic.cli.options import INTERRUPTED, REFUSED
from mnemic.cli.output import Output, unwritable

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write to an open stream fails with when nothing more goes in."""

_COMMANDS = (
    memory, ingest, resources, profiles, projects, sessions, episodes, tasks, consent, erase, audit,
    demo, evaluate, database, embedding, apikey, keys, serve, jobs, mcp,
)  # fmt: skip
"""The modules of commands, in the order in which the help shows them."""


def application() -> typer.Typer:
    """Return the application with all its commands."""
    app = typer.Typer(
        name="mnemic",
        help="Long-term memory for LLM agents.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def start(
        version: bool = typer.Option(False, "--version", help="Print the version and exit."),
        verbose: bool = typer.Option(False, "--verbose", "-v", help="Log to stderr."),
    ) -> None:
        """Long-term memory for LLM agents."""
        if version:
            typer.echo(f"mnemic {__version__}")
            raise typer.Exit
        _log_to_stderr(verbose)

    for module in _COMMANDS:
        module.register(app)
    return app


def _log_to_stderr(verbose: bool) -> None:
    import logging

    import structlog

    level = logging.DEBUG if verbose else logging.WARNING
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=level, stream=sys.stderr)


def main() -> None:
    """Run the command line; help that cannot be written is one sentence too."""
    try:
        _run(application())
    except OSError as error:
        if error.errno not in _FULL or error.filename is not None:
            raise
        told = unwritable(error)  # first: to make an Output flushes stdout
        Output(as_json=False).error(told)
        sys.exit(REFUSED)


def _run(app: typer.Typer) -> None:
    """With --json a wrong use is an answer in JSON too."""
    if "--json" not in sys.argv:
        app()
    try:
        sys.exit(app(standalone_mode=False))
    except typer.TyperException as error:
        Output(as_json=True).result({"reason": "wrong_usage", "message": error.format_message()})
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(INTERRUPTED)
