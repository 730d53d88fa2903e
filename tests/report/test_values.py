"""Decisions, trees and episodes as people see them, without a browser."""

import io

import numpy as np
import pytest
from hostile import IMAGE, SCRIPT, Drawn, Hostile
from PIL import Image

import airoas
from airoas.cli import main
from airoas.domains import Tiger
from airoas.planners import AIROAS, POMCP, Decision, Random
from airoas.report.episode import report
from airoas.report.outline import fitted, outline
from airoas.report.page import embedded, page
from airoas.tables import TextTable
from airoas.viz import pictures

MARKUP = "[bold]x[/nothing]"


@pytest.fixture(scope="module")
def belief():
    return airoas.Particles.exact(Tiger())


@pytest.fixture(scope="module")
def decision(belief):
    with airoas.running("interpreted"):
        return AIROAS(iterations=15, particles=20).plan(Tiger(), belief, airoas.stream(0, "planner"))


def test_cells_are_shown_as_they_stand():
    table = TextTable(MARKUP, ("name", "number"), [(SCRIPT, "1.5"), (MARKUP, "")], [MARKUP])
    assert table.text().count(MARKUP) == 3 and SCRIPT in table.text()
    assert "<script" not in table.html() and "&lt;script&gt;" in table.html()
    assert table.numeric == [False, True]


def test_long_words_are_folded_and_not_cut():
    word = "filter_particles=1000"
    shown = TextTable("", ("planner", "a", "b"), [(word, "1.000 ± 0.100", "[0.800, 1.200]")]).text(40)
    first = "".join(line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│"))
    assert first == word


def test_a_decision_prints_its_action_and_every_value(decision):
    text, html = str(decision), decision._repr_html_()
    for shown in (text, html):
        assert all(name in shown for name in ("listen", "open-left", "open-right", "15 trials"))
        assert f"{decision.value:.4g}" in shown
    assert str(Decision(2, 1.0)).count("2") >= 1  # no tree: the number of the action
    assert "0.5 1" in str(Decision((0.5, 1.0), 1.0))


def test_trees_print_and_have_html(decision, belief):
    with airoas.running("interpreted"):
        visits = POMCP(iterations=50, estimate="random").plan(Tiger(), belief, airoas.stream(0, "planner"))
    for tree in (decision.tree, visits.tree):
        assert "listen" in str(tree) and "listen" in tree._repr_html_()
        assert [row[0] for row in tree.choices().rows if row[0] == "listen"] == ["listen"]
    assert "visits" in str(visits)


def test_beliefs_are_found_anew_to_the_last_bit():
    with airoas.running("interpreted"):
        episode = airoas.simulate(Hostile(), Random(), seed=3, filter="annealed", particles=200, max_steps=4)
        annealings = []
        beliefs = list(episode.beliefs(annealings))
    assert len(beliefs) == 5 and len(episode.states) == 5
    for step, after in zip(episode.trace, beliefs[1:], strict=True):
        assert np.array_equal(step.mean, after.mean()) and step.ess == after.ess
    assert any(annealings), "the readings are sharp: some update must have been annealed"
    for annealed in filter(None, annealings):
        assert annealed[-1].betas[0] == 0.0 and annealed[-1].betas[-1] == 1.0


def test_an_episode_as_pictures(tmp_path):
    with airoas.running("interpreted"):
        episode = airoas.simulate(Hostile(), Random(), seed=3, filter="bootstrap", particles=50, max_steps=3)
        figure = episode.plot(steps=(0, 2))
        episode.animate(tmp_path / "x.gif", seconds=0.1)
        with pytest.raises(airoas.OptionError, match=r"0 \.\. 3"):
            episode.plot(steps=(9,))
    assert len(figure.axes) == 3
    figure.savefig(io.BytesIO())
    with Image.open(tmp_path / "x.gif") as moving:
        assert moving.n_frames == 4


def test_every_state_is_drawn_with_a_belief(tmp_path, recwarn):
    """Its own `draw` needs one, in the terminal state too."""
    with airoas.running("interpreted"):
        episode = airoas.simulate(Drawn(), Random(), seed=3, filter="bootstrap", particles=50)
        assert episode.terminated and len(list(pictures.every_belief(episode))) == len(episode.states) == 3
        episode.plot()
        html = report(Drawn(), Random(), seed=3, filter="bootstrap", particles=50)
    assert not recwarn.list
    assert "raises" not in html and "before the last step" in html


@pytest.mark.parametrize("draw", ["axis.plot([1, 2], [1])", "axis.set_title('$\\\\frac$')"], ids=["when called", "when shown"])
def test_a_picture_that_fails_becomes_a_plain_one_and_says_why(draw, monkeypatch):
    failing = {}
    exec(f"def draw(self, axis, s, belief):\n    {draw}", failing)
    monkeypatch.setattr(Drawn, "draw", failing["draw"])
    with airoas.running("interpreted"):
        html = report(Drawn(), Random(), seed=3, filter="bootstrap", particles=50)
    assert html.count("plain picture stands here") == 3 and "Drawn.draw" in html


def test_a_plain_picture_shows_what_is_least_known():
    class Loose:
        trace = ()
        states = [(0.0, 0.0, 5.0, 7.0)]

        def beliefs(self):
            yield airoas.Particles(np.array([[0.0, 0.0, 1.0, 2.0], [0.0, 0.1, 3.0, 9.0]]))

    view = pictures.view_of(Loose())
    assert view.axes == (2, 3)
    assert view.limits[0][0] < 1.0 and view.limits[0][1] > 5.0 and view.limits[1][0] < 2.0 and view.limits[1][1] > 9.0


def test_the_table_of_an_episode_is_escaped():
    class Names:
        """Takes every action in turn."""

        def __init__(self):
            self.turn = iter(range(5))

        def plan(self, model, belief, rng):
            return Decision(next(self.turn), 0.0)

    with airoas.running("interpreted"):
        episode = airoas.simulate(Hostile(), Names(), seed=3, filter="bootstrap", particles=50, max_steps=5)
    assert SCRIPT in str(episode) and IMAGE in str(episode)
    assert not any(f"<{tag}" in episode._repr_html_() for tag in ("script", "img", "b>"))


def test_sizes_count_the_nodes_below(decision):
    whole = outline(decision.tree, 10**6)
    below = [0] * len(whole.entries)
    for entry in whole.entries[1:]:
        below[entry.parent] += entry.size
    assert whole.entries[0].size == whole.total == len(whole.entries)
    assert all(entry.size == 1 + inner for entry, inner in zip(whole.entries, below, strict=True))
    assert fitted(whole) == [entry.size for entry in whole.entries]


def test_a_large_tree_is_cut_to_its_largest_nodes(decision):
    whole, cut = outline(decision.tree, 10**6), outline(decision.tree, 20)
    assert len(cut.entries) == 20 < len(whole.entries)
    assert whole.beliefs == decision.stats.nodes == len(decision.tree)
    assert all(entry.parent < i for i, entry in enumerate(cut.entries))
    assert sorted((e.size for e in cut.entries), reverse=True) == sorted((e.size for e in whole.entries), reverse=True)[:20]


def test_no_tag_begins_in_embedded_data():
    assert "<" not in embedded({"name": IMAGE, "<script>": [SCRIPT, float("nan")]})
    html = page(SCRIPT, [])
    assert SCRIPT not in html and "default-src 'none'" in html


def test_wrong_arguments_name_the_remedy(tmp_path, capsys):
    assert main(["report", str(tmp_path / "none")]) == 2
    said = capsys.readouterr().err
    assert "--out" in said and f"{tmp_path}/none holds no results" in said
    folder = tmp_path / "results"
    assert main(["run", "tiger", "random", "--episodes", "2", "--max-steps", "2", "--out", str(folder)]) == 0
    assert main(["report", str(folder), "zzz"]) == 2
    said = capsys.readouterr().err
    assert "no episode" in said and f"`airoas report {folder}` makes a page that names some" in said
    assert main(["report", str(folder), "-o", str(tmp_path / "no" / "x.html")]) == 2
    assert "Give -o another file" in capsys.readouterr().err


def test_the_page_of_an_episode_does_not_replace_that_of_its_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", "tiger", "random", "--episodes", "2", "--max-steps", "2", "--out", "runs"]) == 0
    key = airoas.load("runs")[0]["id"]
    assert main(["report", "runs"]) == main(["report", "runs", key]) == 0
    assert capsys.readouterr().out.endswith(f"report.html\nepisode-{key[:8]}.html\n")
    assert {path.name for path in tmp_path.glob("*.html")} == {"report.html", f"episode-{key[:8]}.html"}
