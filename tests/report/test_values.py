"""Decisions, trees and episodes as people see them, without a browser."""

import io
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hostile import IMAGE, SCRIPT, Drawn, Hostile
from PIL import Image

import airoas
from airoas.cli import main
from airoas.domains import Tiger
from airoas.planners import AIROAS, POMCP, POMCPOW, Decision, Random, Stats
from airoas.planners.bounded.cells import half_widths
from airoas.report import charts
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


def test_a_decision_says_where_its_value_is_from():
    def row(name, lower=-9.949, upper=-9.847, **notes):
        rows = dict(Decision(2, -6.415, lower, upper, Stats("deadline", notes=notes))._tables()[0].rows)
        return rows[name]

    nan = float("nan")
    assert row("value") == "-6.415, between -9.949 and -9.847"
    assert row("value", nan, nan) == "-6.415"
    assert row("value", policy="learned", rollouts=40) == "-6.415 by rollouts; the tree's bounds are -9.949 and -9.847"
    assert row("value", policy="learned", rollouts=0) == "-6.415 by the policy; the tree's bounds are -9.949 and -9.847"
    assert row("value", nan, nan, policy="learned") == "-6.415 by the policy"
    assert row("policy", policy="qmdp, 0 rounds, ") == "qmdp, 0 rounds"
    assert row("policy", policy="learned, 3 rounds, ab") == "learned, 3 rounds, ab"


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


class Position(NamedTuple):
    x: float


class Shot(NamedTuple):
    club: int
    angle: float


@airoas.model
class Range(NamedTuple):
    """The nearer the angle to 0.3 the better."""

    discount: float = 0.5
    max_steps: int = 2

    def action_space(self):
        return Shot(club=airoas.Choice("iron", "wood"), angle=airoas.Box(0.0, 1.0))

    def initial(self, rng):
        return Position(rng.uniform())

    def step(self, s, a, rng):
        return Position(rng.uniform()), -abs(a.angle - 0.3) - a.club

    def observe(self, s, a, rng):
        return Position(0.0)

    def obs_logpdf(self, o, s, a):
        return 0.0

    def heuristic(self, s):
        return 0.0


@pytest.fixture(scope="module")
def shot():
    with airoas.running("interpreted"):
        belief = airoas.Particles.sample(Range(), 20, airoas.stream(0))
        return AIROAS(iterations=25, particles=5, max_depth=2).plan(Range(), belief, airoas.stream(1))


@pytest.fixture(scope="module")
def elsewhere(shot):
    """The same decision, for an action that its tree does not have, as rollouts find one."""
    stats = replace(shot.stats, notes=shot.stats.notes | {"rollouts": 40})
    return replace(shot, action=Shot(0, 0.3123), value=-0.5, stats=stats)


def test_cells_end_where_another_action_is_nearer():
    """By what the kernels measure: an action moved by the half-width of its cell, however, is nearer to none of its choices' others."""
    space, rng = round_space(), np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(0.0, 2.0, 30), rng.uniform(-1.0, 1.0, 30), rng.integers(0, 2, 30)])
    cells = half_widths(space, rows)
    unit = (rows[:, :2] - [0.0, -1.0]) / 2.0

    def distance(i, point):
        gap = np.abs(unit[i] - point)
        gap[0] = min(gap[0], 1.0 - gap[0])
        return np.hypot(*gap)

    for i, (moves, cell) in enumerate(zip(rng.choice((-1.0, 1.0), (30, 2)), cells, strict=True)):
        others = [j for j in range(30) if j != i and rows[j, 2] == rows[i, 2]]
        moved = unit[i] + 0.999 * cell * moves
        moved[0] %= 1.0
        assert all(distance(i, moved) < distance(j, moved) for j in others)
        nearest = min(distance(j, unit[i]) for j in others)
        assert cell == pytest.approx(nearest / 2.0 / math.sqrt(2.0))
    assert half_widths(space, np.array([[0.1, 0.0, 0.0], [1.9, 0.0, 0.0], [1.0, 0.5, 1.0]])).tolist() == pytest.approx(
        [0.05 / math.sqrt(2.0)] * 2 + [math.inf]
    )


def round_space():
    @airoas.model
    class Round(NamedTuple):
        discount: float = 0.5

        def action_space(self):
            return (airoas.Box(0.0, 2.0, wraps=True), airoas.Box(-1.0, 1.0), airoas.Choice("a", "b"))

    return Round().space


def test_of_a_space_the_best_actions_are_printed_with_their_cells(shot):
    branches = shot.tree.root.best_branches
    table = shot.tree.choices(shot)
    assert len(branches) > 22 and f"and {len(branches) - len(table.rows)} more" in table.notes
    assert table.columns == ("action", "estimated lower", "estimated upper", "reward", "observations", "cell ±", "mark")
    assert [row[0] for row in table.rows[:20]] == [branch.name for branch in branches[:20]]
    chosen = [row for row in table.rows if row[-1] == "chosen"]
    assert [row[0] for row in chosen] == [Range().action_text(shot.action)]
    assert all(row[-2].endswith(" %") for row in table.rows)
    assert {row[-1] for row, branch in zip(table.rows, branches, strict=False) if not branch.is_open} == {"not opened"}
    assert str(shot).count("angle") < 30 and str(shot.tree).count(" more actions") >= 1
    assert "cell: the part of its box" in str(shot) and "cell: " in shot._repr_html_()
    last = replace(shot, action=branches[-1].action)
    table = shot.tree.choices(last)
    assert table.rows[20][0] == branches[-1].name and table.rows[20][-1] == "chosen" and len(table.rows) == 21
    assert any("weighed again" in note for note in table.notes)


def test_an_action_that_rollouts_chose_has_a_line_of_its_own(elsewhere):
    table = elsewhere.tree.choices(elsewhere)
    assert table.rows[0][0] == "club iron, angle 0.3123" and table.rows[0][-1] == "chosen by rollouts"
    assert len(table.rows) == 21 and sum("chosen" in row[-1] for row in table.rows) == 1


def test_choices_of_a_list_are_all_there_and_have_no_cells(decision):
    table = decision.tree.choices(decision)
    assert "cell ±" not in table.columns and len(table.rows) == 3
    assert [row[0] for row in table.rows if row[-1] == "chosen"] == [Tiger().action_text(decision.action)]


def test_the_chart_of_values_highlights_the_action_taken(shot, elsewhere):
    for decision in (shot, elsewhere):
        chart = charts.values(decision)
        ticks, bars = chart["layout"]["yaxis"]["ticktext"], chart["data"][0]
        name = Range().action_text(decision.action)
        bold = [i for i, tick in enumerate(ticks) if "<b>" in tick]
        assert len(bold) == 1 and name in ticks[bold[0]]
        assert chart["layout"]["xaxis"]["title"]["text"].startswith("estimated value")
        orange = [at for at, colour in zip(bars["y"], bars["marker"]["color"], strict=True) if colour == charts.ORANGE]
        assert all(", cell ± " in text for text in bars["hovertext"]) and len(bars["y"]) == 20
        if decision is shot:
            assert orange == bold and len(ticks) == 20
        else:
            diamond = chart["data"][-1]
            assert orange == [] and bold == [20] and (list(diamond["y"]), list(diamond["x"])) == ([20], [-0.5])


def test_the_chart_of_visits_shows_the_action_taken_however_few_its_visits():
    with airoas.running("interpreted"):
        belief = airoas.Particles.sample(Range(), 20, airoas.stream(0))
        decision = POMCPOW(iterations=60, max_depth=1, k_action=30.0, c=1.0).plan(Range(), belief, airoas.stream(1))
    least = min(decision.tree.root.children, key=lambda child: (child.visits, child.value))
    other = replace(decision, action=least.action)
    ticks = charts.values(other)["layout"]["yaxis"]["ticktext"]
    assert len(ticks) == 21 and "<b>" in ticks[0]
    assert [row[0] for row in other.tree.choices(other).rows if row[-1] == "chosen"] == [least.name]


def test_sizes_leave_out_what_is_kept_for_actions_to_come(shot):
    whole = outline(shot.tree, 10**6)
    assert whole.entries[0].size == whole.total == len(whole.entries)
    assert fitted(whole) == [entry.size for entry in whole.entries]
    assert any("cell ±" in entry.facts for entry in whole.entries)
