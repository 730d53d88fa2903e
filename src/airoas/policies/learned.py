"""Learning a belief policy for a model, keeping it, and finding it again."""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds.learned.forest import Forest
from airoas.bounds.store import keep, stored
from airoas.errors import OptionError
from airoas.policies.belief_mdp import Policy
from airoas.policies.fitted import Experience, collect, fit, make_experience, make_walkers
from airoas.policies.qmdp import make_policy
from airoas.rng import stream

MOST_ACTIONS = 40
"""Above that nothing is learned: every action is tried at every belief, and scored after each."""
ROUNDS = 4
_BELIEFS = 6000  # of a round, for up to nine actions
_PARTICLES, _WALKS, _KEEP = 100, 64, 0.3
_INITIAL = 20_000  # states that stand for the initial belief
_log = logging.getLogger("airoas")


@dataclass(frozen=True)
class Learned:
    """What was learned of a model."""

    correction: Forest | None
    """Of QMDP; None where learning gained nothing, or was not possible."""
    rounds: int
    digest: str
    """Of the correction: the same seed and rounds give the same."""


def learn(model: Any, seconds: float, progress: Callable[[str], None] = lambda doing: None) -> Learned:
    """Rounds of fixed work; time only ends them, after one at least."""
    if not model.n_actions or model.n_actions > MOST_ACTIONS:
        return Learned(None, 0, "")
    begun = time.perf_counter()
    policy = make_policy(model)
    initial = np.array(Particles.sample(model, _INITIAL, stream(0, "initial")).states)
    weights = np.full(len(initial), 1.0 / len(initial))
    beliefs = max(500, int(_BELIEFS * min(1.0, (9.0 / model.n_actions) ** 1.5)))
    experience, correction, rounds = make_experience(policy, ROUNDS * beliefs), None, 0
    horizon = min(int(model.max_steps), math.ceil(math.log(0.05) / math.log(model.discount)))
    longest = 0.0
    while rounds < ROUNDS and (rounds == 0 or time.perf_counter() - begun + longest < seconds):
        started = time.perf_counter()
        progress(f"learning a policy, round {rounds + 1} of {ROUNDS}")
        walking, walkers, trying = make_walkers(model, policy, _WALKS, _PARTICLES)
        part = _first(experience, (rounds + 1) * beliefs, model.n_actions)
        collect(policy, walking, walkers, trying, part, initial, weights, horizon, _KEEP, stream(rounds, "walks").bits(62))
        experience.count = part.count
        correction = fit(policy, part, rounds)
        policy = make_policy(model, correction)
        rounds += 1
        longest = max(longest, time.perf_counter() - started)
    return Learned(correction, rounds, _digest(correction))


def _first(experience: Experience, beliefs: int, actions: int) -> Experience:
    """The first so many beliefs, as room for no more."""
    fields = {}
    for name in Experience.__annotations__:
        value = getattr(experience, name)
        many = actions if name in ("later_features", "later_q", "ended") else 1
        fields[name] = value if name == "count" else value[: many * beliefs]
    return Experience(**fields)


def _digest(correction: Forest | None) -> str:
    if correction is None:
        return ""
    parts = b"".join(np.ascontiguousarray(getattr(correction, name)).tobytes() for name in Forest.__annotations__)
    return hashlib.sha256(parts).hexdigest()[:16]


_known: dict[str, Learned] = {}


def find_learned(model: Any) -> Learned | None:
    """What was learned of a model, in this process or an earlier one; None where nothing was."""
    if model.fingerprint not in _known:
        arrays = stored(model, "policy")
        if arrays is None:
            return None
        _known[model.fingerprint] = from_arrays(arrays)
    return _known[model.fingerprint]


def prepare(model: Any, seconds: float, progress: Callable[[str], None] = lambda doing: None) -> Learned:
    """What was learned of a model, learning it now where nothing was."""
    known = find_learned(model)
    if known is None:
        known = learn(model, seconds, progress)
        keep(model, "policy", to_arrays(known))
        _known[model.fingerprint] = known
    return known


def to_arrays(learned: Learned) -> dict[str, np.ndarray]:
    arrays = {"rounds": np.array(learned.rounds), "digest": np.array(learned.digest)}
    if learned.correction is not None:
        arrays |= {name: getattr(learned.correction, name) for name in Forest.__annotations__}
    return arrays


def from_arrays(arrays: dict[str, np.ndarray]) -> Learned:
    correction = Forest(**{name: arrays[name] for name in Forest.__annotations__}) if "roots" in arrays else None
    return Learned(correction, int(arrays["rounds"]), str(arrays["digest"]))


def policy_of(model: Any, learned: Learned | None) -> Policy:
    """The policy: QMDP, corrected by what was learned."""
    if not model.n_actions:
        raise OptionError(f"{type(model).__name__} has continuous actions", "use POMCPOW.")
    return make_policy(model, learned.correction if learned else None)
