"""A server that is reached by TLS, as those of providers are: the wheel's programs have none."""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from select import select

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragdb.server.postgres import PORT
from tests.forked import run_forked

ASKS_FOR_TLS = bytes.fromhex("04d2162f")


def certified(folder: Path) -> ssl.SSLContext:
    """A context whose certificate, for localhost, is `certificate` of the folder too."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), 1, datetime.now(UTC) - timedelta(1),
        datetime.now(UTC) + timedelta(1),
    ).add_extension(
        x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False
    ).sign(key, hashes.SHA256())  # fmt: skip
    pem = serialization.Encoding.PEM
    (folder / "certificate").write_bytes(made.public_bytes(pem))
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context


@pytest.fixture
def by_tls(clone: str, tmp_path: Path) -> Iterator[str]:
    """DSN of a clone on a port that takes TLS alone."""
    context, given = certified(tmp_path), conninfo_to_dict(clone)

    class Front(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if self.request.recv(8)[4:] != ASKS_FOR_TLS:
                return
            self.request.sendall(b"S")
            with (
                contextlib.suppress(OSError),
                context.wrap_socket(self.request, server_side=True) as outer,
                socket.socket(socket.AF_UNIX) as inner,
            ):
                inner.connect(f"{given['host']}/.s.PGSQL.{PORT}")
                other = {outer: inner, inner: outer}
                while True:
                    for one in [outer] if outer.pending() else select(other, [], [])[0]:
                        if not (data := one.recv(65536)):
                            return
                        other[one].sendall(data)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Front) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        safe = {"sslmode": "verify-full", "sslrootcert": str(tmp_path / "certificate")}
        yield make_conninfo(clone, host="localhost", port=server.server_address[1], **safe)
        server.shutdown()
        thread.join()


def test_psql_of_the_path_is_taken_where_the_server_is_reached_by_tls(
    by_tls: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "RAGDB_DATABASE_URL": by_tls, "PATH": str(tmp_path)}
    assert run_forked("status", env=environment, timeout=300).returncode == 0
    refused = run_forked("psql", "--", "-c", "select 1", env=environment, timeout=300)
    assert refused.returncode == 3
    assert "the psql that comes with ragdb has no TLS" in refused.stderr
    assert "which put one on the path" in refused.stderr
    (tmp_path / "psql").write_text('#!/bin/sh\necho "that of the path: $*"\n')
    (tmp_path / "psql").chmod(0o755)
    taken = run_forked("psql", "--", "-c", "select 1", env=environment, timeout=300)
    assert taken.returncode == 0, taken.stderr
    assert taken.stdout.startswith("that of the path: ")
    assert "sslmode=verify-full" in taken.stdout
