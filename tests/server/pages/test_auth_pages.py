"""How people come in and go: invite links, tokens, cookies; forms of other sites are refused."""

from __future__ import annotations

import re

import httpx

from crowdwise.server import auth

from .site import texts

HTML = {"Accept": "text/html"}


def browser(here, **more):
    return httpx.Client(base_url=here.url, headers=HTML, **more)


def csrf(html):
    return re.search(r'name="csrf" value="(\w+)"', html)[1]


def test_an_invite_link_is_good_once(site, visit):
    here = site(texts(5))
    code = here.invite()
    page, _ = visit(here, f"/join/{code}")
    page.get_by_label("Your name").fill("Zoë")
    page.get_by_role("button", name="Begin").click()
    page.locator(".task").wait_for()
    cookie = next(c for c in page.context.cookies() if c["name"] == "crowdwise")
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert page.locator(".who").inner_text() == "Zoë"
    with browser(here) as other:
        assert other.get(f"/join/{code}").status_code == 403
    page.get_by_role("button", name="Log out").click()
    page.get_by_text("I have a token").wait_for()
    assert not [c for c in page.context.cookies() if c["name"] == "crowdwise"]


def test_a_name_that_is_taken_does_not_use_the_invite_up(site):
    here = site(texts(5))
    here.worker("Ann")
    code = here.invite()
    with browser(here) as other:
        token = csrf(other.get(f"/join/{code}").text)
        for name in ("Ann", "", "x" * 300, "a\x01b"):
            refused = other.post(f"/join/{code}", data={"csrf": token, "name": name})
            assert refused.status_code == 422, name
            assert 'role="alert"' in refused.text
        assert other.post(f"/join/{code}", data={"csrf": token, "name": "Bob"}).status_code == 303


def test_log_in_with_a_token(site):
    here = site(texts(5))
    token = here.worker("Ann")
    with browser(here) as other:
        page = other.get("/p/main/annotate")
        assert page.status_code == 303
        assert page.headers["location"] == "/login?next=/p/main/annotate"
        form = {"csrf": csrf(other.get(page.headers["location"]).text), "next": "/p/main/annotate"}
        assert other.post("/login", data=form | {"token": "cw_wrong"}).status_code == 401
        fine = other.post("/login", data=form | {"token": f" {token} "})
        assert fine.headers["location"] == "/p/main/annotate"
        assert other.get("/p/main/annotate").status_code == 200
        assert other.get("/p/main/lead").status_code == 403
        assert other.get("/p/other/annotate").status_code == 404


def test_the_way_after_the_login_stays_here(site):
    here = site(texts(2))
    for where in ("https://evil.test/", "//evil.test/", "/\\evil.test", "javascript:alert(1)", "/\n/x"):
        with browser(here) as other:
            form = {"csrf": csrf(other.get("/login").text), "next": where, "token": here.admin}
            assert other.post("/login", data=form).headers["location"] == "/"


def test_forms_of_other_sites_are_refused(site):
    here = site(texts(5))
    token = here.worker("Ann")
    with browser(here, cookies={"crowdwise": token}) as ann:
        mine = csrf(ann.get("/p/main/annotate").text)
        fields = {"task": "t000", "key": "k", "answer": "cat"}
        for bad in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": "ü"}):
            assert ann.post("/p/main/annotate", data=fields | bad).status_code == 403
        elsewhere = {"Sec-Fetch-Site": "cross-site"}
        assert ann.post("/p/main/annotate", data=fields | {"csrf": mine}, headers=elsewhere).status_code == 403
        sent = ann.post("/p/main/annotate/send", json={"action": "answer", "task": "t000", "key": "k", "fields": []})
        assert sent.status_code == 403
        assert ann.post("/logout", data={}).status_code == 403
    with browser(here, cookies={"crowdwise": here.admin}) as lead:
        assert lead.post("/p/main/lead", data={"action": "pause", "worker": "Ann", "csrf": mine}).status_code == 403
    assert here.events("label") == here.events("pause") == 0


def test_a_link_from_elsewhere_leads_on_where_the_cookie_did_not_come_along(site):
    here = site(texts(2))
    with browser(here) as other:
        page = other.get("/login?next=/p/main/annotate", headers={"Sec-Fetch-Site": "cross-site"})
        assert '<meta http-equiv="refresh" content="0;url=/p/main/annotate">' in page.text
        assert "refresh" not in other.get("/login?next=/p/main/annotate").text


def test_pages_have_strict_headers_and_styles_are_kept(site):
    here = site(texts(2))
    with browser(here) as other:
        page = other.get("/login")
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<style|style=|<script(?![^>]* src=)|\son\w+=", page.text)
        for sheet in re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text):
            found = other.get(sheet)
            assert found.status_code == 200
            assert "immutable" in found.headers["cache-control"]
        assert other.get("/static/x/../../routes.py").status_code == 404
        assert other.get("/static/x/none.js").status_code == 404
        assert other.get("/nowhere").headers["content-type"].startswith("text/html")
        assert other.get("/projects/main/none", headers={"Accept": "application/json"}).status_code in (401, 404)


def test_without_tokens_only_this_machine_gets_in(site):
    """--insecure-local: neither another site's form nor a name that another site lets point here is an admin."""
    here = site(texts(3), insecure_local=True)
    with httpx.Client(base_url=here.url) as local:
        assert local.get("/projects/main/status").status_code == 200
        assert local.get("/p/main/lead", headers=HTML).status_code == 200
        assert local.post("/projects/main/workers", json={"name": "Ann"}).status_code == 201
        assert local.get("/projects/main/status", headers={"Host": "evil.test"}).status_code == 401
        assert local.get("/p/main/lead", headers=HTML | {"Host": "evil.test"}).status_code == 303
        for elsewhere in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.test"}, {"Origin": "null"}):
            assert local.post("/projects/main/workers/Ann/resume", headers=elsewhere).status_code == 401
        form = {"csrf": csrf(local.get("/p/main/lead", headers=HTML).text), "action": "pause", "worker": "Ann"}
        assert local.post("/p/main/lead", data=form, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert here.events("pause") == 0
        assert local.post("/p/main/lead", data=form).status_code == 303
        assert here.events("pause") == 1


def test_who_may_only_read_sees_everything_and_no_forms(site):
    here = site(texts(3))
    here.worker("Ann")
    (here.project.folder.path / "media" / "a.png").write_bytes(b"a picture")
    token = here.project.queue.do(lambda batch: auth.issue(batch, "read"))[1]
    with browser(here, cookies={"crowdwise": token}) as reader:
        page = reader.get("/p/main/lead").text
        assert "Ann" in page
        assert "votes as csv" in page
        assert page.count("<form") == 1  # log out
        assert reader.get("/media/a.png").content == b"a picture"
        form = {"csrf": csrf(page), "action": "pause", "worker": "Ann"}
        assert reader.post("/p/main/lead", data=form).status_code == 403
        assert reader.get("/p/main/annotate").status_code == 403
    with browser(here) as stranger:
        assert stranger.get("/media/a.png").status_code == 401
    assert here.events("pause") == 0


def test_every_visitor_has_a_form_token_of_their_own(site):
    """The token of a form that an attacker was given is no good in another browser."""
    here = site(texts(2))
    form = {"token": here.admin, "next": "/"}
    with browser(here) as attacker, browser(here) as other:
        stolen = csrf(attacker.get("/login").text)
        page = other.get("/login")
        mine = csrf(page.text)
        cookie = page.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert mine != stolen
        assert csrf(other.get("/login").text) == mine  # it stays the same for the same visitor
        assert other.post("/login", data=form | {"csrf": stolen}).status_code == 403
        assert other.post("/login", data=form | {"csrf": mine}).status_code == 303
    with browser(here) as nobody:
        assert nobody.post("/login", data=form | {"csrf": stolen}).status_code == 403


def test_without_sec_fetch_site_the_origin_is_checked(site):
    here = site(texts(2))
    with browser(here) as other:
        form = {"csrf": csrf(other.get("/login").text), "token": here.admin, "next": "/"}
        for origin in ("https://evil.test", "null", "http://[", "", here.url + ".evil.test"):
            assert other.post("/login", data=form, headers={"Origin": origin}).status_code == 403, origin
        for fine in ({"Origin": here.url}, {"Origin": here.url.replace("http:", "https:")}, {}):
            assert other.post("/login", data=form, headers=fine).status_code == 303
            other.cookies.delete("crowdwise")
