"""gate: whether a change made anything slower, as an exit status."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard import home, streams
from steelyard.cli import measuring, output, own_commands
from steelyard.cli.verb import Verb, archive_option, option, output_option, part
from steelyard.errors import UsageError
from steelyard.study import bounds, own_work
from steelyard.study.own_work import Command, OwnWork
from steelyard.text import quoted

if TYPE_CHECKING:
    from steelyard.analysis.gating import Gate

_FORMS = ("text", "markdown", "json", "junit", "bencher")
_USUAL = ("old", "new")
_AGAIN = "-again"
_BUDGET = "5m"
_COARSE = 0.9  # of a claimed difference no more needs to be known than its direction


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOptions:
    sides: tuple[str, ...] = option(
        default=(),
        nargs="*",
        metavar="OLD NEW",
        help="two directories in which the command runs, two programs, or two systems",
    )
    base: str | None = option("--base", metavar="COMMIT", help="compare with this commit, in place of OLD")
    head: str = option(
        "--head", default="HEAD", metavar="COMMIT", help="the commit to be judged (default: HEAD)"
    )
    build: str | None = option(
        "--build", metavar="COMMAND", help="builds each commit in a worktree of its own"
    )
    margin: float | None = option(
        "--margin",
        parse=bounds.margin,
        metavar="PERCENT",
        help="the slowdown that matters, such as 3%% (default: 2%%)",
    )
    budget_ns: int | None = option(
        "--budget",
        parse=bounds.budget_ns,
        metavar="TIME",
        help=f"stop measuring after this time (default: {_BUDGET}); it stops as soon as all is decided",
    )
    self_check: bool = option(
        "--self-check",
        default=False,
        action="store_true",
        help="also compare OLD with itself, and say what that finds",
    )
    lenient: bool = option(
        "--lenient", default=False, action="store_true", help="exit with 0 where too little was measured"
    )
    bisect: bool = option(
        "--bisect",
        default=False,
        action="store_true",
        help="exit as git bisect run wants it: 125 where this commit cannot be judged",
    )
    surroundings: own_commands.CommandOptions = part(own_commands.CommandOptions)
    format: str = option("--format", default="text", choices=_FORMS, help="output format (default: text)")
    output: Path | None = output_option()
    archive: str | None = archive_option()
    command: tuple[str, ...] = ()


def _gate(options: GateOptions) -> int:
    from steelyard.running import discovery
    from steelyard.running.order import Order

    with _sides(options) as asked:
        work = discovery.with_figures(own_work.sending(asked, options.surroundings.files))
        done = measuring.carry_out(
            Order(
                study=own_commands.STUDY,
                study_text=own_work.text_of(work, budget=_BUDGET),
                systems=None,
                only=(),
                budget_ns=options.budget_ns,
                seed=None,
                precision=_COARSE,
                margin=options.margin,
                watch=False,
                archive=output.archive(options.archive),
            )
        )
    from steelyard.analysis import evaluate, gating
    from steelyard.report import gate as forms

    evaluation = evaluate.of(done.experiment, margin=options.margin, machine_facts=False)
    _, *others = [name for name, _ in work.treatments] or work.systems
    decided = gating.decide(evaluation, others[0])
    print(forms.FORMS[options.format](decided))
    for name in others[1:]:
        streams.tell(f"self-check: {forms.heading(gating.decide(evaluation, name))}")
    streams.tell(f"kept as {done.experiment.name}: steelyard report --all")
    if done.is_interrupted:
        return output.INTERRUPTED
    failed = measuring.status_of(evaluation)
    return failed or exit_status(decided, lenient=options.lenient, bisect=options.bisect)


def exit_status(decided: "Gate", *, lenient: bool, bisect: bool) -> int:
    from steelyard.analysis import gating

    if decided.status == gating.OPEN_STATUS:
        return gating.PASSED_STATUS if lenient else gating.SKIP_STATUS if bisect else gating.OPEN_STATUS
    return decided.status


@contextmanager
def _sides(options: GateOptions) -> Iterator[OwnWork]:
    """What is compared, for as long as it is measured. Raises UsageError."""
    if not options.command and not (
        len(options.sides) == 2 and all(os.path.isfile(one) for one in options.sides)
    ):
        raise UsageError("gate needs a command after --: steelyard gate OLD NEW -- ./bench")
    if options.surroundings.place is not None:
        raise UsageError("--in is not for gate: the command runs in each of the two directories")
    shared = replace(own_commands.surrounded(options.surroundings), directory="")
    words = own_work.words_for(options.command, shell=options.surroundings.shell)
    if options.base is not None:
        if options.sides:
            raise UsageError(f"--base replaces OLD and NEW: leave out {quoted(' '.join(options.sides))}")
        with _worktrees(options) as directories:
            yield _treated(shared, _in(directories, words), options)
        return
    if options.build is not None:
        raise UsageError("--build builds commits: name them with --base and --head")
    if len(options.sides) != 2:
        raise UsageError("gate needs OLD and NEW, or --base COMMIT")
    paths = [Path(one).absolute() for one in options.sides]
    by_name = dict(zip(_names([path.name for path in paths]), paths, strict=True))
    here = replace(shared, directory=str(Path.cwd()))
    if all(os.path.isdir(path) for path in paths):
        yield _treated(shared, _in(by_name, words), options)
    elif all(os.path.isfile(path) for path in paths):
        programs = {name: Command((str(path), *words)) for name, path in by_name.items()}
        yield _treated(here, programs, options)
    elif any(os.path.exists(path) for path in paths):
        raise UsageError(
            f"{' and '.join(map(quoted, options.sides))} must be two directories, two programs or two systems"
        )
    else:
        tool = own_commands.tool_of(options.surroundings)
        yield OwnWork(options.sides, replace(here, words=words), tool=tool)


def _in(directories: Mapping[str, Path], words: tuple[str, ...]) -> dict[str, Command]:
    return {name: Command(words, directory=str(path)) for name, path in directories.items()}


def _names(given: list[str]) -> list[str]:
    """The names that tell the two apart, where they can be names."""
    good = len(set(given)) == len(given) and all(own_work.is_name(one) for one in given)
    return given if good else list(_USUAL)


def _treated(shared: Command, commands: Mapping[str, Command], options: GateOptions) -> OwnWork:
    """The two commands; with --self-check the old one again."""
    treatments = list(commands.items())
    if options.self_check:
        name, command = treatments[0]
        treatments.append((f"{name}{_AGAIN}", command))
    tool = own_commands.tool_of(options.surroundings)
    return OwnWork((own_commands.SYSTEM,), shared, tuple(treatments), tool)


@contextmanager
def _worktrees(options: GateOptions) -> Iterator[dict[str, Path]]:
    from steelyard.programs import commits
    from steelyard.systems import scratch

    assert options.base is not None
    place = scratch.make(home.temporary())
    try:
        wanted = {"base": options.base, "head": options.head}
        with commits.checked_out(Path.cwd(), wanted, place.path) as directories:
            for name, directory in directories.items():
                if options.build is not None:
                    streams.tell(f"building {name} ({wanted[name]})")
                    commits.build(own_work.words_of(options.build), directory, name)
            yield directories
    finally:
        place.close()


GATE = Verb(
    "gate",
    "tell by the exit status whether a change made anything slower",
    GateOptions,
    _gate,
    """exit status:
  0   nothing is slower, and for each metric a slowdown of the margin is ruled out
  1   something is slower by more than the margin, or fails on NEW alone
  3   too little was measured to say
examples:
  steelyard gate base/ head/ --margin 3% -- ./bench
  steelyard gate ./old ./new -- numbers.txt
  steelyard gate --base origin/main --build 'make -j2' --format markdown -- ./bench
  git bisect run steelyard gate --base v1.2 --build make --bisect -- ./bench""",
    usage="%(prog)s [options] OLD NEW -- COMMAND [ARGUMENT ...]\n"
    "       %(prog)s [options] --base COMMIT --build COMMAND -- COMMAND [ARGUMENT ...]",
    takes_command=True,
)
