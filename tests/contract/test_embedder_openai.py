"""Does the embedder behind an endpoint keep the promises of the Embedder protocol?"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from scripted_server import Answer, Request, Scripted, error, in_turn, serving, vectors

from mnemic.embedding.openai import OpenAIEmbedder, batched
from mnemic.embedding.openai_answer import about_length, read_vectors
from mnemic.embedding.protocol import Embedder, checked, embed_all
from mnemic.endpoint import Patience, Reply, pause_before_retry, retry_after
from mnemic.errors import ConfigurationError, EmbeddingError, HostNotAllowed
from mnemic.model import Vector

KEY = "scripted" + "-" + "key"
DIMS = 3


class Pauses:
    """Stands in for sleep and remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)


def embedder(server: Scripted, **more: Any) -> OpenAIEmbedder:
    settings: dict[str, Any] = {
        "api_key": KEY,
        "dims": DIMS,
        "allowed_hosts": {server.host},
        "timeout": 5.0,
        "sleep": Pauses(),
        **more,
    }
    return OpenAIEmbedder(server.url, "scripted-model", **settings)


def direction(text: str) -> list[float]:
    return [float(len(text)), float(sum(map(ord, text)) % 97), 1.0]


def honest(request: Request) -> Answer:
    return vectors([direction(text) for text in request.body["input"]])


def refusing(bad: Callable[[str], bool], answer: Answer) -> Callable[[Request], Answer]:
    def script(request: Request) -> Answer:
        return answer if any(map(bad, request.body["input"])) else honest(request)

    return script


def codes(results: Sequence[Vector | EmbeddingError]) -> list[str]:
    return [r.code if isinstance(r, EmbeddingError) else "ok" for r in results]


async def whole_call_error(subject: Embedder, texts: Sequence[str] = ("one",)) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        await embed_all(subject, texts)
    return caught.value


async def test_every_text_gets_its_own_vector_of_length_one() -> None:
    texts = ["我喜欢简洁的代码", "I prefer tabs", "café"]
    with serving(honest) as server:
        subject = embedder(server)
        results = await embed_all(subject, texts)
        await subject.aclose()
    assert results == [checked(direction(text), DIMS) for text in texts]
    assert all(math.isclose(math.hypot(*r), 1.0) for r in results if isinstance(r, tuple))
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "scripted-model",
        "input": texts,
        "encoding_format": "float",
        "dimensions": DIMS,
    }


async def test_without_a_key_no_authorization_is_sent() -> None:
    with serving(honest) as server:
        subject = embedder(server, api_key="  ")
        await embed_all(subject, ["a"])
        await subject.aclose()
    assert "authorization" not in server.requests[0].headers


async def test_many_texts_go_in_batches_and_come_back_in_order() -> None:
    texts = [f"text {number}" for number in range(23)]
    with serving(honest) as server:
        subject = embedder(server, batch_size=5)
        results = await embed_all(subject, texts)
        await subject.aclose()
    assert results == [checked(direction(text), DIMS) for text in texts]
    assert sorted(len(request.body["input"]) for request in server.requests) == [3, 5, 5, 5, 5]


async def test_no_texts_mean_no_request() -> None:
    with serving(honest) as server:
        assert await embed_all(embedder(server), []) == []
    assert server.requests == []


async def test_a_blank_broken_or_long_text_is_refused_before_any_call() -> None:
    texts = ["", " \t\n\u3000", "\u200b\ufeff", "half \ud83d", "x" * 11, "fine"]
    with serving(honest) as server:
        subject = embedder(server, max_chars=10)
        results = await embed_all(subject, texts)
        await subject.aclose()
    assert codes(results) == [
        "embedding_blank",
        "embedding_blank",
        "embedding_blank",
        "embedding_bad_text",
        "text_too_long_for_model",
        "ok",
    ]
    assert [request.body["input"] for request in server.requests] == [["fine"]]


async def test_only_blank_texts_mean_no_request() -> None:
    with serving(honest) as server:
        assert codes(await embed_all(embedder(server), ["", " "])) == ["embedding_blank"] * 2
    assert server.requests == []


async def test_answers_out_of_order_are_put_in_order() -> None:
    with serving(lambda _: vectors([[3, 0, 0], [1, 0, 1], [0, 2, 0]], indexes=[2, 0, 1])) as server:
        subject = embedder(server)
        results = await embed_all(subject, ["a", "b", "c"])
        await subject.aclose()
    assert results == [checked(v, 3) for v in ([1, 0, 1], [0, 2, 0], [3, 0, 0])]


async def test_a_missing_index_is_reported_for_its_text_alone() -> None:
    with serving(lambda _: vectors([[3, 0, 0], [1, 0, 1]], indexes=[2, 0])) as server:
        subject = embedder(server)
        results = await embed_all(subject, ["a", "b", "c"])
        await subject.aclose()
    assert codes(results) == ["ok", "embedding_bad_answer", "ok"]


async def test_answers_without_indexes_count_in_their_order() -> None:
    rows = [{"embedding": [1, 0, 0]}, {"embedding": [0, 1, 0]}]
    with serving(lambda _: Answer(body={"data": rows})) as server:
        subject = embedder(server)
        assert await embed_all(subject, ["a", "b"]) == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
        await subject.aclose()


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>Bad gateway</body></html>",
        b"",
        b"[" * 100_000,
        {"data": [{"embedding": [1, 0, 0]}]},
        {"data": [{"index": i, "embedding": [1, 0, 0]} for i in (1, 2)]},
        {"data": [{"index": i, "embedding": [1, 0, 0]} for i in (0, 0)]},
        {"data": [{"index": i, "embedding": [1, 0, 0]} for i in (0, 1, 2)]},
        {"data": [{"index": i, "embedding": [1, 0, 0]} for i in (-1, 0)]},
        {"data": [{"index": i, "embedding": [1, 0, 0]} for i in ("0", True)]},
        {"data": "vectors"},
        {"data": [1, 2]},
        {"error": None},
        [],
        "text",
    ],
)
async def test_an_answer_that_does_not_say_whose_vector_is_whose_is_refused(body: object) -> None:
    with serving(lambda _: Answer(body=body)) as server:
        subject = embedder(server)
        assert (await whole_call_error(subject, ["a", "b"])).code == "embedding_bad_answer"
        await subject.aclose()


async def test_pf_102_zero_nan_infinite_and_misshapen_vectors_never_come_through() -> None:
    body = (
        b'{"data": ['
        b'{"index": 0, "embedding": [0, 0.0, -0.0]}, {"index": 1, "embedding": [1, NaN, 0]},'
        b'{"index": 2, "embedding": [Infinity, 0, 0]}, {"index": 3, "embedding": [1, 0]},'
        b'{"index": 4, "embedding": [1, 0, 0, 0]}, {"index": 5, "embedding": ["1", "0", "0"]},'
        b'{"index": 6, "embedding": []}, {"index": 7, "embedding": null},'
        b'{"index": 8, "embedding": [1e999, 0, 0]}, {"index": 9, "embedding": [1'
        + b"0" * 400
        + b', 0, 0]}, {"index": 10, "embedding": [3, 0, 4]}]}'
    )
    with serving(lambda _: Answer(body=body)) as server:
        subject = embedder(server)
        results = await embed_all(subject, [f"text {number}" for number in range(11)])
        await subject.aclose()
    assert codes(results) == [
        "embedding_zero",
        "embedding_not_finite",
        "embedding_not_finite",
        "embedding_wrong_dimension",
        "embedding_wrong_dimension",
        "embedding_bad_answer",
        "embedding_bad_answer",
        "embedding_bad_answer",
        "embedding_not_finite",
        "embedding_bad_answer",
        "ok",
    ]
    assert results[10] == (0.6, 0.0, 0.8)


def limited_to(tokens: int, status: int, message: str) -> Callable[[Request], Answer]:
    """An endpoint whose tokens are UTF-8 bytes / 3: a Chinese character costs what 3 letters do."""
    return refusing(lambda text: len(text.encode()) / 3 > tokens, error(status, message))


async def test_pf_103_one_long_text_is_reported_and_the_others_are_embedded() -> None:
    texts = [f"short {number}" for number in range(20)]
    texts[7] = "很长的对话" * 1000
    script = limited_to(1024, 400, "This model's maximum context length is 1024 tokens, however …")
    with serving(script) as server:
        subject = embedder(server)
        results = await embed_all(subject, texts)
        again = await embed_all(subject, [texts[7]])
        await subject.aclose()
    assert codes(results) == ["ok"] * 7 + ["text_too_long_for_model"] + ["ok"] * 12
    assert codes(again) == ["text_too_long_for_model"]
    assert len(server.requests) <= 2 * math.ceil(math.log2(len(texts))) + 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 1024 tokens, you requested 2000 tokens."),
        (400, "Invalid 'input[0]': maximum input length is 1024 tokens."),
        (413, "Payload Too Large"),
        (422, "inputs must have less than 1024 tokens. Given: 2000"),
        (400, "the input length exceeds the context length"),
        (400, "input is too large to process. increase the physical batch size"),
        (400, "Input text has 2000 tokens which exceeds limit of 1024"),
        (400, "sequence too long: max_seq_len is 1024"),
    ],
)
async def test_pf_104_the_endpoint_counts_its_tokens_and_says_so_per_text(
    status: int, message: str
) -> None:
    with serving(limited_to(1024, status, message)) as server:
        subject = embedder(server)
        results = await embed_all(subject, ["字" * 2000, "word " * 400])
        await subject.aclose()
    assert codes(results) == ["text_too_long_for_model", "ok"]


async def test_many_long_texts_are_all_named_as_long() -> None:
    with serving(limited_to(1, 400, "maximum context length exceeded")) as server:
        subject = embedder(server)
        results = await embed_all(subject, ["a long text"] * 40)
        await subject.aclose()
    assert codes(results) == ["text_too_long_for_model"] * 40


async def test_a_text_that_the_endpoint_refuses_is_found_and_reported_alone() -> None:
    texts = [f"text {number}" for number in range(64)]
    with serving(refusing(lambda text: text == "text 41", error(400, "cannot do this"))) as server:
        subject = embedder(server)
        await embed_all(subject, ["first"])
        results = await embed_all(subject, texts)
        await subject.aclose()
    failed = {i: r for i, r in enumerate(results) if isinstance(r, EmbeddingError)}
    assert list(failed) == [41]
    assert failed[41].code == "embedding_refused"
    assert failed[41].details["status"] == 400
    assert len(server.requests) <= 1 + 2 * 6 + 1


async def test_an_endpoint_that_refuses_everything_is_not_asked_for_ever() -> None:
    with serving(lambda _: error(400, "unknown model")) as server:
        subject = embedder(server)
        results = await embed_all(subject, ["text"] * 64)
        await subject.aclose()
    assert codes(results) == ["embedding_refused"] * 64
    assert len(server.requests) < 60


async def test_a_model_of_one_width_that_refuses_the_parameter_is_asked_without_it() -> None:
    def script(request: Request) -> Answer:
        if "dimensions" in request.body:
            return error(400, "this model does not support matryoshka")
        return honest(request)

    with serving(script) as server:
        subject = embedder(server)
        assert codes(await embed_all(subject, ["a", "b"])) == ["ok", "ok"]
        assert codes(await embed_all(subject, ["c"])) == ["ok"]
        await subject.aclose()
    assert ["dimensions" in request.body for request in server.requests] == [True, False, False]


async def test_429_then_200_waits_as_long_as_the_server_asks() -> None:
    pauses = Pauses()
    first = error(429, headers={"Retry-After": "7"})
    with serving(in_turn(first, error(503), vectors([[1, 0, 0]]))) as server:
        subject = embedder(server, sleep=pauses, backoff=0.5)
        assert codes(await embed_all(subject, ["a"])) == ["ok"]
        await subject.aclose()
    assert pauses.asked[0] == 7.0
    assert 0.5 <= pauses.asked[1] <= 1.0
    assert len(server.requests) == 3


async def test_a_server_that_asks_for_an_hour_is_not_waited_for() -> None:
    pauses = Pauses()
    with serving(lambda _: error(429, headers={"Retry-After": "3600"})) as server:
        subject = embedder(server, sleep=pauses)
        failure = await whole_call_error(subject)
        await subject.aclose()
    assert (failure.code, failure.details) == (
        "embedding_refused",
        {"status": 429, "retry_after": 3600.0},
    )
    assert pauses.asked == []


async def test_retries_are_bounded_and_grow() -> None:
    pauses = Pauses()
    with serving(lambda _: error(500)) as server:
        subject = embedder(server, sleep=pauses, retries=3, backoff=1.0)
        failure = await whole_call_error(subject)
        await subject.aclose()
    assert failure.code == "embedding_refused"
    assert failure.details["status"] == 500
    assert len(server.requests) == 4
    assert all(2**n / 2 <= pause <= 2**n for n, pause in enumerate(pauses.asked))


@pytest.mark.parametrize("status", [301, 302, 307, 401, 403, 404])
async def test_a_refusal_for_good_is_not_repeated_and_a_redirect_not_followed(status: int) -> None:
    with serving(honest) as elsewhere:
        moved = error(status, headers={"Location": elsewhere.url + "/embeddings"})
        with serving(lambda _: moved) as server:
            subject = embedder(server)
            failure = await whole_call_error(subject)
            await subject.aclose()
    assert failure.code == "embedding_refused"
    assert failure.details["status"] == status
    assert (len(server.requests), len(elsewhere.requests)) == (1, 0)


async def test_a_hanging_server_is_given_up_after_the_timeout() -> None:
    with serving(lambda _: Answer(hang=True)) as server:
        subject = embedder(server, timeout=0.05, retries=1)
        failure = await whole_call_error(subject)
        await subject.aclose()
    assert failure.code == "embedding_timeout"
    assert len(server.requests) == 2


async def test_a_connection_that_breaks_is_tried_again() -> None:
    with serving(in_turn(Answer(drop=True), vectors([[1, 0, 0]]))) as server:
        subject = embedder(server)
        assert codes(await embed_all(subject, ["a"])) == ["ok"]
        await subject.aclose()


async def test_a_server_that_is_gone_is_unreachable() -> None:
    with serving(honest) as server:
        pass
    subject = embedder(server, retries=1)
    assert (await whole_call_error(subject)).code == "embedding_unreachable"
    await subject.aclose()


async def test_batches_that_were_answered_are_kept_when_the_endpoint_goes_down() -> None:
    with serving(in_turn(vectors([[1, 0, 0]]), error(401))) as server:
        subject = embedder(server, batch_size=1, concurrency=1)
        results = await embed_all(subject, ["a", "b", "c", "d"])
        await subject.aclose()
    assert codes(results) == ["ok"] + ["embedding_refused"] * 3
    assert len(server.requests) == 2


async def test_no_more_requests_than_allowed_run_at_once() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def script(request: Request) -> Answer:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return honest(request)

    with serving(script) as server:
        subject = embedder(server, batch_size=1, concurrency=2)
        await asyncio.gather(*(embed_all(subject, ["a", "b", "c"]) for _ in range(3)))
        await subject.aclose()
    assert most == 2


def test_a_host_that_is_not_allowed_is_refused_before_any_byte() -> None:
    with serving(honest) as server:
        for allowed in ((), {"api.example.com"}, {"127.0.0.1:1"}):
            with pytest.raises(HostNotAllowed):
                embedder(server, allowed_hosts=allowed)
    assert server.requests == []


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ({"dims": 0}, "embedding_setting_invalid"),
        ({"dims": 4001}, "embedding_setting_invalid"),
        ({"batch_size": 0}, "embedding_setting_invalid"),
        ({"api_key": "line\nbreak"}, "api_key_invalid"),
        ({"api_key": "密钥"}, "api_key_invalid"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(setting: dict[str, Any], code: str) -> None:
    with serving(honest) as server, pytest.raises(ConfigurationError) as caught:
        embedder(server, **setting)
    assert caught.value.code == code


def test_a_base_url_with_a_query_is_refused() -> None:
    with pytest.raises(ConfigurationError) as caught:
        OpenAIEmbedder("https://a.example/v1?key=x", allowed_hosts=["a.example"])
    assert caught.value.code == "endpoint_url_invalid"
    assert "key=x" not in str(caught.value)


async def test_an_unknown_width_is_learnt_from_the_first_answer() -> None:
    with serving(honest) as server:
        subject = embedder(server, dims=None)
        with pytest.raises(ConfigurationError):
            _ = subject.dims
        assert await subject.learn_dims() == 3
        assert codes(await embed_all(subject, ["a"])) == ["ok"]
        await subject.aclose()
    assert all("dimensions" not in request.body for request in server.requests)


async def test_neither_key_nor_text_is_in_logs_reprs_or_errors(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    text = "a most private sentence"
    echo = error(400, f"cannot embed {text!r} with {KEY}")
    with serving(lambda _: echo) as server:
        subject = embedder(server)
        (refusal,) = await embed_all(subject, [text])
        await subject.aclose()
    with serving(lambda _: error(401, f"bad key {KEY}")) as server:
        other = embedder(server)
        failure = await whole_call_error(other, [text])
        await other.aclose()
    said = [repr(subject), repr(subject._endpoint), str(refusal), repr(failure), caplog.text]
    said += [str(failure.details), str(failure.__context__), str(failure.__cause__)]
    assert not any(text in part or KEY in part for part in said)


async def test_a_secret_string_is_taken_as_key() -> None:
    with serving(honest) as server:
        subject = embedder(server, api_key=SecretStr(KEY))
        await embed_all(subject, ["a"])
        await subject.aclose()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: error(418)) as proxy, serving(honest) as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        subject = embedder(server)
        assert codes(await embed_all(subject, ["a"])) == ["ok"]
        await subject.aclose()
    assert proxy.requests == []


def test_pf_122_one_embedder_serves_two_loops_and_two_threads() -> None:
    with serving(honest) as server:
        subject = embedder(server)

        async def once() -> list[str]:
            try:
                return codes(await embed_all(subject, ["a", "b"]))
            finally:
                await subject.aclose()

        outcomes = [asyncio.run(once()), asyncio.run(once())]
        threads = [
            threading.Thread(target=lambda: outcomes.append(asyncio.run(once()))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert outcomes == [["ok", "ok"]] * 4


async def test_pf_123_a_slow_endpoint_does_not_hold_up_the_event_loop() -> None:
    """It answers when the loop has turned: a loop that waited for it would wait in vain."""
    turned = threading.Event()

    def held(request: Request) -> Answer:
        return honest(request) if turned.wait(30) else error(500, "nobody came")

    with serving(held) as server:
        subject = embedder(server, timeout=60.0)
        task = asyncio.create_task(embed_all(subject, ["a"]))
        while not server.requests:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
        assert not task.done()
        turned.set()
        assert codes(await task) == ["ok"]
        await subject.aclose()


class Stub:
    """An embedder in process, whose answers are given."""

    name, dims, max_chars = "stub", 2, 100

    def __init__(self, answers: Sequence[Sequence[float] | EmbeddingError]) -> None:
        self.answers = answers

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float] | EmbeddingError]:
        return self.answers


async def test_an_embedder_with_the_wrong_count_of_answers_is_refused() -> None:
    for answers in ([], [[1.0, 0.0]], [[1.0, 0.0]] * 3):
        failure = await whole_call_error(Stub(answers), ["a", "b"])
        assert failure.code == "embedding_bad_answer"


async def test_a_reason_in_place_of_a_vector_stays_with_its_text() -> None:
    reason = EmbeddingError("embedding_refused", "No.")
    assert await embed_all(Stub([[0.0, 2.0], reason]), ["a", "b"]) == [(0.0, 1.0), reason]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=8))
def test_a_checked_vector_has_length_one_or_is_refused(values: list[float]) -> None:
    if all(map(math.isfinite, values)) and any(values):
        vector = checked(values, len(values))
        assert math.isclose(math.sqrt(sum(value * value for value in vector)), 1.0)
    else:
        with pytest.raises(EmbeddingError):
            checked(values, len(values))


@given(
    st.lists(st.integers(0, 120_000), max_size=30).map(lambda sizes: ["x" * n for n in sizes]),
    st.integers(1, 7),
)
def test_batches_keep_every_text_once_and_their_bounds(texts: list[str], size: int) -> None:
    batches = list(batched(texts, range(len(texts)), size))
    assert [index for batch in batches for index in batch] == list(range(len(texts)))
    for batch in batches:
        assert 1 <= len(batch) <= size
        assert len(batch) == 1 or sum(len(texts[index]) for index in batch) <= 100_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["data", "index", "embedding", "error"]), inner)
    ),
    max_leaves=20,
)


@given(json_values, st.integers(1, 4))
def test_any_json_is_read_or_refused_with_our_error(data: object, count: int) -> None:
    assert about_length(400, data) in (True, False)
    with suppress(EmbeddingError):
        assert len(read_vectors(data, count)) == count


def test_words_of_the_text_itself_do_not_make_a_refusal_about_length() -> None:
    detail = [{"msg": "value error", "input": "the maximum context length is 3 tokens"}]
    assert not about_length(422, {"detail": detail})
    assert about_length(422, {"detail": [{"msg": "input is too long", "input": "x"}]})


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 12 ", 12.0),
        ("-3", None),
        ("soon", None),
        ("１２", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("9" * 400, math.inf),
    ],
)
def test_a_retry_after_is_read_as_seconds_or_not_at_all(
    value: str | None, seconds: float | None
) -> None:
    assert retry_after(value) == seconds


@given(st.integers(0, 10), st.floats(0, 100))
def test_no_pause_is_longer_than_the_longest(attempt: int, wanted: float) -> None:
    patience = Patience(retries=8, longest_pause=20.0)
    for outcome in (Reply(429, None, wanted), Reply(500, None), "timeout", "unreachable"):
        pause = pause_before_retry(outcome, attempt, patience)
        assert pause is None or 0 <= pause <= 20.0
        assert (attempt < 8) or pause is None
