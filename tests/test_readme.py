"""README and examples tell the truth: snippets run, outputs repeat, and every command, link and method named exists.

`python tests/test_readme.py` writes what command and script print now into README.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

import pytest

import airoas
from airoas.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
MODEL, SCRIPT = (text for kind, text in BLOCKS if kind == "python")
(CONSOLE,) = (text for kind, text in BLOCKS if kind == "console")
(PRINTED,) = (text for kind, text in BLOCKS if kind == "text")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A newcomer's folder with my_model.py in it; what running it leaves in this process is undone."""
    (tmp_path / "my_model.py").write_text(MODEL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def rows(text):
    """The words of each line without table borders; times differ from run to run and are left out."""
    words = [" ".join(re.sub("[\u2500-\u257f]", " ", line).split()) for line in text.splitlines()]
    return [line for line in words if line and not line.startswith("time per")]


def test_it_is_short():
    assert len(README.splitlines()) < 140
    assert sum(bool(line.strip()) for line in MODEL.splitlines()) < 30


def test_the_model_stands_in_examples_too():
    assert (ROOT / "examples" / "my_model.py").read_text(encoding="utf-8") == MODEL


def test_the_commands_print_what_is_shown(folder, capsys):
    shown = re.findall(r"^\$ airoas (.*)\n((?:(?!\$ ).*\n)*)", CONSOLE, re.MULTILINE)
    assert [shlex.split(command)[0] for command, _ in shown] == ["check", "run"]
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert rows(capsys.readouterr().out) == rows(output)


def test_the_script_prints_what_is_shown(folder, capsys):
    exec(compile(SCRIPT, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == PRINTED


def test_interpreted_prints_the_same(folder, capsys):
    loop = SCRIPT.partition("\nrng = ")  # the loop alone: that is enough to interpret in a test
    setting_up = "".join(line for line in loop[0].splitlines(keepends=True) if "episode" not in line)
    with airoas.running("interpreted"):
        exec(compile(setting_up + "".join(loop[1:]), "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == PRINTED.partition("\n")[2]


@pytest.mark.parametrize("reference", ["my_model.py:MyModel", "two_files/pump.py:Maintain"])
def test_the_examples_run(reference, folder, capsys):
    path = str(ROOT / "examples" / reference)
    assert main(["check", path]) == 0, capsys.readouterr().out
    assert main(["run", path, "random", "--episodes", "2", "--max-steps", "5", "--particles", "100"]) == 0


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_every_make_target_has_a_rule(text):
    rules = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = set(re.findall(r"(?:`|^ {4})make (\w+)", text, re.MULTILINE))
    assert "test" in named and named <= set(rules)


def test_every_airoas_command_and_option_exists(capsys):
    named = set(re.findall(r"(?:`|\$ )airoas ([\w-]+)", README + CONTRIBUTING))
    assert named == {"bench", "check", "list", "report", "run", "table"}
    offered = ""
    for command in named:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        offered += capsys.readouterr().out
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", README)) <= set(re.findall(r"--[a-z][a-z-]*", offered))


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_links_and_paths_resolve(text):
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    paths = re.findall(r"[`/ ]((?:examples|docs|src|tests)/[\w./-]*\w/?)", text)
    missing = [path for path in {*links, *paths} if not (ROOT / path).exists()]
    assert links and not missing


def test_the_paper_is_cited():
    title = "Observation Adaptation via Annealed Importance Resampling for Partially Observable Markov Decision Processes"
    for page in ("README.md", "CITATION.cff", "docs/references.md"):
        text = " ".join((ROOT / page).read_text(encoding="utf-8").replace("> ", "").split())
        assert title in text and all(name in text for name in ("Zhang", "Luo", "Mukhopadhyay", "Dubey", "2025")), page


def test_versions_agree():
    assert f"\nversion: {airoas.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{airoas.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def fill(folder):
    """Write what is printed now into README."""
    (folder / "my_model.py").write_text(MODEL, encoding="utf-8")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    (command,) = re.findall(r"^\$ airoas (run .*)\n", CONSOLE, re.MULTILINE)
    printed = [io.StringIO() for _ in range(2)]
    with contextlib.redirect_stdout(printed[0]):
        main(shlex.split(command))
    with contextlib.redirect_stdout(printed[1]):
        exec(compile(SCRIPT, "README.md", "exec"), {"__name__": "__main__"})
    console = f"{CONSOLE.partition(command)[0]}{command}\n{printed[0].getvalue()}"
    text = README.replace(CONSOLE, console).replace(f"```text\n{PRINTED}", f"```text\n{printed[1].getvalue()}")
    (ROOT / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        fill(Path(temporary))
