"""Learning a belief policy for a model, keeping it, and finding it again."""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from airoas.belief.particles import Particles
from airoas.bounds.learned.forest import Forest
from airoas.bounds.store import alone, digest_of_sources, keep, seconds_spent, stored
from airoas.compiler.clock import read_clock
from airoas.compiler.interrupt import interruptible
from airoas.compiler.notice import QUIET
from airoas.errors import OptionError
from airoas.modelling.kernel_model import KernelModel
from airoas.policies.action_list import action_list
from airoas.policies.cut import find_cut
from airoas.policies.earlier import find_last, is_whole, keep_last
from airoas.policies.experience import Experience, collect, make_experience, make_told, make_walkers, most_beliefs
from airoas.policies.fitted import fit
from airoas.policies.qmdp import make_policy
from airoas.policies.repeats import repeating_gains, seeking_gains
from airoas.policies.rollout import CUT
from airoas.policies.runs import BLIND, DEFAULT, GREEDY, VOTING, Policy, Routes, corrected_by
from airoas.policies.seeking import find_routes
from airoas.policies.stored import read_stored
from airoas.policies.validation import contest, is_better, mean_and_error, promise, validate
from airoas.rng import stream

MOST_ACTIONS = 40
"""Above that nothing is learned, and the best of the policies that need no learning is taken: every action would be tried at every
belief, and scored after each."""
PART = 0.7
"""Of a planner's `learn_seconds`: the rest is for finding out by playing whether search or policy leads. All planners take the same, so
that they have one policy."""
ROUNDS = (1000, 2000, 4000, 6000, 6000, 6000, 8000, 8000)
"""Beliefs that each round adds."""
_PARTICLES, _TRIED, _WALKS = 600, 300, 32  # on a walk, and of these to try an action with; and walks
_KEEP = 0.3  # of the beliefs on a walk
_CLEAR = 5.0  # errors by which a policy is better in validation for no other to play
_INITIAL = 20_000  # states that stand for the initial belief
_LEAST = 0.5  # of the time to learn is for the policy, if values that are learned first take more than the rest
_PLAYED = 0.15  # of the time to learn, for episodes with a real filter
_MEASURED, _REPEATED = 0.05, 0.05  # and for how long rollouts should be, and whether they gain by repeated actions
_TOLD = 60_000  # observations of which it is known what they told
_FIND = (1, 3, 5)  # the rounds after which it is looked where that is much
_WORLDS = 12  # of these episodes, at most
_log = logging.getLogger("airoas")


@dataclass(frozen=True)
class Learned:
    """What was learned of a model, and what it is worth."""

    correction: Forest | None
    """Of QMDP; None where learning gained nothing, or was not possible."""
    rounds: int
    digest: str
    """Of the correction: the same rounds from the same start give the same."""
    policy: str = "qmdp"
    """"learned", unless "earlier" (where it began), "qmdp", "voting", "default" (the model's own) or "blind" earned more in validation."""
    blind: int = 0
    """The action that a blind policy takes."""
    returns: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Of each in validation, with its standard error."""
    bias: float = 0.0
    """By how much the policy promises more than it earned there."""
    length: int = CUT
    """Steps of a rollout after which it is believed for the rest."""
    repeats: bool = False
    """Whether rollouts gain by actions that are repeated."""
    routes: Routes | None = None
    """The ways to where much is told."""
    seeks: bool = False
    """Whether rollouts gain by going there."""
    seconds: float = math.inf
    """What it was allowed; infinite where more would teach nothing: it made every round that there is memory for, or came from a file."""
    start: Forest | None = None
    """The correction of the model before an edit, by which the first walks went."""
    began: str = ""
    """Its digest; empty where learning began with nothing."""

    def is_enough(self, seconds: float) -> bool:
        """Whether so many seconds would teach no more: none can be learned, or it had as many."""
        return self.rounds == 0 or seconds <= self.seconds


def learn(
    model: KernelModel,
    seconds: float,
    progress: Callable[[str], None] = lambda doing: None,
    start: Forest | None = None,
    values: str = "auto",
) -> Learned:
    """Rounds of fixed work; time only ends them, after one at least. start: what was learned of the model before an edit. values: those
    of QMDP, which are corrected, an upper bound by its name."""
    policy = make_policy(model, start, values=values)
    initial = np.array(Particles.sample(model, _INITIAL, stream(0, "initial")).states)
    weights = np.full(len(initial), 1.0 / len(initial))
    if len(policy.actions) > MOST_ACTIONS:
        progress("validating policies that need no learning")
        returns, blind = validate(model, None, initial, weights, values)
        return Learned(None, 0, "", _best(returns), blind, returns, seconds=seconds)
    experience, correction, rounds = make_experience(policy, sum(ROUNDS)), None, 0
    told, routes = make_told(model, policy, _TOLD), None
    most = sum(sum(ROUNDS[: k + 1]) <= most_beliefs(policy) for k in range(len(ROUNDS)))
    horizon = min(int(model.max_steps), math.ceil(math.log(0.05) / math.log(model.discount)))
    _warm_up(model, policy, initial, weights)
    begun, pace = read_clock(), 0.0
    limit = (1.0 - _PLAYED - _MEASURED - _REPEATED) * seconds
    while rounds < most and (rounds == 0 or read_clock() - begun + pace * ROUNDS[rounds] < limit):
        started = read_clock()
        progress(f"learning, round {rounds + 1} of {len(ROUNDS)}")
        walking, walkers, trying = make_walkers(model, policy, _WALKS, _PARTICLES, _TRIED)
        part = _first(experience, sum(ROUNDS[: rounds + 1]))
        collect(policy, walking, walkers, trying, part, told, initial, weights, horizon, _KEEP, stream(rounds, "walks").bits(62))
        experience.count = part.count
        correction = fit(policy, part, rounds)
        if rounds in _FIND:
            progress("looking for where much is told")
            routes = find_routes(policy, told)
        policy = make_policy(model, correction, values=values, routes=routes)
        pace = (read_clock() - started) / ROUNDS[rounds]
        rounds += 1
    progress("validating the policy")
    returns, blind = validate(model, correction, initial, weights, values)
    if start is not None:
        returns["earlier"] = validate(model, start, initial, weights, values)[0]["learned"]
    first = _best(returns)
    second = max((name for name in returns if name != first), key=lambda name: returns[name][0])
    allowed = math.inf if rounds == most else seconds
    known = Learned(correction, rounds, "", first, blind, returns, seconds=allowed, start=start, began=_digest(start), routes=routes)
    either = {name: replace(known, policy=name, correction=start if name == "earlier" else correction) for name in (first, second)}
    progress("playing with the filter")
    policies = {name: policy_of(model, one, values) for name, one in either.items()}
    if returns[first][0] - returns[second][0] > _CLEAR * math.hypot(returns[first][1], returns[second][1]):
        del policies[second]
    played, visited = contest(model, policies, _WORLDS, _PLAYED * seconds)
    gains = np.subtract(played[second], played[first]) if second in played else np.zeros(1)
    best = second if is_better(gains, returns[first], returns[second]) else first
    known = replace(either[best], returns=returns | {f"{name} with the filter": mean_and_error(earned) for name, earned in played.items()})
    bias = promise(model, policy_of(model, known, values), initial, weights) - returns[best][0]
    known = replace(known, digest=_digest(known.correction), bias=bias)
    progress("measuring how long rollouts should be")
    known = replace(known, length=find_cut(model, policy_of(model, known, values), visited, _MEASURED * seconds))
    progress("measuring whether repeated actions gain")
    known = replace(known, repeats=repeating_gains(model, policy_of(model, known, values), visited, _REPEATED * seconds))
    if known.routes is None:
        return known
    progress("measuring whether going to where much is told gains")
    return replace(known, seeks=seeking_gains(model, policy_of(model, known, values), visited, _REPEATED * seconds))


def _warm_up(model: KernelModel, policy: Policy, initial: np.ndarray, weights: np.ndarray) -> None:
    """Compile ahead: the time for learning is for learning."""
    few = make_experience(policy, 4)
    collect(policy, *make_walkers(model, policy, 4, 4, 4), few, make_told(model, policy, 4), initial, weights, 4, 1.0, 0)
    fit(policy, few, 0)


def _best(returns: dict[str, tuple[float, float]]) -> str:
    """What was learned, unless another policy earned more beyond the errors: it knows what uncertainty costs, so that rollouts of it can
    be cut and more of them made."""
    best = "learned" if "learned" in returns else "qmdp"
    for name in ("earlier", "qmdp", "voting", "default", "blind"):
        if name in returns and returns[name][0] - returns[best][0] > 2.0 * math.hypot(returns[name][1], returns[best][1]):
            best = name
    return best


def _first(experience: Experience, beliefs: int) -> Experience:
    """The first so many beliefs, as room for no more."""
    fields, tried = {}, experience.tried.shape[1]
    for name in Experience.__annotations__:
        value = getattr(experience, name)
        many = tried if name in ("later_features", "later_q", "ended", "options", "later_options") else 1
        fields[name] = value if name == "count" else value[: many * beliefs]
    return Experience(**fields)


def _digest(correction: Forest | None) -> str:
    if correction is None:
        return ""
    parts = b"".join(np.ascontiguousarray(getattr(correction, name)).tobytes() for name in Forest.__annotations__)
    return hashlib.sha256(parts).hexdigest()[:16]


_known: dict[tuple[str, str], Learned] = {}
"""By model and the values that are corrected."""
_told: set[str] = set()


def _what(values: str = "auto") -> str:
    return f"policy {digest_of_sources(Path(__file__).parent)} {values}"


def find_learned(model: KernelModel, values: str = "auto") -> Learned | None:
    """What was learned of a model, in this process or an earlier one; None where nothing was, though it can be."""
    return _known.get((model.fingerprint, values)) or _find_stored(model, values)


def _find_stored(model: KernelModel, values: str) -> Learned | None:
    """What is on disk now."""
    arrays = stored(model, _what(values))
    if arrays is not None:
        _known[model.fingerprint, values] = from_arrays(arrays)
    return _known.get((model.fingerprint, values))


def prepare(model: KernelModel, seconds: float, values: str = "auto") -> Learned:
    """What was learned of a model; learned now where nothing was, or not every round and in less time than this. What is done is logged."""
    known, name = find_learned(model, values), type(model).__name__
    if known is None or not known.is_enough(seconds):
        waiting = threading.Timer(QUIET, _log.warning, ("another process learns from %s; waiting for it", name))
        waiting.daemon = True
        waiting.start()
        try:
            with alone(model, _what(values)):  # two processes learn once
                waiting.cancel()
                known = _find_stored(model, values)
                if known is None or not known.is_enough(seconds):
                    known = _learn_more(model, known, seconds, values)
                    keep(model, _what(values), to_arrays(known))
                    _known[model.fingerprint, values] = known
        finally:
            waiting.cancel()
    if not known.rounds and model.fingerprint not in _told:
        _told.add(model.fingerprint)
        told = name, known.policy, len(action_list(model)), MOST_ACTIONS
        _log.warning("No policy is learned for %s, %s leads: it has %d actions, more than %d.", *told)
    return known


def log_progress(name: str) -> Callable[[str], None]:
    """Says in the log what is being done for a model, to whoever has waited for two seconds: also in worker processes, and in programs
    that have set up no log."""
    begun = time.monotonic()

    def say(doing: str) -> None:
        spent = time.monotonic() - begun
        if spent > QUIET:
            _log.warning("%s: %s (%.0f s so far)", name, doing, spent)

    return say


def _learn_more(model: KernelModel, known: Learned | None, seconds: float, values: str) -> Learned:
    """From the first round on, and from where it began before, so that what comes out depends on these and the number of rounds alone;
    what was known where a busy machine made no more of them."""
    name = type(model).__name__
    if len(action_list(model)) <= MOST_ACTIONS:
        _log.warning("learning a policy for %s, up to %.0f s; it is kept for later runs", name, seconds)

    def work() -> tuple[Learned, int]:
        reads, gives = corrected_by(make_policy(model, values=values))  # which finds values first, and may take its time
        start = known.start if known else find_last(model, _what(values), reads, gives)
        left = seconds if known else max(_LEAST * seconds, seconds - seconds_spent(model))
        new = learn(model, left, log_progress(name), start, values)
        return replace(new, seconds=seconds if new.seconds == left else new.seconds), reads

    new, reads = interruptible(work)
    if known is not None and new.rounds <= known.rounds:
        return replace(known, seconds=seconds)
    if new.correction is not None and new.policy in ("learned", "earlier"):
        keep_last(model, _what(values), reads, new.correction)
    return new


def save(learned: Learned, model: KernelModel, path: str | Path) -> None:
    """Write what was learned to a file of arrays."""
    alone = replace(learned, start=None)
    arrays = {"model": np.array(type(model).__name__), "actions": np.array(len(action_list(model))), **to_arrays(alone)}
    arrays.pop("seconds")  # whoever loads it wants no other
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load(model: KernelModel, path: str | Path) -> Learned:
    """What `save` wrote, as what is known of the model in this process."""
    arrays = read_stored(path)
    written_for = (str(arrays.pop("model")), int(arrays.pop("actions")))
    known = from_arrays(arrays)
    actions = len(action_list(model))
    if written_for != (type(model).__name__, actions):
        problem = f"{path} was learned for {written_for[0]} with {written_for[1]} actions, not for {type(model).__name__}"
        raise OptionError(problem, "load it for the model that it was learned for.")
    parts = [(known.correction, *corrected_by(make_policy(model))), (known.routes and known.routes.steps, model.shapes.state.size, 1)]
    if not all(forest is None or is_whole(forest, reads, gives) for forest, reads, gives in parts):
        raise OptionError(f"{path} is damaged, or was learned for another model", "write it again with FittedQ().save(model, path).")
    _known[model.fingerprint, "auto"] = known
    return known


def to_arrays(learned: Learned) -> dict[str, np.ndarray]:
    names = sorted(learned.returns)
    arrays = {
        "rounds": np.array(learned.rounds),
        "digest": np.array(learned.digest),
        "policy": np.array(learned.policy),
        "blind": np.array(learned.blind),
        "bias": np.array(learned.bias),
        "length": np.array(learned.length),
        "repeats": np.array(int(learned.repeats)),
        "seeks": np.array(int(learned.seeks)),
        "seconds": np.array(learned.seconds),
        "began": np.array(learned.began),
        "validated": np.array(names, dtype=str),
        "returns": np.array([learned.returns[name] for name in names], np.float64).reshape(-1, 2),
    }
    for prefix, forest in (("", learned.correction), ("start_", learned.start), ("routes_", learned.routes and learned.routes.steps)):
        if forest is not None:
            arrays |= {prefix + name: getattr(forest, name) for name in Forest.__annotations__}
    return arrays | ({"tells": np.array(learned.routes.tells, np.int64)} if learned.routes else {})


def from_arrays(arrays: dict[str, np.ndarray]) -> Learned:
    correction, start, routes = (
        Forest(**{name: arrays[prefix + name] for name in Forest.__annotations__}) if f"{prefix}roots" in arrays else None
        for prefix in ("", "start_", "routes_")
    )
    names, returns = arrays["validated"].tolist(), arrays["returns"].tolist()
    return Learned(
        correction=correction,
        rounds=int(arrays["rounds"]),
        digest=str(arrays["digest"]),
        policy=str(arrays["policy"]),
        blind=int(arrays["blind"]),
        returns={name: (float(mean), float(error)) for name, (mean, error) in zip(names, returns, strict=True)},
        bias=float(arrays["bias"]),
        length=int(arrays["length"]),
        repeats=bool(arrays["repeats"]),
        seconds=float(arrays.get("seconds", math.inf)),
        start=start,
        began=str(arrays["began"]),
        routes=Routes(routes, tuple(arrays["tells"].tolist())) if routes else None,
        seeks=bool(arrays["seeks"]),
    )


def policy_of(model: KernelModel, learned: Learned | None, values: str = "auto") -> Policy:
    """The policy that earned most: QMDP where nothing was learned."""
    if learned is None:
        return make_policy(model, values=values)
    way = {"default": DEFAULT, "blind": BLIND, "voting": VOTING}.get(learned.policy, GREEDY)
    correction = learned.correction if learned.policy != "qmdp" else None
    return make_policy(model, correction, way, learned.blind, learned.bias, values, learned.routes)
