"""The files that describe servers: what they hold, and what is wrong with one."""

import re
from pathlib import Path

import pytest
import server_trials

from steelyard.errors import SteelyardError
from steelyard.servers import description
from steelyard.study import model, plan, study_file

PATIENT = ("limit_ms=150000",)  # for a trial that a busy machine makes long
GOOD = """
title = "mine"
command = ["/bin/mine", "{port}"]
directories = ["content"]
ready = "http /page"

[files]
"mine.conf" = '''
listen {port};

root {directory}/content;
'''
"""


@pytest.mark.parametrize("name", sorted(description.bundled()))
def test_every_bundled_server_is_described(name: str) -> None:
    server = description.read(name)

    assert server.name == name
    assert len(server.lines().encode()) <= description.LINES_MOST
    assert not server.command or server.package


def test_a_description_becomes_lines(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)

    assert description.read(str(file)).lines().split("\n") == [
        "name mine",
        "ready http /page",
        "end TERM",
        "directory content",
        "file mine.conf",
        "\tlisten {port};",
        "\t",
        "\troot {directory}/content;",
        "start",
        "\t/bin/mine",
        "\t{port}",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "title"),
        ('title = "a"\nwhat = 1', "there is no key 'what'"),
        ('title = "a"\ncommand = "/bin/a"', "must be a list"),
        ('title = "a"\ncommand = ["a"]', "'a', but must be an absolute path of a program"),
        ('title = "a"\ncommand = ["/a", "b\\nc"]', "each without line ends"),
        ('title = "a"\ncommand = ["/bin/sh", "-c", "rm -r {directory}/x"]', "a text without {...}"),
        ('title = "a"\ndirectories = ["../up"]', "'../up', but must be a name below"),
        ('title = "a"\ndirectories = ["/up"]', "'/up', but must be a name below"),
        ('title = "a"\nfind = "/bin/a"', "a list of texts"),
        (
            'title = "a"\nfind = ["bin/a"]',
            "'bin/a', but must be an absolute path of a program with at most one *",
        ),
        ('title = "a"\nfind = ["/opt/*/*/a"]', "at most one * in it"),
        ('title = "a"\nfind = ["/opt/a/"]', "at most one * in it"),
        ('title = "a"\ncommand = ["{found}/a"]', "uses {found}, but has no key 'find'"),
        ('title = "a"\ncommand = ["/bin/sh", "-c", "{found}/a"]', "a text without {...}"),
        ('title = "a"\nend = "KILL"', "'KILL', but must be one of TERM, QUIT, INT"),
        ('title = "a"\nready = "perhaps"', "'perhaps', but must be one of"),
        ('title = "a"\n[files]\n"b" = 3', "files"),
        ('title = "a"\n[files]\n"b" = "' + "x" * 7000 + '"', "more than 6,000 bytes"),
        ("title = ", "is not TOML"),
        ("[" * 5000, "more than 20 brackets"),
        ('title = "' + "x" * (1 << 20) + '"', "more than 1 MiB of text"),
    ],
)
def test_a_bad_file_is_refused_by_its_key_and_what_is_allowed(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)

    with pytest.raises(SteelyardError, match=r"bad\.toml") as refused:
        description.read(str(file))
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["nginks", "/nowhere/at-all.toml", "./none.toml"])
def test_what_is_not_there_is_named(name: str) -> None:
    with pytest.raises(SteelyardError) as refused:
        description.read(name)
    assert name in str(refused.value)


def looked_for(*patterns: Path, root: Path) -> str:
    """Why a trial fails whose server is looked for there: it says which version it is, and ends."""
    lines = [
        "name mine",
        "package mine-server",
        *(f"find {one}" for one in patterns),
        "start",
        "\t{found}/serve",
    ]
    with server_trials.Agent(root) as agent:
        return str(agent.perform("\n".join(lines), "web_requests", *server_trials.SHORT)[-1]["reason"])


@pytest.mark.program
@pytest.mark.parametrize(
    ("versions", "newest"),
    [(["15"], "15"), (["9.6", "15", "9"], "15"), (["17", "9.10", "16"], "17"), (["9.9", "9.10"], "9.10")],
)
def test_the_newest_version_that_is_installed_is_found(
    versions: list[str], newest: str, tmp_path: Path
) -> None:
    for version in versions:
        (serve := tmp_path / "lib" / version / "bin" / "serve").parent.mkdir(parents=True)
        serve.write_text(f"#!/bin/sh\necho this is version {version}\nexit 3\n")
        serve.chmod(0o755)
    (tmp_path / "lib/99/bin").mkdir(parents=True)  # the client of a newer version alone
    (tmp_path / "lib/98/bin/serve").mkdir(parents=True)  # no program

    said = looked_for(tmp_path / "other/serve", tmp_path / "lib/*/bin/serve", root=tmp_path)

    assert f"mine ended with status 3; it said: this is version {newest}" in said


@pytest.mark.program
def test_a_server_that_is_found_nowhere_is_unsupported_with_its_package(tmp_path: Path) -> None:
    said = looked_for(tmp_path / "lib/*/bin/serve", tmp_path / "other/serve", root=tmp_path)

    assert said == (f"there is no program '{tmp_path}/lib/*/bin/serve' on this system: install mine-server")


def test_no_bundled_server_names_a_version(tmp_path: Path) -> None:
    """Another distribution, or a newer one, has another."""
    for name in description.bundled():
        server = description.read(name)
        words = " ".join([server.package, *server.find, *server.command, *sum(server.prepare, ())])
        assert not re.search(r"/\d+(\.\d+)*/|-\d+(\.\d+)*( |$)", words), name


def test_a_study_of_servers_names_one() -> None:
    text = 'name = "a"\ntitle = "b"\nsystems = ["native"]\n[[workload]]\nname = "web_requests"\n'
    catalogue = {"web_requests": {"server": None}}

    with pytest.raises(SteelyardError, match="must be the name of a server"):
        model.check(study_file.parse(text, file="mine"), catalogue, file="mine")
    named = study_file.parse(text + 'server = "nginx"\n', file="mine")
    model.check(named, catalogue, file="mine")
    assert list(plan.make(named, systems=("native",), processors=1, seed=1).servers) == ["nginx"]


@pytest.mark.program
@pytest.mark.parametrize(
    ("server", "workload"),
    [
        ("smtp-sink", "mail_messages"),
        ("nginx", "web_requests"),
        ("sqlite", "database_insert"),
        ("sqlite", "database_mixture"),
    ],
)
def test_a_batch_is_long_enough_for_all_clients_to_be_at_work(
    server: str, workload: str, open_directory: Path
) -> None:
    """One operation would fill a batch so short, and one client would do it, however many there are."""
    with server_trials.Agent(open_directory) as agent:
        records = agent.perform(
            server_trials.described(server),
            workload,
            "clients=8",
            "batches=3",
            "batch_ns=1",
            "warmup_ns=0",
            *PATIENT,
        )

    assert records[-1]["status"] == "ok"
    (operations,) = (
        one["operations"] for one in records if one["record"] == "samples" and one["metric"] == "time"
    )
    assert operations >= 8 * 8


# --- settings


def test_settings_are_numbers_in_a_server_s_files() -> None:
    usual, asked = (
        description.read(name).lines()
        for name in ("apache-prefork", "apache-prefork max_clients=4800 requests_per_child=30")
    )

    assert "MaxRequestWorkers 64" in usual
    assert "MaxConnectionsPerChild 0" in usual
    assert "MaxRequestWorkers 4800" in asked
    assert "StartServers 4800" in asked
    assert "MaxConnectionsPerChild 30" in asked
    assert "{max_clients}" not in asked


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("apache-prefork threads=3", "threads=3"),
        ("apache-prefork max_client=3", "max_clients=NUMBER"),
        ("apache-prefork max_clients=many", "'many'"),
        ("apache-prefork max_clients=-1", "'-1'"),
        ("nginx max_clients=3", "max_clients=3"),
        ("apache-prefrok max_clients=3", "apache-prefork"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_name(name: str, said: str) -> None:
    with pytest.raises(SteelyardError, match=said):
        description.read(name)
