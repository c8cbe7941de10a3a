"""The image is built, and each service of compose.yaml is run in it beside a real server."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ragdb.server import postgres
from tests.deploy.test_deployment_files import COMPOSE, DEPLOY

pytestmark = pytest.mark.nightly

# no daemon, no network of its own, no right that root in a plain container lacks
TOOLS = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
BASE = "debian:bookworm-slim"
IMAGE = "ragdb-test"
SECRETS = {
    name: secrets.token_hex(8)
    for name in ("POSTGRES_PASSWORD", "RAGDB_HTTP_PASSWORD", "RAGDB_WORKER_PASSWORD")
}


def buildah(*arguments: str) -> str:
    done = subprocess.run(["buildah", *arguments], capture_output=True, text=True, env=TOOLS)
    assert done.returncode == 0, f"buildah {arguments}: {done.stderr[-3000:]}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image of the repository, over Debian from a registry or made of its packages."""
    if shutil.which("buildah") is None or os.geteuid() != 0:
        pytest.skip("images are built by buildah, as root")
    found = subprocess.run(["buildah", "pull", "-q", BASE], capture_output=True, env=TOOLS)
    if found.returncode and not buildah("images", "-q", "--filter", f"reference=localhost/{BASE}"):
        if shutil.which("debootstrap") is None:
            pytest.skip(f"{BASE} cannot be pulled, and debootstrap, which makes it, is not there")
        folder = tmp_path_factory.mktemp("base")
        subprocess.run(
            ["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", folder],
            check=True,
            capture_output=True,
        )
        base = buildah("from", "scratch")
        buildah("add", "-q", base, str(folder), "/")
        buildah("commit", "-q", "--rm", base, f"localhost/{BASE}")
        shutil.rmtree(folder)
    # the certificates of this machine: its network may have an authority of its own
    certificates = "/etc/ssl/certs"
    trusted = [f"--volume={certificates}:{certificates}:ro"] if Path(certificates).exists() else []
    root = DEPLOY.parent
    buildah(
        *("build", "-q", "--layers", "-t", IMAGE, "-f", str(DEPLOY / "Containerfile")),
        *("--ignorefile", str(root / ".dockerignore"), *trusted, str(root)),
    )
    return IMAGE


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def database() -> Iterator[dict[str, str]]:
    """What compose's `db` is: a server with pgvector that asks for passwords over TCP."""
    folder = Path(f"/var/tmp/ragdb-{secrets.token_hex(4)}/pg18")
    folder.parent.mkdir(mode=0o755)
    port = free_port()
    try:
        postgres.initialise(folder, 18)
        (folder / "pg_hba.conf").write_text(
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )
        flags = f'-p {port} -k "{folder}" -c listen_addresses=127.0.0.1'
        started = postgres.run(
            folder, 18, "pg_ctl", "start", "-w", "-D", str(folder), "-o", flags,
            "-l", str(folder / "startup.log"),
        )  # fmt: skip
        assert started.returncode == 0, started.stderr
        here = f"host={folder} port={port} user=postgres dbname=postgres"
        with psycopg.connect(here, autocommit=True) as db:
            db.execute(f"alter role postgres password '{SECRETS['POSTGRES_PASSWORD']}'")
            db.execute("create database ragdb")
        yield {"PGHOST": "127.0.0.1", "PGPORT": str(port)}
    finally:
        postgres.run(folder, 18, "pg_ctl", "stop", "-m", "immediate", "-D", str(folder))
        shutil.rmtree(folder.parent)


def environment(service: str, there: dict[str, str]) -> dict[str, str]:
    """The environment that compose.yaml gives a service, with its secrets filled in."""
    filled = {}
    for name, value in COMPOSE["services"][service].get("environment", {}).items():
        if value.startswith("${"):
            value = SECRETS[value[2:].partition(":")[0]]
        filled[name] = value
    return {**filled, **there}


class Container:
    def __init__(self, image: str, *volumes: str) -> None:
        self.name = buildah("from", "--pull-never", image)
        self.volumes = [f"--volume={volume}" for volume in volumes]

    def command(self, words: list[str], given: dict[str, str]) -> list[str]:
        setting = [f"--env={name}={value}" for name, value in given.items()]
        return ["buildah", "run", *setting, *self.volumes, self.name, "--", *words]

    def run(self, words: list[str], given: dict[str, str]) -> str:
        done = subprocess.run(
            self.command(words, given), capture_output=True, text=True, env=TOOLS, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def start(self, words: list[str], given: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
        with log.open("wb") as output:
            return subprocess.Popen(
                self.command(words, given), stdout=output, stderr=output, env=TOOLS
            )


@pytest.fixture
def container(image: str) -> Iterator[Any]:
    made: list[Container] = []

    def begin(*volumes: str) -> Container:
        made.append(Container(image, *volumes))
        return made[-1]

    yield begin
    for one in made:
        buildah("rm", one.name)


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            urllib.request.urlopen(url, timeout=120).close()
            return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{url}: {error}\n{log.read_text()}") from None
            time.sleep(0.2)


def search(port: int, token: str) -> Any:
    asked = json.dumps({"query": "zebra", "corpora": ["docs"], "k": 1}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/search",
        asked,
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["hits"]


def end(process: subprocess.Popen[bytes], names: str) -> None:
    """Stop what runs in a container: buildah hands no signal on."""
    import psutil

    for child in psutil.Process(process.pid).children(recursive=True):
        if child.name() == names:
            child.terminate()
    process.wait(120)


def test_compose_runs(database: dict[str, str], container: Any, tmp_path: Path) -> None:
    here = container()
    install = COMPOSE["services"]["init"]["entrypoint"]
    given = environment("init", database)
    for _ in range(2):  # an upgrade runs it again
        here.run(install, given)
    token = here.run(
        ["ragdb", "-q", "token", "create", "web", "--role", "ragdb_reader"],
        environment("admin", database),
    ).split()[-1]
    here.run(["sh", "-c", "echo a zebra > a.md && ragdb ingest -c docs a.md"], given)

    port = free_port()
    serving = here.start(
        ["ragdb", *COMPOSE["services"]["serve"]["command"]],
        {**environment("serve", database), "PORT": str(port)},
        tmp_path / "serve.log",
    )
    working = here.start(
        ["ragdb", *COMPOSE["services"]["worker"]["command"]],
        environment("worker", database),
        tmp_path / "worker.log",
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", serving, tmp_path / "serve.log")
        assert [hit["source"] for hit in search(port, token)] == ["a.md"]
        assert working.poll() is None, (tmp_path / "worker.log").read_text()
    finally:
        end(serving, "ragdb")
        end(working, "ragdb")
    # neither login may do more than it is for
    for service, role in (("serve", "ragdb_owner"), ("worker", "ragdb_admin")):
        own = environment(service, database)
        with (
            psycopg.connect(
                host="127.0.0.1", port=int(own["PGPORT"]), user=own["PGUSER"],
                password=own["PGPASSWORD"], dbname="ragdb",
            ) as db,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):  # fmt: skip
            db.execute(f"set role {role}")
    said = "".join(log.read_text() for log in tmp_path.glob("*.log"))
    assert not any(secret in said for secret in (*SECRETS.values(), token))


def test_the_image_by_itself_keeps_its_data_through_a_kill(container: Any, tmp_path: Path) -> None:
    import psutil

    volume = tmp_path / "volume"
    volume.mkdir()
    os.chown(volume, 10001, 10001)
    here = container(f"{volume}:/var/lib/ragdb")
    port = free_port()
    token = ""
    for n in range(2):
        log = tmp_path / f"{n}.log"
        serving = here.start(["ragdb", "serve", "--host", "0.0.0.0"], {"PORT": str(port)}, log)
        wait_for(f"http://127.0.0.1:{port}/health", serving, log)
        if n == 0:
            here.run(["sh", "-c", "echo a zebra > a.md && ragdb ingest -c docs a.md"], {})
            token = here.run(
                ["ragdb", "-q", "token", "create", "web", "--role", "ragdb_reader"], {}
            ).split()[-1]
        assert [hit["source"] for hit in search(port, token)] == ["a.md"]
        for process in psutil.process_iter(["uids"]):
            if process.info["uids"] and process.info["uids"].real == 10001:
                process.kill()
        serving.wait(120)
