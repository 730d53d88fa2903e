"""Names to things: the shipped domains and planners, and models, planners and filters in a user's own file."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import traceback
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

from airoas.errors import AiroasError, ModelError, OptionError, suggest
from airoas.modelling.decorator import Model

EPISODES_PER_MAP = 10
"""Random families draw a new map for every ten episode seeds."""


def _domain(module: str, make: str, *arguments: Any, **fields: Any) -> Callable[[int], Any]:
    """A maker of models that takes the episode's seed and gives the same model for each."""
    cached = functools.cache(lambda: getattr(importlib.import_module(f"airoas.domains.{module}"), make)(*arguments, **fields))
    return lambda seed: cached()


def _family(module: str, make: str, *arguments: Any) -> Callable[[int], Any]:
    """A maker of models that draws one map for every ten seeds."""
    cached = functools.lru_cache(8)(lambda number: getattr(importlib.import_module(f"airoas.domains.{module}"), make)(*arguments, number))
    return lambda seed: cached(seed // EPISODES_PER_MAP)


BARE = ("light-dark-0.5", "light-dark-1.0", "light-dark-2d", "laser-tag", "rock-sample-11-11")
"""Shipped domains that are there without their hints as well, as `bare-NAME`."""
STRANGERS = {
    "building": _domain("strangers.building", "Building"),
    "vdp-tag": _domain("strangers.vdp_tag", "VDPTag"),
    "vdp-tag-continuous": _domain("strangers.vdp_tag", "VDPTagContinuous"),
    "patrol": _domain("strangers.patrol", "Patrol"),
    "rescue": _domain("strangers.rescue", "Rescue"),
    "welds": _domain("strangers.welds", "Welds"),
    "hawk": _domain("strangers.hawk", "Hawk"),
    "machine": _domain("strangers.machine", "Machine"),
    "poker": _domain("strangers.poker", "Poker"),
    "mine": _domain("strangers.mine", "Mine"),
    "leak": _domain("strangers.leak", "Leak"),
    **{f"bare-{name}": _domain("strangers.bare", "bare", name) for name in BARE},
}
"""Models without a hint."""
DOMAINS: dict[str, Callable[[int], Any]] = {
    "tiger": _domain("tiger", "Tiger"),
    "light-dark-0.5": _domain("light_dark", "LightDark", step_size=0.5),
    "light-dark-1.0": _domain("light_dark", "LightDark", step_size=1.0),
    "light-dark-2d": _domain("light_dark_2d", "LightDark2D"),
    "light-dark-2d-continuous": _domain("light_dark_2d", "LightDark2DContinuous"),
    "pushbox": _domain("pushbox", "Pushbox"),
    "parking": _domain("parking", "Parking"),
    "sensor-placement-8": _domain("sensor_placement", "SensorPlacement"),
    "light-column-random": _family("light_column", "random_map"),
    "light-column-macros-random": _family("light_column", "random_map_for_macros"),
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
    **STRANGERS,
}
FAMILIES = tuple(name for name in DOMAINS if "random" in name)
PLANNERS = {
    "airoas": ("airoas", "AIROAS"),
    "adaops": ("adaops", "AdaOPS"),
    "ardespot": ("ardespot", "ARDESPOT"),
    "pomcp": ("pomcp", "POMCP"),
    "pomcpow": ("pomcpow", "POMCPOW"),
    "fitted-q": ("fitted_q", "FittedQ"),
    "qmdp": ("qmdp", "QMDP"),
    "pbvi": ("pbvi", "PBVI"),
    "random": ("random", "Random"),
    "blind": ("blind", "Blind"),
}


_GIVEN = re.compile(r"(?P<domain>.*\.(?:py:\w+|pomdp)|[^(]*)\((?P<parameters>.*)\)", re.DOTALL)


def without_parameters(reference: str) -> str:
    """A domain without the parameters that are given with it: `tag` for `tag(opponent='modified')`."""
    given = _GIVEN.fullmatch(reference)
    return given["domain"] if given else reference


def with_parameters(reference: str, parameters: dict[str, Any]) -> str:
    """A domain with parameters of its model: `tag(opponent='modified')`."""
    return f"{reference}({', '.join(f'{name}={value!r}' for name, value in parameters.items())})" if parameters else reference


def _parameters(reference: str) -> dict[str, Any]:
    given = _GIVEN.fullmatch(reference)
    if not given:
        return {}
    try:
        call = ast.parse(f"_({given['parameters']})", mode="eval").body
        assert isinstance(call, ast.Call)
        assert not call.args
        return {str(item.arg): ast.literal_eval(item.value) for item in call.keywords}
    except (SyntaxError, ValueError, AssertionError):
        raise OptionError(f"the parameters of {reference} cannot be read", "write name=value, separated by commas.") from None


def _changed(model: Any, parameters: dict[str, Any]) -> Any:
    """The model with other parameters."""
    for name, value in parameters.items():
        if name not in model._fields:
            remedy = f"{suggest(name, model._fields)}Its parameters are {', '.join(model._fields)}."
            raise OptionError(f"{type(model).__name__} has no parameter {name!r}", remedy)
        if isinstance(value, str) and not isinstance(getattr(model, name), str):
            raise OptionError(
                f"{name} is {value!r}", f"{type(model).__name__} has {getattr(model, name)!r} there: give a value of that kind."
            )
    return model._replace(**parameters)


def find_domain(reference: str) -> Callable[[int], Any]:
    """The maker of models behind a domain's name, `file.py:Model` or `file.pomdp`; it takes the episode's seed (families use it).
    Parameters of the model may follow: `tag(opponent='modified')`."""
    domain, parameters = without_parameters(reference), _parameters(reference)
    make = _find_domain(domain)
    return functools.lru_cache(8)(lambda seed: _changed(make(seed), parameters)) if parameters else make


def _find_domain(reference: str) -> Callable[[int], Any]:
    if reference in DOMAINS:
        return DOMAINS[reference]
    path, separator, name = reference.rpartition(":")
    if separator and path.endswith(".py"):
        model = load_model(path, name)
        return lambda seed: model
    if reference.lower().endswith(".pomdp"):
        from airoas.interop.pomdpfile import read_pomdp

        tables = read_pomdp(reference)
        return lambda seed: tables
    if reference.endswith(".py"):
        raise OptionError(f"{reference} does not say which model", f"write {reference}:Model, with the name of its class.")
    remedy = f"{suggest(reference, DOMAINS)}`airoas list` shows the domains; a model of yours is given as file.py:Model or file.pomdp."
    raise OptionError(f"there is no domain {reference!r}", remedy)


def load_class(path: str, name: str) -> Any:
    """What is called `name` in a Python file; the file's folder is importable from it, as in a script."""
    file = Path(path)
    if not file.is_file():
        problem = f"{path} is a folder" if file.is_dir() else f"there is no file {path}"
        raise OptionError(problem, "check the path; a model is given as file.py:Model.")
    module = _imported(file.resolve(), path)
    if not hasattr(module, name):
        models = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Model) and value is not Model]
        remedy = f"{suggest(name, models)}The file has {', '.join(models) or 'no class decorated with @airoas.model'}."
        raise OptionError(f"{path} has no {name!r}" if name else f"{path}: does not say which model", remedy)
    return getattr(module, name)


class _FromSource(importlib.machinery.SourceFileLoader):
    """Never from bytecode, which an edit within a second that leaves the file's size as it was does not renew."""

    def get_code(self, fullname: str) -> types.CodeType:
        code: types.CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def _imported(file: Path, path: str) -> types.ModuleType:
    """The module of a file; each file is imported once under a name of its own, since compiled code refers to it by that name."""
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = f"airoas_user_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file, loader=_FromSource(name, str(file)))
    if spec is None or spec.loader is None:
        raise OptionError(f"{path} cannot be imported", "give a Python source file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        if error.lineno is None:
            raise OptionError(f"{path} is not Python source ({error.msg})", "give a Python file.") from None
        where = path if error.filename in (None, str(file)) else error.filename
        raise OptionError(f"{where}, line {error.lineno}: {error.msg}", "mend the syntax.") from None
    except (OSError, UnicodeDecodeError) as error:
        if any(frame.filename == str(file) for frame in traceback.extract_tb(error.__traceback__)):
            raise _import_error(error, file, path) from None
        raise OptionError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not text'})", "give a readable Python file."
        ) from None
    except AiroasError as error:  # a class that the decorator refused
        error.where = f"{error.where.removeprefix('class ')} ({file}, line {_line_in(error, file)})"
        raise
    except Exception as error:
        raise _import_error(error, file, path) from None
    except SystemExit:
        remedy = 'put what should run only as a script under `if __name__ == "__main__":`.'
        raise OptionError(f"{path} ends the program when it is imported", remedy) from None
    return module


def _line_in(error: BaseException, file: Path) -> int | None:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return lines[-1] if lines else None


def _import_error(error: BaseException, file: Path, path: str) -> OptionError:
    line = _line_in(error, file)
    return OptionError(f"{path}{f', line {line}' if line else ''}: {type(error).__name__}: {_one_line(error)}", "mend that line.")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or "no message"


def load_model(path: str, name: str) -> Any:
    """An instance of the model `name` in a file."""
    model_class = load_class(path, name)
    try:
        model = model_class() if isinstance(model_class, type) and issubclass(model_class, Model) else model_class
    except AiroasError:
        raise
    except Exception as error:
        remedy = f"`airoas check {path}:{name}` says where."
        raise ModelError(f"{name}() raises {type(error).__name__}: {_one_line(error)}", remedy, where=path) from None
    if not isinstance(model, Model):
        raise OptionError(f"{path}:{name} is not a model", "decorate the class with @airoas.model.")
    return model


def planner_class(reference: str) -> Any:
    """The class behind a planner's name or `file.py:Planner`."""
    if reference in PLANNERS:
        module, kind_name = PLANNERS[reference]
        return getattr(importlib.import_module(f"airoas.planners.{module}"), kind_name)
    path, separator, name = reference.rpartition(":")
    if not separator or not path.endswith(".py"):
        remedy = f"{suggest(reference, PLANNERS)}Choose one of {', '.join(PLANNERS)}; one of yours is given as file.py:Planner."
        raise OptionError(f"there is no planner {reference!r}", remedy)
    kind = load_class(path, name)
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind) and callable(getattr(kind, "plan", None))):
        raise OptionError(f"{reference} is no planner", "write a frozen dataclass of options with plan(self, model, belief, rng).")
    return kind


def find_filter(reference: str) -> Any:
    """What `simulate` takes as `filter`: the name of a filter as it is, `file.py:Filter` as an instance."""
    path, separator, name = reference.rpartition(":")
    if not separator or not path.endswith(".py"):
        return reference
    filter_class = load_class(path, name)
    try:
        return filter_class() if isinstance(filter_class, type) else filter_class
    except AiroasError:
        raise
    except Exception as error:
        problem = f"{name}() raises {type(error).__name__}: {_one_line(error)}"
        raise OptionError(problem, "a filter is made without arguments.", where=path) from None


def options_of(name: str) -> set[str]:
    """The names of a planner's options."""
    return {option.name for option in dataclasses.fields(planner_class(name))}


def make_planner(name: str, options: dict[str, Any]) -> Any:
    """A planner by name with its options; unknown names and options are refused with a suggestion."""
    kind = planner_class(name)
    known = {option.name for option in dataclasses.fields(kind)}
    for option in options:
        if option not in known:
            has = f"Its options are {', '.join(sorted(known))}." if known else "It has none."
            raise OptionError(f"planner {name!r} has no option {option!r}", f"{suggest(option, known)}{has}")
    needs_budget = {"seconds", "iterations"} & known
    if needs_budget and len(needs_budget & set(options)) != 1:
        raise OptionError(f"planner {name!r} needs a budget", "give one of seconds and iterations (--seconds or --iterations).")
    hints = get_type_hints(kind)
    return kind(**{option: _parsed(option, value, hints[option]) for option, value in options.items()})


_SIMPLE = (bool, int, float, str, type(None))


def _parsed(option: str, value: Any, hint: Any) -> Any:
    """An option as its declared type: text from the command line is read as that type, any other type is refused."""
    kinds = getattr(hint, "__args__", (hint,))
    if not isinstance(value, str):
        if float in kinds and int not in kinds and type(value) is int:
            return float(value)
        if type(value) in kinds or not all(kind in _SIMPLE for kind in kinds):
            return value
    elif str in kinds or hint is Any:
        several = "," in value and (hint is Any or any(typing.get_origin(kind) is tuple for kind in kinds))
        return tuple(part.strip() for part in value.split(",")) if several else value
    else:
        for kind in (bool, int, float):
            if kind in kinds:
                with contextlib.suppress(ValueError, KeyError):
                    return {"true": True, "false": False}[value.lower()] if kind is bool else kind(value)
    wanted = " or ".join(getattr(kind, "__name__", str(kind)).replace("NoneType", "nothing") for kind in kinds)
    raise OptionError(f"option {option}={value!r} is not of type {wanted}", f"write {option}=VALUE with a value of that type.")


def with_hints(name: str) -> str:
    """The domain that has the same worlds and all its hints: `laser-tag` for `bare-laser-tag`; other names as they are."""
    hinted = name.removeprefix("bare-")
    return hinted if hinted in BARE else name
