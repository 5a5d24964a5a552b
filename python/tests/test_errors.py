"""Errors, and the information that they show."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import traceback
from pathlib import Path

import brickwork as bw
import pytest
from brickwork import _native, errors

ROOT = Path(__file__).parents[2]


def test_every_check_has_a_class() -> None:
    assert len(bw.CHEATS) == len(_native.checks()) >= 41
    for (part, check), kind in bw.CHEATS.items():
        assert issubclass(kind, bw.PeerCheated) and (kind.part, kind.check) == (part, check)
        found = errors.from_json(
            f'{{"code": 5, "message": "m", "hint": "h", "check": {{"part": "{part}", "name": "{check}"}}}}'
        )
        assert type(found) is kind and found.code == 5 and found.hint == "h" and str(found) == "m\nhint: h"


def test_every_check_of_the_sources_is_there() -> None:
    """The test finds the checks that a part makes itself. Other checks of its list belong to another part."""
    found = set()
    for path in (ROOT / "crates").glob("*/**/src/**/*.rs"):
        for part, body in re.findall(
            r'pub enum \w+ of "([^"]+)" \{(.*?)\n    \}', path.read_text(), re.DOTALL
        ):
            found |= {(part, check) for check in re.findall(r'^ {8}(\w+) =\s+"', body, re.MULTILINE)}
    assert len(found) >= 30 and ("oblivious transfer", "OtTrees") in found
    assert found <= bw.CHEATS.keys(), found - bw.CHEATS.keys()


def test_every_code_has_a_class() -> None:
    kinds = {
        errors.from_json(f'{{"code": {code}, "message": "m", "hint": "h"}}').code for code in range(1, 8)
    }
    assert kinds == set(range(1, 8))


def test_errors_of_a_source_point_into_it(tmp_path: Path) -> None:
    source = tmp_path / "wrong.wir"
    source.write_text("#parties 2\n#output 1 uint_t 8\nfunction void main() { output1 = 1##9; }\n")
    with pytest.raises(bw.CompileError) as error:
        bw.compile(source)
    (found,) = error.value.diagnostics
    assert found["line"] == 3 and "wrong.wir:3:" in str(error.value)


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(bw.InvalidInput):
        bw.load(tmp_path / "nothing.bwp")


def test_wrong_calls_say_what_to_do(millionaires: bw.Program) -> None:
    with pytest.raises(bw.UsageError, match="bogus"):
        bw.run(millionaires, 1, 2, bogus=3)  # type: ignore[call-arg]
    with pytest.raises(bw.UsageError, match="41"):
        bw.run(millionaires, 1, 2, security=41)
    with pytest.raises(bw.UsageError, match="listens, connects"):
        bw.garbler(millionaires, 1, identity="alice.key", peer="brickwork1:0")
    with pytest.raises(bw.UsageError, match="needs an input"):
        bw.run(millionaires, 1)
    for words in (["run"], ["garbler", "x.bwp"], ["serve"]):
        with pytest.raises(bw.UsageError):
            bw.call(*words)
    with pytest.MonkeyPatch.context() as without:
        without.setenv("PATH", "")
        # pip installs the command beside the interpreter.
        without.setattr(sys, "executable", "")
        with pytest.raises(bw.UsageError, match="brickwork, .* is not in PATH"):
            bw.call("stock", "ls", "stock")


def test_no_input_is_in_an_error(millionaires: bw.Program) -> None:
    for value in (2**40 + 31337, "31337x", [31337], {"x": 31337}, 31337.5):
        with pytest.raises(bw.InvalidInput) as error:
            bw.run(millionaires, value, 2)
        shown = "".join(traceback.format_exception(error.value)).split("Error", 1)
        assert "31337" not in str(error.value), shown


def test_secrets_are_erased_and_stay() -> None:
    buffer = bytearray(b"1250000")
    secret = bw.Secret(buffer)
    assert repr(secret) == "<brickwork.Secret>"
    for refused in (lambda: pickle.dumps(secret), lambda: copy.copy(secret), lambda: copy.deepcopy(secret)):
        with pytest.raises(TypeError):
            refused()
    program = bw.example("millionaires")
    assert bw.run(program, secret, 7).garbler == {"garbler_richer": 1, "equal": 0}
    assert buffer == bytes(7)
    with pytest.raises(ValueError, match="already used"):
        bw.run(program, secret, 7)
    with pytest.raises(TypeError, match="can be erased"):
        bw.Secret(b"7")  # type: ignore[arg-type]


def test_errors_pass_from_process_to_process() -> None:
    """Errors keep their class and all fields, so a caller can also handle a cheat that a pool of processes
    reports."""
    kinds: list[type[bw.PeerCheated]] = [bw.PeerCheated, *bw.CHEATS.values()]
    for kind in kinds:
        error = kind("m", "h")
        error.stands = {"rows": 3}
        for copied in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
            assert type(copied) is kind and str(copied) == str(error) and copied.stands == error.stands
            assert (copied.part, copied.check, copied.code) == (kind.part, kind.check, 5)
    source = bw.CompileError("m", "h")
    source.diagnostics = [{"file": "f", "line": 3, "column": 1, "message": "w", "text": "", "hint": ""}]
    secret = bw.SecretUsed("m", "h", "f.py", 7, "if a:")
    late = bw.Deadline("m", "h")
    others: list[bw.Error] = [source, secret, late, bw.UsageError("m")]
    for other in others:
        found = pickle.loads(pickle.dumps(other))
        assert type(found) is type(other) and str(found) == str(other) and vars(found) == vars(other)
