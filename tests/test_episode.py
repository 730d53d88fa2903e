"""`simulate`: returns add up, worlds are paired, episodes repeat, and what people see is readable."""

import pytest

import airoas
from airoas import simulate
from airoas.catalog import find_domain
from airoas.domains import LightDark, Tag, Tiger
from airoas.planners import Decision, Random


class Always:
    """Chooses one action."""

    def __init__(self, action):
        self.action = action

    def plan(self, model, belief, rng):
        return Decision(self.action, 0.0)


def test_returns_are_sums_of_the_trace():
    episode = simulate(Tag(), Random(), seed=4)
    assert episode.return_ == pytest.approx(sum(step.reward for step in episode.trace))
    assert episode.discounted_return == pytest.approx(sum(0.95**t * step.reward for t, step in enumerate(episode.trace)))
    assert episode.steps == len(episode.trace) <= 100


def test_an_episode_repeats_and_interpreted_is_the_same():
    first, again = simulate(LightDark(), Random(), seed=11, particles=200), simulate(LightDark(), Random(), seed=11, particles=200)
    with airoas.running("interpreted"):
        plain = simulate(LightDark(), Random(), seed=11, particles=200)
    for other in (again, plain):
        assert [(s.action, s.observation, s.reward, s.state) for s in first.trace] == [
            (s.action, s.observation, s.reward, s.state) for s in other.trace
        ]
        assert all((a.mean == b.mean).all() for a, b in zip(first.trace, other.trace, strict=True))


def test_the_world_does_not_depend_on_the_planner():
    left, right = simulate(LightDark(), Always(0), seed=5), simulate(LightDark(), Always(2), seed=5)
    assert left.start == right.start
    listened, opened = simulate(Tiger(), Always(0), seed=1), simulate(Tiger(), Always(0), seed=1, filter="bootstrap")
    assert [s.observation for s in listened.trace] == [s.observation for s in opened.trace]


def test_the_step_limit_is_the_domains_own_unless_told():
    assert simulate(LightDark(), Always(0), seed=0).steps == 50
    assert simulate(Tiger(), Always(0), seed=0).steps == 30
    assert simulate(Tiger(), Always(0), seed=0, max_steps=3).steps == 3


def test_a_terminal_state_ends_the_episode():
    episode = simulate(LightDark(), Always(1), seed=0)
    assert episode.steps == 1 and episode.terminated and episode.discounted_return in (10.0, -10.0)


def test_continuous_actions_run():
    episode = simulate(find_domain("light-dark-2d-continuous")(0), Random(), seed=0, particles=100)
    assert episode.steps >= 1 and isinstance(episode.trace[0].action, tuple)


def test_printing_shows_every_step():
    text = str(simulate(LightDark(), Always(0), seed=0, max_steps=4))
    assert text.count("left") == 4
    assert "discounted return" in text and "step limit reached" in text


@pytest.mark.parametrize("options", [{"max_steps": 0}, {"particles": 0}, {"filter": "none"}])
def test_bad_options_are_refused(options):
    with pytest.raises(airoas.OptionError):
        simulate(Tiger(), Random(), seed=0, **options)


def test_an_impossible_action_is_refused():
    with pytest.raises(airoas.OptionError, match="no action 9"):
        simulate(Tiger(), Always(9), seed=0)
