"""Edges with a margin: the lines along them do what is assumed, and have the mass that is claimed."""

import numpy as np
import pytest

from dpjax.core.checks import InputError
from dpjax.mechanisms.cover.lines.halfplanes import HalfPlanes
from dpjax.mechanisms.cover.lines.measures import Kinematic
from dpjax.theory.edges import EdgeMargin

D = 1000


@pytest.mark.parametrize(("width", "length", "angle"), [(100, 400, 0.3), (125, 125, 0.0), (20, 900, 1.1)])
def test_mass_of_the_lines_along_a_rectangle(width, length, angle):
    """By counting lines of a fine grid of directions and distances, of those that the measure has."""
    corner, along = np.array([60.0, 30.0]), np.array([np.cos(angle), np.sin(angle)])
    out = np.array([along[1], -along[0]])
    ends = [(corner + along * s, corner + along * s + out * width) for s in (0, length)]
    phi = (np.arange(6000) + 0.5) * np.pi / 6000
    rho = (np.arange(-3000, 3000) + 0.5) * D / 1500
    normal = np.stack([np.cos(phi), np.sin(phi)], axis=1)

    def meets(a, b):
        low, high = np.sort(np.stack([normal @ a, normal @ b]), axis=0)[:, :, None]
        return (low < rho) & (rho < high)

    counted = np.sum(meets(*ends[0]) & meets(*ends[1])) * (np.pi / 6000) * (D / 1500)
    claimed = 2 * Kinematic().mass(D) / np.exp(Kinematic().log_cost_along(D, width, length))
    assert claimed == pytest.approx(counted, rel=0.02) and claimed < 2 * (np.hypot(width, length) - length)


def test_good_lines_spare_the_target_and_exclude_what_is_farther():
    """A triangle, a quadrilateral, a hexagon; lines along each edge, at random heights."""
    generator = np.random.default_rng(0)
    points = generator.uniform(-300, 300, (4000, 2))
    for sides in (3, 4, 6):
        turn = 2 * np.pi * (np.arange(sides) + generator.uniform(-0.2, 0.2, sides)) / sides
        corners = 150 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        edges = [(corners[i], corners[(i + 1) % sides]) for i in range(sides)]
        width = 8.0
        frames = []
        for p, q in edges:
            length = np.hypot(*(q - p))
            along = (q - p) / length
            frames.append((p, along, np.array([along[1], -along[0]]), length))
        turns = [np.arccos(np.clip(frames[i - 1][1] @ frames[i][1], -1, 1)) for i in range(sides)]
        assert min(turns) > np.arctan(width / min(one[3] for one in frames))
        height = np.stack([(points - p) @ out for p, _, out, _ in frames])
        inside = np.all(height <= 0, axis=0)
        for (p, along, _, length), above in zip(frames, height, strict=True):
            at = (points - p) @ along
            beyond = np.maximum(0, np.maximum(-at, at - length))
            for a, b in generator.uniform(0, width, (50, 2)):
                excluded = above > a + (b - a) * at / length
                assert not np.any(excluded & inside)
                assert np.all(excluded[above > width * (1 + beyond / length)])


def test_costs_fall_with_the_width_down_from_that_of_every_distribution():
    family = HalfPlanes(2**16)
    costs = [EdgeMargin(width, 2**16).functions(family) for width in (1, 16, 256, 4096)]
    assert family.size >= costs[0] > costs[1] > costs[2] > costs[3] > 1
    assert costs[1] / costs[2] == pytest.approx(256, rel=0.01)
    followed = EdgeMargin(16, 2**16).functions(HalfPlanes(2**16, follow=0.5))
    assert followed == pytest.approx(2 * costs[1])
    with pytest.raises(InputError, match="words"):
        EdgeMargin(2**20, 2**30).functions(HalfPlanes(2**30, words=1))


@pytest.mark.parametrize(
    "given", [(0, 10), (20, 10), (1e-9, 10), (1, float("inf")), (1, -1), (1, 10, 1.0), (1, 10, -1)]
)
def test_what_makes_no_sense_is_refused(given):
    with pytest.raises(InputError):
        EdgeMargin(*given)


@pytest.mark.parametrize("given", [(8, 2.0**24), (8, 0.0), (8, float("nan")), (0.5, 10), (D, D)])
def test_rectangles_without_enough_lines_are_refused(given):
    with pytest.raises(InputError):
        Kinematic().log_cost_along(D, *given)
