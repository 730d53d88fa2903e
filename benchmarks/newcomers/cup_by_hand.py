"""Reference: rooms by probability and distance, looks from a good place, drives to the cup, looks once more if unsure, grasps, brings."""

import math
from dataclasses import dataclass

import numpy as np

from airoas.planners import Decision

STILL = {"look": lambda m, s, rng: 8}
VIEW = {1: (3.0, 2.6), 2: (9.0, 2.6), 3: (3.0, 9.4), 4: (9.0, 9.4)}


def room(x, y):
    return np.where(y < 4, np.where(x < 6, 1, 2), np.where(y > 8, np.where(x < 6, 3, 4), 0))


def waypoints(x, y, tx, ty):
    """Through which points."""
    here, there = int(room(np.array(x), np.array(y))), int(room(np.array(tx), np.array(ty)))
    path = []
    if here != there:
        for r in (here, there):
            if r:
                dx = 3.0 if r in (1, 3) else 9.0
                _wall, out, into = (4.0, 4.6, 3.4) if r in (1, 2) else (8.0, 7.4, 8.6)
                path += [(dx, into), (dx, out)] if r == here else [(dx, out), (dx, into)]
    path.append((tx, ty))
    return path


def length(x, y, tx, ty):
    total = 0.0
    for px, py in waypoints(x, y, tx, ty):
        total += math.hypot(px - x, py - y)
        x, y = px, py
    return total


def go(model, x, y, tx, ty):
    path = waypoints(x, y, tx, ty)
    if len(path) > 1 and math.hypot(path[0][0] - x, path[0][1] - y) < 0.45:
        path = path[1:]
    # the best of eight by the way that is left, of those that pass
    best, least = 0, 1e9
    for a in range(8):
        nx, ny = x + math.cos(a * math.pi / 4), y + math.sin(a * math.pi / 4)
        if not model.free(x, y, nx, ny) or not 0.15 < nx < 11.85 or not 0.15 < ny < 11.85:
            continue
        wall = 4.0 if (y - 4) * (ny - 4) < 0 else 8.0 if (y - 8) * (ny - 8) < 0 else None
        if wall is not None:
            across = x + (nx - x) * (wall - y) / (ny - y)
            if min(abs(across - 3), abs(across - 9)) > 0.62:
                continue
        rest = length(nx, ny, tx, ty)
        if rest < least:
            best, least = a, rest
    return best


@dataclass(frozen=True)
class Reference:
    def plan(self, model, belief, rng):
        return Decision(self.choose(model, belief, rng), value=float("nan"))

    def choose(self, model, belief, rng):
        S, w = belief.states, belief.weights
        if len(S) > 4000:
            S = belief.draw(4000, rng).states
            w = np.full(4000, 1 / 4000)
        x, y = float(w @ S[:, 0]), float(w @ S[:, 1])
        if w[S[:, 4] > 0].sum() > 0.5:
            if w[(S[:, 0] - 1) ** 2 + (S[:, 1] - 6) ** 2 < 1].sum() > 0.93:
                return 10
            return go(model, x, y, 1.0, 6.0)
        cx, cy = S[:, 2], S[:, 3]
        near = w[(S[:, 0] - cx) ** 2 + (S[:, 1] - cy) ** 2 < model.reach**2].sum()
        if near > 0.8:
            return 9
        # the densest place of the cup
        gx, gy = (np.clip(cx, 0, 12) / 0.6).astype(int), (np.clip(cy, 0, 12) / 0.6).astype(int)
        mass = np.bincount(gx * 32 + gy, weights=w)
        k = int(mass.argmax())
        mx, my = (k // 32 + 0.5) * 0.6, (k % 32 + 0.5) * 0.6
        for _ in range(2):
            m = (cx - mx) ** 2 + (cy - my) ** 2 < 0.8**2
            mx, my = float(np.average(cx[m], weights=w[m])), float(np.average(cy[m], weights=w[m]))
        sure = w[(cx - mx) ** 2 + (cy - my) ** 2 < 0.45**2].sum()
        if sure > 0.6:
            d = math.hypot(x - mx, y - my)
            if d < 0.42:
                return 9 if near > 0.6 else 8
            a = go(model, x, y, mx, my)
            nx, ny = x + math.cos(a * math.pi / 4), y + math.sin(a * math.pi / 4)
            if d < 1.3 and math.hypot(nx - mx, ny - my) > d - 0.05:
                # eight directions do not bring it nearer: grasp if likely, else step so that the next fits
                if near > 0.5:
                    return 9
                best, least = 0, 9
                for b in range(8):
                    bx, by = x + math.cos(b * math.pi / 4), y + math.sin(b * math.pi / 4)
                    if not model.free(x, y, bx, by) or not (0.1 < bx < 11.9 and 0.1 < by < 11.9):
                        continue
                    for c in range(8):
                        ex, ey = bx + math.cos(c * math.pi / 4), by + math.sin(c * math.pi / 4)
                        if model.free(bx, by, ex, ey) and math.hypot(ex - mx, ey - my) < least:
                            best, least = b, math.hypot(ex - mx, ey - my)
                return best
            return a
        # a search: what a look tells from here, after one stride, and from good places further away
        spots = [(x, y, None)]
        for a in range(8):
            nx, ny = x + math.cos(a * math.pi / 4), y + math.sin(a * math.pi / 4)
            if model.free(x, y, nx, ny) and 0.15 < nx < 11.85 and 0.15 < ny < 11.85:
                spots.append((nx, ny, a))
        spots += [(px, py, -1) for px, py in [*list(VIEW.values()), (3.0, 4.6), (9.0, 4.6), (3.0, 7.4), (9.0, 7.4), (mx, my)]]
        best, most = spots[0], -1.0
        for px, py, a in spots:
            p = self.seen(model, px, py, cx, cy, w)
            steps = 0 if a is None else max(1.0, length(x, y, px, py))
            if p / (1.3 + steps) > most:
                best, most = (px, py, a), p / (1.3 + steps)
        if best[2] is None:
            return 8
        if best[2] >= 0:
            return best[2]
        return go(model, x, y, best[0], best[1])

    def seen(self, model, x, y, cx, cy, w):
        here = int(room(np.array(x), np.array(y)))
        there = room(cx, cy)
        d2 = (cx - x) ** 2 + (cy - y) ** 2
        p = 0.95 * np.exp(-d2 / 16)
        ok = there == here
        if here == 0:
            dx, dy = np.where(cx < 6, 3.0, 9.0), np.where(cy < 6, 4.0, 8.0)
            ok |= (x - dx) ** 2 + (y - dy) ** 2 < 0.9
        return float(w[ok] @ p[ok]) if ok.any() else 0.0
