"""`anneal`: exact posteriors at small N, every option, and calls that must fail as they should. The long proofs are laws."""

import math
import pickle
from typing import NamedTuple

import numpy as np
import pytest
from conjugate import GATED, INF_RIGHT, NAN_ALWAYS, NAN_RIGHT, NEVER, PLAIN, Bit, Line, Ring, Seen, answer

import airoas
from airoas import Particles, anneal, running
from airoas.belief.tempering.anneal import choose_move, sigmoid_temperatures
from airoas.domains import LaserTag, LightDark, LightDark2D, Tag

SHARP = Seen(1.5, PLAIN)


def at_zero(n):
    return Particles(np.zeros((n, 2)))


def around_zero(n, seed=0):
    return Particles(np.column_stack([np.random.default_rng(seed).normal(size=n), np.zeros(n)]))


# --- what it costs when nothing is to be done ---


@pytest.mark.parametrize("mode", ["corrected", "none"])
def test_a_plain_update_is_returned_where_it_is_good_enough(mode):
    model, belief = Line(sd=3.0), Particles(np.zeros((50, 2)), weights=np.arange(1.0, 51.0))
    result = anneal(model, belief, 0, Seen(0.5, PLAIN), airoas.stream(1), mode=mode, move="walk")
    assert result.evaluations == 1
    assert result.betas.tolist() == [0.0, 1.0]
    assert result.acceptance.size == 0
    assert result.move == ""
    assert result.inefficiency[0] == result.inefficiency[1] == pytest.approx(result.belief.inefficiency)
    logs = belief.log_weights + np.array([model.obs_logpdf(Seen(0.5, PLAIN), model.from_row("state", s), 0) for s in result.belief.states])
    assert np.allclose(result.belief.log_weights, logs - np.log(np.exp(logs).sum()))
    assert result.log_evidence == pytest.approx(np.log(np.exp(logs).sum()))


def test_none_never_anneals():
    result = anneal(Line(), at_zero(100), 0, SHARP, airoas.stream(1), mode="none")
    assert (result.evaluations, result.move, result.betas.tolist()) == (1, "", [0.0, 1.0])
    assert result.inefficiency[0] > 2.0


# --- right answers at small N; tolerances of 5 standard errors and more, from the replicates of the laws ---


@pytest.mark.parametrize("move", ["walk", "ancestors", "resimulate", "mutate", "move"])
def test_every_move_finds_the_conjugate_posterior(move):
    """30 runs of N = 100: the mean's error over runs has a standard error of 0.02 posterior sd (0.1 for resimulate)."""
    truth = answer(0.01, 1.5)
    sweeps = 8 if move == "mutate" else 2  # this proposal keeps the distance to the reading in mind and mixes slowly
    result = [anneal(Line(), at_zero(100), 0, SHARP, airoas.stream(k, move), move=move, moves=sweeps) for k in range(30)]
    errors = np.array([f.belief.mean()[0] - truth.mean for f in result]) / truth.sd
    ratios = [f.belief.std()[0] / truth.sd for f in result]
    evidence = np.array([f.log_evidence - truth.log_evidence for f in result])
    slack = 5.0 if move == "resimulate" else 1.0
    assert abs(errors.mean()) < 0.12 * slack
    assert np.sqrt(np.square(errors).mean()) < 0.2 * slack
    assert np.median(ratios) == pytest.approx(1.0, abs=0.06 * slack)
    assert abs(evidence.mean()) < 0.4 * slack
    assert {f.move for f in result} == {move}
    for f in result:
        assert f.betas[0] == 0.0
        assert f.betas[-1] == 1.0
        assert (np.diff(f.betas) > 0.0).all()
        assert len(f.acceptance) == len(f.betas) - 1
        assert f.inefficiency[0] > 2.0
        assert f.inefficiency[1] == pytest.approx(1.0)
        assert f.evaluations == 1 + sweeps * len(f.acceptance)


def test_certain_dynamics_are_moved_by_their_ancestors():
    """The spread is all in the previous belief (sd 1 as drawn), and the smoothing keeps its mean and variance."""
    belief = around_zero(400)
    truth = answer(0.01, 1.5)
    result = anneal(Line(spread=0.0), belief, 0, SHARP, airoas.stream(2), move="ancestors")
    assert abs(result.belief.mean()[0] - truth.mean) < 0.5 * truth.sd
    assert result.belief.std()[0] == pytest.approx(truth.sd, rel=0.25)
    assert len(np.unique(result.belief.states[:, 0])) > 200


def test_importance_sampling_without_resampling():
    """Weights only, on the paper's schedule: 20 runs, standard error of the mean error about 0.03 posterior sd."""
    truth = answer(0.1, 1.0)
    runs = [
        anneal(Line(sd=0.1), at_zero(100), 0, Seen(1.0, PLAIN), airoas.stream(k), schedule="sigmoid", resample=False, move="walk")
        for k in range(20)
    ]
    errors = np.array([r.belief.mean()[0] - truth.mean for r in runs]) / truth.sd
    assert abs(errors.mean()) < 0.2
    assert np.median([r.belief.std()[0] for r in runs]) == pytest.approx(truth.sd, rel=0.1)
    assert abs(np.mean([r.log_evidence for r in runs]) - truth.log_evidence) < 0.2
    assert all(r.belief.inefficiency > 1.0 for r in runs)
    assert len(runs[0].betas) == 100
    assert runs[0].evaluations == 199


@pytest.mark.parametrize("until", [0.0, 1e-4, 0.01, 0.3])
def test_an_early_stop_pays_the_rest(until):
    truth = answer(0.1, 1.0)
    runs = [anneal(Line(sd=0.1), at_zero(400), 0, Seen(1.0, PLAIN), airoas.stream(k), until=until, move="walk") for k in range(20)]
    errors = np.array([r.belief.mean()[0] - truth.mean for r in runs]) / truth.sd
    assert abs(errors.mean()) < 5.0 * errors.std() / math.sqrt(20.0) + 0.02
    assert abs(np.mean([r.log_evidence for r in runs]) - truth.log_evidence) < 0.3
    assert all(r.betas[-1] == 1.0 for r in runs)
    assert all(until in r.betas for r in runs)


def test_temperatures_of_ones_own():
    own = (0.0, 1e-4, 1e-3, 0.01, 0.1, 1.0)
    result = anneal(Line(), at_zero(100), 0, SHARP, airoas.stream(0), schedule=own, move="walk")
    assert result.betas.tolist() == list(own)
    stopped = anneal(Line(), at_zero(100), 0, SHARP, airoas.stream(0), schedule=own, until=0.05, move="walk")
    assert stopped.betas.tolist() == [0.0, 1e-4, 1e-3, 0.01, 1.0]
    nothing = anneal(Line(), at_zero(100), 0, SHARP, airoas.stream(0), schedule=(0.5, 1.0), until=0.2, move="walk")
    assert nothing.betas.tolist() == [0.0, 1.0]
    assert nothing.acceptance.size == 0
    many = anneal(Line(), at_zero(20), 0, SHARP, airoas.stream(0), schedule=np.linspace(0.001, 1.0, 400), moves=0, move="walk")
    assert len(many.betas) == 401


def test_a_temperature_reaches_the_target():
    result = anneal(Line(), at_zero(500), 0, SHARP, airoas.stream(0), target_inefficiency=4.0, move="walk")
    coarse = anneal(Line(), at_zero(500), 0, SHARP, airoas.stream(0), target_inefficiency=20.0, move="walk")
    assert len(result.betas) > len(coarse.betas)


def test_the_papers_temperatures():
    printed = sigmoid_temperatures()
    assert printed[0] == pytest.approx(0.00675966, abs=5e-9)
    assert printed[-1] == pytest.approx(0.99330715, abs=5e-9)
    result = anneal(Line(), at_zero(20), 0, SHARP, airoas.stream(0), schedule="sigmoid", move="walk")
    assert (result.betas[0], result.betas[-1], len(result.betas)) == (0.0, 1.0, 100)


def test_gibbs_is_the_exact_update_of_a_finite_model():
    """From 6000 equally weighted particles, a sharp sensor: each probability within 5 standard errors of the exact one."""
    model = Ring(blind=0.0)
    prior = np.array([5.0, 1.0, 1.0, 1.0, 1.0, 9.0]) / 18.0
    belief = Particles(np.repeat(np.arange(6.0), 6000 * 5 // 18)[:, None], weights=np.repeat(prior, 6000 * 5 // 18))
    exact = airoas.update(model, Particles(np.arange(6.0)[:, None], weights=prior), 0, Bit(1), airoas.stream(0), "exact")
    result = anneal(model, belief, 0, Bit(1), airoas.stream(0))
    assert result.move == "gibbs"
    for state, p in zip(exact.states[:, 0], exact.weights, strict=True):
        fraction = result.belief.weights[result.belief.states[:, 0] == state].sum()
        assert abs(fraction - p) < 5.0 * math.sqrt(p * (1.0 - p) / 2000)
    assert result.evaluations == 1 + 2 * 3 * len(result.acceptance)  # three successors
    assert result.log_evidence == pytest.approx(math.log(exact_evidence(model, prior)), abs=0.05)


def exact_evidence(model, prior):
    total = 0.0
    for i, p in enumerate(prior):
        for k in range(3):
            s, q = model.successor(model.state(i), 0, k)
            total += p * q * math.exp(max(-700.0, model.obs_logpdf(Bit(1), s, 0)))
    return total


def test_what_had_ended_counts_in_the_evidence_alone():
    """Half the weight lies on particles whose episode is over: the posterior ignores them, the evidence is halved."""
    n = 2000
    states = np.column_stack([np.r_[np.zeros(n // 2), np.full(n // 2, 50.0)], np.r_[np.zeros(n // 2), np.ones(n // 2)]])
    truth = answer(0.01, 1.5)
    for move in ("walk", "ancestors"):
        result = anneal(Line(), Particles(states), 0, SHARP, airoas.stream(0), move=move)
        assert abs(result.belief.mean()[0] - truth.mean) < 0.3 * truth.sd
        assert abs(result.log_evidence - truth.log_evidence - math.log(0.5)) < 0.5
        assert (result.belief.states[:, 1] == 0.0).all()


def test_survivors_that_are_copies_of_one_part_again():
    """One particle in fifty starts near: after the first resampling the ancestors are few, and the walk must still move."""
    states = np.zeros((50, 2))
    states[0, 0] = 1.5
    result = anneal(Line(spread=0.0), Particles(states), 0, SHARP, airoas.stream(3), move="ancestors")
    assert len(np.unique(result.belief.states[:, 0])) > 10


# --- which move ---


def test_the_move_is_chosen_in_order():
    assert choose_move(Tag(), "auto") == choose_move(LaserTag(), "auto") == "move"
    assert choose_move(Ring(), "auto") == "gibbs"
    assert choose_move(LightDark(), "auto") == choose_move(LightDark2D(), "auto") == "ancestors"
    assert choose_move(Line(), "mutate") == "mutate"


@pytest.mark.parametrize(
    ("model", "move", "message"),
    [
        (LightDark(), "walk", "step_logpdf"),
        (LightDark(), "mutate", "step_logpdf"),
        (LightDark(), "gibbs", "successor"),
        (Ring(), "move", "move"),
        (Ring(), "kalman", "no move 'kalman'"),
    ],
)
def test_a_move_that_the_model_cannot_make_is_refused(model, move, message):
    rng = airoas.stream(0)
    seen = model.observe(model.initial(rng), 0, rng)
    with pytest.raises(airoas.OptionError, match=message):
        anneal(model, Particles.sample(model, 5, rng), 0, seen, rng, move=move)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "hasty"}, "no mode"),
        ({"target_inefficiency": 1.0}, "target_inefficiency"),
        ({"target_inefficiency": math.nan}, "target_inefficiency"),
        ({"schedule": "linear"}, "no schedule"),
        ({"schedule": ()}, "does not rise"),
        ({"schedule": (0.5, 0.2)}, "does not rise"),
        ({"schedule": (0.5, 1.5)}, "does not rise"),
        ({"schedule": (0.5, math.nan)}, "does not rise"),
        ({"schedule": (-0.5, 1.0)}, "does not rise"),
        ({"schedule": ("a",)}, "are no numbers"),
        ({"schedule": ((0.1, 0.2), (0.3, 1.0))}, "does not rise"),
        ({"moves": -1}, "moves is -1"),
        ({"until": 1.5}, "until"),
        ({"until": math.nan}, "until"),
        ({"scale": 0.0}, "scale"),
        ({"scale": math.inf}, "scale"),
        ({"resample": False}, "adaptive"),
        ({"mode": "literal", "literal_weights": "two"}, "literal_weights"),
        ({"mode": "literal", "literal_constant": 0.0}, "literal_constant"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(airoas.OptionError, match=message):
        anneal(Line(), at_zero(5), 0, SHARP, airoas.stream(0), **options)


@pytest.mark.parametrize(
    ("fine", "wrong"), [({"moves": 1}, {"moves": True}), ({"until": 1}, {"until": True}), ({"scale": 1.0}, {"scale": [1.0]})]
)
def test_options_are_refused_also_where_equal_ones_passed(fine, wrong):
    anneal(Line(), at_zero(5), 0, SHARP, airoas.stream(0), **fine)
    with pytest.raises(airoas.OptionError, match=next(iter(wrong))):
        anneal(Line(), at_zero(5), 0, SHARP, airoas.stream(0), **wrong)


def test_a_belief_of_another_model_is_refused():
    for mode in ("corrected", "literal", "none"):
        with pytest.raises(airoas.OptionError, match="1 numbers, those of Line 2"):
            anneal(Line(), Particles([[0.0]]), 0, SHARP, airoas.stream(0), mode=mode)


# --- errors ---


@pytest.mark.parametrize("kind", [NAN_RIGHT, INF_RIGHT, NAN_ALWAYS])
@pytest.mark.parametrize("options", [{"move": "walk"}, {"move": "ancestors"}, {"mode": "none"}, {"mode": "literal"}])
def test_a_likelihood_that_is_none_names_its_method(kind, options):
    with pytest.raises(airoas.ModelError, match=r"Line\.obs_logpdf .*nan or \+inf"):
        anneal(Line(), at_zero(200), 0, Seen(0.5, kind), airoas.stream(0), **options)


@pytest.mark.parametrize("move", ["walk", "ancestors", "resimulate", "mutate", "move"])
def test_a_bad_likelihood_that_only_a_move_meets_names_its_method_too(move):
    """All particles are simulated left of the bad region; the moves, drawn to the reading, run into it."""
    model = Line(sd=0.5, spread=1.0)
    belief = at_zero(40)
    for seed in range(200):
        try:
            anneal(model, belief, 0, Seen(1.5, NAN_RIGHT), airoas.stream(seed), move=move, target_inefficiency=1.05, moves=10)
        except airoas.ModelError as error:
            assert "Line.obs_logpdf" in error.where
    with pytest.raises(airoas.ModelError, match=r"Line\.obs_logpdf"):
        anneal(model, belief, 0, Seen(1.5, NAN_RIGHT), airoas.stream(0), move=move, target_inefficiency=1.05, moves=10)


def test_a_transition_density_that_is_none_names_its_method():
    with pytest.raises(airoas.ModelError, match=r"Line\.step_logpdf .*nan or \+inf"):
        anneal(Line(sd=0.1, spread=0.0), around_zero(50), 0, Seen(0.5, PLAIN), airoas.stream(0), move="walk")


@airoas.model
class Steep(NamedTuple):
    """A step overflows a little beyond 1, where no particle is."""

    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return (2.0 * rng.uniform() - 1.0,)

    def step(self, s, a, rng):
        far = math.exp(705.0 * abs(s[0]))
        return (s[0] + 0.01 * rng.normal() + (far - far),), 0.0

    def observe(self, s, a, rng):
        return (s[0] + 0.01 * rng.normal(),)

    def obs_logpdf(self, o, s, a):
        z = (o[0] - s[0]) / 0.01
        return -0.5 * z * z


def test_proposals_from_which_a_step_overflows_are_rejected():
    """With few particles the smoothed belief, and the walk, reach beyond them."""
    model = Steep()
    for seed in range(200):
        belief = Particles(np.linspace(-1.0, 1.0, 12)[:, None])
        result = anneal(model, belief, 0, (0.99,), airoas.stream(seed), move="ancestors", target_inefficiency=1.2, moves=4)
        assert np.isfinite(result.belief.states).all() and result.move == "ancestors"


def test_a_step_that_leads_nowhere_is_named():
    for method in ("bootstrap", "annealed"):
        with pytest.raises(airoas.ModelError, match=r"Steep\.step .*from state \(3\.0,\) by action 0 to one that is not finite"):
            airoas.update(Steep(), Particles([[0.0], [3.0]]), 0, (0.0,), airoas.stream(0), method)


@pytest.mark.parametrize("options", [{"move": "walk"}, {"mode": "none"}, {"mode": "literal"}])
def test_nothing_alive_is_particle_deprivation(options):
    belief = at_zero(20)
    with pytest.raises(airoas.ParticleDeprivationError, match="Use more particles") as caught:
        anneal(Line(), belief, 0, Seen(0.5, NEVER), airoas.stream(0), **options)
    assert caught.value.belief is belief
    assert (caught.value.action, caught.value.observation) == (0, Seen(0.5, NEVER))
    assert pickle.loads(pickle.dumps(caught.value)).observation == Seen(0.5, NEVER)


@pytest.mark.parametrize("calls", [1000, pytest.param(10_000, marks=pytest.mark.law)])
def test_random_calls_end_well(calls):
    """Any N, any weights, any likelihood: a belief without nan, or an error of ours that tells what to do."""
    rng = np.random.default_rng(11)
    model_of = [Line(sd=sd, spread=spread) for sd in (1e-9, 0.01, 1.0, 1e6) for spread in (0.0, 1.0)]
    ended = {}
    for call in range(calls):
        n = int(rng.choice([1, 2, 3, 10, 40], p=[0.2, 0.2, 0.2, 0.2, 0.2]))
        states = np.column_stack([rng.normal(size=n) * 10.0 ** rng.uniform(-12, 6), rng.random(n) < 0.1])
        logs = rng.normal(size=n) * 10.0 ** rng.uniform(-3, 5)
        logs[rng.random(n) < 0.3] = -np.inf
        if logs.max() == -np.inf:
            logs[0] = 0.0
        kind = int(rng.choice([PLAIN, GATED, NAN_RIGHT, INF_RIGHT, NAN_ALWAYS, NEVER], p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]))
        seen = Seen(float(rng.normal() * 10.0 ** rng.uniform(-3, rng.choice([1, 300]))), kind)
        options = [{"move": "walk"}, {"move": "ancestors"}, {"move": "ancestors", "schedule": (0.1, 1.0)}, {"mode": "literal"}][call % 4]
        model = model_of[int(rng.integers(len(model_of)))]
        try:
            result = anneal(model, Particles(states, log_weights=logs), 0, seen, airoas.stream(call), **options)
        except (airoas.ParticleDeprivationError, airoas.ModelError) as error:
            ended[type(error).__name__] = ended.get(type(error).__name__, 0) + 1
            assert isinstance(error, airoas.ParticleDeprivationError) or "Line." in error.where
            assert kind != PLAIN or isinstance(error, airoas.ParticleDeprivationError) or "step_logpdf" in error.where
            continue
        ended["belief"] = ended.get("belief", 0) + 1
        assert not np.isnan(result.belief.states).any()
        assert not np.isnan(result.belief.log_weights).any()
        assert not math.isnan(result.log_evidence)
        assert not np.isnan(result.betas).any()
        assert kind not in (NAN_ALWAYS, NEVER)
    assert min(ended.values()) > calls // 20, ended
    assert set(ended) == {"belief", "ParticleDeprivationError", "ModelError"}


# --- the same numbers everywhere ---


def digest(result):
    return (
        result.belief.states.tobytes(),
        result.belief.log_weights.tobytes(),
        result.log_evidence,
        result.betas.tobytes(),
        result.acceptance.tobytes(),
        result.evaluations,
    )


@pytest.mark.parametrize("move", ["walk", "ancestors", "resimulate", "mutate", "move", "gibbs"])
def test_interpreted_and_compiled_agree_to_the_bit(move):
    model, belief, seen = (
        (Line(), around_zero(30), SHARP) if move != "gibbs" else (Ring(blind=0.0), Particles([[5.0], [1.0], [2.0]]), Bit(0))
    )
    result = []
    for mode in ("interpreted", "compiled"):
        with running(mode):
            result.append(digest(anneal(model, belief, 0, seen, airoas.stream(4), move=move, target_inefficiency=1.2)))
    assert result[0] == result[1]


def test_what_cannot_be_does_not_become_possible():
    """A place uniform on [0, 1] that does not move, and readings of 1.2: the posterior leans against the wall."""
    model = Line(sd=0.1, spread=0.0)
    positions = np.random.default_rng(0).uniform(size=2000)
    belief = Particles(np.column_stack([positions, np.zeros(2000)]))
    for k in range(4):
        result = anneal(model, belief, 0, Seen(1.2, PLAIN), airoas.stream(k), move="ancestors")
        belief = result.belief
    assert result.move == "ancestors"
    assert belief.states[:, 0].max() < 1.01
    exact = np.linspace(0.0, 1.0, 100_001)
    weights = np.exp(-0.5 * 4 * np.square((exact - 1.2) / 0.1))
    mean = np.average(exact, weights=weights)
    assert abs(belief.mean()[0] - mean) < 0.3 * math.sqrt(np.average(np.square(exact - mean), weights=weights))


def test_a_given_scale_is_kept():
    """The proposals do not follow the particles: at the end of a sharp tempering steps of 1 are hardly ever taken, steps of 0.01 are."""
    wide, narrow = (
        anneal(Line(), at_zero(500), 0, SHARP, airoas.stream(0), move=move, scale=scale).acceptance[-1]
        for move in ("walk",)
        for scale in (1.0, 0.01)
    )
    assert wide < 0.05 < 0.4 < narrow
    noise = [anneal(Line(), at_zero(500), 0, SHARP, airoas.stream(0), move="ancestors", scale=s).acceptance[-1] for s in (1.0, 0.01)]
    assert noise[0] < 0.05 < 0.4 < noise[1]


def test_a_tempering_out_of_time_weighs_by_the_rest():
    """No temperature was reached: it is the plain update of the smoothed belief, and its evidence is right."""
    belief = around_zero(4000)
    late = anneal(Line(sd=0.3), belief, 0, Seen(1.0, PLAIN), airoas.stream(0), move="ancestors", seconds=1e-9)
    whole = anneal(Line(sd=0.3), belief, 0, Seen(1.0, PLAIN), airoas.stream(0), move="ancestors", seconds=60.0)
    assert late.betas[-1] == whole.betas[-1] == 1.0
    assert late.evaluations < whole.evaluations
    assert late.log_evidence == pytest.approx(whole.log_evidence, abs=0.1)
    assert late.belief.mean()[0] == pytest.approx(whole.belief.mean()[0], abs=0.05)
    assert late.inefficiency[1] > whole.inefficiency[1]
