"""A stub that speaks the chat-completions protocol on a real socket, with every fault that such endpoints have."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What the stub does with a request: (status, body or raw text, headers).
Answer = tuple[int, Any, dict[str, str]]


def said(
    text: str | None, *, finish: str = "stop", refusal: str | None = None, tokens: tuple[int, int] = (100, 10)
) -> Answer:
    message = {"role": "assistant", "content": text, "refusal": refusal}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return 200, {"id": "x", "object": "chat.completion", "model": "stub-1", "choices": [choice], "usage": usage}, {}


def busy(after: str | None = "0") -> Answer:
    return 429, {"error": {"message": "slow down"}}, {} if after is None else {"Retry-After": after}


def broken(status: int = 500) -> Answer:
    return status, "oops", {}


class Stub:
    """`answer(request, number)` says what to do; `seen` holds the requests' bodies, `auth` their keys."""

    def __init__(self, answer: Callable[[dict[str, Any], int], Answer]) -> None:
        self.answer, self.seen, self.auth, self.url = answer, list[dict[str, Any]](), list[str | None](), ""
        self.at, self.lock, self.most, self.now = list[float](), threading.Lock(), 0, 0

    def task(self, number: int) -> str:
        return str(self.seen[number]["messages"][-1]["content"])


@contextmanager
def running(answer: Callable[[dict[str, Any], int], Answer]) -> Iterator[Stub]:
    stub = Stub(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert self.path == "/v1/chat/completions"
            with stub.lock:
                number = len(stub.seen)
                stub.seen.append(body)
                stub.auth.append(self.headers.get("Authorization"))
                stub.at.append(time.monotonic())
                stub.now += 1
                stub.most = max(stub.most, stub.now)
            try:
                status, found, headers = stub.answer(body, number)
            finally:
                with stub.lock:
                    stub.now -= 1
            if status == 0:  # hang up without a word
                self.close_connection = True
                self.connection.close()
                return
            data = (found if isinstance(found, str) else json.dumps(found)).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *args: None  # a closed connection is part of the play
    stub.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
