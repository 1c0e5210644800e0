"""The files that describe servers: what they hold, and what is wrong with one."""

from pathlib import Path

import pytest
import serving

from steelyard.errors import SteelyardError
from steelyard.servers import description
from steelyard.study import model, plan, study_file

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
        ('title = "a"\ncommand = ["a"]', "'a', but must be a program's whole path"),
        ('title = "a"\ncommand = ["/a", "b\\nc"]', "each without line ends"),
        ('title = "a"\ncommand = ["/bin/sh", "-c", "rm -r {directory}/x"]', "a text without {...}"),
        ('title = "a"\ndirectories = ["../up"]', "'../up', but must be a name below"),
        ('title = "a"\ndirectories = ["/up"]', "'/up', but must be a name below"),
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
    with serving.Agent(open_directory) as agent:
        records = agent.perform(
            serving.described(server), workload, "clients=8", "batches=3", "batch_ns=1", "warmup_ns=0"
        )

    assert records[-1]["status"] == "ok"
    (operations,) = (
        one["operations"] for one in records if one["record"] == "samples" and one["metric"] == "time"
    )
    assert operations >= 8 * 8
