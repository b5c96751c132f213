"""Every kind of answer has its control: by mouse, by keyboard, and as a plain form; what is sent is what is stored."""

from __future__ import annotations

import pytest

HERE = "/p/main/annotate"
TEXT = "Ann 💥 Lee met Bob\r\nin Paris."
CONFIG = {
    "classes": {"classes": ("cat", "dog")},
    "ordered": {"classes": ("bad", "fair", "good")},
    "sets": {"classes": ("sport", "money", "art")},
    "numbers": {"classes": (), "low": 0.0, "high": 10.0},
    "comparisons": {"classes": ()},
    "similarities": {"classes": ()},
    "rankings": {"classes": ()},
    "spans": {"classes": ("PER", "LOC")},
}
PAYLOAD = {
    "comparisons": {"left": "a poem", "right": "a rhyme"},
    "similarities": {"left": "a poem", "right": "a rhyme"},
    "rankings": {"items": ["fig", "pear", "plum"]},
    "spans": {"text": TEXT},
}


def choose(name):
    return lambda page: page.get_by_role("button", name=name).click()


def tick(page):
    page.get_by_label("sport").check()
    page.keyboard.press("3")
    page.keyboard.press("Enter")


def slide(page):
    page.get_by_label("The same number as a slider").fill("3.5")
    page.get_by_role("button", name="Send").click()


def order(page):
    page.get_by_role("button", name="Up: plum").click()
    page.get_by_role("button", name="Down: fig").press("Alt+ArrowDown")
    page.get_by_role("button", name="Send").click()


def drag(page):
    what = page.locator(".what")
    first, last = what.nth(0).bounding_box(), what.nth(2).bounding_box()
    page.mouse.move(first["x"] + 30, first["y"] + 10)
    page.mouse.down()
    page.mouse.move(last["x"] + 30, last["y"] + last["height"] - 4, steps=6)
    page.mouse.up()
    page.get_by_role("button", name="Send").click()


def mark(page):
    """One span by the keyboard (Paris: beyond a code point of two units and a carriage return), one by the mouse."""
    text = page.locator("[data-spans]")
    text.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("2")
    text.evaluate(
        """(area) => { const node = area.firstChild; const at = node.data.indexOf("Lee");
        getSelection().setBaseAndExtent(node, at, node, at + 8); }"""
    )
    page.get_by_role("button", name="PER").click()
    page.get_by_role("button", name="Send").click()


SPANS = [{"start": 6, "end": 13, "label": "PER"}, {"start": 22, "end": 28, "label": "LOC"}]
assert [TEXT[s["start"] : s["end"]] for s in SPANS] == ["Lee met", "Paris."]
WITH = [
    ("classes", choose("dog"), "dog"),
    ("ordered", choose("fair"), "fair"),
    ("sets", tick, ["sport", "art"]),
    ("numbers", slide, 3.5),
    ("comparisons", choose("Right is better"), "right"),
    ("comparisons", lambda page: (page.keyboard.press("ArrowLeft"), page.keyboard.press("Enter")), "left"),
    ("similarities", choose("Different"), "different"),
    ("rankings", order, ["plum", "fig", "pear"]),
    ("rankings", drag, ["pear", "plum", "fig"]),
    ("spans", mark, SPANS),
]


def rank_by_hand(page):
    for place, select in zip("312", page.locator("select").all(), strict=True):
        select.select_option(place)
    page.get_by_role("button", name="Send").click()


def spans_by_hand(page):
    page.get_by_text("Words and their places").click()
    assert "Paris. 22–28" in page.locator(".words").inner_text().replace("\n", " ")
    for row, span in enumerate(SPANS, 1):
        page.get_by_label(f"Start of span {row}").fill(str(span["start"]))
        page.get_by_label(f"End of span {row}").fill(str(span["end"]))
        page.get_by_label(f"Tag of span {row}").select_option(span["label"])
    page.get_by_role("button", name="Send").click()


def fill(page):
    page.get_by_label("Number from 0 to 10").fill("7.25")
    page.get_by_role("button", name="Send").click()


WITHOUT = [
    ("classes", choose("cat"), "cat"),
    ("ordered", choose("good"), "good"),
    ("sets", lambda page: page.get_by_role("button", name="Send").click(), []),
    ("numbers", fill, 7.25),
    ("comparisons", choose("tie"), "tie"),
    ("similarities", choose("Same"), "same"),
    ("rankings", rank_by_hand, ["pear", "plum", "fig"]),
    ("spans", spans_by_hand, SPANS),
]


def tasks(kind):
    shown = PAYLOAD.get(kind, {"text": "A text"})
    return [{"id": f"t{i}", "payload": shown} for i in range(8)]


@pytest.mark.parametrize("kind", CONFIG)
def test_the_control_of_a_kind(site, visit, kind):
    here = site(tasks(kind), kind=kind, **CONFIG[kind])
    page, watch = visit(here, HERE, here.worker("Ann"))
    expected = {}
    for _, act, answer in (each for each in WITH if each[0] == kind):
        task = page.locator(".task").get_attribute("data-task")
        page.wait_for_timeout(380)
        act(page)
        page.wait_for_function("(was) => document.querySelector('.task')?.dataset.task !== was", arg=task)
        expected[task, "Ann"] = answer
    page.wait_for_function("() => Object.keys(localStorage).every((k) => !k.startsWith('crowdwise:waiting:'))")
    assert watch.complaints == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    plain, _ = visit(here, HERE, here.worker("Bob"), java_script_enabled=False)
    for _, act, answer in (each for each in WITHOUT if each[0] == kind):
        expected[plain.locator(".task").get_attribute("data-task"), "Bob"] = answer
        with plain.expect_navigation():
            act(plain)
    assert here.labels() == expected


def test_digits_are_their_own_keys():
    from crowdwise.server.pages.annotate import _keys

    assert _keys(["0", "1", "9"]) == ["0", "1", "9"]
    assert _keys(["cat", "1"]) == ["1", "2"]
    assert _keys([str(i) for i in range(11)]) == [*"123456789", "", ""]


def test_pairs_of_pictures_without_texts(site, visit):
    shown = {"left_image": "/media/x.png", "right_image": "https://example.org/d/y%20z.png", "left_id": "x"}
    here = site([{"id": "t", "payload": shown}], kind="comparisons", classes=())
    (here.project.folder.path / "media" / "x.png").write_bytes(b"no picture at all")
    page, _ = visit(here, HERE, here.worker("Ann"))
    assert [each.get_attribute("alt") for each in page.locator("img.picture").all()] == ["x", "y z.png"]
    assert page.locator(".fields").count() == 0  # what an item is called is no part of the question
    page.wait_for_timeout(380)
    page.get_by_role("button", name="Left is better").click()
    page.wait_for_function("() => Object.keys(localStorage).every((k) => !k.startsWith('crowdwise:waiting:'))")
    assert here.labels() == {("t", "Ann"): "left"}
