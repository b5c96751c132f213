"""Forms and scripts of the pages with values that cannot be stored: a 400 or a form that says so, never a 500."""

from __future__ import annotations

import json
import re

import pytest

from crowdwise.server import auth
from crowdwise.server.api.who import COOKIE

HTML = {"Accept": "text/html"}


class Browser:
    """Sends the forms of a page, with its token."""

    def __init__(self, made, path, secret=""):
        self.client = made.client
        self.client.cookies.clear()
        if secret:
            self.client.cookies.set(COOKIE, secret)
        page = self.client.get(path, headers=HTML).text
        self.csrf = re.search(r'name="csrf" value="(\w+)"', page)[1]

    def post(self, path, **fields):
        data = {"csrf": self.csrf, **fields}
        return self.client.post(path, data=data, headers=HTML, follow_redirects=False)

    def multipart(self, path, charset, **fields):
        """A form whose sender chooses its encoding."""
        parts = [f'--B\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()]
        headers = {"Content-Type": f"multipart/form-data; boundary=B; charset={charset}", **HTML}
        content = "".join(parts).encode() + b"--B--\r\n"
        return self.client.post(path, content=content, headers=headers, follow_redirects=False)

    def send(self, **body):
        return self.client.post("/p/main/annotate/send", content=json.dumps(body), headers={"X-Form-Token": self.csrf})


@pytest.mark.parametrize("charset", ["unicode_escape", "undefined", "idna", "hex", "no-such-encoding"])
def test_a_form_in_an_odd_encoding(make, charset):
    p = make(tasks=2, workers=1)
    login = Browser(p, "/login")
    expected = {400} if charset in ("unicode_escape", "undefined") else {400, 403}
    assert login.multipart("/login", charset, csrf="\\ud800").status_code in expected
    code = p.project.queue.do(lambda s: auth.invite(s, 1, 60))
    join = Browser(p, f"/join/{code}")
    expected = {400} if charset in ("unicode_escape", "undefined") else {400, 303}
    assert join.multipart(f"/join/{code}", charset, csrf=join.csrf, name="Ann\\ud800").status_code in expected
    page = Browser(p, "/p/main/annotate", p.tokens[0])
    got = page.multipart("/p/main/annotate", charset, csrf=page.csrf, task="t0", key="k", answer="\\ud800")
    assert got.status_code in (400, 422)
    assert p.project.queue.failed == p.project.queue.faults == 0


def test_tokens_that_no_header_can_hold(make):
    p = make(tasks=1, workers=1)
    for token in ("\u00e9", "\u20ac", "a b", "x" * 5_000):
        assert Browser(p, "/login").post("/login", token=token).status_code in (400, 401), token[:9]
        p.client.cookies.clear()
        cookie = {"Cookie": f"{COOKIE}={token}".encode(), **HTML}
        for path in ("/", "/p/main/annotate", "/p/main/lead"):
            got = p.client.get(path, headers=cookie, follow_redirects=False)
            assert got.status_code in (200, 303, 400, 401), path


def test_keys_that_no_header_can_hold(make):
    p = make(tasks=2, workers=1)
    page = Browser(p, "/p/main/annotate", p.tokens[0])
    entry = {"action": "answer", "task": "t0", "fields": [["answer", "a"]]}
    for key in ("k\u00e9", "k\u20ac", "k 1", "k\n1", "", "x" * 101):
        assert page.send(**entry, key=key).status_code == 400, key
        assert page.post("/p/main/annotate", task="t0", answer="a", key=key).status_code == 400, key
    assert p.get("/status").json()["answers"]["counted"] == 0


GOLD = [
    "NaN",
    "Infinity",
    "1e400",
    "-1e400",
    '"\\ud800"',
    "9" * 5_000,
    "9" * 4_000,
    "[" * 300 + "]" * 300,
    "[" * 60_000,
    "x",
]


@pytest.mark.parametrize("kind", ["numbers", "sets", "rankings", "spans", "classes"])
def test_gold_that_cannot_be_stored_is_refused_by_the_leads_form(make, kind):
    p = make(tasks=2, workers=1, kind=kind, classes=("a", "b") if kind in ("sets", "spans", "classes") else ())
    lead = Browser(p, "/p/main/lead", p.admin)
    for answer in GOLD:
        got = lead.post("/p/main/lead", action="gold", task="t0", answer=answer)
        assert got.status_code in (400, 413, 422), answer[:20]
        if got.status_code != 413:
            assert 'role="alert"' in got.text
    assert p.project.queue.failed == p.project.queue.faults == 0
    assert not p.project.queue.live.gold


SETTINGS = [
    *(("budget", value) for value in ("nan", "inf", "-inf", "1e400", "1e301", "x")),
    *(("target", value) for value in ("nan", "inf", "x")),
    *(("cap", value) for value in ("nan", "1.5", "9" * 4_000, "9" * 5_000)),
]


def test_settings_that_are_no_numbers_are_refused_by_the_leads_form(make):
    p = make(tasks=1, workers=1)
    before = p.project.queue.live.config
    lead = Browser(p, "/p/main/lead", p.admin)
    for field, value in SETTINGS:
        got = lead.post("/p/main/lead", action="settings", **{field: value})
        assert got.status_code in (400, 422), (field, value[:9])
        assert 'role="alert"' in got.text
        assert lead.post("/p/main/lead", action="check", n=value).status_code in (400, 422)
        assert lead.post("/p/main/lead", action="invite", expires_in=value).status_code in (400, 422)
    assert p.project.queue.live.config == before


def test_pages_for_a_host_that_is_none(make):
    """A server other than `crowdwise serve` may let such a Host header through."""
    p = make(tasks=1, workers=1)
    p.client.cookies.clear()
    for host in ("[", "999.1.1.1", "a b", "a:99999", "\u00e9"):
        headers = {"Host": host.encode(), "Cookie": f"{COOKIE}={p.tokens[0]}", **HTML}
        got = p.client.get("/p/main/annotate", headers=headers, follow_redirects=False)
        assert got.status_code in (200, 400), host
