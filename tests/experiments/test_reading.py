"""Experiments in TOML: what they stand for, and one sentence for every mistake, before anything runs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from airoas import catalog
from airoas.errors import OptionError
from airoas.experiments.spec.cells import Spec
from airoas.experiments.spec.fit import check_fit
from airoas.experiments.spec.reading import SHIPPED, parse, read, shipped, with_parts

BASE = """
episodes = 4
domains = ["tiny.py:Walk"]
[planners.a]
planner = "tiny.py:Searching"
iterations = 5
"""

BAD = {
    "no TOML": ("episodes = 4", "episodes =", "is no TOML"),
    "unknown key": ("episodes = 4", "epsiodes = 4", "did you mean `episodes`"),
    "no episodes": ("episodes = 4", "episodes = 0", "from 1 on"),
    "episodes in words": ("episodes = 4", "episodes = 'four'", "episodes is 'four'"),
    "strange clock": ("episodes = 4", "clock = 'sun'", "Deadlines are kept by one of wall, cpu"),
    "negative seed": ("episodes = 4", "seed = -1", "from 0 on"),
    "no domains": ('domains = ["tiny.py:Walk"]', "", "no domains are named"),
    "unknown domain": ("tiny.py:Walk", "tigr", "Did you mean `tiger`?"),
    "unknown class": ("tiny.py:Walk", "tiny.py:Wlak", "Did you mean `Walk`?"),
    "no file": ("tiny.py:Walk", "tinny.py:Walk", "there is no file"),
    "no planners": ("[planners.a]", "[spare]", "there is no key 'spare'"),
    "unknown planner": ('"tiny.py:Searching"', '"pomcpp"', "there is no planner 'pomcpp'"),
    "unknown option": ("iterations = 5", "iterations = 5\nclevr = 1", "Did you mean `clever`?"),
    "option out of range": ("iterations = 5", "iterations = 5\nclever = 7.0", "clever is 7.0. Stay below 5"),
    "option of another type": ("iterations = 5", "iterations = 'many'", "not of type"),
    "fraction of a trial": ("iterations = 5", "iterations = 5.5", "not of type"),
    "infinite option": ("iterations = 5", "iterations = 5\nclever = inf", "finite"),
    "no budget": ("iterations = 5", "", "needs a budget"),
    "both budgets": ("iterations = 5", "iterations = 5\nseconds = 1.0", "needs a budget"),
    "does not fit": ("tiny.py:Searching", "tiny.py:Choosy", "it wants twelve actions"),
    "unknown filter": ("episodes = 4", "filter = 'kalman'", "there is no filter 'kalman'"),
    "no exact filter": ("episodes = 4", "filter = 'exact'", "has no exact filter"),
    "no particles": ("episodes = 4", "particles = 0", "from 1 on"),
    "no steps": ("episodes = 4", "max_steps = 0", "from 1 on"),
    "maps of one": ("episodes = 4", "maps = 4", "has one map"),
    "maps and episodes": ("episodes = 4", "episodes = 4\nmaps = 4", "both episodes and maps"),
    "unknown comparison": ("episodes = 4", "compare = 'b'", "compare is 'b'"),
    "vary nothing": ("iterations = 5", "vary = { iterations = [] }", "a list of the values"),
    "vary twice the same": ("iterations = 5", "vary = { iterations = [5, 5] }", "stands twice"),
    "vary an unknown setting": ("episodes = 4", "vary = { episodes = [1, 2] }", "there is no key 'episodes'"),
    "options for no domain": ("iterations = 5", "iterations = 5\non = { tiger = { iterations = 3 } }", "there is no key 'tiger'"),
    "parts that are none": ("episodes = 4", "parts = 3", "write [[parts]]"),
    "quick above 1": ("iterations = 5", "iterations = 5\n[quick]\nepisodes = 2", "at most 1"),
    "returns of no domain": ("iterations = 5", "iterations = 5\n[reference.returns.tiger]\na = [1]", "there is no key 'tiger'"),
    "returns that are none": ("iterations = 5", "iterations = 5\n[reference.returns.'tiny.py:Walk']\na = 1", "[mean]"),
    "choose perhaps": ("episodes = 4", "choose = 'perhaps'", "true or false"),
    "bound in words": ('domains = ["tiny.py:Walk"]', "domains = { 'tiny.py:Walk' = { upper_bound = 'ten' } }", "give a number"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_named_with_their_place(name: str, tiny: Path) -> None:
    old, new, words = BAD[name]
    assert old in BASE
    with pytest.raises(OptionError) as raised:
        parse(BASE.replace(old, new, 1), "my.toml", folder=tiny)
    text = str(raised.value)
    assert words.lower() in text.lower()
    assert text.startswith(("my.toml", str(tiny)))
    assert "\n" not in text
    assert text[-1] in ".?"


def test_the_whole_is_right(tiny: Path) -> None:
    spec = parse(BASE, "my.toml", folder=tiny)
    (cell,) = spec.cells
    assert (cell.label, cell.kind, cell.options, cell.seeds) == ("a", "tiny.py:Searching", {"iterations": 5}, (0, 1, 2, 3))
    assert (cell.filter, cell.particles, cell.max_steps) == ("auto", 10_000, None)
    tasks = spec.tasks()
    assert [task["seed"] for task in tasks] == [0, 1, 2, 3]
    assert tasks[0]["domain"] == f"{tiny.resolve()}/tiny.py:Walk"
    assert len({task["id"] for task in tasks}) == 4
    assert parse(spec.text, check=False) == spec  # spec.toml says it all again


def test_ids_tell_apart_what_gives_other_episodes(make_spec: Callable[..., Spec]) -> None:
    one = "[planners.a]\nplanner = 'tiny.py:Searching'\niterations = {}"
    base = make_spec(one.format(5)).cells[0]
    assert base.ids.keys() == make_spec(one.format(5).replace("planners.a", "planners.b")).cells[0].ids.keys()
    others = [
        make_spec(one.format(6)),
        make_spec(one.format(5), more="max_steps = 3"),
        make_spec(one.format(5), more="filter = 'annealed'"),
        make_spec(one.format(5), more="clock = 'cpu'"),
    ]
    for other in others:
        assert not base.ids.keys() & other.cells[0].ids.keys()
    assert base.ids.keys() < make_spec(one.format(5), episodes=9).cells[0].ids.keys()


def test_vary_is_a_product_and_on_overrides(tiny: Path) -> None:
    text = """
    domains = ["tiny.py:Walk", "tiger"]
    vary = { filter = ["bootstrap", "annealed"] }
    [planners.a]
    planner = "tiny.py:Searching"
    vary = { iterations = [5, 10], kind = ["plain", "fancy"] }
    on = { tiger = { clever = 0.5 } }
    """
    spec = parse(text, folder=tiny)
    assert len(spec.cells) == 16
    assert spec.cells[0].label == "a iterations=5 kind=plain filter=bootstrap"
    assert {cell.options.get("clever") for cell in spec.cells if cell.domain == "tiger"} == {0.5}
    assert {cell.options.get("clever") for cell in spec.cells if cell.domain != "tiger"} == {None}


def test_parts_inherit(tiny: Path) -> None:
    text = """
    episodes = 3
    domains = ["tiny.py:Walk"]
    [planners.a]
    planner = "tiny.py:Searching"
    iterations = 5
    [[parts]]
    name = "first"
    [[parts]]
    name = "second"
    episodes = 5
    domains = ["tiger"]
    """
    spec = parse(text, folder=tiny)
    assert [(part.name, part.cells[0].domain, len(part.cells[0].seeds)) for part in spec.parts] == [
        ("first", "tiny.py:Walk", 3),
        ("second", "tiger", 5),
    ]


def test_what_is_said_of_a_domain_holds_in_parts_that_list_it() -> None:
    text = """
[domains.tiger]
label = "Doors"
upper_bound = 30.0
[domains.tag]
label = "nobody's"
[[parts]]
name = "one"
episodes = 3
domains = ["tiger"]
[parts.planners.random]
[[parts]]
name = "two"
domains = { tiger = { episodes = 2, label = "Two doors" } }
[parts.planners.qmdp]
"""
    spec = parse(text, check=False)
    assert {name: (domain.label, domain.upper_bound) for name, domain in spec.domains.items()} == {"tiger": ("Two doors", 30.0)}
    assert [len(cell.seeds) for cell in spec.cells] == [3, 2]
    tasks = [(task["planner"], task["seed"]) for task in spec.tasks()]  # the first of each, then part by part
    assert tasks == [("random", 0), ("qmdp", 0), ("random", 1), ("random", 2), ("qmdp", 1)]


def test_planners_meet_each_world_one_after_another() -> None:
    """Ten worlds of a domain, then ten of the next."""
    spec = parse("domains = ['tiger', 'tag']\nepisodes = 12\n[planners.random]\n[planners.qmdp]", check=False)
    tasks = [(task["domain"], task["seed"], task["planner"]) for task in spec.tasks()]
    assert sorted(tasks[:4]) == [(domain, 0, planner) for domain in ("tag", "tiger") for planner in ("qmdp", "random")]
    blocks = [(domain, seeds) for seeds in (range(1, 10), range(10, 12)) for domain in ("tiger", "tag")]
    assert tasks[4:] == [(domain, seed, planner) for domain, seeds in blocks for seed in seeds for planner in ("random", "qmdp")]


def test_an_episode_in_two_cells_is_run_once(make_spec: Callable[..., Spec]) -> None:
    planner = "planner = 'tiny.py:Searching'\niterations = 5\n"
    spec = make_spec(f"[planners.a]\n{planner}[planners.b]\n{planner}")
    assert len(spec.cells) == 2
    assert len(spec.tasks()) == 6


def test_an_exact_filter_has_no_particles(tiny: Path) -> None:
    text = "domains = ['tiger']\nepisodes = 3\nvary = { filter = ['bootstrap', 'exact'], particles = [10, 20] }\n[planners.random]\n"
    assert len(parse(text).tasks()) == 3 * 3


def test_scale_shrinks_and_is_kept(make_spec: Callable[..., Spec]) -> None:
    planners = "[planners.a]\nplanner = 'tiny.py:Searching'\nseconds = 2.0\n[planners.b]\nplanner = 'tiny.py:Searching'\niterations = 100\n"
    half = make_spec(planners, episodes=10, scale="0.5")
    assert [cell.options for cell in half.cells] == [{"seconds": 1.0}, {"iterations": 50}]
    assert {len(cell.seeds) for cell in half.cells} == {5}
    again = parse(half.text, check=False)
    assert again.cells == half.cells
    assert again.scale == "0.5"
    quick = make_spec(planners + "[quick]\nepisodes = 0.3\nseconds = 0.01\n", episodes=10, scale="quick")
    assert [cell.options for cell in quick.cells] == [{"seconds": 0.02}, {"iterations": 10}]
    assert {len(cell.seeds) for cell in quick.cells} == {3}
    each = make_spec(planners, episodes=10, scale="episodes=0.2,seconds=0.05")
    assert [cell.options for cell in each.cells] == [{"seconds": 0.1}, {"iterations": 100}]
    assert {len(cell.seeds) for cell in each.cells} == {2}
    assert parse(each.text, check=False).cells == each.cells
    for wrong in ("2", "0", "-1", "nan", "fast", "seconds=2", "seconds=1,episodes=1", "second=0.5", "seconds=", "seconds=0.5,0.2"):
        with pytest.raises(OptionError, match="--scale"):
            make_spec(planners, scale=wrong)


def test_only_some_parts_and_that_is_kept() -> None:
    text = "domains = ['tiger']\n[[parts]]\nname = 'one'\n[parts.planners.random]\n[[parts]]\nname = 'two'\n[parts.planners.qmdp]\n"
    assert [part.name for part in parse(text).parts] == ["one", "two"]
    two = parse(text, only="tw")
    assert [part.name for part in two.parts] == ["two"]
    assert [cell.planner for cell in parse(two.text, check=False).cells] == ["qmdp"]
    with pytest.raises(OptionError, match="one, two"):
        parse(text, only="three")
    with pytest.raises(OptionError, match="Leave --only out"):
        parse(two.text, only="one")
    assert [part.name for part in with_parts(two).parts] == ["one", "two"] and with_parts(two).text == text
    own = parse("title = 'both'\nonly = 'one'\n" + text)
    assert [part.name for part in with_parts(own, ["two", "one"]).parts] == ["one", "two"]
    named = with_parts(two, ["one"])
    assert named.text == 'only = ["one"]\n' + text and parse(named.text).parts == named.parts
    with pytest.raises(OptionError, match="no part is named 'three'"):
        with_parts(two, ["three"])
    with pytest.raises(OptionError, match="only is 1"):
        parse("only = 1\n" + text)


def test_only_some_planners_and_that_is_kept() -> None:
    text = "domains = ['tiger']\ncompare = 'qmdp'\n[[parts]]\nname = 'one'\n[parts.planners.random]\n[parts.planners.qmdp]\n"
    text += "[[parts]]\nname = 'two'\n[parts.planners.qmdp]\n"
    some = parse(text, planners=["random"], scale="0.5")
    assert [(part.name, [cell.planner for cell in part.cells]) for part in some.parts] == [("one", ["random"])]
    assert parse(some.text, check=False).cells == some.cells
    assert [cell.planner for cell in parse(text, only="one", planners=["random", "qmdp"]).cells] == ["random", "qmdp"]
    with pytest.raises(OptionError, match=r"no planner is named 'airoas'.* The planners are random, qmdp"):
        parse(text, planners=["airoas"])
    with pytest.raises(OptionError, match="no planner is named 'random'"):
        parse(text, only="two", planners=["random"])
    with pytest.raises(OptionError, match="Leave --planners out"):
        parse(some.text, planners=["qmdp"])
    with pytest.raises(OptionError, match="only_planners is 'random'"):
        parse("only_planners = 'random'\n" + text)


def test_fewer_episodes_of_a_family_keep_the_maps() -> None:
    text = "domains = { rock-sample-random-11-11 = { maps = 5 } }\nseed = 900_000\n[planners.random]\n"
    full = parse(text).cells[0].seeds
    assert full == tuple(range(900_000, 900_050))
    few = parse(text, scale="0.1").cells[0].seeds
    assert Counter(seed // 10 for seed in few) == Counter(range(90_000, 90_005))
    some = parse(text, scale="0.24").cells[0].seeds
    assert max(Counter(seed // 10 for seed in some).values()) == 3
    assert set(few) <= set(some) <= set(full)


@pytest.mark.parametrize("name", ["frob", "papr", "nowhere.toml"])
def test_no_such_experiment(name: str) -> None:
    with pytest.raises(OptionError, match=r"paper|cannot be read"):
        read(name)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_experiments_can_run(name: str) -> None:
    """Whatever names a planner that is not there is skipped, and said."""
    spec = parse(shipped(name), f"{name}.toml", check=False)
    missing = {cell.kind for cell in spec.cells} - catalog.PLANNERS.keys()
    for part in spec.parts:
        kept = tuple(cell for cell in part.cells if cell.kind not in missing)
        check_fit(Spec(**{**vars(spec), "parts": (type(part)(part.name, kept, part.compare, part.choose),)}), f"{name}.toml")
    if missing:
        pytest.skip(f"not in the catalog yet: {', '.join(sorted(missing))}")


def spec_of(name: str) -> Spec:
    return parse(shipped(name), check=False)


def test_seeds_that_choose_are_not_seeds_that_report() -> None:
    from airoas.experiments.run.tune import FRESH, SEEDS

    chosen = {seed for cell in spec_of("sweep").cells for seed in cell.seeds} | {
        *range(SEEDS, SEEDS + 10_000),
        *range(FRESH, FRESH + 10_000),
    }
    for name in ("paper", "ablation", "literature"):
        reported = {seed for cell in spec_of(name).cells for seed in cell.seeds}
        assert min(reported) == 900_000
        assert not chosen & reported


def test_runs_without_hints_and_with_continuous_actions_have_worlds_of_their_own() -> None:
    worlds = {name: {seed for cell in spec_of(name).cells for seed in cell.seeds} for name in ("literature", "strangers", "continuous")}
    assert (min(worlds["strangers"]), min(worlds["continuous"])) == (1_960_000, 1_900_000)
    assert sum(map(len, worlds.values())) == len(set().union(*worlds.values()))


def test_continuous_actions_have_200_episodes_and_macro_actions_a_comparison() -> None:
    spec = spec_of("continuous")
    assert {len(cell.seeds) for cell in spec.cells} == {200}
    (part,) = (part for part in spec.parts if part.name.startswith("macro"))
    for domain in ("light-column-random", "bare-light-dark-2d(light=12.0)"):
        on, off = (cell for cell in part.cells if cell.domain == domain)
        assert (off.kind, off.options, off.seeds) == (on.kind, on.options | {"macros": False}, on.seeds)
        others = [cell for other in spec.parts if other is not part for cell in other.cells if cell.domain == domain]
        assert [list(cell.ids) for cell in others] == [list(on.ids)], "the same episodes are run once"


def test_the_papers_tables_are_complete() -> None:
    """Table 1: five planners by six columns, Tag's for both opponents. Table 2: budgets, K, lambda, delta, r*, c, bounds."""
    spec = spec_of("paper")
    columns = [
        "light-dark-0.5",
        "light-dark-1.0",
        "tag",
        "tag-modified",
        "laser-tag-random",
        "rock-sample-random-11-11",
        "rock-sample-random-15-15",
    ]
    assert list(spec.domains) == columns
    for domain, planner in itertools.product(columns, ("airoas", "adaops", "ardespot", "pomcpow", "pomcp")):
        assert spec.reference[domain][planner][1]
    options = {(cell.planner, cell.domain): cell.options for cell in spec.cells}
    assert [options["airoas", domain]["target_inefficiency"] for domain in columns] == [5, 3, 2, 2, 2, 10, 2]
    assert [options["adaops", domain]["delta"] for domain in columns] == [1, 1, 0.1, 0.1, 0.1, 0.1, 0.1]
    assert [options["adaops", domain]["min_particles"] for domain in columns] == [10, 10, 10, 10, 10, 100, 100]
    assert [options["ardespot", domain]["scenarios"] for domain in columns] == [30, 30, 300, 300, 300, 100, 100]
    assert [options["ardespot", domain]["regularisation"] for domain in columns] == [0.1, 0.1, 0.01, 0.01, 0.01, 0, 0]
    assert [options["pomcpow", domain]["alpha_observation"] for domain in columns] == [0.03] * 5 + [1, 1]
    assert [options["pomcpow", domain]["k_observation"] for domain in columns] == [4] * 5 + [1, 1]
    for domain in columns:
        for planner in ("airoas", "adaops", "ardespot"):
            assert options[planner, domain]["seconds"] == 5.0
            expected = [-11.0, 11.0] if "light" in domain else "paper-rock-sample" if "rock" in domain else [-20.0, 0.0]
            assert options[planner, domain]["bounds"] == expected
        for planner in ("pomcp", "pomcpow"):
            assert (options[planner, domain]["iterations"], options[planner, domain]["max_depth"]) == (20_000, 100)
        assert options["pomcpow", domain]["c"] == 10
