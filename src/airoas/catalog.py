"""Names to things: the shipped domains and planners, and models in a user's own file."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

from airoas.errors import OptionError
from airoas.protocol import Model
from airoas.structure import suggest

EPISODES_PER_MAP = 10
"""Random families draw a new map for every ten episode seeds."""


def _domain(module: str, make: str, *arguments: Any, **fields: Any) -> Callable[[int], Any]:
    """A maker of models that takes the episode's seed and gives the same model for each."""
    made = functools.cache(lambda: getattr(importlib.import_module(f"airoas.domains.{module}"), make)(*arguments, **fields))
    return lambda seed: made()


def _family(module: str, make: str, *arguments: Any) -> Callable[[int], Any]:
    """A maker of models that draws one map for every ten seeds."""
    made = functools.lru_cache(8)(lambda number: getattr(importlib.import_module(f"airoas.domains.{module}"), make)(*arguments, number))
    return lambda seed: made(seed // EPISODES_PER_MAP)


DOMAINS: dict[str, Callable[[int], Any]] = {
    "tiger": _domain("tiger", "Tiger"),
    "light-dark-0.5": _domain("light_dark", "LightDark", step_size=0.5),
    "light-dark-1.0": _domain("light_dark", "LightDark", step_size=1.0),
    "light-dark-2d": _domain("light_dark_2d", "LightDark2D"),
    "light-dark-2d-continuous": _domain("light_dark_2d", "LightDark2DContinuous"),
    "tag": _domain("tag", "Tag"),
    "tag-modified": _domain("tag", "Tag", opponent="modified"),
    "laser-tag": _domain("laser_tag", "standard", 1),
    "laser-tag-2": _domain("laser_tag", "standard", 2),
    "laser-tag-random": _family("laser_tag", "random_map"),
    "rock-sample-7-8": _domain("rock_sample", "standard", 7, 8),
    "rock-sample-11-11": _domain("rock_sample", "standard", 11, 11),
    "rock-sample-15-15": _domain("rock_sample", "standard", 15, 15),
    "rock-sample-11-11-despot": _domain("rock_sample", "standard", 11, 11, despot=True),
    "rock-sample-15-15-despot": _domain("rock_sample", "standard", 15, 15, despot=True),
    "rock-sample-random-11-11": _family("rock_sample", "random_map", 11, 11),
    "rock-sample-random-15-15": _family("rock_sample", "random_map", 15, 15),
}
FAMILIES = tuple(name for name in DOMAINS if "random" in name)
PLANNERS = {"random": ("random", "Random")}


def find_domain(reference: str) -> Callable[[int], Any]:
    """The maker of models behind a domain's name or `file.py:Model`; it takes the episode's seed (families use it)."""
    if reference in DOMAINS:
        return DOMAINS[reference]
    path, separator, name = reference.rpartition(":")
    if separator and path.endswith(".py"):
        model = load_model(path, name)
        return lambda seed: model
    remedy = f"{suggest(reference, DOMAINS)}`airoas list` shows the domains; a model of yours is given as file.py:Model."
    raise OptionError(f"there is no domain {reference!r}", remedy)


def load_class(path: str, name: str) -> Any:
    """What is called `name` in a Python file; the file's folder is importable from it, as in a script."""
    file = Path(path)
    if not file.is_file():
        raise OptionError(f"there is no file {path}", "check the path; a model is given as file.py:Model.")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(f"airoas_user.{file.stem}", file.resolve())
    if spec is None or spec.loader is None:
        raise OptionError(f"{path} cannot be imported", "give a Python source file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise OptionError(f"{path}, line {error.lineno}: {error.msg}", "mend the syntax.") from None
    except OSError as error:
        raise OptionError(f"{path} cannot be read ({error.strerror})", "check the file's permissions.") from None
    except Exception as error:
        raise OptionError(
            f"{path} cannot be imported ({type(error).__name__}: {error})", "run it with python to see where it fails."
        ) from None
    if not hasattr(module, name):
        models = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Model) and value is not Model]
        remedy = f"{suggest(name, models)}the file has {', '.join(models) or 'no class decorated with @airoas.model'}."
        raise OptionError(f"{path} has no {name!r}", remedy)
    return getattr(module, name)


def load_model(path: str, name: str) -> Any:
    """An instance of the model `name` in a file."""
    found = load_class(path, name)
    model = found() if isinstance(found, type) and issubclass(found, Model) else found
    if not isinstance(model, Model):
        raise OptionError(f"{path}:{name} is not a model", "decorate the class with @airoas.model.")
    return model


def make_planner(name: str, options: dict[str, Any]) -> Any:
    """A planner by name with its options; unknown names and options are refused with a suggestion."""
    if name not in PLANNERS:
        raise OptionError(f"there is no planner {name!r}", f"{suggest(name, PLANNERS)}choose one of {', '.join(PLANNERS)}.")
    module, kind_name = PLANNERS[name]
    kind = getattr(importlib.import_module(f"airoas.planners.{module}"), kind_name)
    known = {option.name for option in dataclasses.fields(kind)}
    for option in options:
        if option not in known:
            has = f"its options are {', '.join(sorted(known))}." if known else "it has none."
            raise OptionError(f"planner {name!r} has no option {option!r}", f"{suggest(option, known)}{has}")
    needs_budget = {"seconds", "iterations"} & known
    if needs_budget and len(needs_budget & set(options)) != 1:
        raise OptionError(f"planner {name!r} needs a budget", "give one of --seconds and --iterations.")
    hints = get_type_hints(kind)
    return kind(**{option: _parsed(option, value, hints[option]) for option, value in options.items()})


def _parsed(option: str, value: Any, hint: Any) -> Any:
    """Text from the command line as the option's declared type."""
    if not isinstance(value, str) or hint is str:
        return value
    for kind in (bool, int, float):
        if kind is hint or kind in getattr(hint, "__args__", ()):
            try:
                return {"true": True, "false": False}[value.lower()] if kind is bool else kind(value)
            except (ValueError, KeyError):
                continue
    if str in getattr(hint, "__args__", ()):
        return value
    raise OptionError(f"option {option}={value!r} is not of type {hint}", f"write {option}=VALUE with a value of that type.")
