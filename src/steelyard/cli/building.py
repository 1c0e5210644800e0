"""build: a further build of the load program."""

from dataclasses import dataclass

from steelyard import streams
from steelyard.cli.verb import Verb, option


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    cc: str = option("--cc", default="gcc", metavar="COMPILER", help="gcc, clang or zig (default: gcc)")
    target: str = option(
        "--target",
        default="",
        metavar="TARGET",
        help="with --cc zig, instead of --libc: another processor or system, such as aarch64-linux-musl",
    )
    libc: str = option("--libc", default="glibc", metavar="LIBC", help="glibc or musl (default: glibc)")
    level: str = option(
        "--level",
        default="O2",
        metavar="LEVEL",
        help="optimisation level: O0, O1, O2, O3, Os or Ofast (default: O2)",
    )
    shared: bool = option(
        "--shared",
        default=False,
        action="store_true",
        help="link with the system's shared libraries, and its RPC library if there is one",
    )


def _build(options: BuildOptions) -> int:
    """Compiles a further build of the load program; prints its name."""
    from steelyard.programs import builds

    level = options.level.removeprefix("-")
    build = builds.LoadBuild(options.cc, options.libc, level, options.shared, options.target)
    place = builds.make(build)
    advice = "" if options.target else f"; a system runs it as, for example, native+{build.name}"
    streams.tell(f"{place} is built{advice}")
    print(build.name)
    return 0


BUILD = Verb(
    "build",
    "build the load program with another compiler, libc or optimisation level",
    BuildOptions,
    _build,
    """examples:
  steelyard build --cc clang --libc musl
  steelyard build --level O3
  steelyard build --cc zig --target aarch64-linux-musl       for the system qemu-aarch64
  steelyard compare native native+gcc-glibc-O3 --study nbench""",
)
