"""How is the installed program run, and what did it answer?"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e import forked

MNEMIC = Path(sys.executable).with_name("mnemic")
ZH = "我对花生过敏"
EN = "I prefer dark mode in every editor"
WALL = "The sign says [bold red]stop[/] " + "and the wall goes on " * 8
NOBODY = "01a22d22-0000-7000-8000-000000000000"
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
UTF8 = {"LC_ALL": "C.UTF-8"}
VERDICT = {
    "verdict",
    "id",
    "reason",
    "of",
    "superseded",
    "message",
    "question",
    "removed",
    "masked",
}


def run(
    args: Sequence[str | bytes | Path], env: dict[str, str], cwd: Path
) -> subprocess.CompletedProcess[bytes]:
    """Run the program to its end: forked, or started where Python's own start matters."""
    if forked.fits(env):
        return forked.run(["mnemic", *args], env, cwd)
    return subprocess.run(
        [MNEMIC, *args],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


@dataclass(frozen=True)
class Ran:
    """What a process answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        (line,) = self.out.splitlines()  # exactly one object on stdout
        return json.loads(line)


@dataclass(frozen=True)
class Cli:
    """The installed program on the data directory of this module."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)

    def __call__(self, *args: str | bytes | Path, user: str = "kim", **env: str) -> Ran:
        done = run(args, self.env | {"MNEMIC_USER": user} | env, self.home)
        out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        assert "Traceback" not in err, err
        return Ran(done.returncode, out, err)

    def json(self, *args: str | bytes | Path, user: str = "kim", code: int = 0, **env: str) -> Any:
        ran = self(*args, "--json", user=user, **env)
        assert ran.code == code, (ran.out, ran.err)
        return ran.json
