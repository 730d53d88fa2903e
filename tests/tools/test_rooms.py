"""Ten lines that nobody chooses, from ten files, and a listing that does not give them away."""

from __future__ import annotations

from pathlib import Path

from tools.rooms import SOURCES, draw, files, listing


def test_a_commit_draws_the_same_lines_from_ten_files_and_another_one_others() -> None:
    drawn = draw("a" * 40)
    assert drawn == draw("a" * 40) != draw("b" * 40)
    assert len({line.file for line in drawn}) == 10
    for line in drawn:
        assert (SOURCES / line.file).read_text(encoding="utf-8").splitlines()[line.number - 1].strip() == line.text
        assert line.package in listing() or (line.file.parent == Path() and line.file.stem in listing())


def test_every_file_is_drawn_sooner_or_later(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.py").write_text(f"import {name}_and_more_than_25_characters\nvalue = '{name} is a line that says something'\n")
    (tmp_path / "four.py").write_text("pass\n")  # nothing there tells anything
    drawn = [draw(str(commit), tmp_path, count=1)[0] for commit in range(60)]
    assert {line.file.stem for line in drawn} == {"one", "two", "three"}
    assert {line.number for line in drawn} == {2}


def test_the_listing_has_every_module_and_every_experiment() -> None:
    packages = dict(line.split(": ") for line in listing().splitlines())
    modules = {f"{package}/{name}" for package, names in packages.items() for name in names.split(", ")}
    assert {name for name in modules if not name.endswith(".toml")} == {
        (Path("airoas") / file if file.parent == Path() else file).with_suffix("").as_posix() for file in files() if file.stem != "__init__"
    }
    assert modules >= {"paper/paper.toml", "experiments/strangers.toml"}
