"""A file with a policy is looked at before anything of it is used: compiled code reads it, and looks at nothing."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from airoas.bounds.learned.forest import TREES
from airoas.errors import OptionError
from airoas.policies.rollout import CUT

_LAYOUT = {
    "model": ("U", 0),
    "actions": ("i", 0),
    "rounds": ("i", 0),
    "digest": ("U", 0),
    "policy": ("U", 0),
    "blind": ("i", 0),
    "bias": ("f", 0),
    "length": ("i", 0),
    "repeats": ("i", 0),
    "seeks": ("i", 0),
    "began": ("U", 0),
    "validated": ("U", 1),
    "returns": ("f", 2),
}
_FOREST = {"roots": ("i", 1), "first": ("i", 1), "second": ("i", 1), "child": ("i", 1), "cut": ("f", 1), "values": ("f", 2)}
"""Kind of the numbers, 8 bytes each, or of text, and dimensions."""
_POLICIES = ("learned", "earlier", "qmdp", "voting", "default", "blind")


def read_stored(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of a file, refused unless they are such as `FittedQ.save` writes."""
    wrote = "write it with FittedQ().save(model, path)."
    try:
        with np.load(Path(path), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, TypeError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise OptionError(f"{path!r} holds no learned policy ({type(error).__name__})", wrote) from None
    layout = _LAYOUT | (_FOREST if "roots" in arrays else {})
    layout |= {f"routes_{name}": part for name, part in _FOREST.items()} if "routes_roots" in arrays else {}
    layout |= {"tells": ("i", 1)} if "routes_roots" in arrays else {}
    wrong = next((name for name, (kind, axes) in layout.items() if not _is_such(arrays.get(name), kind, axes)), "")
    wrong = wrong or next((name for name in ("repeats", "seeks") if int(arrays[name]) not in (0, 1)), "")
    wrong = wrong or ("policy" if str(arrays["policy"]) not in _POLICIES else "")
    wrong = wrong or ("blind" if not 0 <= int(arrays["blind"]) < max(1, int(arrays["actions"])) else "")
    wrong = wrong or ("bias" if not np.isfinite(arrays["bias"]) else "")
    wrong = wrong or ("length" if not 1 <= int(arrays["length"]) <= CUT else "")
    wrong = wrong or ("returns" if arrays["returns"].shape != (len(arrays["validated"]), 2) else "")
    if not wrong and "tells" in layout:
        tells, most = arrays["tells"], int(arrays["actions"])
        is_fine = len(arrays["routes_roots"]) == TREES * len(tells) and ((tells >= -1) & (tells < most)).all()
        wrong = "" if is_fine else "tells"
    if wrong:
        raise OptionError(f"{path} is damaged: `{wrong}` is none of a learned policy", wrote)
    return {name: arrays[name] for name in layout}  # whatever else is there was not looked at


def _is_such(array: np.ndarray | None, kind: str, axes: int) -> bool:
    return array is not None and array.dtype.kind == kind and (kind == "U" or array.dtype.itemsize == 8) and array.ndim == axes
