"""Trees to compare: a revision in an environment of its own, and the process that measures there on request."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "against"


class Side(NamedTuple):
    """A tree and the Python that runs it."""

    name: str
    tree: Path
    python: Path
    cache: Path


def this_tree(name: str) -> Side:
    """The tree that this file is in, run by the Python that runs this; what it compiles is kept apart from that of other sources."""
    digest = hashlib.sha256()
    for file in sorted((ROOT / "src").rglob("*.py")):
        digest.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return Side(name, ROOT, Path(sys.executable), BUILD / f"this-{digest.hexdigest()[:12]}")


def revision(name: str, commit: str, python: Path | None, say: Callable[[str], None]) -> Side:
    """A commit, run by `python` or else in an environment of its own. Its compiled code is its own even where its sources are
    those of this tree: whoever came second would find the work done."""
    tree = unpacked(commit)
    return Side(name, tree, python or installed(tree, say), tree.with_name("cache"))


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)} failed: {done.stderr.strip()}\nName a revision that this repository has.")
    return done.stdout.strip()


def unpacked(commit: str) -> Path:
    """The tree of a commit, less its results."""
    tree = BUILD / commit[:12] / "tree"
    if not tree.exists():
        tree.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
            git("archive", "--output", f"{scratch}/tree.tar", commit, "--", ".", ":(exclude)results")
            with tarfile.open(f"{scratch}/tree.tar") as archive:
                archive.extractall(f"{scratch}/tree", filter="data")
            Path(scratch, "tree").rename(tree)
    return tree


def installed(tree: Path, say: Callable[[str], None]) -> Path:
    """The Python of an environment in which a tree is installed, with the packages that this one has where the tree allows it."""
    venv = tree.with_name("venv")
    python, ready = venv / "bin" / "python", venv / "ready"
    if not ready.exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        installed = (f"{package.name}=={package.version}\n" for package in importlib.metadata.distributions() if package.name != "airoas")
        constraints = venv / "constraints.txt"
        constraints.write_text("".join(installed))
        install = [python, "-m", "pip", "install", "--quiet", "--editable", tree]
        if subprocess.run([*install, "--constraint", constraints], capture_output=True).returncode:
            say("it does not take the packages of this environment, and gets what it asks for")
            done = subprocess.run(install, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{tree} cannot be installed: {done.stderr.strip()}\nGive an interpreter that has what it needs with --python.")
        ready.touch()
    return python


class Worker:
    """A process of one side that measures on request; where it dies, the next request gets a new one."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._process: subprocess.Popen[str] | None = None
        self._open = contextlib.ExitStack()

    def begin(self) -> dict[str, str]:
        """Start it. Where its airoas comes from, and the versions of what it runs on; or the problem."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("AIROAS_", "PYTHON"))}
        environment |= {"PYTHONPATH": str(self._side.tree / "src"), "AIROAS_CACHE_DIR": str(self._side.cache)}
        self._side.cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = [self._side.python, Path(__file__).with_name("measures.py")]
        self._log = Path(self._open.enter_context(tempfile.TemporaryDirectory()), "stderr")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._open.enter_context(self._log.open("w"))}
        self._process = self._open.enter_context(subprocess.Popen(command, **pipes, text=True, env=environment))
        about = self._read()
        if "airoas" in about and not Path(about["airoas"]).resolve().is_relative_to(self._side.tree.resolve()):
            self.close()
            return {"problem": f"its airoas is {about['airoas']}, not the one in {self._side.tree}"}
        return about

    def ask(self, name: str, salt: float) -> dict[str, Any]:
        """What a measurement gave, or the problem."""
        if self._process is None and "problem" in (begun := self.begin()):
            return begun
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([name, salt]), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if line:
            return dict(json.loads(line))
        ended = self._process.wait()
        said = self._log.read_text().strip().splitlines()
        self.close()
        return {"problem": f"the process ended with {ended}: {said[-1] if said else 'it said nothing'}"}

    def close(self) -> None:
        """End it: there are no more requests."""
        with contextlib.suppress(BrokenPipeError):
            self._open.close()
        self._process = None
