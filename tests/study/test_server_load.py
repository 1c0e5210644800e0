"""A load on a running server as a study: how long its trials are, and what its text says."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import StudyError, UnknownName, UsageError
from steelyard.servers.running import Running
from steelyard.study import model as studies
from steelyard.study import plan as plans
from steelyard.study import server_load, study_file
from steelyard.study.model import Study
from steelyard.study.server_load import LOAD, SATURATION, WantedLoad

URL = "http://127.0.0.1:8080/orders?by=day"


def wanted(server: Running | None = None, **changes: Any) -> WantedLoad:
    usual: dict[str, Any] = {
        "server": server or Running(URL),
        "workload": LOAD,
        "over": "clients",
        "levels": (1, 16),
        "trials": 6,
        "duration_s": 60.0,
    }
    return WantedLoad(**usual | changes)


def parsed(load: WantedLoad) -> Study:
    return study_file.parse(server_load.text_of(load), file="load.toml")


def described(load: WantedLoad) -> list[str]:
    """The lines about the server that the load program reads."""
    study = parsed(load)
    made = plans.make(study, systems=study.systems, processors=2, seed=1)
    (lines,) = made.servers.values()
    return lines.split("\n")


# How long trials are


def taken_s(load: WantedLoad) -> float:
    """What all trials take: what they load, and what comes with each. A step settles for a quarter of its
    length, and may go on for as long. Before the steps comes a load of the same length, and two of them may
    come again."""
    lengths = {name: int(value) for name, value in load.lengths().items()}
    trials = load.trials * len(load.levels)
    if load.workload == LOAD:
        each_s = (lengths["warm_ms"] + lengths["window_ms"]) / 1000
    else:
        each_s = 1.5 * lengths["step_ms"] / 1000 * (lengths["steps"] + 3)
    return server_load.COMMAND_S + trials * (each_s + server_load.BESIDES_S)


@pytest.mark.parametrize("trials", [1, 2, 6, 50])
@pytest.mark.parametrize("levels", [(1,), (1, 4, 16, 64, 256)])
@pytest.mark.parametrize("workload", [LOAD, SATURATION])
@pytest.mark.parametrize("times", [1.0, 1.01, 1.6, 3.0, 50.0])
def test_all_trials_fit_into_the_time_and_fill_it(
    trials: int, levels: tuple[int, ...], workload: str, times: float
) -> None:
    least_s = wanted(trials=trials, levels=levels, workload=workload).least_s
    load = wanted(trials=trials, levels=levels, workload=workload, duration_s=times * least_s)
    rounding_s = 0.008 * trials * len(levels)  # half a millisecond for each of ten steps that are 1.5 as long

    assert taken_s(load) == pytest.approx(load.duration_s, abs=rounding_s)


@pytest.mark.parametrize("trials", [1, 6, 50])
def test_no_trial_is_shorter_than_what_says_something(trials: int) -> None:
    """In the least time a window has 360 ms, and a step of a search 267."""
    load, search = (wanted(trials=trials, workload=one) for one in (LOAD, SATURATION))
    load, search = (dataclasses.replace(one, duration_s=one.least_s) for one in (load, search))

    assert load.lengths() == {"warm_ms": 40, "window_ms": 360}
    assert search.lengths() == {"steps": 4, "step_ms": 267}


def test_a_tenth_of_a_trial_s_time_is_no_figure() -> None:
    lengths = wanted(trials=1, levels=(1,), duration_s=11.1).lengths()

    assert lengths == {"warm_ms": 1000, "window_ms": 9000}


@pytest.mark.parametrize(
    ("trial_s", "steps"), [(2.8, 4), (3.19, 4), (3.21, 5), (3.61, 6), (4.01, 7), (5.0, 7), (600.0, 7)]
)
def test_a_search_has_seven_steps_or_fewer_where_there_is_no_time(trial_s: float, steps: int) -> None:
    duration_s = server_load.COMMAND_S + 6 * (trial_s + server_load.BESIDES_S)
    load = wanted(workload=SATURATION, levels=(64,), duration_s=duration_s)

    assert load.lengths()["steps"] == steps
    assert 1.5 * int(load.lengths()["step_ms"]) >= 1000 * server_load.TRIAL_LEAST_S - 1


def test_systems_share_the_time() -> None:
    one, two = wanted(), wanted(systems=("native", "native-musl"))

    assert two.least_s - server_load.COMMAND_S == 2 * (one.least_s - server_load.COMMAND_S)
    assert int(two.lengths()["window_ms"]) < int(one.lengths()["window_ms"]) / 2


# The study's text


def test_a_load_is_a_study_of_one_system_with_a_cell_for_each_level() -> None:
    study = parsed(wanted(levels=(1, 16, 4), parameters={"rate": 500}, settings={"timeout_ms": 700}))
    cells = studies.cells(study, processors=2)

    assert study.systems == ("native",)
    assert (study.design.blocks, study.design.budget_s) == (6, 60.0)
    assert [dict(cell.parameters) for cell in cells] == [
        {"server": URL, "clients": clients, "rate": 500} for clients in (1, 16, 4)
    ]
    assert dict(study.trial) == {**wanted(levels=(1, 16, 4)).lengths(), "timeout_ms": 700}


def test_levels_may_be_of_users_and_a_search_has_its_limit() -> None:
    users = parsed(wanted(over="user_equivalents", levels=(50, 500), parameters={"files": 100}))
    search = parsed(wanted(workload=SATURATION, levels=(64,), parameters={"limit_us": 10_000}))

    assert [dict(cell.parameters) for cell in studies.cells(users, processors=2)] == [
        {"server": URL, "user_equivalents": number, "files": 100} for number in (50, 500)
    ]
    (cell,) = studies.cells(search, processors=2)
    assert (cell.workload, dict(cell.parameters)["limit_us"]) == (SATURATION, 10_000)
    assert dict(search.trial).keys() >= {"steps", "step_ms"}


@pytest.mark.parametrize("over", ["clients", "user_equivalents"])
def test_several_levels_are_drawn_and_one_is_not(over: str) -> None:
    figures = parsed(wanted(over=over, levels=(1, 16))).figures

    assert [(one.metric, one.over) for one in figures] == [("request", over), ("latency_99", over)]
    assert parsed(wanted(over=over, levels=(16,))).figures == ()


def test_all_that_is_asked_of_the_server_is_in_the_text(tmp_path: Path) -> None:
    file = tmp_path / 'bo"dy\u00e9'
    file.write_bytes(b"\0\1\2")
    asked: dict[str, Any] = {
        "method": "PUT",
        "headers": ("Content-Type: text/x", 'X-A: "b"'),
        "process": 4711,
    }

    assert described(wanted(Running(URL, data='one\n"two"\\', **asked))) == [
        f"name {URL}",
        "running 127.0.0.1",
        "port 8080",
        "host 127.0.0.1:8080",
        "path /orders?by=day",
        "method PUT",
        "header Content-Type: text/x",
        'header X-A: "b"',
        "data",
        "\tone",
        '\t"two"\\',
        "pid 4711",
    ]
    assert f"data_file {file}" in described(wanted(Running(URL, data_file=str(file))))


def test_a_plain_request_says_nothing_besides_where_the_server_is() -> None:
    assert [one.split()[0] for one in described(wanted())] == ["name", "running", "port", "host", "path"]


def test_another_host_is_loaded_only_where_that_is_allowed() -> None:
    url = "http://192.0.2.1/"

    assert "allow 192.0.2.1" in described(wanted(Running(url, is_allowed=True)))
    with pytest.raises(UsageError, match="is not this machine's loopback"):
        described(wanted(Running(url)))


def test_another_content_of_a_data_file_is_another_study(tmp_path: Path) -> None:
    file = tmp_path / "body"
    texts = []
    for body in (b"first", b"second", b"first"):
        file.write_bytes(body)
        texts.append(server_load.text_of(wanted(Running(URL, data_file=str(file)))))

    assert texts[0] == texts[2]
    assert texts[0] != texts[1]
    assert study_file.parse(texts[0], file="x").servers == study_file.parse(texts[1], file="x").servers


@pytest.mark.parametrize(
    "change",
    [
        {"levels": (1, 32)},
        {"trials": 7},
        {"duration_s": 61.0},
        {"parameters": {"rate": 5}},
        {"settings": {"timeout_ms": 5}},
        {"server": Running(URL + "x")},
        {"server": Running(URL, method="PUT")},
        {"server": Running(URL, headers=("A: b",))},
        {"server": Running(URL, data="x")},
        {"server": Running(URL, process=7)},
    ],
)
def test_another_load_is_another_study(change: Mapping[str, Any]) -> None:
    assert server_load.text_of(wanted(**change)) != server_load.text_of(wanted())
    assert server_load.text_of(wanted()) == server_load.text_of(wanted())


# Servers that a study describes itself


def study_with(*lines: str, server: str = "mine") -> Study:
    head = ['name = "x"', 'title = "x"', 'systems = ["native"]']
    text = [*head, "[[server]]", *lines, "[[workload]]", 'name = "web_load"', f'server = ["{server}"]']
    return study_file.parse("\n".join(text) + "\n", file="my.toml")


MINE = ('name = "mine"', 'title = "a server of mine"')


def test_a_study_s_own_server_is_found_by_its_workloads() -> None:
    study = study_with(*MINE, 'url = "http://127.0.0.1:81/a"')
    made = plans.make(study, systems=("native",), processors=2, seed=1)

    assert list(made.servers) == ["mine"]
    assert made.servers["mine"].split("\n")[:3] == ["name mine", "running 127.0.0.1", "port 81"]
    (cell,) = made.cells
    assert dict(cell.parameters) == {"server": "mine"}


def test_a_study_s_own_server_may_be_one_that_trials_start() -> None:
    study = study_with(*MINE, 'command = ["/bin/serve", "{port}"]')

    made = plans.make(study, systems=("native",), processors=2, seed=1)
    assert "\t/bin/serve" in made.servers["mine"].split("\n")


def test_a_server_that_a_study_does_not_describe_is_looked_for_among_the_others() -> None:
    study = study_with(*MINE, 'url = "http://127.0.0.1:81/"', server="nginx")
    assert "name nginx" in plans.make(study, systems=("native",), processors=2, seed=1).servers["nginx"]

    with pytest.raises(UnknownName, match="mime"):
        plans.make(
            study_with(*MINE, 'url = "http://127.0.0.1:81/"', server="mime"),
            systems=("native",),
            processors=2,
            seed=1,
        )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (('url = "http://127.0.0.1/"', 'command = ["/bin/x"]'), "command"),
        (('url = "http://127.0.0.1/"', "allow = true"), "allow"),
        (('url = "http://127.0.0.1/"', 'data_file = "body"'), "'body'.*an absolute path"),
        (('url = "http://127.0.0.1/"', 'method = "A B"'), "an HTTP method, such as POST"),
        (('url = "http://127.0.0.1/"', 'headers = ["no colon"]'), "a header such as"),
        (('url = "http://127.0.0.1/"', "process = 0"), "process"),
        (('command = ["serve"]',), "an absolute path of a program"),
    ],
)
def test_what_is_wrong_in_a_study_s_own_server_is_said(lines: tuple[str, ...], said: str) -> None:
    with pytest.raises((StudyError, UsageError), match=said) as caught:
        study_with(*MINE, *lines)
    assert "my.toml" in str(caught.value)


@pytest.mark.parametrize("url", ["http://192.0.2.1/", "ftp://127.0.0.1/", "http://0.0.0.0/"])
def test_a_study_s_own_server_is_on_loopback_unless_it_says_otherwise(url: str) -> None:
    study = study_with(*MINE, f'url = "{url}"')

    with pytest.raises(UsageError, match=r"loopback|must be of the form"):
        plans.make(study, systems=("native",), processors=2, seed=1)


def test_a_study_s_own_server_on_another_host_is_loaded_where_that_is_allowed() -> None:
    study = study_with(*MINE, 'url = "http://192.0.2.1/"', "allow_remote = true")

    made = plans.make(study, systems=("native",), processors=2, seed=1)
    assert "allow 192.0.2.1" in made.servers["mine"].split("\n")


def test_a_server_without_a_name_is_refused() -> None:
    with pytest.raises(UsageError, match="name"):
        study_with('title = "x"', 'url = "http://127.0.0.1/"')
