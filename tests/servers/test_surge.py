"""SURGE: the model's distributions against the published ones, and users that load a real server."""

import hashlib
import itertools
import json
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import c_programs
import loads
import numpy as np
import places
import pytest
import server_trials
from http_servers import served
from installed_command import Run
from loads import Loaded
from patience import patience
from scipy import stats

from steelyard.programs import built
from steelyard.servers import description

pytestmark = pytest.mark.program

ROOT = places.ROOT
DRAWS = 20_000
BASE, EMBEDDED, LONER = range(3)
DIGEST = (
    "2626e575f6cda200d6430f4b7be23692f1d1cb29dd94c067389ea16023bdc20f"  # of what is drawn without any word
)

Floats = np.ndarray[Any, np.dtype[np.float64]]


@cache
def model(
    *,
    files: int = 2000,
    top: int = 0,
    tail_permyriad: int = 0,
    size_most: int = 50_000_000,
    content_seed: int = 1,
    off_permille: int = 1000,
    pauses_within: int = 0,
    session: int = 8,
    program: Path | None = None,
    emulator: str = "",
) -> dict[str, Any]:
    """The file set, the references and draws of the pauses; without a `top`, it is the number of files."""
    shape = (files, top or files, tail_permyriad, size_most, content_seed)
    numbers = (*shape, off_permille, pauses_within, session, 1, DRAWS)
    program = program or c_programs.program("tests/servers/surge_model")
    command = [*([emulator] if emulator else []), str(program), *map(str, numbers)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=patience(120))
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def fits(values: Any, distribution: Callable[[Floats], Floats]) -> bool:
    """Whether Kolmogorov and Smirnov's test, at 1 %, finds no difference. The seed is fixed."""
    return bool(stats.kstest(np.asarray(values, dtype=float), distribution).pvalue > 0.01)


def farthest(values: Any, distribution: Callable[[Floats], Floats]) -> float:
    """The greatest difference between the two distribution functions, of whole numbers."""
    counts = Counter(values)
    points = np.array(sorted(counts), dtype=float)
    below = np.cumsum([counts[int(one)] for one in points]) / len(values)
    return float(np.max(np.abs(below - distribution(points))))


def sizes_of_model(x: Floats, *, share: float | None, most: float) -> Floats:
    """Lognormal up to 133,000 bytes, Pareto from there on up to the cap."""
    body = stats.lognorm(1.318, scale=np.exp(9.357))
    tail = body.sf(133_000) if share is None else share
    below = body.cdf(np.minimum(x, 133_000)) * (1 - tail) / body.cdf(133_000)
    above = (1 - (133_000 / np.maximum(x, 133_000)) ** 1.1) / (1 - (133_000 / most) ** 1.1)
    return np.asarray(below + tail * above)


@pytest.mark.parametrize("share", [None, 0.07])
@pytest.mark.parametrize("most", [50_000_000, 1_000_000])
def test_file_sizes_are_lognormal_with_a_pareto_tail(share: float | None, most: int) -> None:
    sizes = model(files=20_000, size_most=most, tail_permyriad=round((share or 0) * 10_000))["sizes"]

    assert max(sizes) <= most
    assert fits(sizes, partial(sizes_of_model, share=share, most=most))
    assert not fits(sizes, partial(sizes_of_model, share=(share or 0) + 0.05, most=most))


@pytest.mark.parametrize(("files", "top"), [(2000, 2000), (300, 3000), (50, 50)])
def test_every_file_is_asked_for_as_often_as_its_rank_demands(files: int, top: int) -> None:
    found = model(files=files, top=top)
    counts = Counter(found["reference"])

    assert [counts[file] for file in range(found["files"])] == [
        found["top"] // (file + 1) for file in range(found["files"])
    ]


def test_one_hundred_files_have_the_482_references_of_the_publications_tool() -> None:
    assert model(files=100)["sequence_files"] == 482


def test_large_files_are_asked_for_as_the_tail_of_request_sizes_demands() -> None:
    """P(X > x) = 1000 / x. Where few files make many requests, at 1 to 2 KB, only their number limits it."""
    found = model(files=2000)
    requested = np.sort(np.array(found["sizes"])[found["reference"]])

    for least, allowed in ((5_000, 0.001), (1_000, 0.08)):
        points = np.unique(requested[requested > least])
        above = 1 - np.searchsorted(requested, points, side="right") / len(requested)
        assert np.max(np.abs(above - 1000 / points)) < allowed


def test_files_are_bases_embedded_and_loners_as_published() -> None:
    counts = Counter(model(files=2000)["classes"])

    assert [counts[one] for one in (BASE, EMBEDDED, LONER)] == [600, 760, 640]


def objects(found: dict[str, Any]) -> Iterator[list[int]]:
    for begin, end in itertools.pairwise(found["object"]):
        yield found["reference"][begin:end]


def test_an_object_is_a_base_file_with_embedded_ones_or_a_loner() -> None:
    found = model(files=2000)
    classes = found["classes"]
    embedded = []

    for first, *others in objects(found):
        assert all(classes[file] == EMBEDDED for file in others)
        if classes[first] == BASE:
            embedded.append(len(others))
        else:
            assert (classes[first], others) == (LONER, [])
    # Pareto, the fraction cut off; some are changed by one, so that no embedded reference is left over.
    assert min(embedded) == 1
    assert farthest(embedded, lambda x: 1 - (x + 1) ** -2.43) < 0.02


@pytest.mark.parametrize(("files", "top"), [(2000, 2000), (10_000, 20_000), (300, 3000)])
def test_references_come_back_at_the_published_distances(files: int, top: int) -> None:
    """How many files were asked for since the last time, this one too. Counts are exact, so these are not."""
    found = model(files=files, top=top)
    stack: list[int] = []
    distances: list[int] = []
    for file in found["reference"]:
        if file in stack:
            at = stack.index(file)
            distances.append(at + 1)
            del stack[at]
        stack.insert(0, file)

    assert farthest(distances, lambda x: stats.lognorm(0.8, scale=np.exp(1.5)).cdf(x + 0.5)) < 0.06


# Draws of what users do that are not as usual, each kind by the seed that the model's program has for it.


def test_pauses_between_objects_are_pareto() -> None:
    assert fits(model()["inactive_off_ns"], stats.pareto(1.5, scale=1e9).cdf)
    assert fits(model(off_permille=50)["inactive_off_ns"], stats.pareto(1.5, scale=5e7).cdf)


def test_the_first_pause_is_what_is_left_of_one_at_any_moment() -> None:
    def left(x: Floats) -> Floats:
        """The integral of P(OFF > x) over the mean, 3 s."""
        x = x / 1e9
        return np.where(x < 1, x / 3, 1 - 2 / 3 * np.maximum(x, 1) ** -0.5)

    assert fits(model()["first_off_ns"], left)


def test_pauses_within_an_object_are_weibull_up_to_a_second() -> None:
    whole = stats.weibull_min(0.382, scale=1.46)
    found = model(pauses_within=1)["active_off_ns"]

    assert max(found) <= 1e9
    assert fits(found, lambda x: whole.cdf(x / 1e9) / whole.cdf(1))
    assert set(model()["active_off_ns"]) == {0}


def test_sessions_have_the_mean_that_is_asked_for() -> None:
    assert farthest(model()["session_objects"], stats.geom(1 / 8).cdf) < 0.01
    assert farthest(model(session=3)["session_objects"], stats.geom(1 / 3).cdf) < 0.01
    assert set(model(session=1)["session_objects"]) == {1}


def test_the_digest_is_of_all_that_makes_two_loads_the_same() -> None:
    found = model()
    said = struct.pack("<QQ", found["content_seed"], found["files"])
    for size, kind in zip(found["sizes"], found["classes"], strict=True):
        said += struct.pack("<QQ", size, kind)
    said += struct.pack("<Q", found["sequence_objects"])
    said += struct.pack(f"<{len(found['object'])}Q", *found["object"])
    said += struct.pack(f"<{len(found['reference'])}Q", *found["reference"])

    assert found["digest"] == hashlib.sha256(said).hexdigest() == DIGEST
    assert model(content_seed=2)["digest"] != DIGEST


def sources() -> list[str]:
    folders = ("base", "base/posix", "loadgen", "loadgen/surge")
    shared = [str(file) for folder in folders for file in (ROOT / folder).glob("*.c")]
    return [*shared, str(ROOT / "tests" / "servers" / "surge_model.c")]


@pytest.mark.builds
@pytest.mark.limit(900)  # zig compiles its libc once
@pytest.mark.usefixtures("keeping_compilers")
@pytest.mark.parametrize(
    ("compiler", "emulator"),
    [
        (("clang", "-O3", "-march=native"), ""),
        (("musl-gcc", "-O1"), ""),
        pytest.param(
            (sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-O2"),
            "qemu-aarch64-static",
            marks=pytest.mark.long,
        ),
    ],
    ids=["clang", "musl", "aarch64"],
)
def test_other_compilers_libcs_and_processors_draw_the_same(
    compiler: tuple[str, ...],
    emulator: str,
    tmp_path: Path,
) -> None:
    if "ziglang" in compiler and find_spec("ziglang") is None:
        pytest.skip("zig is not installed (pip install ziglang)")
    for needed in (compiler[0], emulator):
        if needed and not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    made = tmp_path / "model"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-static", "-o", str(made)]
    subprocess.run([*compiler, *flags, *sources(), "-lm", "-lpthread"], check=True)
    here, there = model(), model(program=made, emulator=emulator)

    assert there["digest"] == DIGEST
    for times in ("inactive_off_ns", "first_off_ns", "session_objects"):
        assert there[times] == here[times]


def loaded(port: int, content: Path | None, *settings: str, off_permille: int = 30) -> Loaded:
    """A load by 20 users that ask for a hundred small files, which are written there."""
    words = [
        "user_equivalents=20",
        "files=100",
        "size_most=200000",
        "session=4",
        "timeout_ms=5000",
        f"off_permille={off_permille}",
        *([f"content={content}"] if content else []),
        *settings,
    ]
    return loads.loaded(port, *words, warmup_s=0.2)


@pytest.mark.parametrize(
    "settings",
    [
        ("connection=0", "parallel=2"),
        ("connection=0", "parallel=4", "threads=2"),
        ("connection=2", "parallel=2", "pauses_within=1"),
        ("connection=1", "parallel=2", "session=1"),
    ],
)
def test_users_ask_for_objects_and_every_byte_is_right(settings: tuple[str, ...], tmp_path: Path) -> None:
    with served(tmp_path) as port:
        found = loaded(port, tmp_path, *settings)

    assert found.status == "ok", found.reason
    assert (found.failures, found.objects_failed, found.objects_lost) == ({}, 0, 0)
    assert found.verified == found.answers > 20
    assert 10 < found.objects < found.answers
    assert found.content_sha256 == model(files=100, size_most=200_000)["digest"]
    # What began in the window: each file's time is kept, and so is each object's, but for those of the 20
    # users that were under way when the window began.
    assert sum(found.latency.values()) == found.started
    assert abs(sum(found.object_latency.values()) - found.objects) <= 20


def test_pauses_are_scaled_and_a_user_waits_before_it_begins(tmp_path: Path) -> None:
    with served(tmp_path) as port:
        found = loaded(port, tmp_path, off_permille=1000)

    assert found.figures["objects_offered"] == pytest.approx(3e9 / 20, abs=1)
    assert 0 < sum(found.object_latency.values()) < 20


@pytest.mark.parametrize("kind", ["body", "length", "status 4xx"])
def test_files_that_are_not_as_they_should_be_are_failures_of_their_kind(kind: str, tmp_path: Path) -> None:
    with served(tmp_path) as port:
        loaded(port, tmp_path)  # the first writes them
        for file in (tmp_path / "surge").glob("0000*"):
            if kind == "body":
                file.write_bytes(file.read_bytes()[:-1] + b"!")
            elif kind == "length":
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()
        found = loaded(port, None)

    assert found.status == "failed"  # none was answered
    assert found.failures[kind] > 5
    assert found.failures.total() == found.failures[kind]
    assert found.objects_failed > 5


def test_another_file_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "surge").mkdir()
    (tmp_path / "surge" / "digest").write_text("0" * 64)
    with served(tmp_path) as port:
        found = loaded(port, None)

    assert found.status == "failed"
    assert "serves another file set" in (found.reason or "")


def test_a_server_without_the_files_is_a_sentence(tmp_path: Path) -> None:
    with served(tmp_path) as port:
        found = loaded(port, None)

    assert found.status == "failed"
    assert "status 404" in (found.reason or "")


@pytest.mark.parametrize(
    "words",
    [
        ("--user-equivalents", "5"),
        ("--content", "/tmp"),
        ("--model", "surge", "--clients", "5"),
        ("--model", "surge", "--rate", "5"),
        ("--model", "surge", "--user-equivalents", "0"),
        ("--model", "surge", "--content", "/nowhere"),
        ("--model", "surge", "--off-scale", "nan"),
        ("--model", "surge", "--files", "3"),
        ("--model", "surge", "--size-most", "1"),
        ("--model", "surge", "--parallel", "17"),
    ],
)
def test_a_wrong_option_is_a_sentence_that_names_it(steelyard: Run, words: tuple[str, ...]) -> None:
    answer = steelyard("load", "http://127.0.0.1:1/", *words)

    assert answer.returncode == 2
    assert words[-2] in answer.stderr
    assert len(answer.stderr) < 400


def test_the_verb_says_what_users_saw(steelyard: Run, tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.mkdir()
    with served(content) as port:
        words = ["load", f"http://127.0.0.1:{port}/", "--model", "surge", "--user-equivalents", "2,8"]
        words += ["--files", "100", "--size-most", "200000", "--off-scale", "0.05"]
        words += ["--content", str(content), "--for", "4s", "--trials", "2"]
        text = steelyard(*words)
        found = json.loads(steelyard(*words, "--format", "json").stdout)["server_loads"]

    assert "8 users" in text.stdout
    assert found[1]["objects"]["rate"]["value"] > found[0]["objects"]["rate"]["value"] > 0
    assert found[0]["objects"]["content_sha256"] == model(files=100, size_most=200_000)["digest"]
    assert found[0]["objects"]["content_sha256"] in "".join(text.stdout.split())


@pytest.mark.parametrize("build", ["glibc", "musl"])
@pytest.mark.parametrize("server", ["nginx", "apache-event", "apache-prefork"])
def test_real_servers_are_visited_by_users(server: str, build: str, open_directory: Path) -> None:
    connection = 2 if server == "apache-prefork" else 0
    words = ("user_equivalents=50", "off_permille=20", "files=100", f"connection={connection}")
    with server_trials.Agent(open_directory, build) as agent:
        found = server_trials.figures(
            agent.perform(server_trials.described(server), "web_users", *words, "operations=300", "batches=2")
        )

        assert found["latency_50"] <= found["latency_90"] <= found["latency_99"] <= found["latency_99_9"]
        # 50 users, a file set of which 100 files are asked for 482 times in 290 objects, a pause of 60 ms.
        assert found["offered"] == pytest.approx(0.06 / 50 * 290 / 482 * 1e9, abs=1)
        # Of 600 files, at most 50 are under way when a batch begins or ends.
        assert abs(found["connections"] - 1000) <= 84 if connection else 0 < found["connections"] < 1000
        assert found["longest_wait"] > 0
    assert list(open_directory.iterdir()) == []


RECORDING = """
import functools, http.server, sys


class Recording(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # it would hold each file back for 40 ms, until its head is acknowledged

    def log_message(self, *_):
        pass

    def do_GET(self):
        with open(sys.argv[3], "a") as record:
            print(self.path, file=record)
        super().do_GET()


handler = functools.partial(Recording, directory=sys.argv[2])
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()
"""


def test_the_workload_asks_for_all_files_of_objects_in_the_sequence_s_order(tmp_path: Path) -> None:
    record = tmp_path / "record"
    (tmp_path / "server.py").write_text(RECORDING)
    words = [sys.executable, str(tmp_path / "server.py"), "{port}", "{directory}/content", str(record)]
    server = description.Server(
        "recording", "x", tuple(words), directories=("content",), ready="http /page", user=""
    )
    text = "".join(c if c.isalnum() else f"%{ord(c):02x}" for c in server.lines())
    asked_for = ["user_equivalents=1", "off_permille=1", "operations=400", "batches=1", "warmup_ns=0"]
    answer = subprocess.run(
        [built.load("glibc"), "run", "web_users", f"server={text}", *asked_for],
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    sequence = model(files=500, size_most=1_000_000)["reference"]
    paths = [line for line in record.read_text().split() if line != "/page"]

    assert '"status":"ok"' in answer.stdout, answer.stdout
    assert len(paths) >= 600  # the first 200 warm up
    # The trial ends in the middle: what was asked for last may not have been answered.
    assert paths == [f"/surge/{file:06}" for file in itertools.islice(itertools.cycle(sequence), len(paths))]
