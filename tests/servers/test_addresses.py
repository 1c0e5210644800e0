"""Which server a URL names: each form of address is understood or refused, and none leaves loopback."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from http_servers import server, whole
from installed_command import COMMAND, Run
from patience import patience

from steelyard.errors import UsageError
from steelyard.servers import running

INTERFACES = [(1, "lo"), (7, "eth0")]


@pytest.fixture(autouse=True)
def interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: INTERFACES)


@pytest.mark.parametrize(
    ("url", "address", "host"),
    [
        ("http://127.0.0.1:8080/", "127.0.0.1", "127.0.0.1:8080"),
        ("HTTP://127.0.0.1:80/", "127.0.0.1", "127.0.0.1"),
        ("http://127.0.0.1:/", "127.0.0.1", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1", "127.0.0.1"),
        ("http://2130706433:81/", "127.0.0.1", "127.0.0.1:81"),
        ("http://017700000001/", "127.0.0.1", "127.0.0.1"),
        ("http://127.255.255.254/", "127.255.255.254", "127.255.255.254"),
        ("http://[::1]:8080/", "::1", "[::1]:8080"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1", "[0:0:0:0:0:0:0:1]"),
        ("http://[::ffff:127.0.0.1]:9/", "127.0.0.1", "[::ffff:127.0.0.1]:9"),
        ("http://[::FFFF:7f00:1]/", "127.0.0.1", "[::ffff:7f00:1]"),
    ],
)
def test_a_form_of_loopback_is_loaded_and_the_header_names_it(url: str, address: str, host: str) -> None:
    found = running.target(url, is_allowed=False)

    assert (found.address, found.host) == (address, host)


def test_a_name_may_end_with_a_dot() -> None:
    found = running.target("http://localhost.:81/", is_allowed=False)

    assert found.address == running.target("http://localhost:81/", is_allowed=False).address
    assert found.host == "localhost.:81"


@pytest.mark.parametrize(
    ("url", "address", "host"),
    [
        ("http://[fe80::1%25lo]:8080/", "fe80::1%lo", "[fe80::1]:8080"),
        ("http://[fe80::1%lo]/", "fe80::1%lo", "[fe80::1]"),
        ("http://[FE80::1%25eth0]/", "fe80::1%eth0", "[fe80::1]"),
        ("http://[fe80::1%251]/", "fe80::1%1", "[fe80::1]"),
        ("http://[fe80::1%7]/", "fe80::1%7", "[fe80::1]"),
        ("http://[::ffff:192.0.2.1]/", "192.0.2.1", "[::ffff:192.0.2.1]"),
        ("http://0.0.0.0/", "0.0.0.0", "0.0.0.0"),
    ],
)
def test_another_address_is_loaded_where_that_is_allowed(url: str, address: str, host: str) -> None:
    found = running.target(url, is_allowed=True)

    assert (found.address, found.host) == (address, host)
    with pytest.raises(UsageError, match="is not this machine's loopback"):
        running.target(url, is_allowed=False)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://192.0.2.1/", "is not this machine's loopback"),
        ("http://[::127.0.0.1]/", "is not this machine's loopback"),
        ("http://[64:ff9b::7f00:1]/", "is not this machine's loopback"),
        ("http://0.0.0.0/", "all of a machine's addresses; write 127.0.0.1"),
        ("http://[::]/", "all of a machine's addresses; write 127.0.0.1"),
        ("http://[fe80::1]/", "is link-local, and needs a zone: .*: lo, eth0"),
        ("http://[fe80::1%25eth1]/", "there is no zone 'eth1': .*: lo, eth0"),
        ("http://[fe80::1%eth1]/", "there is no zone 'eth1'"),
        ("http://[fe80::1%259]/", "there is no zone '9'"),
        ("http://[fe80::1%]/", "there is no zone ''|no URL"),
        ("http://[::1%25lo]/", "the zone 'lo'; only link-local"),
        ("http://[127.0.0.1]/", "no URL|form"),
        ("http://[::1/", "is no URL"),
        ("http://::1/", "must be of the form|a port that is none"),
        ("http://127.0.0.1%25lo/", "cannot be found"),
        ("https://127.0.0.1/", "must be of the form http://HOST"),
        ("127.0.0.1", "must be of the form"),
        ("http:///", "must be of the form"),
        ("http://127.0.0.1:0/", "a port that is none: allowed are the numbers 1 to 65535"),
        ("http://127.0.0.1:65536/", "a port that is none: allowed are the numbers 1 to 65535"),
        ("http://127.0.0.1:-1/", "a port that is none"),
        ("http://127.0.0.1:http/", "a port that is none"),
        ("http://user:word@127.0.0.1/", "neither a user nor"),
        ("http://@127.0.0.1/", "neither a user nor"),
        ("http://127.0.0.1:80@192.0.2.1/", "neither a user nor"),
        ("http://127.0.0.1/#part", "neither a user nor a fragment"),
        ("http://" + "a" * 64 + "/", "cannot be found"),
        ("http://127.0.0.1/a b", "printable ASCII"),
        ("http://127.0.0.1/\u00e9", "printable ASCII"),
    ],
)
def test_a_target_that_cannot_be_loaded_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence) as caught:
        running.target(url, is_allowed=False)
    assert len(str(caught.value)) < 400


FOUND = {
    "both.test": [("127.0.0.1", 80), ("192.0.2.1", 80)],
    "other.test": [("192.0.2.1", 80)],
    "mapped.test": [("::ffff:127.0.0.1", 80, 0, 0)],
    "zoned.test": [("fe80::1", 80, 0, 7)],
    "xn--bcher-kva.test": [("127.0.0.1", 80)],
}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", one) for one in FOUND[name]]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("name", ["both.test", "other.test", "zoned.test"])
def test_a_name_that_is_not_loopback_alone_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is not this machine's loopback"):
        running.target(f"http://{name}/", is_allowed=False)


@pytest.mark.usefixtures("names")
@pytest.mark.parametrize(
    ("name", "address", "host"),
    [
        ("mapped.test", "127.0.0.1", "mapped.test"),
        ("zoned.test", "fe80::1%7", "zoned.test"),
        ("B\u00fccher.test", "127.0.0.1", "xn--bcher-kva.test"),
        ("OTHER.test", "192.0.2.1", "other.test"),
    ],
)
def test_a_name_s_address_is_plain_and_the_header_is_ascii(name: str, address: str, host: str) -> None:
    found = running.target(f"http://{name}/", is_allowed=True)

    assert (found.address, found.host) == (address, host)


IN_A_NETWORK_OF_ITS_OWN = """
import json, socket, subprocess, sys, threading
subprocess.run("ip link set lo up && ip addr add fe80::1/64 dev lo nodad", shell=True, check=True)
listening = socket.socket(socket.AF_INET6)
listening.bind(socket.getaddrinfo("fe80::1%lo", 0, type=socket.SOCK_STREAM)[0][4])
listening.listen(64)
asked = []
def serve(connection):
    while request := connection.recv(65536):
        asked.append(request.decode())
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
def accept():
    while True:
        threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
port = listening.getsockname()[1]
words = ["--for", "2s", "--trials", "1", "--allow-remote", "--format", "json"]
said = subprocess.run([sys.argv[1], "load", f"http://[fe80::1%25lo]:{port}/", *words], stdout=subprocess.PIPE)
hosts = {line for one in asked for line in one.split("\\r\\n") if line.startswith("Host")}
print(json.dumps({"port": port, "hosts": sorted(hosts), "said": json.loads(said.stdout)}))
"""


@pytest.mark.root
@pytest.mark.program
def test_a_zone_is_connected_to_and_not_sent(archive: Path) -> None:
    words = ["unshare", "--net", sys.executable, "-c", IN_A_NETWORK_OF_ITS_OWN, str(COMMAND)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=patience(60),
        env=os.environ | {"STEELYARD_ARCHIVE": str(archive)},
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["hosts"] == [f"Host: [fe80::1]:{found['port']}"]
    assert found["said"]["server_loads"][0]["rate"]["value"] > 0


def test_the_mapped_form_of_loopback_answers(steelyard: Run) -> None:
    with server(whole) as port:
        done = steelyard("load", f"http://[::ffff:7f00:1]:{port}/", "--for", "2s", "--trials", "1")

    assert done.returncode == 0, done.stderr
    assert "requests a second" in done.stdout
