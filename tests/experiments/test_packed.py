"""Packed folders: the same rows in a small file, read by everything that reads rows; what is damaged or hostile is refused."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_table import THREE

import airoas
from airoas.cli import main
from airoas.errors import StoredDataError
from airoas.experiments.rows import packed
from airoas.experiments.rows.packed import pack
from airoas.experiments.rows.store import EPISODES, PACKED, Lock, Store, latest, read_rows
from airoas.experiments.run.bench import bench
from airoas.experiments.run.pool import Inline
from airoas.experiments.spec.cells import Spec

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(make_spec: Callable[..., Spec], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    bench(make_spec(THREE, episodes=4), tmp_path / "out", Inline)
    return tmp_path / "out"


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    table = json.loads(gzip.decompress((folder / PACKED).read_bytes()))
    change(table)
    (folder / PACKED).write_bytes(gzip.compress(json.dumps(table).encode()))


def test_everything_reads_a_packed_folder_as_before(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = latest(folder)
    commands = [["table", str(folder)], ["table", str(folder), "--format", "csv"], ["plot", str(folder), "--to", str(tmp_path / "plots")]]
    commands += [["report", str(folder), "-o", str(tmp_path / "page.html")]]
    before = [(main(command), capsys.readouterr().out) for command in commands]
    page = (tmp_path / "page.html").read_text()
    assert main(["pack", str(folder)]) == 0
    assert f"{folder / PACKED}: 12 episodes, " in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == [PACKED, "lock", "spec.toml"]
    assert latest(folder) == rows
    assert {row["id"]: row for row in airoas.load(folder)}.keys() == rows.keys()
    assert [(main(command), capsys.readouterr().out) for command in commands] == before
    assert (tmp_path / "page.html").read_text() == page
    assert main(["replay", str(folder), next(iter(rows))]) == 0


def test_the_file_is_the_same_whatever_order_the_rows_come_in(folder: Path) -> None:
    rows = read_rows(folder)
    assert pack(rows) == pack(rows[::-1]) == pack(sorted(rows, key=lambda row: str(row["id"])))
    assert main(["pack", str(folder)]) == 0
    once = (folder / PACKED).read_bytes()
    assert main(["pack", str(folder)]) == 0
    assert (folder / PACKED).read_bytes() == once == pack(rows)


def test_a_packed_run_goes_on_and_is_packed_again(make_spec: Callable[..., Spec], folder: Path) -> None:
    rows = latest(folder)
    assert main(["pack", str(folder)]) == 0
    more = bench(make_spec(THREE, episodes=6), folder, Inline)
    assert len(more) == 18 and len(read_rows(folder)) == 18
    assert {key: more[key] for key in rows} == rows
    key = next(iter(rows))
    with Store(folder) as store:  # an episode run again counts once, and the new row is the one
        store.append(rows[key] | {"discounted_return": 77.0})
    assert main(["pack", str(folder)]) == 0
    assert latest(folder) == more | {key: rows[key] | {"discounted_return": 77.0}}


def test_failed_episodes_are_packed_too(folder: Path) -> None:
    key = next(iter(latest(folder)))
    with Store(folder) as store:
        row = store.rows[key]
        failed = {name: row[name] for name in ("id", "domain", "planner", "options", "filter", "particles", "max_steps", "seed", "map")}
        failed |= {"version": "0", "machine": {}, "model": None, "error": "lost", "times": {}}
        store.append(failed)
    before = latest(folder)
    assert main(["pack", str(folder)]) == 0
    assert latest(folder) == before
    assert before[key] == failed


def test_a_folder_that_is_written_to_is_not_packed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = Lock(folder)
    assert main(["pack", str(folder)]) == 2
    assert "another process is writing" in capsys.readouterr().err
    lock.release()
    assert (folder / EPISODES).exists() and not (folder / PACKED).exists()


def test_a_full_disk_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = latest(folder)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert main(["pack", str(folder)]) == 1
    assert "cannot be written (No space left on device). Mend that; nothing is lost." in capsys.readouterr().err
    assert latest(folder) == rows


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another format": (lambda table: table.update(format="airoas episodes 1"), "it does not say 'airoas episodes 2'"),
    "no columns": (lambda table: table.update(columns=[]), "it has no columns"),
    "a column that is no list": (lambda table: table["columns"].update(steps=3), "it has no columns"),
    "a column too many": (lambda table: table["columns"].update(secret=[1] * 12), "a column 'secret' too many"),
    "a short column": (lambda table: table["columns"]["steps"].pop(), "shorter"),
    "no ids": (lambda table: table["columns"].pop("id"), "id is missing"),
    "a number for an id": (lambda table: table["columns"]["id"].__setitem__(0, 7), "id is 7"),
    "text for a return": (lambda table: table["columns"]["discounted_return"].__setitem__(2, "1.0"), "discounted_return is '1.0'"),
    "no return": (lambda table: table["columns"]["discounted_return"].__setitem__(2, None), "discounted_return is missing"),
    "an infinite return": (lambda table: table["columns"]["return"].__setitem__(2, 1e999), "Infinity is no number"),
    "negative steps": (lambda table: table["columns"]["steps"].__setitem__(0, -1), "steps is -1"),
    "a flag that is none": (lambda table: table["columns"]["success"].__setitem__(0, 1), "success is 1"),
    "a strange action": (lambda table: table["columns"]["actions"].__setitem__(0, "0é"), "actions is '0é'"),
    "other actions than steps": (lambda table: table["columns"]["actions"].__setitem__(0, "0" * 99), "actions are 99, steps"),
    "nothing shared": (lambda table: table.update(shared=[]), "and there are 0"),
    "shared by text": (lambda table: table["columns"]["of"].__setitem__(0, "all"), "`of` is 'all'"),
    "a strange share": (lambda table: table["shared"][0].update(domain=["tiger"]), "domain is"),
    "a share that is none": (lambda table: table["shared"].append(3), "what rows share is no table"),
    "no planner": (lambda table: [group.pop("planner", None) for group in table["shared"]], "planner is missing"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_ours_is_refused_in_one_line(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", str(folder)]) == 0
    change, words = HOSTILE[name]
    rewritten(folder, change)
    capsys.readouterr()
    assert main(["table", str(folder)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"airoas: {folder / PACKED}: is no file of episodes (") and said.count("\n") == 1
    assert words in said


def test_damage_is_refused_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["pack", str(folder)]) == 0
    whole = (folder / PACKED).read_bytes()
    wrong = bytearray(whole)
    wrong[len(whole) // 2] ^= 0xFF
    deep = gzip.compress(b"[" * 1_000_000)
    for damaged in (b"", whole[:-9], whole[: len(whole) // 2], bytes(wrong), b"PK\x03\x04", gzip.compress(b"\xff"), deep):
        (folder / PACKED).write_bytes(damaged)
        with pytest.raises(StoredDataError, match="is no file of episodes"):
            latest(folder)
    bomb = gzip.compress(b" " * 10_000_000)
    (folder / PACKED).write_bytes(bomb)
    monkeypatch.setattr(packed, "MOST", 1_000_000)
    assert len(bomb) < packed.MOST
    with pytest.raises(StoredDataError, match="cut off, or too large"):
        latest(folder)
    (folder / PACKED).write_bytes(os.urandom(1_000_001))
    with pytest.raises(StoredDataError, match="too large"):
        latest(folder)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('[[9,1,2],"00"]', "shorter"),
        ('{"columns":["id","id"]}', "too many"),
        ('{"columns":7}', "names no columns"),
        ('{"as":-1,"map":null}', "`as` is -1"),
        ('{"as":7,"planner":3}', "planner is 3"),
        ('{"id":"00","steps":"many"}', "steps is 'many'"),
        ('{"id":"00","return":NaN}', "NaN is no number"),
    ],
)
def test_a_line_that_is_not_ours_is_named(line: str, words: str, folder: Path) -> None:
    count = len((folder / EPISODES).read_bytes().splitlines())
    with open(folder / EPISODES, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(StoredDataError, match=f"line {count + 1}.*{words}"):
        latest(folder)


def test_a_line_whose_shared_values_are_gone_is_named(folder: Path) -> None:
    lines = (folder / EPISODES).read_text().splitlines()
    (folder / EPISODES).write_text("\n".join([lines[0], *lines[2:], ""]))
    with pytest.raises(StoredDataError, match=r"line 4: is no episode .*which no line above explains"):
        latest(folder)


def test_what_the_repository_holds_can_travel() -> None:
    """12 MB in all; results that were reported are packed."""
    try:
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no checkout")
    files = [ROOT / name for name in names if name and (ROOT / name).is_file()]
    assert sum(file.stat().st_size for file in files) <= 12_000_000
    assert not [file for file in files if file.name == EPISODES], "run `airoas pack` on its folder"


def test_strange_rows_are_not_packed(folder: Path) -> None:
    with Store(folder) as store:
        store.append({"id": "0", "value": 3, "times": {}, "notes": {}})
    with pytest.raises(StoredDataError, match="there are episodes with 'value'"):
        pack(latest(folder).values())
