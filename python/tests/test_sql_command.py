"""`brickwork sql`: both parties here, and each in a process of its own with its key."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import brickwork as bw
import pyarrow.parquet
import pytest
from brickwork import sql_command

SALES = "email,amount\nA@x.org,5\nb@x.org,7\n a@X.ORG,1\n"
PEOPLE = "email,vip\na@x.org,true\nc@x.org,false\n"
QUERY = "SELECT vip, SUM(amount) AS total FROM sales JOIN people USING (email) GROUP BY vip"
TYPES = ["--type", "sales.amount=u16"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "sales.csv").write_text(SALES)
    (tmp_path / "people.csv").write_text(PEOPLE)
    return [
        f"--{role}-table={name}={tmp_path / name}.csv"
        for role, name in (("garbler", "sales"), ("evaluator", "people"))
    ]


def test_both_parties_run_here(files: list[str], capsys: Any) -> None:
    assert sql_command.main([QUERY, *files, *TYPES]) == 0
    told = capsys.readouterr()
    assert told.out == "vip   total\n----  -----\nTrue      6\n(1 row)\n"
    assert "a cheater succeeds with 2^-" in told.err


def test_results_go_to_files(files: list[str], tmp_path: Path, capsys: Any) -> None:
    for name in ("r.csv", "r.parquet"):
        assert sql_command.main([QUERY, *files, *TYPES, "--simulate", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "r.csv").read_text() == "vip,total\nTrue,6\n"
    assert pyarrow.parquet.read_table(tmp_path / "r.parquet").to_pylist() == [{"vip": True, "total": 6}]
    assert capsys.readouterr().out == ""
    assert sql_command.main([QUERY, *files, *TYPES, "--simulate", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"columns": {"vip": [True], "total": [6]}, "promise": None}


def test_the_cost_is_told(files: list[str], capsys: Any) -> None:
    assert sql_command.main([QUERY, *files, *TYPES, "--explain"]) == 0
    text = capsys.readouterr().out
    assert "AND gates" in text and "total: learned by garbler and evaluator" in text and "2^-" in text
    assert sql_command.main([QUERY, *files, *TYPES, "--explain", "--json", "--rtt", "50ms"]) == 0
    assert json.loads(capsys.readouterr().out)["and_gates"] > 0


def test_two_processes_with_keys(files: list[str], tmp_path: Path) -> None:
    keys = [bw.keygen(tmp_path / f"{name}.key") for name in ("alice", "bob")]

    def party(side: int, *more: str) -> subprocess.Popen[str]:
        own = ["--identity", str(tmp_path / f"{('alice', 'bob')[side]}.key"), "--peer", keys[1 - side]]
        words = [QUERY, files[side], *own, *(TYPES if side == 0 else []), *more]
        return subprocess.Popen(
            [sys.executable, "-m", "brickwork.sql_command", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def both(*more: str) -> list[tuple[int, str, str]]:
        alice = party(0, "--listen", "127.0.0.1:0", "--rows", "sales=10", *more)
        assert alice.stderr is not None
        address = re.fullmatch(r"listening on (\S+)\n", alice.stderr.readline())
        assert address is not None
        bob = party(1, "--connect", address[1], "--rows", "people=10", "--policy", "people=min_group:2")
        told = [(one.communicate(timeout=120), one) for one in (alice, bob)]
        return [(one.returncode, *texts) for texts, one in told]

    (code, out, err), (other, theirs, _) = both("--policy", "sales=round_to:5")
    assert (code, other) == (0, 0), err
    # One group has two rows of sales, but only one key of people, whose policy asks for two.
    assert out == theirs == "vip  total\n---  -----\n(0 rows)\n"
    (code, _, err), (other, _, theirs) = both("--min-group", "3")
    assert code == other == bw.PeerMismatch.code
    assert "min_group" in err and "min_group" in theirs


REFUSED: list[tuple[list[str], int]] = [
    ([], 2),
    ([QUERY], 2),
    (["SELECT 1"], 2),
    ([QUERY, "--garbler-table", "sales"], 2),
    ([QUERY, "--garbler-table", "sales=/no/such.csv"], 3),
    ([QUERY, "--colour"], 2),
    ([QUERY, "--output", "r.xls"], 2),
]


@pytest.mark.parametrize("words, code", REFUSED)
def test_wrong_arguments_are_refused(words: list[str], code: int, capsys: Any) -> None:
    assert sql_command.main(words) == code
    assert "hint: " in capsys.readouterr().err
    assert sql_command.main([*words, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["error"]["code"] == code


WRONG = [
    ["--type", "sales.amount=u0"],
    ["--type", "sales.amount=decimal(2)"],
    ["--type", "amount=u8"],
    ["--type", "sales.amonut=u8"],
    ["--rows", "sales=many"],
    ["--rows", "q=4"],
    ["--policy", "sales=few:2"],
    ["--policy", "sales=min_group:x"],
    ["--listen", "127.0.0.1:0"],
    ["--to", "nobody"],
    ["--validate", "1:2"],
]


@pytest.mark.parametrize("more", WRONG)
def test_wrong_settings_are_refused(files: list[str], more: list[str], capsys: Any) -> None:
    assert sql_command.main([QUERY, *files, *more, "--simulate"]) == 2
    assert "hint: " in capsys.readouterr().err


def test_texts_of_the_peer_do_not_control_the_terminal() -> None:
    assert sql_command._printable("a\x1b[31mb\n") == "a\ufffd[31mb\ufffd"


TYPED = {
    "u16": bw.u16,
    "i64": bw.i64,
    "decimal(9,2)": bw.decimal(9, 2),
    "boolean": bw.boolean,
    "category(red|light green)": bw.category(["red", "light green"]),
    "key": bw.key(),
    "key(64)": bw.key(64),
    "text(12)": bw.text(12),
    "date": bw.date,
    "timestamp(s)": bw.timestamp("s"),
    "timestamp(ms,utc)": bw.timestamp("ms", utc=True),
}


@pytest.mark.parametrize("word", TYPED)
def test_each_type_has_a_word(word: str) -> None:
    assert sql_command.type_of(word) == TYPED[word]
