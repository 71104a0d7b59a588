#!/usr/bin/env python3
"""What is downloaded: an HTTP server of bytes that are the same in every run, and their digest.

content.py PORT serves `GET /LENGTH` until it is ended.
"""

import hashlib
import socket
import sys
import threading

# Repeated, so that a gigabyte needs no file, and long enough that no record is like another one
# within a window of the program that is measured.
BLOCK = b"".join(hashlib.sha512(n.to_bytes(4, "big")).digest() for n in range(16_411))


def pieces(length: int):
    """The content, in pieces."""
    view = memoryview(BLOCK)
    while length > 0:
        yield view[:length]
        length -= min(length, len(BLOCK))


def digest(length: int) -> bytes:
    """The content's SHA-256."""
    state = hashlib.sha256()
    for piece in pieces(length):
        state.update(piece)
    return state.digest()


def serve(connection: socket.socket) -> None:
    """Answers the requests of one connection."""
    with connection, connection.makefile("rb") as lines:
        while line := lines.readline():
            # E.g. GET /1000 HTTP/1.1
            length = int(line.split()[1][1:])
            while lines.readline().strip():
                pass
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"
            try:
                connection.sendall(head.encode())
                for piece in pieces(length):
                    connection.sendall(piece)
            except OSError:
                return


def main() -> None:
    """Accepts."""
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=256)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main()
