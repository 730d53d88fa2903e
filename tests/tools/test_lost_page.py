"""How often the example docks, on the page."""

import pytest

from tools.lost_page import PAGE, docked, interval, tree, troubles, unharmed


def test_the_page_says_what_the_data_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, said in {"docked": docked(), "unharmed": unharmed(), "tree": tree(), "troubles": troubles()}.items():
        assert f"<!-- {name} -->\n{said}\n<!-- /{name} -->" in page


def test_runs_are_counted() -> None:
    assert "not measured yet" in docked([])
    names = ("seed", "docked", "steps", "return", "recovered", "mean_seconds", "most_seconds")
    runs = ((7, 1, 20, 10.0, 0, 0.1, 0.15), (8, 0, 80, -60.0, 2, 0.1, 0.25), (9, 1, 31, 20.0, 0, 0.1, 0.15))
    said = docked([dict(zip(names, map(str, run), strict=True)) for run in runs])
    assert said.startswith(
        "It docked in 2 of 3 runs (21 to 94 %, 95 % interval), after 25.5 steps (median); the mean return is -10.0 ± 25.2."
    )
    assert "looked for other places: 1." in said
    assert "a move above 0.2 s: 1." in said


@pytest.mark.parametrize(("k", "n", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962)])
def test_the_interval_is_that_of_wilson(k: int, n: int, low: float, high: float) -> None:
    assert interval(k, n) == pytest.approx((low, high), abs=1e-4)
