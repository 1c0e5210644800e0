"""What boots are worth: how verdicts over reboots err, and how many boots a difference takes.

    python bench/boots.py scatter EXPERIMENT       how far boots and trials differ, and how boots drift
    python bench/boots.py measure ARCHIVE [--budget 15m]         the same of one kernel under two names here
    python bench/boots.py simulate [--experiments 1000] [--boot 0.8%] [--trial 0.6%] [--drift 0.3%]

Simulated are studies of 8 metrics on two equal systems of one machine, with 3 trials a boot; --boot is the
standard deviation of boots, --trial that of trials within one, --drift that of the machine's random walk from
boot to boot. Figures of `scatter` are medians over metrics and systems. Its drift is the step of that walk:
what the squared difference of two boots of a system gains with each boot between them; its boots hold it too.
Measured is the emulated machine of the tests, which boots in some ten seconds.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import machine
import numpy as np
from scipy import stats

from steelyard.analysis import rows
from steelyard.analysis.observations import Observations
from steelyard.archive import experiments, reading
from steelyard.archive.experiments import StoredExperiment
from steelyard.quantities import parse_share
from steelyard.statistics import boots, judgement, levels
from steelyard.statistics.judgement import Pairs

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))
import kernels  # noqa: E402 -- the tests'
import reboot_machine  # noqa: E402

METRICS, TRIALS, MOST = 8, 3, 32
MEASURED = "syscall funcall sieve fourier page_fault fork_exit pipe_latency thread_create"
MARGIN = math.log1p(0.02)
Array = np.ndarray
LOOKS = [look for look in levels.LOOKS if look <= MOST]


def measure(arguments: argparse.Namespace) -> None:
    print(machine.describe())
    archive, cache = Path(arguments.archive), Path.home() / ".cache" / "steelyard-kernels"
    cache.mkdir(parents=True, exist_ok=True)
    kernel = kernels.downloaded("linux-image-cloud-amd64", cache)
    with tempfile.TemporaryDirectory() as folder:
        box = reboot_machine.make(Path(folder), {"a": kernel, "b": kernel})
        study = box.study(design=f'blocks = 200\nbudget = "{arguments.budget}"', workloads=MEASURED)
        steelyard = Path(sys.executable).with_name("steelyard")
        command = [steelyard, "run", study, "--archive", archive, "--no-watch"]
        with reboot_machine.running(box):
            subprocess.run(command, env=os.environ | box.environment, check=True)
    shown(experiments.find(archive, None))


def scatter(arguments: argparse.Namespace) -> None:
    root = Path(arguments.experiment).parent.parent
    shown(experiments.find(root, Path(arguments.experiment).name))


def shown(experiment: StoredExperiment) -> None:
    with reading.connect(experiment) as tables:
        observations = Observations(experiment, rows.read(tables))
    print(f"{'metric':32} {'trial':>7} {'boot':>7} {'drift':>7}  by system, with that many boots")
    figures = []
    for key in observations.cells_and_metrics():
        for system in observations.boot_systems:
            by_boot: dict[int, list[float]] = defaultdict(list)
            for one in observations.values[key].get(system, {}).values():
                by_boot[one.boot].append(math.log(one.lenses[observations.lens(key[0])]))
            groups = [np.array(by_boot[boot]) for boot in sorted(by_boot)]
            ratio = boots.ratio(groups)
            if ratio is None:
                continue
            trial = math.sqrt(
                sum(float(((one - one.mean()) ** 2).sum()) for one in groups)
                / (sum(map(len, groups)) - len(groups))
            )
            walk = drift([float(one.mean()) for one in groups], len(observations.boot_systems))
            figures.append((trial, trial / math.sqrt(ratio), walk))
            told = " ".join(f"{figure:7.2%}" for figure in figures[-1])
            print(f"{' '.join(key):32} {told}  {system}, {len(groups)}")
    print(f"{'median':32} {' '.join(f'{figure:7.2%}' for figure in np.median(figures, axis=0))}")


def drift(means: list[float], systems: int) -> float:
    """The standard deviation of a step from one boot of the machine to the next; 0 where its square comes out
    negative. The means are those of every so manieth boot."""
    pairs = [
        (later - boot, (means[later] - means[boot]) ** 2)
        for later in range(len(means))
        for boot in range(later)
    ]
    lags, squares = np.array(pairs).T
    slope = float(np.polyfit(lags, squares, 1)[0]) if len(means) > 2 else 0.0
    return math.sqrt(max(0.0, slope / systems))


class World:
    """A machine whose boots, trials and hours differ."""

    def __init__(self, arguments: argparse.Namespace, chance: np.random.Generator) -> None:
        self.boot, self.trial, self.drift = (
            parse_share(text) if text != "0" else 0.0
            for text in (arguments.boot, arguments.trial, arguments.drift)
        )
        self.chance = chance

    def boots(self, count: int) -> Array:
        """Log means of boots, one after the other; a row a metric."""
        walk = self.chance.normal(0, self.drift, (METRICS, count)).cumsum(1)
        return walk + self.chance.normal(0, self.boot, (METRICS, count))

    def trials(self, means: Array, each: int) -> Array:
        return means[..., None] + self.chance.normal(0, self.trial, (*means.shape, each))


def interleaved(world: World, blocks: int) -> tuple[Array, Array]:
    """Unit by unit the means of both systems, in orders and their reverses; and who went first."""
    first = np.repeat(world.chance.random(blocks // 2 + 1) < 0.5, 2)[:blocks]
    first[1::2] = ~first[: 2 * (blocks // 2) : 2][: len(first[1::2])]
    means = world.trials(world.boots(2 * blocks), TRIALS).mean(-1).reshape(METRICS, blocks, 2)
    return np.where(first[None, :, None], means, means[..., ::-1]), first


def judged(pairs: Array, first: Array, units: int) -> judgement.Judged:
    members = [
        Pairs(-one[:units, 0], -one[:units, 1], judgement.both_orders(first[:units].tolist()), 0)
        for one in pairs
    ]
    return judgement.judge(members, [MARGIN] * METRICS)


def false_verdicts(world: World, count: int) -> tuple[float, float]:
    """Experiments of two equal systems with any claim at any look; and metrics of such experiments."""
    experiments_wrong, metrics_wrong = 0, 0
    for _ in range(count):
        pairs, first = interleaved(world, MOST)
        wrong = np.zeros(METRICS, bool)
        for look in LOOKS:
            wrong |= [one.is_claimed for one in judged(pairs, first, look).all]
        experiments_wrong += bool(wrong.any())
        metrics_wrong += int(wrong.sum())
    return experiments_wrong / count, metrics_wrong / count / METRICS


def boots_until(world: World, difference: float, count: int) -> tuple[float, float, float]:
    """Boots of each system until a metric that differs by so much is claimed: median, 90 %, and how often
    not."""
    found = []
    for _ in range(count):
        pairs, first = interleaved(world, MOST)
        pairs[0, :, 1] += math.log1p(difference)
        found.append(next((look for look in LOOKS if judged(pairs, first, look).all[0].is_claimed), math.inf))
    return (
        float(np.median(found)),
        float(np.quantile(found, 0.9, method="higher")),
        float(np.mean(np.isinf(found))),
    )


def one_boot_each(world: World) -> Array:
    """p-values as of a user who measures, reboots, measures: 20 trials in one boot of each, Welch's
    t-test."""
    values = world.trials(world.boots(2), 20)
    return np.array([stats.ttest_ind(one[0], one[1], equal_var=False).pvalue for one in values])


def one_after_the_other(world: World) -> Array:
    """The same with eight boots of the one, then eight of the other, a mean a boot."""
    values = world.trials(world.boots(16), TRIALS).mean(-1)
    return np.array([stats.ttest_ind(one[:8], one[8:], equal_var=False).pvalue for one in values])


def simulate(arguments: argparse.Namespace) -> None:
    world = World(arguments, np.random.default_rng(1))
    print(f"boots {world.boot:.2%}, trials {world.trial:.2%}, drift {world.drift:.2%} a boot")
    any_claim, each = false_verdicts(world, arguments.experiments)
    print(
        f"equal systems, interleaved over up to {MOST} boots of each: {any_claim:.1%} of experiments with a "
        f"false difference, {each:.2%} of metrics"
    )
    practices: dict[str, Callable[[World], Array]] = {
        "one boot of each, 20 trials in it": one_boot_each,
        "8 boots of one, then 8 of the other": one_after_the_other,
    }
    for name, practice in practices.items():
        p = np.array([practice(world) for _ in range(arguments.experiments)])
        print(f"equal systems, {name}: {(p < 0.05).mean():.1%} of metrics with a false difference")
    for difference in map(parse_share, arguments.differences):
        median, most, never = boots_until(world, difference, max(50, arguments.experiments // 5))
        print(
            f"a difference of {difference:.0%} is claimed after {median:g} boots of each (median), {most:g} "
            f"(90 %); not by {MOST}: {never:.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("scatter")
    verb.add_argument("experiment", help="its directory")
    verb.set_defaults(run=scatter)
    verb = verbs.add_parser("measure")
    verb.add_argument("archive", help="the directory to keep it in")
    verb.add_argument("--budget", default="15m")
    verb.set_defaults(run=measure)
    verb = verbs.add_parser("simulate")
    verb.add_argument("--experiments", type=int, default=1000)
    verb.add_argument("--boot", default="0.8%")
    verb.add_argument("--trial", default="0.6%")
    verb.add_argument("--drift", default="0.3%")
    verb.add_argument("--differences", nargs="+", default=["2%", "5%"])
    verb.set_defaults(run=simulate)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
