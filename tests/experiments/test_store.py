"""A folder of results survives what happens to its writer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import airoas
from airoas.errors import OptionError, StoredDataError
from airoas.experiments.rows.store import EPISODES, Store, latest, read_rows

ROWS = [{"id": f"{i:016x}", "version": "0", "value": "\u00e9" * i} for i in range(3)]


def filled(folder: Path) -> bytes:
    with Store(folder) as store:
        store.describe('title = "x"\n')
        for row in ROWS:
            store.append(row)
    return (folder / EPISODES).read_bytes()


def test_rows_come_back(tmp_path: Path) -> None:
    filled(tmp_path / "deep" / "out")
    assert read_rows(tmp_path / "deep" / "out") == ROWS
    with Store(tmp_path / "deep" / "out") as store:
        assert list(store.rows.values()) == ROWS
        assert store.text == 'title = "x"\n'


def test_a_line_torn_anywhere_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    whole = filled(tmp_path)
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole)):
        (tmp_path / EPISODES).write_bytes(whole[:cut])
        finished = sum(end <= cut for end in ends)
        assert read_rows(tmp_path) == ROWS[:finished]  # a reader leaves it alone
        assert (tmp_path / EPISODES).read_bytes() == whole[:cut]
        with Store(tmp_path) as store:
            for row in ROWS[finished:]:
                store.append(row)
        assert (tmp_path / EPISODES).read_bytes() == whole


def test_a_long_torn_line_is_dropped(tmp_path: Path) -> None:
    whole = filled(tmp_path)
    (tmp_path / EPISODES).write_bytes(whole + b"x" * 200_000)
    with Store(tmp_path):
        assert (tmp_path / EPISODES).read_bytes() == whole
    (tmp_path / EPISODES).write_bytes(b"\0" * 200_000)
    with Store(tmp_path) as store:
        assert store.rows == {}


@pytest.mark.parametrize("line", [b"{\n", b"[]\n", b"\n", b'{"value": 3}\n', b"\xff\xfe\n"])
def test_damage_in_the_middle_is_named_by_its_line(line: bytes, tmp_path: Path) -> None:
    whole = filled(tmp_path)
    (tmp_path / EPISODES).write_bytes(whole + line + whole)
    with pytest.raises(StoredDataError, match="line 4"):
        Store(tmp_path)
    (tmp_path / EPISODES).write_bytes(whole)
    Store(tmp_path).close()  # the failed one holds no lock


def test_an_episode_run_again_counts_once(tmp_path: Path) -> None:
    filled(tmp_path)
    with Store(tmp_path) as store:
        store.append(ROWS[1] | {"value": "new"})
    assert len(read_rows(tmp_path)) == 4
    assert [row["value"] for row in latest(tmp_path).values()] == ["", "new", "\u00e9\u00e9"]


def test_two_writers_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(OptionError, match="another process is writing"):
        Store(tmp_path)
    Store(tmp_path).close()


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from airoas.experiments.rows.store import Store
Store(Path({str(tmp_path)!r}))
print("held", flush=True)
input()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OptionError, match="another process"):
            Store(tmp_path)
        other.kill()
        other.wait()
        Store(tmp_path).close()


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(OptionError, match=r"other files in it \(thesis\.tex\)"):
        Store(tmp_path)
    with pytest.raises(OptionError, match="cannot be used"):
        Store(tmp_path / "thesis.tex")
    with pytest.raises(OptionError, match="holds no results"):
        airoas.load(tmp_path)


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with Store(tmp_path) as store:
        monkeypatch.setattr("os.write", full)
        with pytest.raises(StoredDataError, match="No space left"):
            store.append(ROWS[0])


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path) as store, pytest.raises(ValueError, match="JSON"):
        store.append({"id": "0", "value": float("nan")})
    assert json.dumps(latest(tmp_path)) == "{}"


def test_a_row_of_0_1_is_refused_by_the_name_of_its_column(tmp_path):
    (tmp_path / EPISODES).write_text('{"id": "a", "rescues": 0}\n')
    with pytest.raises(StoredDataError, match=r"line 1: is no episode \(it has `rescues` where `recoveries` belongs"):
        read_rows(tmp_path)
