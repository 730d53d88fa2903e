"""`update`: Bayes on Tiger by hand, the end as evidence, recovery from particle deprivation, and the exact filter."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import airoas
from airoas import AdaptiveFilter, AnnealedFilter, ExactFilter, Particles, make_filter, update
from airoas.domains import LightDark, RockSample, Tag, Tiger
from airoas.domains.rock_sample import standard
from airoas.planners import Random

LISTEN = 0


def test_exact_filter_on_tiger_is_bayes():
    model, belief = Tiger(), Particles.exact(Tiger())
    left = model.observe(model.state(0), LISTEN, airoas.stream(0))
    heard = type(left)(0)
    for count in (1, 2, 3):
        belief = update(model, belief, LISTEN, heard, airoas.stream(0), "exact")
        odds = (0.85 / 0.15) ** count
        likely = belief.weights[[model.index(model.from_row("state", row)) == 0 for row in belief.states]].sum()
        assert likely == pytest.approx(odds / (1 + odds))


def test_bootstrap_carries_weights_until_it_resamples():
    model, rng = Tiger(), airoas.stream(3)
    belief = Particles.sample(model, 20_000, rng)
    heard = type(model.observe(model.state(0), LISTEN, rng))(0)
    for count in (1, 2):
        belief = update(model, belief, LISTEN, heard, rng, "bootstrap")
        odds = (0.85 / 0.15) ** count
        first = np.array([model.index(model.from_row("state", row)) == 0 for row in belief.states])
        assert belief.weights[first].sum() == pytest.approx(odds / (1 + odds), abs=0.02)  # 5 standard errors at most
    assert belief.ess >= len(belief) / 2


def test_terminal_particles_lose_their_weight():
    model = LightDark()
    belief = Particles([[0.0, 1.0], [3.0, 0.0]], weights=[0.9, 0.1])
    after = update(model, belief, 2, model.observe(model.from_row("state", np.array([4.0, 0.0])), 2, airoas.stream(0)), airoas.stream(0))
    assert (after.states[after.weights > 0.0, 0] == 4.0).all()


def test_a_filter_recovers_from_particle_deprivation_and_says_so():
    model = Tag()
    robot_elsewhere = Particles([[0.0, 20.0, 0.0]])
    seen = type(model.observe(model.from_row("state", np.array([5.0, 7.0, 0.0])), 0, airoas.stream(0)))(5)
    with pytest.warns(airoas.ParticleDeprivationWarning, match="restarts"):
        belief = update(model, robot_elsewhere, 0, seen, airoas.stream(0), "bootstrap")
    assert (belief.states[:, 0] == 5.0).all()


class Seen(NamedTuple):
    y: float


@airoas.model
class Strict(NamedTuple):
    """Observations exactly equal the state: a bootstrap filter cannot follow."""

    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return (rng.uniform(),)

    def step(self, s, a, rng):
        return (rng.uniform(),), 0.0

    def observe(self, s, a, rng):
        return Seen(s[0])

    def obs_logpdf(self, o, s, a):
        return 0.0 if o.y == s[0] else -math.inf


def test_a_filter_that_cannot_recover_says_what_to_do():
    model = Strict()
    with pytest.raises(airoas.BeliefError, match="Use more particles"):
        update(model, Particles.sample(model, 10, airoas.stream(0)), 0, Seen(0.5), airoas.stream(1))


class Rail(NamedTuple):
    x: float
    level: float


@airoas.model
class Rails(NamedTuple):
    """A parked cart is anywhere on one of four rails, and is felt within a tenth of where it is; nothing moves."""

    felt: float = 0.1
    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return Rail(100.0 * rng.uniform(), float(rng.integer(4)))

    def step(self, s, a, rng):
        return s, (0.0, 1.0, 2.0, 3.0)[int(s.level)]

    def observe(self, s, a, rng):
        return Seen(s.x + self.felt * (2.0 * rng.uniform() - 1.0))

    def obs_logpdf(self, o, s, a):
        return 0.0 if abs(o.y - s.x) < self.felt else -math.inf


def test_a_belief_too_narrow_for_what_is_seen_is_inflated():
    """None of these places explains the reading, nor does one between them; on the wrong rail no reading puts it right."""
    spots = 5.0 + 0.05 * np.random.default_rng(0).normal(size=500)
    narrow = Particles(np.stack([spots, np.full(500, 2.0)], axis=1))
    with pytest.warns(airoas.ParticleDeprivationWarning, match="inflated by"):
        belief = update(Rails(), narrow, 0, Seen(5.4), airoas.stream(1))
    assert (np.abs(belief.states[:, 0] - 5.4) < 0.1).all()
    assert len(np.unique(belief.states[:, 0])) > 10
    assert (belief.states[:, 1] == 2.0).all()  # whole in every particle: a count, of which there is nothing between
    with pytest.raises(airoas.BeliefError, match="no particle explains"):
        update(Rails(), narrow, 0, Seen(50.0), airoas.stream(1))


def test_whole_numbers_stay_whole_where_particles_are_moved():
    """Levels may be written as floats, as in an array; a table read by them has no entry between two, and none beyond the last."""
    model, start = Rails(), Particles.sample(Rails(), 2000, airoas.stream(0))
    after = airoas.anneal(model, start, 0, Seen(30.0), airoas.stream(1))
    assert after.move == "ancestors"
    states = after.belief.states
    assert len(np.unique(states[:, 0])) > 30 and set(states[:, 1]) <= {0.0, 1.0, 2.0, 3.0}


@airoas.model
class Beacon(NamedTuple):
    """Walk, never quite straight; hear how far a beacon is that stands anywhere."""

    discount: float = 0.9

    def actions(self):
        return ("walk",)

    def initial(self, rng):
        return Rail(100.0 * rng.uniform(), 0.0)

    def step(self, s, a, rng):
        return Rail(s.x, s.level + 1.0 + 0.1 * rng.normal()), 0.0

    def observe(self, s, a, rng):
        return Seen(s.x - s.level + 0.3 * rng.normal())

    def obs_logpdf(self, o, s, a):
        return -0.5 * ((o.y - s.x + s.level) / 0.3) ** 2


def test_a_number_that_nothing_moves_keeps_many_values():
    """Resampling leaves copies of it, which the effective number of particles never tells: what else is in the state makes them differ."""
    model, filter = Beacon(), AdaptiveFilter(1000)
    belief = filter.start(model, airoas.stream(0))
    for t in range(40):
        belief = filter.update(model, belief, 0, Seen(60.0 - t - 1.0), airoas.stream(t)).belief
    assert len(np.unique(belief.states[:, 0])) > 300  # 150 where only the effective number is looked at
    assert abs(belief.mean()[0] - 60.0) < 0.1


def test_exact_needs_a_model_that_offers_it():
    with pytest.raises(airoas.OptionError, match="exact_update"):
        update(Strict(), Particles([[0.5]]), 0, Seen(0.5), airoas.stream(0), "exact")


def test_impossible_observation_is_an_error_of_the_exact_filter():
    model = Tag()
    seen = type(model.observe(model.from_row("state", np.array([5.0, 7.0, 0.0])), 0, airoas.stream(0)))(5)
    with pytest.raises(airoas.BeliefError, match="no state explains"):
        update(model, Particles([[0.0, 20.0, 0.0]]), 0, seen, airoas.stream(0), "exact")


@pytest.mark.parametrize(
    ("action", "observation", "message"),
    [(7, (0,), "no action 7"), (0, (0, 1), "no observation"), (0, ("x",), "no observation")],
)
def test_bad_actions_and_observations_are_refused(action, observation, message):
    with pytest.raises(airoas.OptionError, match=message):
        update(Tiger(), Particles.exact(Tiger()), action, observation, airoas.stream(0))


def test_auto_is_exact_where_the_model_offers_it():
    for model in (Tag(), LightDark(), standard(7, 8)):
        assert make_filter("auto", model) == ExactFilter()
    assert make_filter("auto", Strict(), 70) == AdaptiveFilter(particles=70)
    with pytest.raises(airoas.OptionError, match="no filter 'kalman'"):
        make_filter("kalman", Tiger())


def test_rock_sample_belief_enumerates_its_rocks():
    model = standard(7, 8)
    assert isinstance(model, RockSample)
    assert len(Particles.exact(model)) == 2**8


# --- as many particles as the belief asks for ---


class Spot(NamedTuple):
    x: float


class Level(NamedTuple):
    y: float


@airoas.model
class Ruler(NamedTuple):
    """Stand still, anywhere within 50 of the middle; see where, more or less."""

    sd: float = 5.0
    needle: float = 0.0
    """Readings are a thousand times as sharp so near the middle."""
    discount: float = 0.9

    def actions(self):
        return ("wait",)

    def initial(self, rng):
        return Spot(100.0 * rng.uniform() - 50.0)

    def step(self, s, a, rng):
        return Spot(s.x + 0.001 * rng.normal()), 0.0

    def observe(self, s, a, rng):
        return Level(s.x + self.noise(s) * rng.normal())

    def noise(self, s):
        return 0.001 * self.sd if abs(s.x) < self.needle else self.sd

    def obs_logpdf(self, o, s, a):
        z = (o.y - s.x) / self.noise(s)
        return -0.5 * z * z - math.log(self.noise(s))


def test_an_update_by_hand_takes_the_filter_that_everybody_takes():
    """One keyword, one default: exact where the model offers it, else adaptive, which does not follow a sharp reading with few."""
    belief, rng = Particles.sample(Tiger(), 100, airoas.stream(0)), airoas.stream(1)
    assert len(update(Tiger(), belief, LISTEN, (0,), rng)) == 2
    start, seen = Particles.sample(Ruler(sd=0.1), 1000, airoas.stream(0)), Level(3.0)
    by_hand = update(Ruler(sd=0.1), start, 0, seen, airoas.stream(1))
    everybody = make_filter("auto", Ruler(sd=0.1)).update(Ruler(sd=0.1), start, 0, seen, airoas.stream(1)).belief
    assert np.array_equal(by_hand.states, everybody.states)
    plain = update(Ruler(sd=0.1), start, 0, seen, airoas.stream(1), filter="bootstrap")
    assert len(np.unique(plain.states)) < 50 < len(np.unique(by_hand.states))


def test_the_adaptive_filter_follows_the_spread_of_the_belief():
    model, filter, rng = Ruler(sd=1.0), AdaptiveFilter(100), airoas.stream(0)
    belief = filter.start(model, rng)
    sizes = [len(belief)]
    for _ in range(30):
        belief = filter.update(model, belief, 0, Level(3.0), rng).belief
        sizes.append(len(belief))
        spread = belief.std()[0] / (100.0 / math.sqrt(12.0))
        assert sizes[-1] >= sizes[-2] // 2  # no faster
        assert sizes[-1] >= 0.8 * 100 * min(20.0, spread / 0.005)
        assert sizes[-1] in (2000, 1000, 500, 250, 125, 100)
    assert sizes[0] == 2000
    assert sizes[-1] <= 500  # the last time that weights were uneven; by then it has narrowed to 0.006
    assert abs(belief.mean()[0] - 3.0) < 1.0


def test_the_first_update_draws_more_where_few_particles_explain_what_is_seen():
    """A reading that one particle in 600 explains: 3.5 of the 2000 are effective, of ten times as many 35, and the evidence
    is known as much better."""
    model, filter, exact = Ruler(sd=0.05), AdaptiveFilter(100), math.log(math.sqrt(2.0 * math.pi) / 100.0)
    squares = []
    for is_first in (True, False):
        errors = []
        for k in range(40):
            rng = airoas.stream(k)
            belief = filter.start(model, rng)
            belief = belief if is_first else Particles(belief.states)
            errors.append(math.exp(filter.update(model, belief, 0, Level(3.0), rng).log_evidence - exact) - 1.0)
        squares.append(np.square(errors).mean())
    assert squares[0] < 0.5 * squares[1]


def test_annealing_that_misses_the_posterior_is_not_believed():
    """A few of the many particles stand where readings are sharp. After one reading these and all others are as likely, after three
    they are a million times as likely: whoever drops them at the first is wrong for good."""
    model, right = Ruler(sd=5.0, needle=0.05), 0
    for k in range(5):
        filter, rng = AdaptiveFilter(2000), airoas.stream(k)
        belief = filter.start(model, rng)
        for y in (0.02, 0.018, 0.022):
            belief = filter.update(model, belief, 0, Level(y), rng).belief
        right += belief.weights[np.abs(belief.states[:, 0] - 0.02) < 0.02].sum() > 0.9
    assert right >= 4


def test_an_update_takes_no_more_particles_than_its_time_allows():
    model, rng = Ruler(), airoas.stream(0)
    belief = AdaptiveFilter(20_000).start(model, rng)
    short, long = (
        AdaptiveFilter(20_000, update_seconds=seconds).update(model, belief, 0, Level(3.0), rng).belief for seconds in (1e-5, 60.0)
    )
    assert len(np.unique(short.states)) <= 500  # which are always taken
    assert len(np.unique(long.states)) > 10_000
    with pytest.raises(airoas.OptionError, match="update_seconds is 0"):
        AdaptiveFilter(update_seconds=0.0)


def test_an_agent_passes_the_time_of_updates_on():
    agent = airoas.Agent(Ruler(), Random(), seed=0, particles=50, update_seconds=0.5)
    assert agent.filter == AdaptiveFilter(50, update_seconds=0.5)
    with pytest.raises(airoas.OptionError, match="limits the adaptive filter, and this one is exact"):
        airoas.Agent(Tiger(), Random(), seed=0, update_seconds=0.5)


# --- the end is evidence ---


class At(NamedTuple):
    x: int
    docked: int


class Bumped(NamedTuple):
    wall: int


@airoas.model
class Corridor(NamedTuple):
    """Six cells; docking in cell 0 ends the episode, unless it fails; a bumper tells whether a wall is near."""

    fails: float = 0.0
    discount: float = 0.9

    def actions(self):
        return ("wait", "dock")

    def initial(self, rng):
        return At(rng.integer(6), 0)

    def step(self, s, a, rng):
        docked = a == 1 and s.x == 0 and rng.uniform() >= self.fails
        return At(s.x, 1 if docked else 0), 1.0 if docked else 0.0

    def observe(self, s, a, rng):
        return Bumped(1 if s.x in (0, 5) else 0)

    def obs_logpdf(self, o, s, a):
        return math.inf if s.docked else (0.0 if o.wall == (1 if s.x in (0, 5) else 0) else -math.inf)

    def is_terminal(self, s):
        return s.docked > 0

    def exact_initial(self):
        return [[float(x), 0.0] for x in range(6)], [1.0 / 6.0] * 6

    def n_states(self):
        return 12

    def index(self, s):
        return 2 * s.x + s.docked

    def state(self, i):
        return At(i // 2, i % 2)

    def successor(self, s, a, k):
        if a == 1 and s.x == 0:
            return At(0, 1 - k), self.fails if k else 1.0 - self.fails
        return s, 1.0


WAIT, DOCK, NEAR = 0, 1, Bumped(1)


def probability_of(belief, x):
    return belief.weights[belief.states[:, 0] == x].sum()


@pytest.mark.parametrize("method", ["bootstrap", "annealed", "exact"])
def test_where_the_episode_goes_on_what_ended_is_ruled_out(method):
    """Cells 0 and 5 look alike; docking in cell 0 would have ended the episode. Its density there, infinite, is never asked for."""
    model, belief = Corridor(), Particles([[0.0, 0.0]] * 50 + [[5.0, 0.0]] * 50)
    assert probability_of(update(model, belief, WAIT, NEAR, airoas.stream(0), method), 0.0) == pytest.approx(0.5)
    after = update(model, belief, DOCK, NEAR, airoas.stream(0), method)
    assert probability_of(after, 5.0) == pytest.approx(1.0)
    assert not after.states[after.weights > 0.0, 1].any()


@pytest.mark.parametrize("method", ["bootstrap", "annealed", "exact"])
def test_a_failed_end_weighs_as_much_as_it_is_likely_to_fail(method):
    """1 in 4 fails: the odds of cell 0 against cell 5 go from 1 to 1/4. 20,000 particles: 0.2 +- 5 standard errors of 0.004."""
    model = Corridor(fails=0.25)
    belief = Particles([[0.0, 0.0]] * 10_000 + [[5.0, 0.0]] * 10_000)
    after = update(model, belief, DOCK, NEAR, airoas.stream(1), method)
    assert probability_of(after, 0.0) == pytest.approx(0.2, abs=1e-12 if method == "exact" else 0.02)


@pytest.mark.parametrize("options", [{"mode": "none"}, {}, {"mode": "literal"}])
def test_deprivation_by_the_end_says_so(options):
    model, docked_all = Tag(), Particles([[3.0, 3.0, 0.0]] * 20)
    seen = model.observe(model.from_row("state", np.array([3.0, 3.0, 0.0])), 4, airoas.stream(0))
    with pytest.raises(airoas.ParticleDeprivationError, match=r"ended at this step.* in every particle, and yet it goes on") as caught:
        airoas.anneal(model, docked_all, model.action_names.index("tag"), seen, airoas.stream(0), **options)
    assert caught.value.reason == "ended"
    assert "obs_logpdf" not in str(caught.value)
    over = Particles([[3.0, 3.0, 1.0]] * 20)
    with pytest.raises(airoas.ParticleDeprivationError, match="had ended before this step in every particle") as caught:
        airoas.anneal(model, over, 0, seen, airoas.stream(0), **options)
    assert caught.value.reason == "over"


def test_a_filter_whose_particles_all_ended_recovers_where_it_can():
    at_the_dock = Particles([[0.0, 0.0]] * 20)
    with pytest.warns(airoas.ParticleDeprivationWarning, match=r"ended at this step.*restarts"):
        after = update(Corridor(), at_the_dock, DOCK, NEAR, airoas.stream(0), "bootstrap")
    assert set(after.states[:, 0]) == {0.0, 5.0}
    with pytest.warns(airoas.ParticleDeprivationWarning, match=r"ended at this step.*10 times as many"):
        after = update(Corridor(fails=0.02), at_the_dock, DOCK, NEAR, airoas.stream(4), "bootstrap")
    assert len(after) == 20
    assert (after.states == 0.0).all()
    stop, reading = LightDark().action_names.index("stop"), (0.0,)
    with pytest.raises(airoas.ParticleDeprivationError, match="ended at this step") as caught:
        update(LightDark(), at_the_dock, stop, reading, airoas.stream(0), "bootstrap")
    assert caught.value.reason == "ended"


@pytest.mark.parametrize("model", [Corridor(), LightDark()])
def test_an_exact_filter_whose_states_all_ended_says_so(model):
    end = model.action_names.index("dock" if isinstance(model, Corridor) else "stop")
    belief = Particles([[0.0, 0.0]])
    seen = NEAR if isinstance(model, Corridor) else model.observe(model.from_row("state", np.zeros(2)), end, airoas.stream(0))
    with pytest.raises(airoas.BeliefError, match="ended at this step in every possible state, and yet it goes on"):
        update(model, belief, end, seen, airoas.stream(0), "exact")
    if isinstance(model, Corridor):
        with pytest.raises(airoas.BeliefError, match="had ended before this step"):
            update(model, Particles([[0.0, 1.0]]), WAIT, seen, airoas.stream(0), "exact")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target_inefficiency": 1.0}, "target_inefficiency is 1.0"),
        ({"target_inefficiency": "2"}, "target_inefficiency is '2'"),
        ({"moves": -1}, "moves is -1"),
        ({"moves": 1.5}, "moves is 1.5"),
        ({"move": "shake"}, "there is no move 'shake'"),
    ],
    ids=str,
)
def test_options_of_annealing_are_looked_at_when_a_filter_is_made(options: dict[str, Any], told: str) -> None:
    for kind in (AnnealedFilter, AdaptiveFilter):
        with pytest.raises(airoas.OptionError) as caught:
            kind(**options)
        assert told in str(caught.value)
