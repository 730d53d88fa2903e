"""What a search over weighted particles works with (AIROAS, AdaOPS): a model's batch functions, its bounds, and a workspace."""

from __future__ import annotations

import math

import numpy as np

from airoas.belief.resampling import SYSTEMATIC, choose
from airoas.bounds import Bounds
from airoas.compiler.kernels import Bound, Record, kernel
from airoas.modelling.batch import batch
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Indices, Mask, Matrix, Reals, Rows, Weights
from airoas.planners.bounded.cells import Cells, candidate_rows, make_cells
from airoas.planners.bounded.enumerated import can_enumerate, enumeration_of, slots_for
from airoas.planners.bounded.tree import Tree, set_root
from airoas.rng import Rng

CHUNK = 32
"""Particles that are simulated between two looks at the clock."""
BATCH = 16
"""Observations that are weighed at a time, at most; between two such batches the clock is read."""
MOST_LIKELIHOODS = 4096
"""Of a batch, unless those of one observation are more."""


class Search(Record):
    """For nodes of up to N particles, A actions, a lower bound of K plans and an upper one of M values."""

    step: Bound
    observe: Bound
    log_likelihoods: Bound
    inspect: Bound
    enumerate_successors: Bound
    evaluate: Bound
    """The bounds; see `airoas.bounds.Bounds`."""
    first_actions: Indices
    """[K] the action that each plan of the lower bound begins with."""
    by_action: bool
    """Whether the upper bound has a value for each action."""
    candidates: Rows
    """[A, .] the actions."""
    cells: Cells
    """The space that they are of, where they are no list."""
    allowed: Mask
    """[A] those that the whole belief at the root allows."""
    legal: Mask
    """[A] those that the node at hand allows."""
    is_restricted: bool
    """Whether the model forbids some actions in some states."""
    discount: float
    seed: int
    """Of the decision."""
    delta: float
    """Observations whose weights differ by no more (L1) share a branch; below 0 none do."""
    mixes: bool
    """Whether such a branch has the mixture of their posteriors, or that of the first."""
    target: float
    """N / ESS above which an observation of particles shares no branch."""
    enumerates: bool
    """Whether nodes hold every possible state where these are few."""
    discrete: bool
    """Whether observations are whole numbers, whose likelihoods are probabilities."""
    values: Matrix
    """[N, K + M] lower and upper values of each particle."""
    sums: Reals
    """[K + M] their weighted sums."""
    alive: Mask
    """[N] all of them: a node's own particles have not ended."""
    arrived: Mask
    """[N] which successors have not ended."""
    rewards: Reals
    """[N]"""
    numbers: Indices
    """[G] 0, 1, ..: of the particles' streams."""
    observing: Indices
    """[.] which particles make an observation where not all do."""
    which: Indices
    """[G] the successor of each draw of an observation; G is N, or 2 N where states are enumerated."""
    drawn: Rows
    """[G, .] the draws."""
    drawn_mass: Weights
    """[G] what each of them counts."""
    observations: Rows
    """[G, .] one of each group of equal ones."""
    mass: Weights
    """[G] what each group counts."""
    weights: Matrix
    """[G + 1, N] normalised weights of the particles under each observation kept; the last row is for the one at hand."""
    logs: Matrix
    """[BATCH, N] log-likelihoods of some observations."""
    chosen: Indices
    """[N] which particles are drawn."""
    slots: Indices
    """[a power of 2] which row has the state of a number, open addressing, -1 where free; [1] where states are not enumerated."""
    ids: Indices
    """[N] the number of each row's state."""


def make_search(
    model: KernelModel,
    bounds: Bounds,
    particles: int,
    observing: int,
    delta: float,
    enumerates: bool,
    weighs: bool = True,
    mixes: bool = False,
    target: float = math.inf,
) -> Search:
    """For nodes of this many particles, of which `observing` make an observation; `enumerates`: or of as many possible states.
    Without `weighs` there is no room for weights and likelihoods, which scenarios have none of."""
    functions, layouts = batch(model), model.shapes
    groups = 2 * particles if enumerates else particles  # every state has one draw at least
    width, candidates = bounds.width, candidate_rows(model)
    return Search(
        step=functions.step,
        observe=functions.observe,
        log_likelihoods=functions.log_likelihoods,
        inspect=functions.inspect,
        enumerate_successors=enumeration_of(model, enumerates),
        evaluate=bounds.evaluate,
        first_actions=np.ascontiguousarray(bounds.first_actions, dtype=np.int64),
        by_action=bool(bounds.by_action and model.n_actions),
        candidates=candidates,
        cells=make_cells(model),
        allowed=np.ones(len(candidates), np.bool_),
        legal=np.ones(len(candidates), np.bool_),
        is_restricted=bool(model.has("legal")),
        discount=float(model.discount),
        seed=0,
        delta=float(delta),
        mixes=bool(mixes),
        target=float(target),
        enumerates=bool(enumerates),
        discrete="float" not in layouts.observation.kinds,
        values=np.zeros((particles, width)),
        sums=np.zeros(width),
        alive=np.ones(particles, np.bool_),
        arrived=np.zeros(particles, np.bool_),
        rewards=np.zeros(particles),
        numbers=np.arange(groups),
        observing=np.zeros(min(observing, particles), np.int64),
        which=np.zeros(groups, np.int64),
        drawn=np.zeros((groups, layouts.observation.size)),
        drawn_mass=np.zeros(groups),
        observations=np.zeros((groups, layouts.observation.size)),
        mass=np.zeros(groups),
        weights=np.zeros((groups + 1, particles) if weighs else (1, 1)),
        logs=np.zeros((BATCH, particles) if weighs else (1, 1)),
        chosen=np.zeros(particles, np.int64),
        slots=np.zeros(slots_for(particles) if enumerates else 1, np.int64),
        ids=np.zeros(particles, np.int64),
    )


@kernel
def draw_root(tree: Tree, states: Rows, weights: Weights, chosen: Indices, rng: Rng) -> None:
    """The root, with draws from a belief as its particles. Always drawn anew, each as likely as its weight: a state that stands
    for many is simulated as often."""
    choose(weights, SYSTEMATIC, rng, chosen)
    for j in range(len(chosen)):
        for k in range(states.shape[1]):
            tree.states[j, k] = states[chosen[j], k]
        tree.weights[j] = 1.0 / len(chosen)
    set_root(tree, len(chosen))


__all__ = ["BATCH", "CHUNK", "MOST_LIKELIHOODS", "Search", "can_enumerate", "draw_root", "make_search"]
