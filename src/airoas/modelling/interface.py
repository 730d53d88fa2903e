"""Every method that the library calls on a model, and what it means."""

from __future__ import annotations

from typing import NamedTuple


class Hook(NamedTuple):
    """A method that the library calls on a model."""

    name: str
    parameters: tuple[str, ...]
    """After self. s, s2 and parent are states, a an action, o an observation, i, k, t and at integers, beta a float, out an
    array of floats to write to, from index `at` on."""
    returns: str
    meaning: str
    compiled: bool = True


HOOKS = {
    hook.name: hook
    for hook in (
        # required (`actions`, `action_space` or `sample_action`)
        Hook("actions", (), "names", "the names of the actions; an action is an index into them", compiled=False),
        Hook(
            "action_space",
            (),
            "space",
            "an action with a Box or a Choice in place of each number, where actions are continuous (default: none)",
            compiled=False,
        ),
        Hook("initial", ("rng",), "state", "a draw from the initial belief"),
        Hook("step", ("s", "a", "rng"), "state, real", "the state arrived in and the reward"),
        Hook("observe", ("s", "a", "rng"), "observation", "what is seen in the state arrived in, after action a"),
        Hook("obs_logpdf", ("o", "s", "a"), "real", "log density (or mass) of o in the state arrived in"),
        # search
        Hook("is_terminal", ("s",), "flag", "whether nothing more happens (default: never)"),
        Hook("legal", ("s", "a"), "flag", "whether a may be chosen in s (default: always)"),
        Hook("rollout_action", ("s", "rng"), "action", "a default policy (default: uniform over the legal actions)"),
        Hook("sample_action", ("s", "rng"), "action", "a random action where they are continuous (default: uniform over `action_space`)"),
        Hook(
            "macros",
            (),
            "actions",
            "macro-actions: sequences of up to 16 actions that may be worth a try (default: repeated actions)",
            compiled=False,
        ),
        Hook("heuristic", ("s",), "real", "an estimate of the value of being in s, which bounds nothing (default: none)"),
        Hook("value_bounds", ("s",), "real, real", "lower and upper bound of the value of being in s (default: none)"),
        Hook("action_bounds", ("s", "out", "at"), "nothing", "write an upper bound of the value of each action in s (default: none)"),
        Hook("n_plans", (), "integer", "the number of plans, which know neither state nor observations (default: none)"),
        Hook("plan_action", ("k", "t"), "integer", "the action of plan k at step t, from 0 on"),
        Hook("plan_values", ("s", "out", "at"), "nothing", "write the value, or a lower bound of it, of following each plan from s"),
        Hook("cell", ("s",), "integer", "the bin of s for KLD-sampling (default: none)"),
        # annealing
        Hook("step_logpdf", ("s2", "s", "a"), "real", "log density (or mass) of the transition (default: none)"),
        Hook("mutate", ("s", "o", "a", "rng"), "state", "a proposal for a Metropolis-Hastings move (default: none)"),
        Hook("mutate_logratio", ("s2", "s", "o", "a"), "real", "log q(s | s2) - log q(s2 | s) of `mutate` (default: 0)"),
        Hook("mutate_literal", ("s", "o", "a", "rng"), "state", "the paper's proposal, literal mode only (default: none)"),
        Hook("move", ("s", "parent", "o", "a", "beta", "rng"), "state", "a whole move that keeps pi_beta (default: none)"),
        # structure: finite models
        Hook("n_states", (), "integer", "the number of states (default: not finite)"),
        Hook("index", ("s",), "integer", "the number of s, 0 .. n_states - 1"),
        Hook("state", ("i",), "state", "the state of that number"),
        Hook("successor", ("s", "a", "k"), "state, real", "successor k and its probability; k counts up until they sum to 1"),
        Hook("reward", ("s", "a"), "real", "the expected reward (default: averaged over simulated steps)"),
        # plain Python, never compiled
        Hook("prepare", (), "arrays", "check the parameters, return derived arrays by name", compiled=False),
        Hook("exact_initial", (), "states, weights", "the initial belief as weighted states (default: none)", compiled=False),
        Hook(
            "exact_update",
            ("states", "log_weights", "a", "o"),
            "states, log_weights",
            "the exact posterior (default: none)",
            compiled=False,
        ),
        Hook(
            "limits",
            (),
            "limits",
            "{'state': (low, high), 'observation': (low, high)}, of each number of a row (default: not known)",
            compiled=False,
        ),
        Hook("describe", (), "sizes", "the sizes of S, A and O, a number or 'continuous' each", compiled=False),
        Hook(
            "draw",
            ("axis", "s", "belief"),
            "nothing",
            "draw state and belief, either may be None (default: a plain picture)",
            compiled=False,
        ),
        Hook("text", ("s", "belief"), "text", "the same for a terminal (default: the numbers)", compiled=False),
    )
}

REQUIRED = ("initial", "step", "observe", "obs_logpdf")
FINITE = ("n_states", "index", "state", "successor")
PLANS = ("n_plans", "plan_action", "plan_values")
