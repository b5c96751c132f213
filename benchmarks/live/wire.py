"""A small HTTP/1.1 client over asyncio, so that the load costs the machine little beside the server that is measured.

One connection an annotator, kept open. It knows what the servers here answer with: Content-Length, chunked bodies,
cookies, redirects that are not followed.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Wire:
    """One keep-alive connection; `send` opens it again where the server has closed it."""

    host: str
    port: int
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    reader: asyncio.StreamReader | None = None
    writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, path: str, body: bytes | None = None, **extra: str) -> Answer:
        for attempt in (1, 2):
            if self.writer is None:
                self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
            try:
                self.writer.write(self._request(method, path, body, extra))
                return await self._answer(method)
            except (ConnectionError, asyncio.IncompleteReadError):
                await self.close()
                if attempt == 2:
                    raise
        raise AssertionError

    async def post(self, path: str, value: Any, **extra: str) -> Answer:
        return await self.send("POST", path, json.dumps(value).encode(), content_type="application/json", **extra)

    def _request(self, method: str, path: str, body: bytes | None, extra: dict[str, str]) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in extra.items()]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")

    async def _answer(self, method: str) -> Answer:
        assert self.reader is not None
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        status = int(head[0].split(" ", 2)[1])
        headers: dict[str, str] = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), value.strip()
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.split(";", 1)[0]
            elif name:
                headers[name] = value
        body = b""
        if method != "HEAD" and status not in (204, 304):
            body = await self._body(headers)
        if headers.get("connection", "").lower() == "close":
            await self.close()
        return Answer(status, headers, body)

    async def _body(self, headers: dict[str, str]) -> bytes:
        assert self.reader is not None
        if headers.get("transfer-encoding", "").lower() == "chunked":
            out = b""
            while size := int((await self.reader.readline()).split(b";")[0], 16):
                out += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
            return out
        if "content-length" in headers:
            return await self.reader.readexactly(int(headers["content-length"]))
        out = await self.reader.read()
        await self.close()
        return out

    async def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None
