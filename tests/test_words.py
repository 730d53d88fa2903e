"""Names are those of the literature (docs/glossary.md): the private ones of 0.1 do not come back, and one class has a name.

Identifiers are read from the syntax tree, cut at underscores and capitals (`chance_seen` has the word chance); names of tests are
sentences and left alone. Prose is read from pages, docstrings, comments and messages, for the words that mean nothing to others.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

SAY = {
    "luck": "control variate, adjusted return",
    "sight": "observation",
    "sights": "observations",
    "sighting": "observation",
    "sightings": "observations",
    "see": "observe",
    "seer": "observing particle",
    "seers": "observing particles",
    "look": "observe; closed-loop of a plan",
    "looks": "observes; closed-loop of a plan",
    "listed": "enumerated",
    "exact": "enumerated",
    "complete": "enumerated",
    "lot": "batch size",
    "together": "batch size",
    "crew": "thread team",
    "turns": "epochs",
    "tell": "progress",
    "aside": "yield",
    "tape": "noise record",
    "ladder": "tempering schedule",
    "bridge": "tempered SMC",
    "cloud": "particle system",
    "here": "double buffer",
    "there": "double buffer",
    "spare": "double buffer",
    "settle": "update leaf belief",
    "cross": "record_crossing",
    "close": "end_at_depth",
    "note": "record, undo log",
    "chance": "probability",
    "chances": "probabilities",
    "worth": "value",
    "worths": "values",
    "share": "weight, fraction",
    "shares": "weights, fractions",
    "room": "workspace, capacity",
    "apart": "noinline",
    "inner": "inline-only",
    "link": "specialise",
    "linked": "specialised",
    "relink": "rebind_globals",
    "content": "fingerprint",
    "how": "mode",
    "made": "native class",
    "agreement": "density test",
    "asking": "checked call",
    "asker": "checked calls",
    "behaviour": "dynamic checks",
    "finding": "diagnostic",
    "findings": "diagnostics",
    "rescue": "recovery",
    "rescues": "recoveries",
    "rescued": "recovered",
    "depletion": "particle deprivation",
    "depleted": "particle deprivation",
    "sheet": "table",
    "sheets": "tables",
    "thought": "decision snapshot",
    "thoughts": "decision snapshots",
    "mourn": "worker death",
    "stillborn": "worker death",
    "fate": "worker death",
    "place": "index, position, location, directory",
    "places": "indices, positions",
    "figures": "returns, numbers",
    "found": "result, match, or what it is",
}
"""What 0.1 said, and what to say."""

WHOLE = {
    "same_value": "canonicalise",
    "take_actions": "refresh_bounds",
    "step_aside": "yield",
    "by_sight": "closed-loop",
    "vectors": "alpha vectors",
    "Points": "belief points",
}
"""The same of whole identifiers: their words alone mean something else."""

ALLOWED = {
    # another thing's own name
    ("look", "src/airoas/domains/strangers/vdp_tag.py"): "the action of that problem in the literature",
    ("look", "src/airoas/bounds/learned/*.py"): "`_look_up`: looking up in a table",
    ("room", "src/airoas/domains/strangers/*.py"): "rooms of a building",
    ("room", "tests/domains/test_strangers.py"): "rooms of a building",
    ("room", "benchmarks/strangers/rescue.py"): "rooms of a house",
    ("room", "tools/lost_study.py"): "rooms of a building",
    ("room", "examples/*_robot.py"): "the room that a robot is in",
    ("rescue", "src/airoas/domains/strangers/rescue.py"): "the rescue of a victim",
    ("rescue", "src/airoas/catalog.py"): "the domain of that name",
    ("rescue", "benchmarks/strangers/*.py"): "the domain of that name",
    ("rescue", "tests/planners/test_learned_bounds.py"): "the domain of that name",
    ("ladder", "tests/bounds/*.py"): "a model of rungs to climb",
    ("inner", "src/airoas/domains/strangers/vdp_tag.py"): "the inner end of a wall",
    # the names of others' interfaces
    ("close", "src/airoas/experiments/*"): "of files and pools",
    ("close", "src/airoas/modelling/introspection.py"): "difflib's close matches",
    ("close", "benchmarks/*"): "of files and processes",
    ("close", "tools/*"): "of figures",
    ("close", "tests/*"): "of files, pools and figures",
    ("tell", "src/airoas/experiments/run/tune.py"): "Optuna's ask and tell",
    ("tell", "src/airoas/checker/density_test.py"): "`can_tell`: whether a test has any power",
    ("complete", "src/airoas/cli/progress.py"): "a column of rich",
    ("complete", "src/airoas/experiments/run/tune.py"): "a state of Optuna's trials",
    ("inner", "tests/report/test_browser.py"): "inner text of HTML",
    ("content", "tests/report/test_browser.py"): "text content of HTML",
    ("link", "tests/test_docs.py"): "a link of a page",
    ("link", "tests/test_readme.py"): "a link of a page",
    # the standard meaning
    ("note", "src/airoas/tables.py"): "a remark below a table",
    ("note", "src/airoas/experiments/*"): "a remark below a table, or a planner's beside a decision",
    ("note", "src/airoas/report/*"): "a remark below a chart",
    ("note", "tests/report/*"): "a remark below a chart",
    ("inner", "src/airoas/modelling/checked_call.py"): "the inner of two frames",
    ("inner", "src/airoas/experiments/*"): "a name within a name, a table within a table",
    ("inner", "tests/experiments/*"): "a table within a table",
    ("inner", "tests/planners/test_bounded_tree.py"): "nodes that are no leaves",
    ("inner", "tests/report/test_values.py"): "nodes below a node",
    ("aside", "src/airoas/experiments/analysis/plot.py"): "how far a curve is moved aside",
    ("aside", "src/airoas/domains/grid.py"): "beside a way",
    ("exact", "src/airoas/belief/*"): "the exact filter",
    ("exact", "src/airoas/bounds/*"): "expected rewards that are exact, not averages of simulated steps",
    ("exact", "src/airoas/domains/*"): "the exact filter's hooks",
    ("exact", "src/airoas/modelling/kernel_model.py"): "the exact filter's hooks",
    ("exact", "src/airoas/checker/*"): "the exact filter's hooks",
    ("exact", "src/airoas/interop/*"): "the exact filter's hooks",
    ("exact", "src/airoas/experiments/*"): "the exact filter",
    ("exact", "src/airoas/planners/pbvi.py"): "expected rewards that are exact",
    ("complete", "src/airoas/compiler/cuda.py"): "a function of nvJitLink",
    ("linked", "src/airoas/compiler/cuda.py"): "functions of nvJitLink",
    ("exact", "src/airoas/agent.py"): "the exact filter",
    ("exact", "src/airoas/__init__.py"): "the exact filter",
    ("exact", "tests/*"): "an exact filter, posterior, value or figure to compare with",
    ("exact", "tools/*"): "an exact posterior to compare with",
    ("exact", "benchmarks/*"): "the exact filter",
    ("exact", "examples/*"): "the exact filter's hooks",
}
"""Word and files: why it may stand there."""

PROSE = re.compile(r"\b(?:luck(?:y|ily)?|crews?|seers?|sightings?|by[ -]sight|noise tapes?|stillborn|mourn(?:s|ed|ing)?)\b", re.IGNORECASE)
EXEMPT = ("CHANGELOG.md", "docs/log.md", "docs/from-0.1.md", "tests/test_words.py")
"""They speak of what was, and this file of what must not be."""
UNIQUE = {"Policy": "a policy over beliefs, and Gymnasium's users' word for what acts in an environment"}
"""Names of two classes each, with the reason."""

Found = tuple[str, int, str]
"""A file, a line, and what is wrong there."""


def repository(*patterns: str) -> list[Path]:
    named = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    names = named.stdout.split("\n") if named.returncode == 0 else [str(file.relative_to(ROOT)) for file in ROOT.rglob("*")]
    chosen = [ROOT / name for name in names if name not in EXEMPT and any(fnmatch(name, pattern) for pattern in patterns)]
    return [file for file in chosen if file.is_file()]


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every name that is given or used, keys of tables and columns included, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name, node.lineno
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                if not name.startswith("test_"):
                    yield name, node.lineno
            case ast.alias(name=name, asname=other):
                for part in (*name.split("."), *([other] if other else [])):
                    yield part, node.lineno
            case ast.Dict(keys=keys):
                yield from ((key.value, key.lineno) for key in keys if isinstance(key, ast.Constant) and _is_name(key.value))
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                if _is_name(name):
                    yield name, node.lineno


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier()


def words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def private_identifiers(source: str, file: str) -> list[Found]:
    problems = []
    for name, line in identifiers(ast.parse(source)):
        bare = name.strip("_")
        if bare in WHOLE:
            problems.append((file, line, f"{name}: say {WHOLE[bare]}"))
        for word in words(name):
            if word in SAY and not any(known == word and fnmatch(file, files) for known, files in ALLOWED):
                problems += [(file, line, f"{name}: say {SAY[word]}")]
    return problems


def private_prose(text: str, file: str) -> list[Found]:
    lines = enumerate(text.split("\n"), 1)
    return [(file, number, match[0]) for number, line in lines for match in PROSE.finditer(line)]


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def test_identifiers() -> None:
    """But for the models of newcomers, who had the pages alone."""
    files = [file for file in repository("*.py") if "newcomers" not in file.parts]
    assert len(files) > 300
    problems = [problem for file in files for problem in private_identifiers(file.read_text(encoding="utf-8"), relative(file))]
    assert not problems, "\n".join(f"{file}, line {line}: {what}" for file, line, what in problems)


def test_prose() -> None:
    files = repository("*.py", "*.md", "*.toml", "*.js", "*.cpp", "*.ipynb", "*.yml", "Makefile")
    files = [file for file in files if relative(file).partition("/")[0] != "results"]
    problems = [problem for file in files for problem in private_prose(file.read_text(encoding="utf-8"), relative(file))]
    assert not problems, "\n".join(f"{file}, line {line}: {what}" for file, line, what in problems)


PLANTED = {
    "a name": "{} = 1",
    "an attribute": "x.{} = 1",
    "an argument": "def f({}): pass",
    "a keyword": "f({}=1)",
    "a function": "def {}(): pass",
    "a method": "class A:\n    def {}(self): pass",
    "a class": "class {}: pass",
    "an import": "from m import {}",
    "a column": "row['{}']",
    "a key": "row = {{'{}': 1}}",
    "part of a name": "old_{} = 1",
}


@pytest.mark.parametrize("form", PLANTED)
def test_a_planted_identifier_is_found(form: str) -> None:
    for word in SAY:
        assert private_identifiers(PLANTED[form].format(word), "src/airoas/planners/new.py"), word
    for name in WHOLE:
        assert form == "part of a name" or private_identifiers(PLANTED[form].format(name), "src/airoas/planners/new.py"), name


@pytest.mark.parametrize("name", ["luck_of", "Sightings", "BY_SIGHT", "_mourn", "stillbornWorker", "TOGETHER", "observation_chances"])
def test_a_planted_word_is_found_however_it_is_written(name: str) -> None:
    assert private_identifiers(f"{name} = 1", "src/airoas/planners/new.py")


@pytest.mark.parametrize(
    "text", ["less luck", "Luckily", "a crew of threads", "SEERS", "sightings", "goes by sight", "noise tape", "_x mourns"]
)
def test_planted_prose_is_found(text: str) -> None:
    for source in (f"# {text}", f'"""{text}"""', f'raise ValueError("{text}")', f"| a page | {text} |"):
        assert private_prose(source, "docs/faq.md"), source


def test_what_is_allowed_is_there() -> None:
    """No exception outlives its reason."""
    named = {
        (word, relative(file))
        for file in repository("*.py")
        for name, _ in identifiers(ast.parse(file.read_text(encoding="utf-8")))
        for word in words(name)
    }
    idle = [(word, files) for word, files in ALLOWED if not any(word == other and fnmatch(file, files) for other, file in named)]
    assert not idle


def test_a_name_is_one_class() -> None:
    """Outside of domains, whose states and observations have plain names."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in repository("src/*.py") if "domains" not in file.parts)
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1 and not name.startswith("_")} == UNIQUE.keys()
