"""A release: what `make dist` makes of the last commit has all that is needed and no more, and runs where
only Python is installed."""

import email
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import places
import pytest
from installed_command import COMMAND
from userland_files import libraries, put

from steelyard.programs import builds
from steelyard.programs.builds import LoadBuild

ROOT = places.ROOT
KNOWN = (ROOT / "workloads" / "list.def").read_text().count("WORKLOAD(")
pytestmark = [pytest.mark.builds, pytest.mark.limit(600)]


def committed(folder: str) -> set[str]:
    words = ["git", "-C", str(ROOT), "ls-tree", "-r", "--name-only", "HEAD", folder]
    return set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


def make_dist(place: Path, *options: str) -> Path:
    for tool in ("wheel", "auditwheel"):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed: pip install '.[dist]'")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    words = [ROOT / "scripts" / "make-dist", place, *options]
    subprocess.run(words, check=True, env=os.environ | {"PATH": path})
    return place


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without the programs for other libcs, which would take five times as long to compile."""
    return make_dist(tmp_path_factory.mktemp("dist"), "-Dmusl=disabled", "-Dwindows=disabled")


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


def version() -> str:
    found = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    assert found
    return found[1]


def test_the_version_stands_in_one_place_and_all_tell_it(dist: Path, wheel: Path) -> None:
    told = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout

    assert told == f"steelyard {version()}\n"
    assert wheel.name.startswith(f"steelyard-{version()}-py3-none-manylinux2014_")
    assert (dist / f"steelyard-{version()}.tar.gz").exists()
    with zipfile.ZipFile(wheel) as file:
        metadata = email.message_from_bytes(file.read(f"steelyard-{version()}.dist-info/METADATA"))
        manual = file.read(f"steelyard-{version()}.data/data/share/man/man1/steelyard.1").decode()
    assert metadata["Version"] == version()
    assert f'"Steelyard {version()}"' in manual


def test_the_changes_of_this_version_or_of_the_next_are_told_first() -> None:
    headings = re.findall(r"^## \[(.+?)\](?: - (.*))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0][0] in ("Unreleased", version())
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", date) for name, date in headings if name != "Unreleased")


def test_the_citation_is_of_this_version_and_of_its_day() -> None:
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    released = re.findall(r"^## \[([\d.]+)\] - (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert cited["version"] == version()
    assert (cited["version"], cited["date-released"]) == released[0]


def test_the_source_distribution_is_the_commit(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as file:
        names = {name.partition("/")[2] for name in file.getnames()}

    assert committed(".") - names == set()


def test_the_wheel_holds_the_package_the_programs_and_the_manual_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("src/") for name in committed("src")} | {"steelyard/watch/figures.def"}
    programs = {name for name in names if name.startswith("steelyard/programs/")} - package
    data = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}

    assert package <= names
    assert {
        "share/man/man1/steelyard.1",
        "share/bash-completion/completions/steelyard.bash",
        "share/zsh/site-functions/_steelyard",
        "share/fish/vendor_completions.d/steelyard.fish",
    } <= data
    assert {name.rpartition("/")[2] for name in programs} >= {"steelyard-load", "steelyard-watch", "list.def"}
    # Of the load program's source what `steelyard build` compiles, and not how it was built here.
    kinds = {Path(name).suffix for name in programs}
    assert kinds <= {".c", ".h", ".def", ".inc", ".exe", ".so", ".json", ""}, kinds
    assert [name for name in names if re.search(r"meson|test_|/tests?/|__pycache__|\.pyc$", name)] == []
    assert not [
        name for name in names - package - programs if ".data/" not in name and ".dist-info/" not in name
    ]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which pip has installed the wheel; what that depends on is this environment's."""
    place = tmp_path_factory.mktemp("installed")
    words = ["pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(place), str(wheel)]
    subprocess.run([sys.executable, "-m", *words], check=True)
    return place


def test_what_is_installed_finds_its_own_programs(installed: Path, tmp_path: Path) -> None:
    begin = "import steelyard.entry; steelyard.entry.entry()"
    surroundings = {"PYTHONPATH": str(installed), "STEELYARD_PROGRAMS": str(tmp_path / "programs")}
    surroundings |= {"XDG_DATA_HOME": str(tmp_path / "data"), "TMPDIR": str(tmp_path)}
    where = (
        "from steelyard.programs import built; print(built.load('glibc'), len(built.catalogue().workloads))"
    )

    def told(script: str, *arguments: str) -> str:
        command = [sys.executable, "-c", script, *arguments]
        answer = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | surroundings, cwd=tmp_path
        )
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    assert told(begin, "--version") == f"steelyard {version()}\n"
    assert told(where) == f"{installed}/steelyard/programs/build/agent/steelyard-load {KNOWN}\n"
    assert "sieve" in told(begin, "list", "workloads")


def test_the_source_that_is_installed_is_what_further_builds_need(installed: Path) -> None:
    place = installed / "steelyard" / "programs"
    folders = ("base", "loadgen", "workloads", "agent")
    wanted = {name for folder in folders for name in committed(folder) if not name.endswith("meson.build")}

    assert {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file()} >= wanted
    assert [file.relative_to(place) for file in builds.sources(LoadBuild(), place)] == [
        file.relative_to(ROOT) for file in builds.sources(LoadBuild(), ROOT)
    ]
    assert os.access(place / "workloads" / "build-code", os.R_OK)


# Where nothing is but Python


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole wheel and all that it depends on, as files: what is installed below needs no network."""
    (wheel,) = make_dist(tmp_path_factory.mktemp("whole")).glob("*.whl")
    place = tmp_path_factory.mktemp("packages")
    words = ["pip", "wheel", "--quiet", "--only-binary", ":all:", "--wheel-dir", str(place), str(wheel)]
    told = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True)
    if told.returncode:
        pytest.skip(f"pip cannot get the dependencies: {told.stderr.strip().splitlines()[-1]}")
    return place


@pytest.fixture(scope="module")
def bare(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root directory with this machine's Python, its libc, a shell, and no compiler."""
    if os.geteuid() != 0:
        pytest.skip("not root: a root directory of one's own needs chroot")
    root = tmp_path_factory.mktemp("bare")
    for name in ("proc", "sys", "dev", "tmp", "root", "packages"):
        (root / name).mkdir()
    standard = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    without = shutil.ignore_patterns("site-packages", "dist-packages", "test", "__pycache__", "config-*")
    shutil.copytree(standard, root / str(standard).lstrip("/"), ignore=without)
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    modules = list((standard / "lib-dynload").glob("*.so"))
    # What every manylinux wheel may take for given; numpy's, scipy's and DuckDB's do.
    given = ("stdc++.so.6", "gcc_s.so.1", "dl.so.2", "pthread.so.0", "rt.so.1", "util.so.1", "m.so.6")
    runtimes = [found for name in given if (found := _library(f"lib{name}"))]
    for file in {python, Path("/bin/sh"), *runtimes}:
        put(file, root)
    for file in {
        one for program in (python, Path("/bin/sh"), *modules, *runtimes) for one in libraries(program)
    }:
        put(file, root)
    pip = Path(importlib.util.find_spec("pip").origin).parent  # type: ignore[union-attr]
    shutil.copytree(pip, root / str(standard).lstrip("/") / "site-packages" / "pip")
    for file in packages.iterdir():
        shutil.copy(file, root / "packages")
    return root


def _library(name: str) -> Path | None:
    told = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = re.search(rf"{re.escape(name)} .*=> (\S+)", told)
    return Path(found[1]) if found else None


def inside(root: Path, script: str) -> subprocess.CompletedProcess[str]:
    """What the script does in that root, with no network and with processes of its own."""
    begin = (
        f"mount -t proc proc {root}/proc && mount --rbind /dev {root}/dev && "
        f"mount --rbind /sys {root}/sys && "
        f'exec chroot {root} /bin/sh -ec "$0"'
    )
    words = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", begin, script]
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        env={"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
    )


@pytest.mark.long
def test_it_is_installed_and_compares_where_there_is_no_compiler(bare: Path) -> None:
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    assert inside(bare, "command -v sh").stdout.strip().endswith("/sh")
    for name in ("gcc", "cc", "clang", "musl-gcc", "make", "ninja", "meson"):
        assert inside(bare, f"command -v {name}").returncode != 0, f"{name} is there"
    done = inside(bare, f"{python} -m pip install --quiet --no-index --find-links /packages steelyard 2>&1")
    assert done.returncode == 0, done.stdout + done.stderr

    command = python.with_name("steelyard")
    options = "--only syscall --only sieve --budget 20s --format json --html /tmp/p.html"
    done = inside(bare, f"{command} compare native native-musl {options}")

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {one["workload"] for one in found["comparisons"]} == {"syscall", "sieve"}
    verdicts = {one["verdict"] for one in found["comparisons"]}
    assert verdicts & {"faster", "slower", "equivalent", "bounded", "unresolved"}
    assert all(one["blocks"] >= 2 for one in found["comparisons"])
    assert (bare / "tmp" / "p.html").stat().st_size > 100_000
    assert inside(bare, f"{command} list workloads").returncode == 0
    refused = inside(bare, f"{command} build")
    assert (refused.returncode, "gcc is not installed" in refused.stderr) == (77, True), refused.stderr
