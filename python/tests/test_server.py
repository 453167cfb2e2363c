"""`from_dump` of a guira-server that runs.

The server is that of the variable GUIRA_SERVER, or the one that Cargo has built.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pytest
from guira_filter import ExpiringFilter, Filter, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT = [
    Path(__file__).parents[2] / "target" / profile / "guira-server"
    for profile in ("release", "debug")
]


class Client:
    """As much of the protocol as a dump needs."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.replies: BinaryIO = self.socket.makefile("rb")

    def __call__(self, *words: object) -> object:
        command = b"*%d\r\n" % len(words)
        for word in words:
            data = word if isinstance(word, bytes) else str(word).encode()
            command += b"$%d\r\n%b\r\n" % (len(data), data)
        self.socket.sendall(command)
        return self.reply()

    def reply(self) -> object:
        line = self.replies.readline().removesuffix(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"*":
            return [self.reply() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self.replies.read(int(rest) + 2)[:-2]
        assert kind in (b"+", b":"), line
        return int(rest) if kind == b":" else rest

    def dump(self, key: str) -> list[bytes]:
        pieces: list[bytes] = []
        position: object = 0
        while True:
            reply = self("CF.SCANDUMP", key, position)
            assert isinstance(reply, list)
            position, piece = reply
            if not position:
                return pieces
            pieces.append(piece)

    def close(self) -> None:
        self.replies.close()
        self.socket.close()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    named = os.environ.get("GUIRA_SERVER")
    program = Path(named) if named else next(filter(Path.exists, BUILT), None)
    if program is None:
        pytest.skip("no guira-server: set GUIRA_SERVER, or cargo build --package guira-server")
    if not hasattr(socket, "AF_UNIX"):
        pytest.skip("no Unix sockets")
    directory = tmp_path_factory.mktemp("server")
    path = directory / "socket"
    with subprocess.Popen(
        [program, "--tcp", "false", "--unixsocket", path, "--dir", directory],
        stdout=subprocess.PIPE,
    ) as server:
        try:
            assert server.stdout
            assert b" is ready at " in server.stdout.readline()
            client = Client(path)
            yield client
            client.close()
        finally:
            server.terminate()


@pytest.mark.parametrize("items", [0, 10, 400_000])
def test_a_key_of_a_server(client: Client, items: int) -> None:
    key = f"fixed {items}"
    assert client("CF.RESERVE", key, 500_000, "EXPANSION", 0) == b"OK"
    names = [f"item {i}" for i in range(items)]
    for first in range(0, items, 10_000):
        client("CF.INSERT", key, "ITEMS", *names[first : first + 10_000])
    pieces = client.dump(key)
    f = Filter.from_dump(pieces)
    assert f.items == "bytes"
    assert len(f) == items
    assert all(f.contains_many(names))
    assert all(f.contains_many([name.encode() for name in names]))
    # The same hashes, so the same items can be removed.
    assert all(f.discard_many(names))
    assert len(f) == 0
    with pytest.raises(SnapshotError, match="guiracw"):
        ExpiringFilter.from_dump(pieces)


def test_a_growing_key_of_a_server(client: Client) -> None:
    for number in range(5000):
        client("CF.ADD", "growing", number)
    f = Filter.from_dump(iter(client.dump("growing")), max_bytes=1 << 20)
    assert len(f) == 5000
    assert all(f.contains_many([str(number) for number in range(5000)]))


def test_a_key_with_a_window_of_a_server(client: Client) -> None:
    assert client("CF.RESERVE", "window", 1000, "WINDOW", 3600, "EPOCHS", 6) == b"OK"
    client("CF.INSERT", "window", "ITEMS", *range(500))
    pieces = client.dump("window")
    f = ExpiringFilter.from_dump(pieces, clock="manual")
    assert (f.ttl, f.epochs, f.items) == (3600.0, 6, "bytes")
    assert all(f.contains_many([str(number) for number in range(500)]))
    f.tick(3600 + 600 + 1)
    assert len(f) == 0
    assert "1" in ExpiringFilter.from_dump(pieces, age=3000)
    assert "1" not in ExpiringFilter.from_dump(pieces, age=3600 + 600 + 1)
    with pytest.raises(SnapshotError, match="guiracf"):
        Filter.from_dump(pieces)
