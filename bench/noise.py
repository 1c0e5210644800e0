"""Models of what trials scatter by on shared machines, for simulations: log times of two equal systems.

After what was measured on virtual machines (statistics.md): trials scatter by 1 to 10 %, layout adds
steps of 3 %, neighbours come and go, some trials are hit hard, some metrics have two modes, who goes first
may pay.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MODELS = {
    "quiet": "trials scatter by 1 to 10 %, normally",
    "layout": "a fifth of the trials are 3 % slower",
    "drift": "the machine drifts by 1.2 %, and a neighbour comes and goes (3 %)",
    "tails": "6 % of the trials take exponentially longer, 75 % in the mean",
    "vm": "layout, drift and tails together",
    "trials x3": "5 % of the trials take three times as long",
    "blocks x3": "in 15 % of the blocks one system takes three times as long at everything",
    "modes x2.9": "a tenth of the metrics has two modes, 2.88 apart",
    "half modes": "half of the metrics has two modes, 2.88 apart",
    "one mode x7": "one metric has two modes, 7 apart",
    "position x4": "in a fifth of the metrics the first in a block takes four times as long",
    "coarse": "trials scatter by 5 to 50 %",
}


def log_times(
    chance: np.random.Generator, model: str, *, metrics: int, blocks: int, mirrored: bool = True
) -> tuple[Array, NDArray[np.bool_]]:
    """Log times of shape (metrics, blocks, 2), and whether the first system went first in each."""
    shape = (metrics, blocks, 2)
    first = chance.random((metrics, blocks)) < 0.5
    if mirrored:
        first[:, 1::2] = ~first[:, 0 : 2 * (blocks // 2) : 2]
    low, high = (0.05, 0.5) if model == "coarse" else (0.01, 0.1)
    deviation = np.exp(chance.uniform(np.log(low), np.log(high), (metrics, 1, 1)))
    times = deviation * chance.normal(size=shape)
    if model in ("layout", "vm"):
        times += 0.03 * (chance.random(shape) < 0.2)
    if model in ("drift", "vm"):
        drifting = _drift(chance, metrics * blocks * 2).reshape(blocks, metrics, 2).transpose(1, 0, 2)
        in_turn = np.where(first[..., None], [0, 1], [1, 0])
        times += np.take_along_axis(drifting, in_turn, -1)
    if model in ("tails", "vm"):
        times += (chance.random(shape) < 0.06) * chance.exponential(0.75 if model == "tails" else 0.5, shape)
    if model == "trials x3":
        times += np.log(3) * (chance.random(shape) < 0.05)
    if model == "blocks x3":
        bad = chance.random((1, blocks, 1)) < 0.15
        times += np.log(3) * bad * (chance.integers(0, 2, (1, blocks, 1)) == np.arange(2))
    if model in ("modes x2.9", "half modes", "one mode x7"):
        share = {"modes x2.9": 0.1, "half modes": 0.5}.get(model)
        which = chance.random((metrics, 1, 1)) < share if share else np.arange(metrics)[:, None, None] == 0
        times += which * np.log(7 if share is None else 2.88) * (chance.random(shape) < 0.5)
    if model == "position x4":
        leads = np.stack([first, ~first], -1)
        times += np.log(4) * (chance.random((metrics, 1, 1)) < 0.2) * leads
    return times, first


def _drift(chance: np.random.Generator, trials: int) -> Array:
    """A slow wandering of the whole machine, and a neighbour that takes 3 % while it is there."""
    kept = np.exp(-1 / 40)
    steps = chance.normal(0, 0.012 * np.sqrt(1 - kept * kept), trials)
    found = np.empty(trials)
    level, is_there = chance.normal(0, 0.012), chance.random() < 0.25
    flips = chance.random(trials)
    for number in range(trials):
        level = kept * level + steps[number]
        if flips[number] < (1 / 20 if is_there else 1 / 60):
            is_there = not is_there
        found[number] = level + 0.03 * is_there
    return found
