"""How a model behaves in plain Python: a random walk, the enumeration of a finite model, simulators against densities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from airoas.checker import flat
from airoas.checker.compiled_draws import arrivals, is_slow, log_likelihoods, observations
from airoas.checker.density_test import Claim, disagreement
from airoas.checker.diagnostics import Diagnoses, Diagnostic, Progress
from airoas.errors import ModelError
from airoas.modelling.checked_call import CheckedCalls, guard, is_pair
from airoas.modelling.decorator import live_initial
from airoas.modelling.interface import HOOKS
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.successors import has_more
from airoas.rng import stream

_STEPS = 300
_SITES = 4  # (state, action) pairs at which distributions are compared; more where there are more actions
_MOST_SITES = 8
_STATES = 100  # of a finite model
_REWARDS = 1000  # draws of a reward
_RETURNS = 100  # runs of a plan


def simulation(model: KernelModel, progress: Progress) -> Diagnoses:
    """Walk at random in plain Python and look at every value that comes back; each kind of problem is told once."""
    progress("simulating in plain Python")
    told = set()
    for name, problem, example, remedy in _walk_problems(model, CheckedCalls(model)):
        if problem not in told:
            told.add(problem)
            yield ModelError(f"{problem}: {example}", remedy, where=location(model, name))


Problem = tuple[str, str, str, str]
"""A method, what is wrong with it, an example, what to do."""


def _walk_problems(model: KernelModel, call: CheckedCalls) -> Iterator[Problem]:
    rng = stream(0, "check")
    s = call("initial", rng)
    for t in range(_STEPS):
        if not _is_finite(model.shapes.state, s):
            yield "initial", "gives a state that is not finite", f"{s!r}", "return finite numbers."
            return
        if call("is_terminal", s):
            s = call("initial", rng)
            continue
        legal = [a for a in range(model.n_actions) if call("legal", s, a)]
        if model.n_actions and not legal:
            yield "legal", "allows no action", f"in state {s!r}", "leave at least one legal in every state that is not terminal."
            return
        a = call("rollout_action", s, rng)
        if model.n_actions and a not in legal:
            example = f"{a} in state {s!r}, where {', '.join(map(str, legal))} may be chosen"
            yield "rollout_action", "chooses an impossible action", example, "return the index of a legal action."
            return
        for name in ("rollout_action", "sample_action") if model.space else ():
            drawn = a if name == "rollout_action" else call("sample_action", s, rng)
            if model.space and (wrong := model.space.problem(model.space.shape.to_row(drawn))):
                yield name, "gives an action outside `action_space`", f"{wrong[0]} in state {s!r}", wrong[1]
                return
        if legal and t % 2:
            a = legal[rng.integer(len(legal))]
        before = s
        s, reward = call("step", before, a, rng)
        if not math.isfinite(reward):
            example = f"{reward} from state {before!r} under action {a}"
            yield "step", "gives a reward that is not finite", example, "return a finite number."
        if not _is_finite(model.shapes.state, s):
            yield "step", "gives a state that is not finite", f"{s!r} from {before!r} under action {a}", "return finite numbers."
            return
        if model.has("step_logpdf"):
            density = call("step_logpdf", s, before, a)
            yield from _density_problems("step_logpdf", "step", density, f"{s!r} from state {before!r} under action {a}")
        yield from _bound_problems(model, call, before)
        if call("is_terminal", s):
            continue
        o = call("observe", s, a, rng)
        if not _is_finite(model.shapes.observation, o):
            yield "observe", "gives an observation that is not finite", f"{o!r} in state {s!r}", "return finite numbers."
            return
        yield from _density_problems("obs_logpdf", "observe", call("obs_logpdf", o, s, a), f"{o!r} in state {s!r} after action {a}")
        if t < 20:
            _call_the_rest(model, call, before, a, s, o, rng)


def _is_finite(shape: Any, value: Any) -> bool:
    return all(map(math.isfinite, shape.to_row(value)))


def _density_problems(name: str, simulator: str, density: float, example: str) -> Iterator[Problem]:
    if math.isnan(density) or density == math.inf:
        yield name, f"is {density}", example, "return a finite number, or -inf for what cannot happen."
    elif density == -math.inf:
        yield name, f"is -inf for what `{simulator}` just produced", example, f"make it the log density of what `{simulator}` draws."


def _bound_problems(model: KernelModel, call: CheckedCalls, s: Any) -> Iterator[Problem]:
    """A lower bound above an upper one, and bounds that are not written where they belong."""
    highest, source = math.inf, ""
    if model.has("value_bounds"):
        lower, highest = call("value_bounds", s)
        source = "value_bounds"
        if not lower <= highest:
            example = f"{lower} and {highest} in state {s!r}"
            yield "value_bounds", "puts the lower bound above the upper", example, "return (lower, upper)."
            return
    if model.has("action_bounds"):
        values, problem = _written(call, "action_bounds", s, model.n_actions)
        if problem:
            yield "action_bounds", problem, f"in state {s!r}", "write out[at + a] for every action a, a finite number, and nothing else."
            return
        best = max(values[a] for a in range(model.n_actions) if call("legal", s, a))
        highest, source = (best, "action_bounds") if best < highest else (highest, source)
    if model.has("plan_values"):
        count = call("n_plans")
        if count < 1:
            yield "n_plans", "is not positive", f"{count}", "give at least one plan, or none of the three methods for plans."
            return
        values, problem = _written(call, "plan_values", s, count)
        if problem:
            yield (
                "plan_values",
                problem,
                f"in state {s!r}",
                "write out[at + k] for every plan k < n_plans, a finite number, and nothing else.",
            )
            return
        if max(values) > highest + 1e-9 * (1.0 + abs(highest)):
            problem = f"puts a plan above `{source}`"
            yield "plan_values", problem, f"{max(values)} and {highest} in state {s!r}", "no plan is worth more than the upper bound."


def _written(call: CheckedCalls, name: str, s: Any, count: int) -> tuple[list[float], str]:
    """What a method writes at `count` indices, and what is wrong with that."""
    out = np.full(count + 2, math.nan)
    call(name, s, out, 1)
    if not np.isnan(out[[0, -1]]).all():
        return [], "writes beside its indices"
    missing = np.flatnonzero(~np.isfinite(out[1:-1]))
    return out[1:-1].tolist(), f"gives no finite number at index {missing[0]} of {count}" if len(missing) else ""


def _call_the_rest(model: KernelModel, call: CheckedCalls, s: Any, a: Any, s2: Any, o: Any, rng: Any) -> None:
    """Call the optional methods that the walk itself does not need; what they raise or return wrongly is raised."""
    given = {"s": s2, "s2": s2, "parent": s, "o": o, "a": a, "beta": 0.5, "rng": rng, "k": 0}
    for name in ("cell", "heuristic", "mutate", "mutate_logratio", "mutate_literal", "move", "reward"):
        if model.has(name):
            call(name, *[given[parameter] for parameter in HOOKS[name].parameters])
    if model.has("describe"):
        sizes = guard(model, "describe", lambda: model.describe())
        if not isinstance(sizes, tuple) or len(sizes) != 3 or not all(isinstance(x, (int, str)) for x in sizes):
            remedy = 'return the sizes of S, A and O, a whole number or "continuous" each.'
            raise ModelError(f"returns {sizes!r}", remedy, where=location(model, "describe"))


def enumeration(model: KernelModel, progress: Progress) -> Diagnoses:
    """The exact initial belief, and the enumeration group of a finite model at states spread over its range."""
    if model.has("exact_initial"):
        states, weights = _exact_initial(model)
        if states.ndim != 2 or states.shape[1] != len(model.shapes.state.kinds) or weights.shape != states.shape[:1]:
            problem = f"returns arrays of shapes {states.shape} and {weights.shape}"
            remedy = f"return states [N, {len(model.shapes.state.kinds)}] and their weights [N]."
            yield ModelError(problem, remedy, where=location(model, "exact_initial"))
            return
        if not (weights >= 0.0).all() or abs(weights.sum() - 1.0) > 1e-9:
            problem = f"has weights from {weights.min():g} that sum to {weights.sum():.9g}"
            yield ModelError(problem, "return weights >= 0 that sum to 1.", where=location(model, "exact_initial"))
            return
    if not model.is_finite:
        return
    progress("going through the states")
    call = CheckedCalls(model)
    n = call("n_states")
    if n < 1:
        yield ModelError(f"returns {n}", "return how many states there are.", where=location(model, "n_states"))
        return
    rng = stream(0, "enumeration")
    for t in range(_STATES):
        i = t * n // _STATES if n > _STATES else min(t, n - 1)
        s = call("state", i)
        if (back := call("index", s)) != i:
            remedy = "make index(state(i)) == i for i = 0 .. n_states - 1."
            yield ModelError(f"does not undo `state`: state({i}) is {s!r}, whose index is {back}", remedy, where=location(model, "index"))
            return
        for a in range(model.n_actions):
            if t < 20 and not call("is_terminal", s) and call("legal", s, a):
                wrong = _mass_problem(model, s, a, _successors(call, s, a, n))
                if wrong:
                    yield wrong
                    return
    s = call("initial", rng)
    if not 0 <= (i := call("index", s)) < n:
        remedy = f"number the states 0 .. n_states - 1, that is 0 .. {n - 1}."
        yield ModelError(f"gives {i} for the state {s!r}, of {n} states", remedy, where=location(model, "index"))
    elif call("state", i) != s:
        remedy = "make state(index(s)) == s for every state."
        yield ModelError(
            f"is not undone by `state`: {s!r} has index {i}, which is {call('state', i)!r}", remedy, where=location(model, "index")
        )


def _exact_initial(model: KernelModel) -> tuple[np.ndarray, np.ndarray]:
    pair = guard(model, "exact_initial", lambda: model.exact_initial())
    if not is_pair(pair):
        raise ModelError(f"returns {type(pair).__name__}, not a pair", "return (states, weights).", where=location(model, "exact_initial"))
    states, weights = guard(model, "exact_initial", lambda: [np.asarray(part, dtype=np.float64) for part in pair])
    return states, weights


def _successors(call: CheckedCalls, s: Any, a: int, n: int) -> list[tuple[Any, float]]:
    successors: list[tuple[Any, float]] = []
    total = 0.0
    while has_more(total, len(successors), n):
        successors.append(call("successor", s, a, len(successors)))
        total += successors[-1][1]
    return successors


def _mass_problem(model: KernelModel, s: Any, a: int, successors: list[tuple[Any, float]]) -> ModelError | None:
    where = location(model, "successor")
    for k, (_, p) in enumerate(successors):
        if not p >= 0.0:
            return ModelError(
                f"gives probability {p} to successor {k} of {s!r} under action {a}", "return probabilities >= 0.", where=where
            )
    total = math.fsum(p for _, p in successors)
    if abs(total - 1.0) > 1e-9:
        problem = f"has probabilities that sum to {total:.9g}, not 1, from state {s!r} under action {a}"
        return ModelError(problem, "give each next state once, for k = 0, 1, 2, ..., with probabilities that sum to 1.", where=where)
    return None


def distributions(model: KernelModel, progress: Progress) -> Diagnoses:
    """Simulators against the densities that the model states for them, at states of a random walk and various actions."""
    call = CheckedCalls(model)
    sites = list(_sites(model, call))
    plain = call.plain
    shapes = model.shapes

    def compare(simulator: str, density: str, claims: list[Claim], fields: tuple[str, ...], named: Callable[[int], str]) -> Diagnoses:
        progress(f"comparing `{simulator}` with `{density}`")
        disagreed = guard(model, simulator, lambda: disagreement(claims, fields)) if claims else None
        if disagreed:
            site, what = disagreed
            stated = "log density" if density.endswith("logpdf") else "probabilities"
            remedy = f"make `{density}` the {stated} of what `{simulator}` draws."
            yield ModelError(f"does not follow `{density}` {named(site)}: {what}", remedy, where=location(model, simulator))

    def arrived(site: int) -> str:
        return f"in state {seen[site][1]!r} after action {seen[site][0]}"

    def departed(site: int) -> str:
        return f"from state {sites[site][0]!r} under action {sites[site][1]}"

    seen = [(a, s) for _, a, s in sites if not call("is_terminal", s)]
    seeing, being, pace = shapes.observation, shapes.state, stream(0, "pace")
    claims = [
        Claim(
            lambda r, s=s, a=a: flat.flatten(seeing, plain.observe(s, a, r)),  # type: ignore[misc]
            lambda o, s=s, a=a: plain.obs_logpdf(flat.unflatten(seeing, o), s, a),  # type: ignore[misc]
            part=1,
        )
        for a, s in seen
    ]
    if seen and guard(model, "observe", lambda: is_slow(lambda: claims[0].log_density(claims[0].draw(pace)))):
        claims = [
            claim._replace(
                draw_many=lambda seed, n, s=s, a=a: observations(model, s, a, seed, n),  # type: ignore[misc]
                log_densities=lambda values, s=s, a=a: log_likelihoods(model, s, a, values),  # type: ignore[misc]
            )
            for claim, (a, s) in zip(claims, seen, strict=True)
        ]
    yield from compare("observe", "obs_logpdf", claims, flat.names(seeing), arrived)
    is_slow_step = guard(model, "step", lambda: is_slow(lambda: plain.step(*sites[0][:2], pace)))
    if model.has("step_logpdf"):
        claims = [
            Claim(
                lambda r, s=s, a=a: flat.flatten(being, plain.step(s, a, r)[0]),  # type: ignore[misc]
                lambda s2, s=s, a=a: plain.step_logpdf(flat.unflatten(being, s2), s, a),  # type: ignore[misc]
            )
            for s, a, _ in sites
        ]
        if is_slow_step:
            claims = [
                claim._replace(draw_many=lambda seed, n, s=s, a=a: arrivals(model, s, a, seed, n))  # type: ignore[misc]
                for claim, (s, a, _) in zip(claims, sites, strict=True)
            ]
        yield from compare("step", "step_logpdf", claims, flat.names(being), departed)
    if model.is_finite and model.has("exact_initial"):
        states, weights = _exact_initial(model)
        probabilities: dict[int, float] = {}
        for row, weight in zip(states, weights, strict=True):
            i = call("index", model.from_row("state", row))
            probabilities[i] = probabilities.get(i, 0.0) + float(weight)
        initial = Claim(
            lambda r: (plain.index(plain.initial(r)),), lambda i: math.log(probabilities[i[0]]) if probabilities.get(i[0]) else -math.inf
        )
        yield from compare("initial", "exact_initial", [initial], ("index",), lambda _: "at the start")
    if model.is_finite:
        masses = [_index_masses(call, s, a, call("n_states")) for s, a, _ in sites]
        claims = [
            Claim(lambda r, s=s, a=a: (plain.index(plain.step(s, a, r)[0]),), lambda i, mass=mass: mass.get(i[0], -math.inf))  # type: ignore[misc]
            for (s, a, _), mass in zip(sites, masses, strict=True)
        ]
        if is_slow_step:
            claims = [
                claim._replace(draw_many=lambda seed, n, s=s, a=a: _indices(model, plain, arrivals(model, s, a, seed, n)))  # type: ignore[misc]
                for claim, (s, a, _) in zip(claims, sites, strict=True)
            ]
        yield from compare("step", "successor", claims, ("index",), departed)
    if model.has("reward"):
        yield from _reward_problems(model, call, sites)
    if model.has("plan_values"):
        yield from _plan_problems(model, call, sites)


def _sites(model: KernelModel, call: CheckedCalls) -> Iterator[tuple[Any, Any, Any]]:
    """(state, action, state arrived in), not far from the start: every action in turn as far as they are legal."""
    rng = stream(0, "sites")
    for site in range(max(_SITES, min(model.n_actions, _MOST_SITES))):
        s = live_initial(call.plain, rng)
        for _ in range(3 * site % 10):
            s2, _ = call("step", s, call("rollout_action", s, rng), rng)
            s = s if call("is_terminal", s2) else s2
        a = site % model.n_actions if model.n_actions and call("legal", s, site % model.n_actions) else call("rollout_action", s, rng)
        yield s, a, call("step", s, a, rng)[0]


def _index_masses(call: CheckedCalls, s: Any, a: int, n: int) -> dict[int, float]:
    """Log probability of each state's index after s and a."""
    masses: dict[int, float] = {}
    for s2, p in _successors(call, s, a, n):
        i = call("index", s2)
        masses[i] = masses.get(i, 0.0) + p
    return {i: math.log(p) for i, p in masses.items() if p > 0.0}


def _indices(model: KernelModel, plain: Any, states: list[Any] | None) -> list[tuple[int]] | None:
    """Of flat states."""
    if states is None:
        return None
    known = {s: (plain.index(flat.unflatten(model.shapes.state, s)),) for s in dict.fromkeys(states)}
    return [known[s] for s in states]


def _reward_problems(model: KernelModel, call: CheckedCalls, sites: list[tuple[Any, Any, Any]]) -> Iterator[Diagnostic]:
    """A warning, not an error: a reward too rare to be drawn moves the expectation unseen."""
    rng = stream(0, "reward")
    for s, a, _ in sites:
        drawn = np.array([call.plain.step(s, a, rng)[1] for _ in range(_REWARDS)])
        stated = call("reward", s, a)
        allowed = 6.0 * drawn.std() / math.sqrt(_REWARDS) + 20.0 * np.ptp(drawn) / _REWARDS + 1e-9 * (1.0 + abs(stated))
        if abs(drawn.mean() - stated) > allowed:
            problem = f"is {stated:g} in state {s!r} under action {a}, where `step` pays {drawn.mean():g} on average"
            yield Diagnostic("warning", location(model, "reward"), problem, "return the expectation of the reward in `step`.")
            return


def _plan_problems(model: KernelModel, call: CheckedCalls, sites: list[tuple[Any, Any, Any]]) -> Iterator[Diagnostic | ModelError]:
    """Plans that give no action somewhere; then some are followed, with a warning where they earn less than stated, which a reward too
    rare to be drawn may cause."""
    rng = stream(0, "plans")
    count, gamma = call("n_plans"), model.discount
    steps = min(_STEPS, math.ceil(math.log(1e-3) / math.log(gamma)))
    for k, t in itertools.product(range(count), range(steps)):
        a = call("plan_action", k, t)
        if not 0 <= a < model.n_actions:
            remedy = f"give an action at every step, 0 to {model.n_actions - 1}; what depends on observations is no plan."
            yield ModelError(f"of plan {k} at step {t} is {a}, which is no action", remedy, where=location(model, "plan_action"))
            return
    for site, (s, _, _) in enumerate(sites):
        k = site * count // len(sites)
        stated = _written(call, "plan_values", s, count)[0][k]
        earned, largest = np.zeros(_RETURNS), 0.0
        for run in range(_RETURNS):
            state = s
            for t in range(steps):
                if call.plain.is_terminal(state):
                    break
                a = call.plain.plan_action(k, t)
                if not call.plain.legal(state, a):
                    remedy = "give the index of an action that is legal wherever the plan may lead."
                    yield ModelError(
                        f"of plan {k} at step {t} is {a}, not legal in {state!r}", remedy, where=location(model, "plan_action")
                    )
                    return
                state, reward = call.plain.step(state, a, rng)
                earned[run] += gamma**t * reward
                largest = max(largest, abs(reward))
        rest = gamma**steps * largest / (1.0 - gamma)
        allowed = 6.0 * earned.std() / math.sqrt(_RETURNS) + 20.0 * np.ptp(earned) / _RETURNS + rest + 1e-9 * (1.0 + abs(stated))
        if stated - earned.mean() > allowed:
            problem = f"gives {stated:g} for plan {k} in state {s!r}, which earns {earned.mean():g} on average"
            yield Diagnostic(
                "warning", location(model, "plan_values"), problem, "give the expected return of following `plan_action`, or less."
            )
            return
