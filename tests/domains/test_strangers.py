"""Models without a hint: that they have none, pass the check, and are the problems that their sources describe."""

import math
from collections import deque

import numpy as np
import pytest

import airoas
from airoas import Particles
from airoas.catalog import STRANGERS
from airoas.domains.strangers import building, vdp_tag
from airoas.modelling.interface import HOOKS, REQUIRED

ALLOWED = {*REQUIRED, "actions", "action_space", "sample_action", "is_terminal", "legal", "prepare"}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_has_no_hints(name):
    model = STRANGERS[name](0)
    assert {hook for hook in HOOKS if model.has(hook)} <= ALLOWED
    assert model.max_steps <= 100


@pytest.mark.law
@pytest.mark.parametrize("name", STRANGERS)
def test_check_finds_nothing(name):
    report = airoas.check(STRANGERS[name](0))
    assert report.diagnostics == (), str(report)


# --- the building ---


@pytest.fixture(scope="module")
def house():
    return building.Building()


def room(walls, number):
    """The cells of a room with the walls around it, the door to the south."""
    column, row = 9 * (number % 3), 17 * (number // 3)
    cells = walls[row : row + 13, column : column + 10]
    return cells if number >= 3 else cells[::-1, ::-1]


def test_the_building_is_six_rooms_alike_along_a_corridor_of_four(house):
    walls = house.walls
    assert walls.shape == (30, 30)
    for number in range(6):
        cells = room(walls, number)
        assert not cells[1:12, 1:9].any()
        assert (~cells[0]).sum() == 3  # the door
        assert cells[-1].all() and cells[:, 0].all() and cells[:, -1].all()
        assert np.array_equal(cells, room(walls, 0))
    assert not walls[13:17, 1:29].any()
    assert (~walls).sum() == 6 * 88 + 4 * 28 + 6 * 3  # rooms, corridor and doors are all there is


def test_every_free_cell_is_reachable_from_every_room(house):
    free = {(x, y) for y, x in np.argwhere(~house.walls)}
    reached, queue = {(1, 1)}, deque([(1, 1)])
    while queue:
        x, y = queue.popleft()
        for cell in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if cell in free and cell not in reached:
                reached.add(cell)
                queue.append(cell)
    assert reached == free


def test_the_robot_starts_anywhere_in_any_room(house):
    start = Particles.sample(house, 20_000, airoas.stream(0)).states
    x, y = np.floor(start[:, 0]).astype(int), np.floor(start[:, 1]).astype(int)
    assert not house.walls[y, x].any()
    assert ((y <= 11) | (y >= 18)).all()
    assert len({*zip(x, y, strict=True)}) == 6 * 88
    assert (np.bincount((x - 1) // 9 + 3 * (y > 12), minlength=6) > 3000).all()  # of 3333; beyond 5 sigma
    assert (start[:, 2] >= 0.0).all() and (start[:, 2] < 2.0 * math.pi).all()
    assert (np.bincount((start[:, 2] / (math.pi / 4.0)).astype(int), minlength=8) > 2200).all()  # of 2500


def ray(walls, x, y, angle, most):
    """The same as `distance`, by small steps."""
    for gone in np.arange(0.0, most, 1e-3):
        if walls[math.floor(y + gone * math.sin(angle)), math.floor(x + gone * math.cos(angle))]:
            return gone
    return most


def test_beams_end_at_the_first_wall_and_never_exceed_12(house):
    start = Particles.sample(house, 60, airoas.stream(1)).states
    longest = 0.0
    for x, y, heading, _ in [*start, (14.0, 15.0, 0.3, 0), (2.0, 14.0, 0.0, 0), (28.9, 13.1, 4.0, 0)]:
        s = building.State(x, y, heading, 0)
        result = building.beams(house.walls, s)
        longest = max(longest, *result)
        for k, length in enumerate(result):
            assert 0.0 < length <= 12.0
            assert length == pytest.approx(ray(house.walls, x, y, heading + k * math.pi / 2.0, 12.0), abs=3e-3)
    assert longest == 12.0
    assert building.beams(house.walls, building.State(2.0, 14.0, 0.0, 0)) == pytest.approx((12.0, 3.0, 1.0, 1.0))


def test_alike_rooms_look_alike_and_the_corridor_tells_its_ends_apart(house):
    inside = [building.beams(house.walls, building.State(9.0 * k + 6.2, 20.3, 1.1, 0)) for k in range(3)]
    inside += [building.beams(house.walls, building.State(28.0 - 9.0 * k - 6.2, 30.0 - 20.3, 1.1 + math.pi, 0)) for k in range(3)]
    for other in inside[1:]:
        assert other == pytest.approx(inside[0])
    west, east = (building.beams(house.walls, building.State(x, 15.0, 0.0, 0)) for x in (3.0, 25.0))
    assert (west[2], east[0]) == pytest.approx((2.0, 4.0))


def test_moves_and_bumps(house):
    rng = airoas.stream(2)
    moves = [house.step(building.State(5.0, 24.0, math.pi / 2.0, 0), 0, rng) for _ in range(2000)]
    along = np.array([s.y - 24.0 for s, _ in moves])
    assert along.mean() == pytest.approx(1.5, abs=0.015) and along.std() == pytest.approx(0.1, abs=0.01)
    assert {reward for _, reward in moves} == {-1.0}
    bump = building.State(5.0, 28.2, math.pi / 2.0, 0)
    assert house.step(bump, 0, rng) == (bump, -6.0)
    through = building.State(8.9, 24.0, 0.0, 0)  # a cell of wall is thinner than a stride
    assert house.step(through, 0, rng) == (through, -6.0)
    turned = np.array([house.step(building.State(5.0, 24.0, 0.1, 0), 2, rng)[0].heading for _ in range(2000)])
    assert turned.mean() == pytest.approx(0.1 - math.pi / 4.0 + 2.0 * math.pi, abs=0.01)
    assert turned.std() == pytest.approx(math.radians(3.0), abs=0.005)


def test_docking(house):
    rng = airoas.stream(3)
    near, beside = building.State(26.0, 28.0, 0.0, 0), building.State(25.8, 28.0, 0.0, 0)
    assert house.step(near, 3, rng) == (near._replace(docked=1), 100.0)
    assert house.step(beside, 3, rng) == (beside, -50.0)  # and the episode goes on
    assert house.is_terminal(near._replace(docked=1)) and not house.is_terminal(beside)


# --- VDP-Tag: the checks of its specification ---


def test_the_target_drifts_as_a_van_der_pol_oscillator():
    assert vdp_tag.substep(2.0, 0.0) == pytest.approx((1.8901847214, 0.0970750664), abs=1e-9)
    for start, end in (
        ((2.0, 0.0), (1.6327646475, 0.4470525281)),
        ((-1.0, 3.0), (-2.4573495883, 2.4772114742)),
        ((4.0, -4.0), (2.62805113, -3.3072417415)),
        ((0.5, 0.5), (0.3583204616, 0.6119734592)),
    ):
        assert vdp_tag.drift(*start) == pytest.approx(end, abs=1e-8)


@pytest.mark.parametrize(
    ("start", "degrees", "end"),
    [
        ((0.0, 0.0), 45.0, (0.3535533906, 0.3535533906)),  # through the gap
        ((1.0, 0.2), -90.0, (1.0, 0.0)),
        ((1.0, 0.2), -45.0, (1.2, 0.0)),
        ((0.1, 0.2), -90.0, (0.1, -0.3)),
        ((-0.3, -1.0), 0.0, (0.0, -1.0)),
    ],
)
def test_barriers_stop_the_agent_on_its_own_side(start, degrees, end):
    x, y = vdp_tag.moved(*start, math.radians(degrees))
    assert (x, y) == pytest.approx(end, abs=1e-8)
    if end[1] == 0.0:
        assert y > 0.0
    if end[0] == 0.0:
        assert x < 0.0


def test_the_agent_never_passes_a_barrier_in_small_steps():
    x, y = 1.0, 0.2
    for t in range(50):
        x, y = vdp_tag.moved(x, y, math.radians(-90.0 + (t % 3)))
        assert y > 0.0 and 0.2 < x < 3.0


def test_beams_and_their_density():
    model = vdp_tag.VDPTag()
    s = vdp_tag.State(0.0, 0.0, 1.0, 2.0)
    assert (vdp_tag.beam(s), vdp_tag.distance(s)) == (1, pytest.approx(2.2360679775))
    o = vdp_tag.Beams(1.0, 2.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert model.obs_logpdf(o, s, 25) == pytest.approx(-16.3800335097, abs=1e-9)
    assert model.obs_logpdf(o, s, 5) == pytest.approx(-20.2270375831, abs=1e-9)
    assert [vdp_tag.beam(vdp_tag.State(0.0, 0.0, *p)) for p in ((0.0, -1.0), (0.0, 1.0), (1.0, 0.0))] == [5, 1, 7]


def test_rewards_of_vdp_tag_and_its_actions():
    model, rng = vdp_tag.VDPTag(), airoas.stream(0)
    assert model.action_names[0] == "go-9" and model.action_names[-1] == "look-351" and model.n_actions == 40
    far = vdp_tag.State(-3.0, -3.0, 2.0, 2.0)
    assert model.step(far, 3, rng)[1] == -1.0 and model.step(far, 23, rng)[1] == -6.0
    caught = [model.step(vdp_tag.State(x, y, 2.0, 0.0), 20, rng) for x, y in [(1.633 - 0.494, 0.447 - 0.078)] * 200]
    assert {reward for s, reward in caught if model.is_terminal(s)} == {95.0}
    assert {reward for s, reward in caught if not model.is_terminal(s)} == {-6.0}
    tagged = vdp_tag.State(1.0, 1.0, 1.0, 1.05)
    assert model.is_terminal(tagged) and not model.is_terminal(far)


def test_continuous_angles_are_the_same_problem():
    discrete, continuous = vdp_tag.VDPTag(), vdp_tag.VDPTagContinuous()
    s = vdp_tag.State(0.5, 0.5, 1.0, 2.0)
    for a in (4, 33):
        action = vdp_tag.Action((a % 20 + 0.5) * 2.0 * math.pi / 20, float(a >= 20))
        assert discrete.step(s, a, airoas.stream(5)) == continuous.step(s, action, airoas.stream(5))
        o = discrete.observe(s, a, airoas.stream(6))
        assert o == continuous.observe(s, action, airoas.stream(6))
        assert discrete.obs_logpdf(o, s, a) == continuous.obs_logpdf(o, s, action)
