"""Are the files for production stores sound, where no engine runs them?"""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from mnemic.errors import ConfigurationError
from mnemic.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PINNED = re.compile(r"[a-z0-9]+(/[a-z0-9]+)*:[0-9][0-9A-Za-z.-]+")
VARIABLES = {f"MNEMIC_{name.upper()}" for name in Settings.model_fields} | {"MNEMIC_SECRETS_DIR"}


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def of(name: str) -> list[str]:
    return [rest for found, rest in instructions() if found == name]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


# ---- Dockerfile


def test_images_are_pinned_by_a_tag_that_says_a_version(compose: dict[str, Any]) -> None:
    bases = [rest.split(" ")[0] for rest in of("FROM")]
    assert len(bases) == 2
    pulled = [one["image"] for one in compose["services"].values() if "build" not in one]
    for image in [*bases, *(image for image in pulled if image != "mnemic:local")]:
        assert PINNED.fullmatch(image), image
        assert "latest" not in image


def test_the_image_runs_as_nobody_in_particular() -> None:
    last_from = max(n for n, (name, _) in enumerate(instructions()) if name == "FROM")
    users = [rest for name, rest in instructions()[last_from:] if name == "USER"]
    assert users == ["10001:10001"]
    assert instructions()[-2][0] == "ENTRYPOINT"


def test_the_image_holds_no_secret_and_downloads_nothing_unchecked() -> None:
    assert of("ADD") == []
    assert of("ARG") == []
    for rest in [*of("ENV"), *of("RUN")]:
        assert not re.search(r"(?i)password|api_?key=|token|curl|wget|sudo", rest), rest
    assert any("--constraint constraints.txt" in rest for rest in of("RUN"))


def test_the_image_has_a_health_check_and_exec_forms() -> None:
    (check,) = of("HEALTHCHECK")
    assert "/healthz" in check
    for rest in (*of("ENTRYPOINT"), *of("CMD"), check.partition("CMD ")[2]):
        command = yaml.safe_load(rest)
        assert isinstance(command, list), rest
        assert all(isinstance(part, str) for part in command)
    compile(yaml.safe_load(check.partition("CMD ")[2])[2], "healthcheck", "exec")


def test_what_the_image_copies_is_there_and_sent_to_the_builder() -> None:
    sent = set((ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines())
    assert "*" in sent
    for rest in of("COPY"):
        if rest.startswith("--from"):
            continue
        for source in shlex.split(rest)[:-1]:
            assert (ROOT / source).exists()
            assert f"!{source.removeprefix('./')}" in sent


# ---- compose


def test_every_service_is_locked_down_and_watched(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"postgres", "valkey", "init", "mnemic"}
    for name, service in services.items():
        assert "no-new-privileges:true" in service["security_opt"], name
        assert not service.get("privileged")
        assert "network_mode" not in service
        if name != "postgres":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
        if name in ("postgres", "valkey"):
            assert service["networks"] == ["stores"]
            assert "ports" not in service
            assert service["healthcheck"]["test"][0] == "CMD"
    assert compose["networks"]["stores"]["internal"] is True


def test_only_this_machine_reaches_the_port(compose: dict[str, Any]) -> None:
    published = [port for one in compose["services"].values() for port in one.get("ports", [])]
    assert published == ["127.0.0.1:8000:8000"]


def test_the_owners_login_is_for_the_job_that_makes_the_schema_only(
    compose: dict[str, Any],
) -> None:
    services = compose["services"]
    holders = {
        name for name, one in services.items() if "mnemic_migration_url" in one.get("secrets", [])
    }
    assert holders == {"init"}
    assert services["init"]["command"] == ["db", "init"]
    assert services["init"]["restart"] == "no"
    waits = services["mnemic"]["depends_on"]["init"]
    assert waits == {"condition": "service_completed_successfully"}
    assert "owner_password" not in services["mnemic"]["secrets"]


def test_the_key_is_made_by_the_job_and_read_by_the_service(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["init"]["volumes"] == ["keys:/keys"]
    assert services["mnemic"]["volumes"] == ["keys:/keys:ro"]
    assert all("keys" not in str(services[name].get("volumes")) for name in ("postgres", "valkey"))


def test_no_secret_stands_in_the_file_and_every_one_is_declared(compose: dict[str, Any]) -> None:
    used = {name for one in compose["services"].values() for name in one.get("secrets", [])}
    assert used == set(compose["secrets"])
    for name, secret in compose["secrets"].items():
        assert secret == {"file": f"./secrets/{name}"}
    for one in compose["services"].values():
        for name, value in one.get("environment", {}).items():
            if re.search(r"(?i)password|secret|url", name):
                assert value.startswith(("/run/secrets", "redis://valkey:")), name


def test_variables_are_ones_that_the_settings_know(compose: dict[str, Any]) -> None:
    given = {
        name
        for one in compose["services"].values()
        for name in one.get("environment", {})
        if name.startswith("MNEMIC_")
    }
    given |= {
        part.partition("=")[0]
        for rest in of("ENV")
        for part in rest.split()
        if part.startswith("MNEMIC_")
    }
    assert len(given) >= 4
    assert given <= VARIABLES
    environment = dict(compose["services"]["mnemic"]["environment"])
    assert environment.pop("MNEMIC_SECRETS_DIR") == "/run/secrets"
    Settings.read(
        **{name.removeprefix("MNEMIC_").lower(): value for name, value in environment.items()}
    )


def test_a_stop_is_waited_for_as_long_as_workers_may_take(compose: dict[str, Any]) -> None:
    service = compose["services"]["mnemic"]
    grace = int(service["stop_grace_period"].removesuffix("s"))
    # the supervisor: one and a half times the setting, and five seconds
    assert grace >= 1.5 * float(service["environment"]["MNEMIC_SHUTDOWN_TIMEOUT"]) + 5


# ---- secrets


def test_the_secrets_are_made_once_and_lead_where_they_should(
    tmp_path: Path, compose: dict[str, Any]
) -> None:
    place = tmp_path / "secrets"
    script = [str(DEPLOY / "make-secrets.sh"), str(place)]
    subprocess.run(script, check=True)
    made = {file.name: file.read_text() for file in place.iterdir()}
    assert set(made) == set(compose["secrets"])
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    passwords = [made[name] for name in made if name.endswith("_password")]
    assert len(set(passwords)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{64}", word) for word in passwords)
    subprocess.run(script, check=True)
    assert {file.name: file.read_text() for file in place.iterdir()} == made
    service = conninfo_to_dict(made["mnemic_database_url"])
    owner = conninfo_to_dict(made["mnemic_migration_url"])
    assert (service["user"], service["password"]) == ("mnemic_service", made["service_password"])
    assert (owner["user"], owner["password"]) == ("mnemic_owner", made["owner_password"])
    assert service["host"] == owner["host"] == "postgres"


def test_settings_read_secrets_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run([DEPLOY / "make-secrets.sh", tmp_path], check=True)
    monkeypatch.setenv("MNEMIC_SECRETS_DIR", str(tmp_path))
    found = Settings.read()
    assert found.database_url is not None
    assert found.database_url.get_secret_value() == (tmp_path / "mnemic_database_url").read_text()
    monkeypatch.setenv("MNEMIC_DATABASE_URL", "postgresql://elsewhere/x")  # the environment wins
    url = Settings.read().database_url
    assert url is not None
    assert url.get_secret_value() == "postgresql://elsewhere/x"
    monkeypatch.setenv("MNEMIC_SECRETS_DIR", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError) as caught:
        Settings.read()
    assert caught.value.details == {"variable": "MNEMIC_SECRETS_DIR"}


@pytest.mark.parametrize("script", ["make-secrets.sh", "postgres/10-roles.sh"])
def test_scripts_parse_and_stop_at_the_first_error(script: str) -> None:
    path = DEPLOY / script
    assert os.access(path, os.X_OK)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in text
    subprocess.run(["sh", "-n", str(path)], check=True)


def test_the_logins_are_those_of_the_printed_script() -> None:
    """deploy/postgres/10-roles.sh makes what `mnemic db init --script` prints."""
    ours = (DEPLOY / "postgres" / "10-roles.sh").read_text(encoding="utf-8")
    printed = (ROOT / "src" / "mnemic" / "storage" / "roles.sql").read_text(encoding="utf-8")
    for line in printed.splitlines():
        if not line.startswith("--"):
            assert line.partition(" PASSWORD")[0].rstrip(";") in ours
