"""Files with policies: nothing of them reaches compiled code that was not looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from airoas import OptionError, Particles, stream
from airoas.bounds.learned.forest import zero
from airoas.domains import Tiger
from airoas.planners import FittedQ
from airoas.policies import learned

MODEL = Tiger(0.8)


def arrays() -> dict[str, np.ndarray]:
    known = learned.Learned(zero(3), 1, "", "learned", returns={"qmdp": (0.0, 1.0)})
    kept = {"model": np.array("Tiger"), "actions": np.array(3), **learned.to_arrays(known)}
    return {name: array for name, array in kept.items() if name != "seconds"}  # of which a file has none


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("policy", "best"),
        ("policy", 1),
        ("blind", 10**6),
        ("blind", -1),
        ("blind", 1.5),
        ("bias", np.nan),
        ("returns", [[1.0]]),
        ("returns", [1.0, 2.0]),
        ("repeats", 5),
        ("validated", 5),
        ("cut", 1.0),
        ("child", ""),
        ("values", np.zeros((1, 3), np.float32)),
        ("roots", np.zeros(3, np.int32)),
    ],
    ids=str,
)
def test_arrays_that_are_none_of_a_policy_are_named(tmp_path: Path, name: str, value: Any) -> None:
    np.savez(tmp_path / "bad.npz", **{**arrays(), name: np.asarray(value)})
    with pytest.raises(OptionError, match=rf"bad\.npz is damaged: `{name}` is none of a learned policy"):
        FittedQ().load(MODEL, tmp_path / "bad.npz")
    assert learned.find_learned(MODEL) is None


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    for name in arrays().keys() - {"roots"}:
        np.savez(tmp_path / "bad.npz", **{key: array for key, array in arrays().items() if key != name})
        with pytest.raises(OptionError, match=rf"`{name}` is none of a learned policy"):
            FittedQ().load(MODEL, tmp_path / "bad.npz")


def test_a_whole_one_is_taken(tmp_path: Path) -> None:
    np.savez(tmp_path / "policy.npz", **arrays())
    model = Tiger(0.7)
    FittedQ().load(model, tmp_path / "policy.npz")
    assert FittedQ().plan(model, Particles.sample(model, 10, stream(0)), stream(0)).stats.notes["policy"].startswith("learned")
