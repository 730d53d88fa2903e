"""Reports in a real browser: they open from disk without network, the slider and the tree work, hostile text stays text."""

import json
import shutil

import pytest
from hostile import IMAGE, SCRIPT, Hostile

import airoas
from airoas.cli import main
from airoas.experiments.rows.store import latest
from airoas.planners import AIROAS
from airoas.report.episode import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium: apt-get install chromium")
STEPS = 3
QUIET = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run"


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def episode(tmp_path_factory):
    """The page of an annealed, searched episode with hostile names."""
    file = tmp_path_factory.mktemp("report") / "episode.html"
    with airoas.running("interpreted"):
        html = report(Hostile(), AIROAS(iterations=4, particles=20), seed=1, filter="annealed", particles=100, max_steps=STEPS)
    file.write_text(html, encoding="utf-8")
    return file


def opened(browser, file, **options):
    """The page, whose every complaint and request fails the test at the end."""
    page = browser.new_page(viewport={"width": 1300, "height": 1000}, **options)
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda message: page.wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("request", lambda request: page.wrong.append(request.url) if request.url.startswith(("http", "ws")) else None)
    page.goto(file.as_uri())
    return page


def closed(page):
    assert page.evaluate("window.broken") is None
    assert page.wrong == []
    page.close()


def test_the_slider_changes_what_is_shown(browser, episode):
    page = opened(browser, episode)
    page.wait_for_selector("#tree path.surface")

    def shown():
        picture = page.get_attribute("section.step:not([hidden]) img", "src")
        return picture, page.inner_text("section.step:not([hidden]) dl"), page.inner_html("#belief"), page.inner_text("#belief-note")

    assert page.locator("section.step:not([hidden])").count() == 1
    assert not any("hare" in title for title in page.evaluate("[...document.querySelectorAll('.modebar-btn')].map((b) => b.dataset.title)"))
    first = shown()
    page.focus("#step")
    page.keyboard.press("ArrowRight")
    second = shown()
    assert page.inner_text("#at") == f"1 / {STEPS}"
    assert all(a != b for a, b in zip(first[:3], second[:3], strict=True))
    page.click("#previous")
    assert shown()[:2] == first[:2]
    page.locator("#all tbody tr").nth(2).click()
    assert page.inner_text("#at") == f"2 / {STEPS}"
    page.locator("#step").fill(str(STEPS))
    assert page.inner_text("#tree-note") == "The episode is over." and not page.is_visible("#tree")
    page.click("#previous")
    assert page.is_visible("#tree path.surface")
    closed(page)


def test_opening_a_node_of_the_tree_changes_what_is_shown(browser, episode):
    from playwright.sync_api import expect

    page = opened(browser, episode)
    page.wait_for_selector("#tree path.surface")
    before = page.locator("#tree g.slice text").all_text_contents()
    assert "root" in before and any(text.startswith("observed") for text in before)
    action = page.locator("#tree g.slice").nth(1)
    action.hover()
    page.wait_for_selector("#tree .hoverlayer .hovertext")
    assert "bounds: [" in page.locator("#tree .hoverlayer").text_content()
    action.click()
    expect(page.locator("#node")).to_contain_text("bounds: [")
    expect(page.locator("#tree g.slice text").first).not_to_have_text("root")  # the action is on top now
    after = page.locator("#tree g.slice text").all_text_contents()
    assert len(after) > 1 and after != before
    page.locator("#next").click()
    assert page.inner_text("#node") == ""
    closed(page)


def test_values_annealing_and_axes(browser, episode):
    from playwright.sync_api import expect

    page = opened(browser, episode)
    page.wait_for_selector("#values .yaxislayer-above text")
    names = page.locator("#values .yaxislayer-above text").all_text_contents()
    assert len(names) == 5 and SCRIPT in names and "wait" in names and any(text.startswith(IMAGE[:30]) for text in names)
    notes = []
    for _ in range(STEPS):
        notes.append(page.inner_text("#annealing-note"))
        page.click("#next")
    annealed = next(t for t, note in enumerate(notes) if "stages" in note)
    page.locator("#step").fill(str(annealed))
    assert page.locator("#annealing .scatterlayer .trace").count() == 2
    assert page.locator("#belief .trace").count() == 2  # before and after
    expect(page.locator("#values .modebar-group").first).to_have_css("opacity", "0")  # until the mouse is there
    assert page.locator("#all").evaluate("element => element.scrollWidth - element.clientWidth") == 0
    page.select_option("#y", "probability")
    page.wait_for_selector("#belief .barlayer .trace")
    closed(page)


def test_light_and_dark(browser, episode):
    colours = {}
    for scheme in ("light", "dark"):
        page = opened(browser, episode, color_scheme=scheme)
        ground = "getComputedStyle(document.body).backgroundColor"
        ink = "getComputedStyle(document.querySelector('#values .xtick text')).fill"
        page.wait_for_selector("#values .xtick text")
        colours[scheme] = page.evaluate(ground), page.evaluate(ink)
        page.click("#theme")
        colours[scheme, "switched"] = page.evaluate(ground), page.evaluate(ink)
        closed(page)
    assert colours["light"] == colours["dark", "switched"] and colours["dark"] == colours["light", "switched"]
    assert all(a != b for a, b in zip(colours["light"], colours["dark"], strict=True))


def test_a_folder_of_results(browser, tmp_path, capsys):
    folder = tmp_path / "<b>results"
    assert main(["run", "tiger", "random", "--episodes", "3", "--max-steps", "3", "--full", "--out", str(folder)]) == 0
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    first, failed = json.loads(lines[0]), json.loads(lines[-1])
    first |= {"stops": ["deadline"] * 3, "times": first["times"] | {"plan": [1.2345] * 3}}  # as a timed search would have left it
    failing = [json.dumps(failed | {"error": f"{SCRIPT}{IMAGE}"} | other) for other in ({}, {"id": "0"}, {"id": "1", "error": "else"})]
    (folder / "episodes.jsonl").write_text("\n".join([json.dumps(first), *lines[1:-1], *failing, ""]))
    assert main(["report", str(folder), "-o", str(tmp_path / "folder.html")]) == 0
    page = opened(browser, tmp_path / "folder.html")
    text = page.inner_text("main")
    assert "return ± SEM" in text and text.count(SCRIPT) == 1 and f"airoas report '{folder}' {first['id']}" in text
    assert "reference" not in text and "failed" in text  # no column without a value
    assert page.locator(".errors tbody tr td:first-child").all_inner_texts() == ["2", "1"]
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 300)")
    page.set_viewport_size({"width": 360, "height": 700})  # a phone: nothing has to be scrolled sideways
    assert page.evaluate("[document.documentElement, ...document.querySelectorAll('.wide')].every((e) => e.scrollWidth <= e.clientWidth)")
    closed(page)
    assert main(["report", f"{folder}/{first['id']}", "-o", str(tmp_path / "one.html")]) == 0
    page = opened(browser, tmp_path / "one.html")
    assert "The same as recorded, to the last bit." in page.inner_text("main")
    about = page.inner_text("main > dl")
    assert first["id"] in about and "random" in about and "tiger" in about and f"seed\n{first['seed']}" in about and "exact" in about
    assert f"seed {first['seed']}" in page.inner_text("h1")
    facts = page.inner_text("section.step:not([hidden]) dl")
    assert "nan" not in facts and "0 nodes" not in facts and "deadline" in facts and "1234.5 ms" in facts
    assert "tiger 1" in facts or "tiger 0" in facts  # the number with its name
    assert "No tree" in page.inner_text("#tree-note") and page.is_visible("#belief .trace")
    closed(page)
    capsys.readouterr()
    assert main(["report", str(folder), failed["id"]]) == 2
    assert SCRIPT in capsys.readouterr().err


def test_only_failed_episodes(browser, tmp_path, capsys):
    assert main(["run", "tiger", "random", "--episodes", "2", "--max-steps", "3", "--out", str(tmp_path / "out")]) == 0
    rows = [row | {"error": "no such step"} for row in latest(tmp_path / "out").values()]
    (tmp_path / "out" / "episodes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(tmp_path / "out"), "-o", str(tmp_path / "failed.html")]) == 0
    page = opened(browser, tmp_path / "failed.html")
    assert page.locator("h2").all_inner_texts() == ["Failed episodes", "What was asked"]
    assert page.locator(".errors tbody tr").count() == 1 and page.locator("img").count() == 0
    closed(page)
