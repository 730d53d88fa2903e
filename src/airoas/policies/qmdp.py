"""The base of every policy here: QMDP from whatever value of the fully observable problem the model allows."""

from __future__ import annotations

import numpy as np

from airoas.bounds import find_bounds
from airoas.bounds.learned.forest import Forest, zero
from airoas.bounds.learned.regression import bits_of
from airoas.bounds.learned.walks import walk
from airoas.modelling.batch import batch
from airoas.modelling.discretised import discretised
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.action_list import action_list
from airoas.policies.runs import GREEDY, Policy, Routes
from airoas.rng import stream

SCORED = 24
"""Particles that q is averaged over where each of them is simulated, and four times as many where it is looked up."""
ALL = 16
"""Actions of which each has a correction of its own, all of them tried at every belief; of more, where values are not looked up, one
correction serves all."""
LOOKED_AT = 100
"""Particles that q is averaged over at least, for a decision."""
_WALKS, _CONTINUOUS = 200, 100  # to see which numbers vary, and values of one that has no list of them
_STEPS_FOR_Q = 320  # steps for q of one belief, about, where actions are many


def make_policy(
    model: KernelModel,
    correction: Forest | None = None,
    way: int = GREEDY,
    blind: int = 0,
    bias: float = 0.0,
    values: str = "auto",
    routes: Routes | None = None,
) -> Policy:
    """QMDP, with a correction that was learned, for the particle-belief MDP; or another way to act with its values. values: the upper
    bound that they are, by its name."""
    actions = action_list(model)
    discrete = model if model.n_actions else discretised(model, actions)
    bounds = find_bounds(discrete, (0.0, values))
    looked_up = bool(bounds.by_action) and not bounds.upper.startswith("grid")  # between the points of a grid actions are told apart badly
    shared = len(actions) > ALL and not looked_up
    functions, kinds = batch(model), model.shapes.state.kinds
    visited = walk(discrete, _WALKS, 4, 1.0, stream(0, "components"))
    varies = [k for k in range(len(kinds)) if len(visited) and visited[:, k].min() < visited[:, k].max()]
    own = {k for k in varies if kinds[k] == "float" and len(np.unique(visited[:, k])) >= _CONTINUOUS}
    return Policy(
        simulator=functions.simulator,
        observe=functions.observe,
        weigh=functions.weigh,
        inspect=functions.inspect,
        value=bounds.expected,
        by_action=looked_up,
        n_values=bounds.width - 1,
        actions=actions,
        discrete=bool(model.n_actions),
        components=np.array(varies, dtype=np.int64),
        continuous=np.array([k for k in varies if k in own], dtype=np.int64),
        countable=np.array([k for k in varies if k not in own], dtype=np.int64),
        bits=np.array([bits_of(visited[:, k], kinds[k]) for k in varies], dtype=np.int64),
        correction=correction or zero(1 if shared else len(actions)),
        corrected=correction is not None,
        shared=shared,
        bias=bias,
        way=way,
        blind=blind,
        scored=4 * SCORED if looked_up else max(SCORED // 3, min(SCORED, _STEPS_FOR_Q // len(actions))),
        routes=routes.steps if routes else zero(1),
        n_routes=len(routes.tells) if routes else 0,
        tells=np.array(routes.tells if routes else (-1,), dtype=np.int64),
    )
