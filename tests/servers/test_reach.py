"""Who can reach a server that a trial starts, and what it can make root do: nobody, and nothing."""

import glob
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import server_trials
from http_servers import served
from installed_command import Run
from patience import patience
from server_trials import Agent, false, working

from steelyard.programs import built

pytestmark = [pytest.mark.program, pytest.mark.root]

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
POSTGRES = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--")
# Root of a container, say, who may make no namespaces: there a server's port is its machine's.
CONFINED = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", "--")
WORKLOADS = {
    "apache-event": ("apache2", "web_requests"),
    "apache-prefork": ("apache2", "web_requests"),
    "mariadb": ("mariadbd", "database_select"),
    "nginx": ("nginx", "web_requests"),
    "postfix": ("master", "mail_messages"),
    "postgresql": ("postgres", "database_select"),
    "smtp-sink": ("smtp-sink", "mail_messages"),
}
ENDLESS = ("batches=1", "operations=1000000000", "warmup_ns=0", "limit_ms=170000")

# What another user tries, with what root has found: prints what succeeded.
ATTACK = """
import json, os, socket, sys
found = json.load(sys.stdin)
for port in found["ports"]:
    with socket.socket() as one:
        one.settimeout(5)
        if one.connect_ex(("127.0.0.1", port)) == 0:
            print("connected to port", port)
for path in found["paths"]:
    try:
        os.listdir(path) if os.path.isdir(path) else os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        print("read", path)
    except OSError:
        pass
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(path)
            print("connected to", path)
        except OSError:
            pass
for process in found["processes"]:
    for name in ("environ", "fd", "cwd", "root"):
        try:
            path = f"/proc/{process}/{name}"
            os.listdir(path) if name != "environ" else open(path).read()
            print("read", name, "of", process)
        except OSError:
            pass
    try:
        os.kill(process, 0)
        print("may signal", process)
    except OSError:
        pass
"""


def listening(process: int) -> dict[int, str]:
    """The TCP ports that are listened at in that process's network, with the sockets' numbers."""
    lines = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{process}/net/{name}").read_text().splitlines()[1:]
    ]
    return {int(line[1].rpartition(":")[2], 16): line[9] for line in lines if line[3] == "0A"}


def sockets(processes: list[int]) -> set[str]:
    """The numbers of all sockets that they have open; one that has ended has none."""
    found = set()
    for process in processes:
        with suppress(OSError):
            for file in Path(f"/proc/{process}/fd").iterdir():
                with suppress(OSError):
                    found |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(file)))
    return found


def is_serving(process: int) -> bool:
    """Whether it listens, in whichever network it is."""
    try:
        return bool(sockets([process]) & set(listening(process).values()))
    except OSError:
        return False


def served_ports(processes: list[int]) -> list[int]:
    """At which these processes listen, in the network of one that does."""
    (serving_one, *_) = filter(is_serving, processes)
    ours = sockets(processes)
    return [port for port, one in listening(serving_one).items() if one in ours]


def begun(agent: Agent, server: str, directory: Path, *settings: str) -> list[int]:
    """The processes of the server under load, of which one listens."""
    name, workload = WORKLOADS[server]
    more = ("rows=10",) if workload.startswith("database") else ()
    agent.begin(server_trials.described(server), workload, "clients=2", *more, *settings)
    for _ in range(600):
        processes = list(working(directory))
        if any(is_serving(one) for one in processes):
            time.sleep(0.3)
            return [one for one in working(directory)]
        assert agent.process.poll() is None
        time.sleep(0.1)
    raise AssertionError(f"no {name} listens in {directory}")


def end(agent: Agent) -> None:
    agent.process.send_signal(signal.SIGKILL)
    agent.process.communicate()


def attacked(found: dict[str, list]) -> list[str]:
    """What another user achieves each time: another test's server may for a while listen at a port of the
    machine that has the same number."""
    deadline = time.monotonic() + patience(20)
    while (achieved := attacked_once(found)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return achieved


def attacked_once(found: dict[str, list]) -> list[str]:
    answer = subprocess.run(
        [*NOBODY, sys.executable, "-c", ATTACK],
        input=json.dumps(found),
        capture_output=True,
        text=True,
        timeout=patience(60),
        check=True,
        cwd="/",
    )
    return answer.stdout.splitlines()


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="steelyard-test-") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def places() -> Iterator[Callable[[str], Path]]:
    """A directory for each server. What a server prepares once, as a database, stays there for all tests."""
    with tempfile.TemporaryDirectory(prefix="steelyard-test-") as made:
        Path(made).chmod(0o711)

        def place_of(server: str) -> Path:
            own = Path(made) / server
            own.mkdir(mode=0o711, exist_ok=True)
            return own

        yield place_of


def gone(directory: Path) -> bool:
    for _ in range(400):
        if not working(directory):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("server", WORKLOADS)
def test_another_user_reaches_nothing_of_a_server_and_nothing_of_it_is_root_s_or_shared(
    server: str, places: Callable[[str], Path]
) -> None:
    place = places(server)
    agent = Agent(place)
    try:
        processes = begun(agent, server, place, *ENDLESS)
        lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
        abstract = {line[6] for line in lines if len(line) > 7 and line[7].startswith("@")}
        # Another test's load program may be there, for another user to execute.
        paths = [str(one) for one in place.rglob("*") if one != place / "program"]
        found = {
            "ports": served_ports(processes),
            "paths": [*paths, str(place)],
            "processes": processes,
        }
        ours = sockets(processes)
        assert ours
        assert not ours & set(listening(os.getpid()).values())  # at no port of the machine
        assert not ours & abstract  # by no abstract name
        assert found["ports"]
        assert len(paths) > 3
        assert attacked(found) == []
        users = settled_users(processes, {"master"} if server == "postfix" else set())
    finally:
        end(agent)
    assert gone(place)
    assert users
    assert 65534 not in {user for _, user in users}


def settled_users(processes: list[int], root_s: set[str]) -> set[tuple[str, int]]:
    """The names and users of these processes, of which none but those named may be root's; one that takes
    another user's rights by itself may just have begun."""
    deadline = time.monotonic() + patience(10)
    while True:
        users = {user for one in processes if (user := name_and_user(one))}
        if {name for name, user in users if user == 0} <= root_s:
            return users
        assert time.monotonic() < deadline, users
        time.sleep(0.05)


def name_and_user(process: int) -> tuple[str, int] | None:
    """Of a process of the server; None if it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    return fields["Name"], int(fields["Uid"].split()[1])


def hba(answer: bytes) -> str:
    """What a PostgreSQL server says to one who would log in: a kind of request, or that he is in."""
    if answer[:1] == b"R":
        return "in" if answer[5:9] == bytes(4) else "password"
    return "refused" if answer[:1] == b"E" else repr(answer)


def ask_postgresql(port: int, role: str) -> str:
    """What it says to one who would log in by that role, and has no password."""
    words = b"user\0" + role.encode() + b"\0database\0postgres\0\0"
    with socket.create_connection(("127.0.0.1", port), timeout=patience(60)) as one:
        one.sendall(struct.pack(">II", len(words) + 8, 196608) + words)
        return hba(one.recv(1024))


def test_where_no_network_of_its_own_can_be_made_postgresql_demands_a_password(
    places: Callable[[str], Path],
) -> None:
    place = places("postgresql")
    agent = Agent(place, under=CONFINED)
    try:
        processes = begun(agent, "postgresql", place, *ENDLESS)
        port, *_ = served_ports(processes)
        said = {role: ask_postgresql(port, role) for role in ("steelyard", "superuser", "postgres", "root")}
    finally:
        end(agent)
    assert said == dict.fromkeys(said, "refused") | {"steelyard": "password"}
    assert gone(place)


def ask_mariadb(port: int, user: str) -> bytes:
    """What it says to one who would log in as that user, with the empty password."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience(60)) as one:
        one.recv(1024)
        words = struct.pack("<IIB23x", 1 << 9 | 1 << 15 | 1 << 19, 1 << 24, 33)
        words += user.encode() + b"\0\0mysql_native_password\0"
        one.sendall(struct.pack("<I", len(words))[:3] + b"\1" + words)
        said = one.recv(1024)
        if said[4] == 0xFE:  # another method, to be tried with the empty password too
            one.sendall(b"\0\0\0\3")
            said = one.recv(1024)
        return said


def test_where_no_network_of_its_own_can_be_made_mariadb_demands_a_password(
    places: Callable[[str], Path],
) -> None:
    place = places("mariadb")
    agent = Agent(place, under=CONFINED)
    try:
        processes = begun(agent, "mariadb", place, *ENDLESS)
        port, *_ = served_ports(processes)
        said = {user: ask_mariadb(port, user) for user in ("steelyard", "root", "mysql", "")}
    finally:
        end(agent)
    assert {user: words[4] for user, words in said.items()} == dict.fromkeys(said, 0xFF), said
    assert gone(place)


def test_the_role_of_the_load_is_no_superuser(places: Callable[[str], Path]) -> None:
    """By PostgreSQL's own catalogue: the one that trials are given a copy of."""
    place = places("postgresql")
    with Agent(place) as agent:
        server_trials.figures(
            agent.perform(
                server_trials.described("postgresql"), "database_insert", "clients=1", *server_trials.SHORT
            )
        )
    (data,) = place.glob("server-*/kept/data")
    question = (
        "SELECT rolname, rolsuper OR rolcreaterole OR rolreplication OR "
        "pg_has_role(oid, 'pg_execute_server_program', 'member') AS may FROM pg_authid WHERE rolcanlogin\n"
    )
    program = max(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda path: int(path.split("/")[4]))
    answer = subprocess.run(
        [*POSTGRES, program, "--single", "-D", str(data), "postgres"],
        input=question,
        capture_output=True,
        text=True,
        cwd="/",
        check=True,
    )
    roles = re.findall(r'rolname = "(\w+)".*\n.*may = "(\w)"', answer.stdout)
    assert dict(roles)["steelyard"] == "f"


def test_a_database_that_takes_the_clients_for_a_superuser_is_refused(place: Path) -> None:
    def said(kind: bytes, contents: bytes) -> bytes:
        return kind + struct.pack(">I", len(contents) + 4) + contents

    words = said(b"R", bytes(4)) + said(b"S", b"is_superuser\0on\0") + said(b"Z", b"I")
    reason = server_trials.failure(place, false(b"", words, speaks="postgresql"), "database_select")
    assert "PostgreSQL lets the clients in as a superuser" in reason


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([(11, b"r=other,s=QUJD,i=4096")], "is not SCRAM-SHA-256's"),
        ([(10, b"SCRAM-SHA-256\0\0"), (11, b"r=other,s=QUJD,i=4096")], "is not SCRAM-SHA-256's"),
        ([(10, b"SCRAM-SHA-256\0\0"), (11, b"r=")], "is not SCRAM-SHA-256's"),
        ([(10, b"SCRAM-SHA-256\0\0"), (12, b"v=AAAA")], "the server does not know the password"),
    ],
)
def test_a_server_that_cannot_prove_its_password_is_found_out(
    words: list[tuple[int, bytes]], reason: str, place: Path
) -> None:
    spoken = [b"R" + struct.pack(">II", len(contents) + 8, kind) + contents for kind, contents in words]
    assert reason in server_trials.failure(place, false(b"", *spoken, speaks="postgresql"), "database_select")


# ---- What root does in directories of others ----


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A directory that only root may write to, with a file that only root may read."""
    made = tmp_path / "victim"
    made.mkdir()
    (made / "file").write_text("secret\n")
    (made / "file").chmod(0o600)
    return made


def untouched(victim: Path) -> bool:
    file = victim / "file"
    return (
        [one.name for one in victim.iterdir()] == ["file"]
        and file.read_text() == "secret\n"
        and (file.stat().st_uid, victim.stat().st_uid) == (0, 0)
        and stat.S_IMODE(file.stat().st_mode) == 0o600
    )


def script(text: str, *more: str) -> str:
    """The description of a server that is this script, with the rights of nobody."""
    lines = ["name mine", "user nobody", "ready accepts", *more]
    words = "\n\t".join(["start", "/bin/sh", "-c", text, "sh", "{directory}", "{kept}"])
    return "\n".join([*lines, words])


PLANTED = ["words", "mine.conf", "below/file", "content/page", "error.log"]


@pytest.mark.parametrize("name", PLANTED)
def test_a_link_that_a_server_plants_is_not_followed(name: str, victim: Path, place: Path) -> None:
    """It says that its port is taken, so that everything is written once more."""
    text = (
        f"rm -rf $1/{name}; mkdir -p $(dirname $1/{name}); ln -s {victim}/file $1/{name}; "
        "rm -rf $1/new; ln -s " + str(victim) + "/made $1/new; echo Address already in use >&2; exit 1"
    )
    server = script(
        text,
        "directory content",
        "file mine.conf",
        "\tours",
        "file below/file",
        "\tours",
        "file new",
        "\tours",
    )
    reason = server_trials.failure(place, server, "web_requests")
    assert "Address already in use" in reason
    assert untouched(victim)


def test_a_directory_that_a_server_replaces_by_a_link_is_not_entered(victim: Path, place: Path) -> None:
    text = f"rm -rf $1/below; ln -s {victim} $1/below; echo Address already in use >&2; exit 1"
    server = script(text, "file below/file", "\tours")
    assert server_trials.failure(place, server, "web_requests")
    assert untouched(victim)


def test_a_log_that_is_a_link_is_not_read(victim: Path, place: Path) -> None:
    text = f"ln -s {victim}/file $1/error.log; echo no >&2; exit 1"
    reason = server_trials.failure(place, script(text, "log {directory}/error.log"), "web_requests")
    assert "secret" not in reason
    assert reason.endswith("it said: no")


def test_a_log_that_is_a_pipe_is_not_waited_for(place: Path) -> None:
    text = "mkfifo $1/error.log; echo no >&2; exit 1"
    reason = server_trials.failure(place, script(text, "log {directory}/error.log"), "web_requests")
    assert reason.endswith("it said: no")


def test_the_mark_of_what_is_prepared_is_made_through_no_link(victim: Path, place: Path) -> None:
    """Where the server's user prepares, root writes nothing."""
    planting = f"ln -s {victim}/made $1/whole; ln -s {victim}/made $1/words"
    prepare = "\n\t".join(["prepare", "/bin/sh", "-c", planting, "sh", "{kept}"])
    server_trials.failure(place, script("exit 1", prepare), "web_requests")
    server_trials.failure(place, script("exit 1", prepare), "web_requests")
    assert untouched(victim)


def name_of_kept(server: str) -> str:
    total = 14695981039346656037
    for byte in server.encode():
        total = (total ^ byte) * 1099511628211 % 2**64
    return f"server-{total:016x}"


@pytest.mark.parametrize("kind", ["directory", "link"])
def test_what_another_user_has_put_in_the_place_of_ours_is_not_used(
    kind: str, victim: Path, place: Path
) -> None:
    """An agent on another host works below /tmp, where everybody may write."""
    place.chmod(0o1777)
    prepare = "\n\t".join(["prepare", "/bin/sh", "-c", "exit 0"])
    server = script("exit 1", prepare)
    planted = place / name_of_kept(server)
    if kind == "directory":
        planted.mkdir()
        os.chown(planted, 65534, 65534)
    else:
        planted.symlink_to(victim)
        os.chown(planted, 65534, 65534, follow_symlinks=False)
    with Agent(place) as agent:
        outcome = agent.perform(server, "web_requests")[-1]
    assert outcome["status"] == "failed"
    assert "ended with status 1" not in outcome["reason"]  # it was not started
    assert untouched(victim)


def test_an_agent_without_a_directory_makes_one_of_its_own(place: Path) -> None:
    place.chmod(0o1777)
    prepare = "\n\t".join(["prepare", "/bin/sh", "-c", "exit 0"])
    server = server_trials.written(script("exit 1", prepare))
    agent = subprocess.Popen(
        [built.load("glibc"), "agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(place)},
    )
    assert agent.stdin
    assert agent.stdout
    agent.stdin.write(f"trial 1 web_requests server={server}\n")
    agent.stdin.flush()
    while json.loads(agent.stdout.readline())["record"] != "end":
        continue
    (own,) = place.iterdir()
    assert own.stat().st_uid == 0
    assert not own.stat().st_mode & 0o027
    agent.communicate()
    assert list(place.iterdir()) == []


def test_what_a_server_leaves_is_removed_through_no_link(victim: Path, place: Path) -> None:
    text = (
        f"cd $1; ln -s {victim} link; mkdir -p a; cd a; "
        "i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i + 1)); done; "
        f"ln -s {victim} link; echo x > file; exit 1"
    )
    server_trials.failure(place, script(text), "web_requests")
    assert list(place.iterdir()) == []
    assert untouched(victim)


@pytest.mark.parametrize("unprivileged", [False, True])
def test_a_network_of_its_own_has_the_settings_of_its_machine(unprivileged: bool, place: Path) -> None:
    """What a study tunes holds for the server, although it is not the machine's network that it is in."""
    user = NOBODY if unprivileged else ()
    if unprivileged:
        if subprocess.run([*NOBODY, "unshare", "--user", "--net", "true"], check=False).returncode:
            pytest.skip("an ordinary user may make no namespaces here")
        os.chown(place, 65534, 65534)
    names = ["net/core/somaxconn", "net/ipv4/tcp_syn_retries", "net/ipv4/ip_local_port_range"]
    values = ["77", "3", "20000\t29999"]
    settings = "; ".join(
        f"printf '{value}' > /proc/sys/{name}" for name, value in zip(names, values, strict=True)
    )
    shell = f'{settings}; ip link set lo mtu 20000 up; readlink /proc/self/ns/net > {place}/net; exec "$@"'
    under = ("unshare", "--net", "--", "sh", "-c", shell, "sh", *user)
    said = "; ".join(f"cat /proc/sys/{name}" for name in names)
    server = "\n\t".join(
        [
            "name mine\nready accepts\nstart",
            "/bin/sh",
            "-c",
            f"readlink /proc/self/ns/net; {said}; cat /proc/net/dev | grep -c :; exit 3",
        ]
    )
    with Agent(place, under=under) as agent:
        reason = agent.perform(server, "web_requests")[-1]["reason"]
    own, *found = reason.partition("it said: ")[2].split("|")
    assert own != (place / "net").read_text().strip()
    assert own != os.readlink("/proc/self/ns/net")
    assert found == [*(value.replace("\t", " ") for value in values), "1"]


def test_a_password_is_another_one_in_each_trial_and_in_no_command_line(
    places: Callable[[str], Path],
) -> None:
    place = places("postgresql")
    for left in place.glob("trial-*"):
        shutil.rmtree(left)
    seen = []
    for _ in range(2):
        agent = Agent(place)
        try:
            processes = begun(agent, "postgresql", place, *ENDLESS)
            server = next(one for one in processes if is_serving(one))
            assert b"STEELYARD_SECRET" not in Path(f"/proc/{server}/environ").read_bytes()
            assert all(b"PASSWORD" not in Path(f"/proc/{one}/cmdline").read_bytes() for one in processes)
            (roles,) = place.glob("trial-*/0/server/data/global/1260")  # pg_authid
            seen.append(set(re.findall(rb"SCRAM-SHA-256\$[^\0]+", roles.read_bytes())))
        finally:
            end(agent)
        assert gone(place)
        for left in place.glob("trial-*"):
            shutil.rmtree(left)
    assert all(seen)
    assert not seen[0] & seen[1]


@pytest.mark.parametrize(
    ("mode", "user", "said"),
    [(0o777, 0, "make it sticky"), (0o755, 65534, "which belongs to user 65534")],
)
def test_a_directory_in_which_others_can_replace_files_is_refused(
    mode: int, user: int, said: str, steelyard: Run, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    os.chown(shared, user, user)
    answer = steelyard("compare", "native", "native-musl", "--only", "syscall", "--directory", str(shared))

    assert answer.returncode == 2
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert list(shared.iterdir()) == []


def test_content_is_written_through_no_link(steelyard: Run, victim: Path, tmp_path: Path) -> None:
    """A web server's directory may be its user's, and root writes the files of the load there."""
    content = tmp_path / "content"
    (content / "surge").mkdir(parents=True)
    for name in ("000000", "digest"):
        (content / "surge" / name).symlink_to(victim / "file")
    with served(content) as port:
        words = ["load", f"http://127.0.0.1:{port}/", "--model", "surge", "--content", str(content)]
        words += ["--user-equivalents", "10", "--off-scale", "0.05", "--for", "3s", "--trials", "2"]
        assert steelyard(*words).returncode == 0
    assert untouched(victim)
    assert not any(file.is_symlink() for file in (content / "surge").iterdir())

    shutil.rmtree(content / "surge")
    (content / "surge").symlink_to(victim)
    answer = steelyard(*words)
    assert answer.returncode
    assert "the files cannot be written" in answer.stderr
    assert untouched(victim)
