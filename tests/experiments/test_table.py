"""Tables and pictures of a folder: the right numbers, the right comparisons, and what has to be said beside them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airoas
from airoas.cli import main
from airoas.errors import OptionError
from airoas.experiments.analysis.load import join
from airoas.experiments.analysis.plot import _without_outliers, draw
from airoas.experiments.analysis.render import FORMATS, as_csv, escape, render
from airoas.experiments.analysis.statistics import Estimate
from airoas.experiments.analysis.table import cell_summaries, differences, tables
from airoas.experiments.rows.store import Store, latest
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.reading import parse

THREE = """
[planners.a]
planner = 'tiny.py:Searching'
iterations = 5
[planners.b]
planner = 'tiny.py:Searching'
iterations = 5
clever = 0.9
[planners.c]
planner = 'tiny.py:Searching'
iterations = 7
[reference]
title = "elsewhere"
returns = { 'tiny.py:Walk' = { a = [1.5, 0.25], oracle = [6.0] } }
"""


def invented(spec: Spec, seed: int = 0, **more: Any) -> dict[str, dict[str, Any]]:
    """Rows with returns drawn here: world (shared by seed) plus planner plus noise."""
    rng = np.random.default_rng(seed)
    worlds: dict[int, float] = {}
    rows = {}
    for number, cell in enumerate(spec.cells):
        for key, episode in cell.ids.items():
            world = worlds.setdefault(episode, float(rng.normal(0.0, 5.0)))
            rows[key] = {
                "id": key,
                "seed": episode,
                "map": None,
                "discounted_return": world + number + float(rng.normal(0.0, 0.5)),
                "steps": 2,
                "terminated": True,
                "success": episode % 2 == 0,
                "wrong_stop": episode % 4 == 1,
                "recoveries": 0,
                "stops": ["deadline", "gap"],
                "trials": [30, 0],
                "times": {"plan": [0.01, 0.03], "overshoot": [0.0, 0.001], "update": [0.1, 0.1]},
            } | more
    return rows


def test_summaries_are_those_of_the_rows(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE, episodes=40)
    rows = invented(spec)
    records = cell_summaries(spec, rows)
    assert [record.planner for record in records] == ["a", "b", "c"]
    values = [rows[key]["discounted_return"] for key in spec.cells[1].ids]
    assert records[1].mean == pytest.approx(np.mean(values))
    assert records[1].sem == pytest.approx(np.std(values, ddof=1) / math.sqrt(40))
    assert (records[0].reference_mean, records[0].reference_sem, records[1].to_dict()["reference_mean"]) == (1.5, 0.25, None)
    assert (records[0].success, records[0].wrong_stop) == (0.5, 0.25)
    assert records[0].plan_seconds_mean == pytest.approx(0.02)
    assert records[0].overshoot_ms_max == pytest.approx(1.0)
    assert (records[0].trials_mean, records[0].unsearched) == (15.0, 0.0)  # bounds that meet at once are no lack of time


def test_undiscounted_returns_stand_beside_the_others_where_asked_for(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE, episodes=4)
    rows = invented(spec)
    for number, key in enumerate(spec.cells[0].ids):
        rows[key]["return"] = 10.0 * number
    summary = cell_summaries(spec, rows)[0]
    sem = np.std([0.0, 10.0, 20.0, 30.0], ddof=1) / 2.0
    assert (summary.undiscounted_mean, summary.undiscounted_sem) == (15.0, pytest.approx(sem))
    plain, asked = (tables(spec, rows, undiscounted=wanted)[0] for wanted in (False, True))
    assert not any("undiscounted" in column for column in plain.columns)
    at = asked.columns.index("undiscounted ± SEM")
    assert [row[at] for row in asked.rows[:2]] == [f"15.000 ± {sem:.3f}", ""]
    assert asked.rows[0][at + 1].startswith("[") and [row[:at] for row in asked.rows] == [row[:at] for row in plain.rows]


def test_differences_are_paired_by_world(make_spec: Callable[..., Spec]) -> None:
    """Worlds differ by 5, planners by 1: unpaired it would drown, paired it is plain."""
    spec = make_spec(THREE, episodes=40)
    records = differences(spec, invented(spec))
    assert [(record.first, record.second) for record in records] == [("a", "b"), ("a", "c"), ("b", "c")]
    for record, truth in zip(records, (-1.0, -2.0, -1.0), strict=True):
        assert record.pairs == 40
        assert record.low < truth < record.high
        assert record.sem < 0.2
        assert record.p <= record.p_holm < 1e-4


def test_failed_episodes_leave_their_pairs_out(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE, episodes=10)
    rows = invented(spec)
    for key in list(spec.cells[0].ids)[:3]:
        rows[key] = {"id": key, "error": "lost", "seed": 0, "map": None, "times": {}}
    assert [record.pairs for record in differences(spec, rows)] == [7, 7, 10]
    text = render(tables(spec, rows), "text")
    assert "3 episodes failed and are left out" in text
    assert cell_summaries(spec, rows)[0].failures == 3


def test_a_baseline_and_an_axis_choose_the_comparisons(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE, more="compare = 'b'")
    assert [(r.first, r.second) for r in differences(spec, invented(spec))] == [("b", "a"), ("b", "c")]
    varied = "[planners.a]\nplanner = 'tiny.py:Searching'\nvary = { kind = ['plain', 'fancy'], iterations = [5, 10] }\n"
    spec = make_spec(varied, more="compare = 'kind'")
    result = [(r.first, r.second) for r in differences(spec, invented(spec))]
    assert result == [(f"a kind=fancy iterations={n}", f"a kind=plain iterations={n}") for n in (5, 10)]
    both = make_spec(varied, more="compare = ['kind', 'iterations']")
    assert len(differences(both, invented(both))) == 4


def test_what_has_to_be_said_is_said(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE, episodes=20, scale="0.5", more="note = 'a note'")
    rows = invented(spec)
    rows.pop(next(iter(rows)))
    text = " ".join(render(tables(spec, rows), "text").split())
    for words in (
        "a note",
        "Scale 0.5: budgets and episodes are cut down",
        "Not finished: 29 of 30",
        "all 3 comparisons",
        "oracle",
        "6.000",
        "[scale 0.5]",
    ):
        assert words in text
    spec = make_spec(THREE)
    assert "recovered 18 times" in render(tables(spec, invented(spec, recoveries=1)), "text")


def test_a_search_that_had_no_time_is_named_with_the_remedy(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE)
    said = "no search within the time in 67 % of the decisions. Give it more time or fewer particles, or add `value_bounds`"
    never = {"stops": ["deadline"] * 3, "trials": [0, 4, 0]}
    assert " ".join(render(tables(spec, invented(spec, **never)), "text").split()).count(said) == 3
    half = {"stops": ["deadline", "deadline", "done", "terminal"], "trials": [0, 8, 0, 0]}
    assert "no search within the time in 50 % of the decisions" in " ".join(render(tables(spec, invented(spec, **half)), "text").split())
    assert cell_summaries(spec, invented(spec, **half))[0].trials_mean == 4.0
    seldom = {"stops": ["deadline"] * 20, "trials": [0] + [7] * 19}  # 5 %, no more
    assert "no search" not in render(tables(spec, invented(spec, **seldom)), "text")
    assert cell_summaries(spec, invented(spec, stops=["done"] * 2))[0].to_dict()["trials_mean"] is None


def test_trials_and_the_share_without_any_stand_beside_every_return(make_spec: Callable[..., Spec]) -> None:
    """As columns where a planner searches, and not where none does."""
    spec = make_spec(THREE)
    table = tables(spec, invented(spec, stops=["deadline"] * 4, trials=[0, 10, 10, 20]))[0]
    assert [row[table.columns.index("trials a decision")] for row in table.rows] == ["10", "10", "10", ""]  # the last is from elsewhere
    assert [row[table.columns.index("unsearched")] for row in table.rows] == ["25.0 %", "25.0 %", "25.0 %", ""]
    assert "unsearched" not in tables(spec, invented(spec, stops=["done"] * 2, trials=[0, 0]))[0].columns


def test_a_choice_names_the_best(make_spec: Callable[..., Spec]) -> None:
    varied = "[planners.a]\nplanner = 'tiny.py:Searching'\nvary = { iterations = [5, 10, 15] }\n"
    spec = make_spec(varied, more="choose = true")
    (table,) = [table for table in tables(spec, invented(spec)) if "chosen" in table.title]
    assert table.rows[0][1:3] == ("a", "iterations=15")
    assert "report it on other seeds" in table.notes[0]


def test_an_empty_folder_has_a_table(make_spec: Callable[..., Spec]) -> None:
    spec = make_spec(THREE)
    for form in ("text", "markdown", "latex"):
        assert "0 of 18" in render(tables(spec, {}), form)


def test_maps_are_what_is_independent() -> None:
    spec = parse("domains = { rock-sample-random-11-11 = { maps = 4 } }\n[planners.random]\n", check=False)
    rng = np.random.default_rng(1)
    offsets = rng.normal(0, 3, 4)
    rows = invented(spec)
    for row in rows.values():
        row |= {"map": row["seed"] // 10, "discounted_return": float(offsets[row["seed"] // 10] + rng.normal(0, 0.1))}
    (record,) = cell_summaries(spec, rows)
    assert record.maps == 4
    assert record.sem == pytest.approx(np.std(offsets, ddof=1) / 2, rel=0.1)
    assert "mean over maps" in render(tables(spec, rows), "text")


def test_formats(make_spec: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = make_spec(THREE)
    rows = bench(spec, tmp_path, Inline)
    for form in FORMATS:
        assert main(["table", str(tmp_path), "--format", form]) == 0
        text = capsys.readouterr().out
        mean = cell_summaries(spec, rows)[1].mean
        assert (str(mean) if form == "csv" else f"{mean:.3f}") in text
    read = list(csv.DictReader(io.StringIO(as_csv(cell_summaries(spec, rows)))))
    assert float(read[0]["mean"]) == cell_summaries(spec, rows)[0].mean
    assert main(["table", str(tmp_path), "--undiscounted", "--format", "markdown"]) == 0
    assert "undiscounted" in capsys.readouterr().out
    assert main(["table", str(tmp_path), "--format", "csv", "--differences"]) == 0
    assert len(list(csv.DictReader(io.StringIO(capsys.readouterr().out)))) == 3
    assert main(["table", str(tmp_path / "nowhere")]) == 2


def test_latex_needs_nothing_special() -> None:
    assert escape("a_b 95 % ± {x} \\ ^~") == r"a\_b 95 \% $\pm$ \{x\} \textbackslash{} \textasciicircum{}\textasciitilde{}"


def test_load_gives_records_and_a_frame(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra `data`")
    bench(make_spec(THREE, episodes=3), tmp_path, Inline)
    records = airoas.load(tmp_path)
    assert len(records) == 9
    assert {record["label"] for record in records} == {"a", "b", "c"}
    assert {(record["domain"], record["planner"]) for record in records} == {("tiny.py:Walk", "tiny.py:Searching")}
    assert all(Path(row["domain"].partition(":")[0]).is_absolute() for row in latest(tmp_path).values())  # to run it from anywhere
    frame = airoas.load(tmp_path, frame=True)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["discounted_return"]) == [record["discounted_return"] for record in records]


def test_pictures_are_drawn(make_spec: Callable[..., Spec], tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image", reason="needs the extra `plot`")
    varied = "[planners.a]\nplanner = 'tiny.py:Searching'\nvary = { kind = ['plain', 'fancy'], iterations = [5, 10, 100] }\n"
    spec = make_spec(varied)
    files = draw(spec, invented(spec), tmp_path)
    assert [file.name for file in files] == ["returns.png", "against-iterations.png"]
    for file in files:
        assert image.imread(file).std() > 0.05
    assert draw(spec, {}, tmp_path / "empty")


def test_plot_names_its_files(make_spec: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `plot`")
    bench(make_spec(THREE, episodes=3), tmp_path, Inline)
    assert main(["plot", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'plots' / 'returns.png'}\n"
    assert (tmp_path / "plots" / "returns.png").exists()


def test_several_folders_are_compared_as_one(make_spec: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As if one experiment had held them all; names that are taken get their folder, equal cells are one, other models are refused."""

    def keep(folder: str, planners: str, **more: Any) -> dict[str, dict[str, Any]]:
        spec = make_spec(planners, **{key: value for key, value in more.items() if key != "model"})
        rows = invented(spec, model=more.get("model", "one"))
        with Store(tmp_path / folder) as store:
            store.describe(spec.text)
            for row in rows.values():
                store.append(row)
        return rows

    one = "[planners.{}]\nplanner = 'tiny.py:Searching'\niterations = {}\n"
    first, second = keep("first", one.format("a", 5)), keep("second", one.format("b", 7))
    keep("again", one.format("a", 5), episodes=9)
    keep("other", one.format("a", 6))
    keep("changed", one.format("c", 8), model="two")
    spec, rows = join([tmp_path / name for name in ("first", "second")])
    assert rows == first | second
    whole = make_spec(one.format("a", 5) + one.format("b", 7))
    assert as_csv(cell_summaries(spec, rows)) == as_csv(cell_summaries(whole, rows))
    assert differences(spec, rows) == differences(whole, rows)
    spec, rows = join([tmp_path / name for name in ("first", "again", "other")])
    assert [(cell.label, len(cell.seeds)) for cell in spec.cells] == [("a", 9), (f"a ({tmp_path}/other)", 6)]
    assert len(rows) == 9 + 6
    with pytest.raises(OptionError, match="is another model in"):
        join([tmp_path / "first", tmp_path / "changed"])
    assert main(["table", str(tmp_path / "first"), str(tmp_path / "second")]) == 0
    assert "a - b" in capsys.readouterr().out


def test_one_wide_interval_leaves_the_others_their_width() -> None:
    from matplotlib.figure import Figure

    narrow = [Estimate(10, 10, mean, 0.1, mean - 0.2, mean + 0.2, 0.0) for mean in (1.0, 1.5, 2.0)]
    wide = Estimate(2, 2, 1.2, 50.0, -600.0, 600.0, 1.0)
    for known, is_cut in (([*narrow, wide], True), (narrow, False), ([wide], False), ([], False)):
        panel = Figure().subplots()
        for y, one in enumerate(known):
            panel.errorbar(one.mean, y, xerr=[[one.mean - one.low], [one.high - one.mean]])
        whole = panel.get_xlim()
        _without_outliers(panel, known)
        low, high = panel.get_xlim()
        assert ((low, high) != whole) == is_cut
        if is_cut:
            assert low < 0.8 < 2.2 < high < 2.5
            assert [line.get_marker() for line in panel.lines][-2:] == ["<", ">"]
