"""A connection of the caller's, which can be any object that receives and sends bytes. Here it is a pair of
sockets.
"""

import socket
import threading

import brickwork as bw


@bw.program
def total(mine: bw.Garbler[bw.i16], theirs: bw.Evaluator[bw.i16]) -> bw.Evaluator[bw.i16]:
    return mine + theirs


def main() -> None:
    left, right = socket.socketpair()
    with left, right:
        for line in (left, right):
            line.settimeout(60)  # A peer that is silent for ever would block the run.
        garbler = threading.Thread(target=lambda: bw.garbler(total, 40, over=left))
        garbler.start()
        # The connection itself must be private: neither TLS nor keys protect it.
        assert bw.evaluator(total, -42, over=right).evaluator == -2
        garbler.join()


if __name__ == "__main__":
    main()
