"""A folder of results: `spec.toml` says what was asked, `episodes.jsonl` has one line for each episode that is done, and
`episodes.json.gz` those that were packed."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from airoas.errors import OptionError, StoredDataError
from airoas.experiments.rows.lines import Lines
from airoas.experiments.rows.packed import pack, unpack
from airoas.experiments.rows.slim import slim
from airoas.experiments.rows.types import Row

SPEC, EPISODES, PACKED, LOCK = "spec.toml", "episodes.jsonl", "episodes.json.gz", "lock"


class Lock:
    """Held by one process at most. It dies with the process, and its workers do not inherit it."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            problem = f"another process is writing to {folder}"
            raise OptionError(problem, "wait for it or stop it, or choose another folder with --out.") from None

    def release(self) -> None:
        os.close(self._file)


class Store:
    """The one writer of a folder: `with Store(folder) as store: store.append(row)`."""

    def __init__(self, folder: Path) -> None:
        """Open the folder, making it where there is none."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = {path.name for path in folder.iterdir()}
        except OSError as error:
            raise OptionError(f"{folder} cannot be used ({error.strerror})", "choose another folder with --out.") from None
        strangers = names - {LOCK, EPISODES, PACKED, *(f"{name}.part" for name in (SPEC, EPISODES, PACKED))}
        if strangers and SPEC not in strangers:
            raise OptionError(f"{folder} has other files in it ({min(strangers)})", "give --out a new or empty folder.")
        self.folder = folder
        self._lock = Lock(folder)
        try:
            self._drop_torn_line()
            rows, self._lines = _read(folder)
            self.rows = {row["id"]: row for row in rows}
            """The episodes that are done, by id; the last one where an episode was run again."""
            self._file = os.open(folder / EPISODES, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except BaseException:
            self._lock.release()
            raise

    @property
    def text(self) -> str | None:
        """What spec.toml holds; None in a new folder."""
        return read_spec(self.folder) if (self.folder / SPEC).exists() else None

    def describe(self, text: str) -> None:
        """Put down in spec.toml what the episodes are for, as a whole or not at all."""
        part = self.folder / f"{SPEC}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(self.folder / SPEC)

    def append(self, row: Row) -> None:
        """Write an episode down, for good."""
        rest = memoryview(_encoded(self._lines, row))
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            remedy = "mend that; the same command then goes on from what is there."
            raise StoredDataError(f"{self.folder / EPISODES} cannot be written ({error.strerror})", remedy) from None
        self.rows[row["id"]] = row

    def _drop_torn_line(self) -> None:
        """Cut off what follows the last line end: a line that a killed process did not finish."""
        path = self.folder / EPISODES
        if not path.exists():
            return
        with open(path, "rb+") as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                begin = max(0, end - 65536)
                file.seek(begin)
                last = file.read(end - begin).rfind(b"\n")
                end = begin + last + 1 if last >= 0 else begin
                if last >= 0:
                    break
            file.truncate(end)

    def close(self) -> None:
        os.close(self._file)
        self._lock.release()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _encoded(lines: Lines, row: Row) -> bytes:
    """The lines to write for a row."""
    return b"".join(json.dumps(line, allow_nan=False, separators=(",", ":")).encode() + b"\n" for line in lines.write(row))


def read_rows(folder: Path) -> list[Row]:
    """Every row of a folder in the order of writing; a torn last line, perhaps being written now, is left out."""
    return _read(folder)[0]


def _read(folder: Path) -> tuple[list[Row], Lines]:
    """The rows, and what a writer has to know of the lines that are there."""
    rows = unpack(folder / PACKED) if (folder / PACKED).exists() else []
    path, lines = folder / EPISODES, Lines()
    if not path.exists():
        return rows, lines
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                row = lines.read(line)
            except (ValueError, RecursionError) as error:
                where = f"{path}, line {number}"
                problem = f"is no episode ({error})"
                raise StoredDataError(problem, "delete that line; its episode is then run again.", where=where) from None
            if row is not None:
                rows.append(row)
    return rows, lines


def _opened(path: Path) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise StoredDataError(f"{path} cannot be read ({error.strerror})", "mend that, or give another folder.") from None


def pack_folder(folder: Path, keep: Iterable[str] = ()) -> int:
    """Put all that a folder has into one small table, each episode once; `keep` names lists of moves that stay. How many there are."""
    read_spec(folder)
    lock = Lock(folder)
    try:
        rows = [slim(row, keep) for row in latest(folder).values()]
        write_packed(folder, rows)
    finally:
        lock.release()
    return len(rows)


def write_packed(folder: Path, rows: Iterable[Row]) -> None:
    """Put packed rows in place of what a folder has. Whoever calls it holds the lock."""
    _put(folder, PACKED, pack(rows), EPISODES)


def rewrite(folder: Path, rows: Iterable[Row]) -> None:
    """Put rows in place of what a folder has, packed where it is packed, else as lines. Whoever calls it holds the lock."""
    if not (folder / EPISODES).exists():
        write_packed(folder, rows)
        return
    lines = Lines()
    _put(folder, EPISODES, b"".join(_encoded(lines, row) for row in rows), PACKED)


def _put(folder: Path, name: str, raw: bytes, instead_of: str) -> None:
    """Write a file, as a whole or not at all, and only then delete the other."""
    part = folder / f"{name}.part"
    try:
        part.write_bytes(raw)
        part.replace(folder / name)
        (folder / instead_of).unlink(missing_ok=True)
    except OSError as error:
        raise StoredDataError(f"{folder / name} cannot be written ({error.strerror})", "mend that; nothing is lost.") from None


def latest(folder: Path) -> dict[str, Row]:
    """The rows of a folder by episode id, none twice."""
    return {row["id"]: row for row in read_rows(folder)}


def find(folder: Path, beginning: str) -> Row:
    """The one episode of a folder whose id begins so."""
    read_spec(folder)
    rows = [row for key, row in latest(folder).items() if key.startswith(beginning)]
    if len(rows) != 1:
        what = "no episode" if not rows else f"{len(rows)} episodes"
        remedy = f"`airoas report {folder}` makes a page that names some, and airoas.load has all." if not rows else "write more of it."
        raise OptionError(f"{what} of {folder} has an id that begins with {beginning!r}", remedy)
    return rows[0]


def read_spec(folder: Path) -> str:
    """The text of spec.toml."""
    try:
        return (folder / SPEC).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        remedy = "give the folder that `airoas bench` or `airoas run` got as --out."
        raise OptionError(f"{folder} holds no results", remedy) from None
