"""The type of models inside the library says what there is, and no more."""

import inspect

from airoas.modelling.compiled import ROWS
from airoas.modelling.decorator import Model
from airoas.modelling.interface import HOOKS
from airoas.modelling.kernel_model import KernelModel

TYPED = {name: value for name, value in vars(KernelModel).items() if not name.startswith("_")}


def test_it_has_every_hook_with_its_parameters():
    for hook in HOOKS.values():
        assert tuple(inspect.signature(TYPED[hook.name]).parameters) == ("self", *hook.parameters)


def test_all_else_is_of_every_model():
    others = TYPED.keys() - HOOKS.keys() - {*ROWS, "discount"}
    assert "n_actions" in others and TYPED.keys() >= set(ROWS)
    for name in others - {"max_steps"}:
        assert isinstance(inspect.getattr_static(Model, name), property) == isinstance(TYPED[name], property)
    assert hasattr(Model, "max_steps")
