"""Programs written in Python: `@bw.program`, made of functions and of components, `@bw.component`."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from operator import or_
from typing import Any, Generic, ParamSpec, TypeVar

from . import programs
from .arrays import array_of, as_value, value
from .errors import UsageError
from .integers import Integer
from .pages import Page
from .reads import is_itself_alone, reads
from .tracing import (
    EXPECTED,
    Body,
    Fault,
    Source,
    body,
    definition,
    function,
    is_tracing,
    parameter,
    refuse,
    source,
    tracing,
)
from .types import Owned, StructType, Type, type_of_annotation
from .values import BIT, Value, fold, here

P = ParamSpec("P")
R = TypeVar("R")


class Component(Generic[P, R]):
    """A function that is garbled ahead of time, as one component. With plain arguments it is an ordinary
    function."""

    __name__: str

    def __init__(self, body: Callable[P, R], names: dict[str, Any] | None = None) -> None:
        self._body = body
        self._names = names or {}
        self._signature = inspect.signature(body)
        kinds = {one.kind for one in self._signature.parameters.values()}
        if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds:
            name = getattr(body, "__name__", repr(body))
            raise UsageError(
                f"{name} takes any number of arguments",
                "name the parameters of the component, or use one list",
            )
        self._types: dict[str, Type] | None = None
        self._returns: Type | None = None
        functools.update_wrapper(self, body)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not is_tracing():
            return self._body(*args, **kwargs)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self._call(bound.arguments)  # type: ignore[no-any-return]

    def _call(self, arguments: dict[str, Any]) -> Any:
        if self._types is None:
            self._types = _types_of(self._body, self._names)
            self._returns = self._types.pop("return", None)
        secrets = {name: self._secret(name, one) for name, one in arguments.items()}
        plain = {name: one for name, one in arguments.items() if secrets[name] is None}
        types = {name: one.type for name, one in secrets.items() if one is not None}
        if not types:
            return self._body(**plain)  # type: ignore[call-arg]
        if source().checks is not None:
            found: Any = self._body(**{**secrets, **plain})  # type: ignore[call-arg]
            with definition(self._body):
                return self._result(found)
        key = (self, tuple(sorted(types.items(), key=lambda item: item[0])), _key(plain))
        read = reads(self._body, *plain.values())
        if key not in source().functions:
            source().functions[key] = self._trace(key, types, plain)
        elif read is None or source().written[key][0] != read:
            self._trace_again(key, types, plain)
        source().written[key] = read, source().written[key][1]
        name, result = source().functions[key]
        paths = [here(one) for one in secrets.values() if one is not None]
        given = dict(zip(map(parameter, types), paths))
        for path, field, keys in source().tables.get(name, ()):
            of, dot, rest = path.partition(".")
            body().tables.append((given[of] + dot + rest, field, keys))
        return value(result, body().let(result, f"{name}({', '.join(paths)})"))

    def _secret(self, name: str, given: Any) -> Value | None:
        """Returns an argument as a secret, or None for a plain argument, which is a constant of the
        function."""
        assert self._types is not None
        if name in self._types:
            return as_value(given, self._types[name])  # type: ignore[no-any-return]
        if isinstance(given, Value):
            return given
        if isinstance(given, (list, tuple)) and any(isinstance(one, Value) for one in given):
            return array_of(given)
        return None

    def _trace_again(self, key: object, types: dict[str, Type], plain: dict[str, Any]) -> None:
        """Refuses a function whose source would differ now, because it exists only once."""
        of = source()
        before = set(of.names), dict(of.functions), list(of.texts)
        text = self._text(types, plain)
        of.names, of.functions, of.texts = before
        if text != of.written[key][1]:
            refuse(
                f"calls the component {self._body.__name__}, "
                "which now behaves differently with the same arguments",
                "a component is traced once, so values that it reads besides its arguments must not change. "
                "Give changing values as arguments",
            )

    def _trace(self, key: object, types: dict[str, Type], plain: dict[str, Any]) -> tuple[str, Type]:
        """Writes the function's source, twice, and returns its name and the type of its result."""
        of, texts = source(), []
        before = set(of.names), dict(of.functions), list(of.texts)
        for _ in range(2):
            of.names, of.functions, of.texts = set(before[0]), dict(before[1]), list(before[2])
            texts.append((self._text(types, plain), of.texts))
        if texts[0] != texts[1]:
            raise UsageError(
                f"{self._body.__name__} behaves differently in each call",
                "a component may depend only on its arguments, not on random numbers or counters",
            )
        of.written[key] = None, texts[0][0]
        result, parameters, lines, tables = texts[0][0]
        # A function that is made again at each call, such as a lambda, is the same function if its text is
        # the same.
        same = (self._body.__name__, result, parameters, tuple(lines))
        if same not in of.functions:
            name = of.new_name(self._body.__name__)
            head = f"/*@ component */\nfunction {result.word}{result.dimensions} {name}({parameters})"
            of.texts.append("\n".join([head, "{", *lines, "}", ""]))
            of.functions[same] = name, result
            of.tables[name] = tables
        return of.functions[same]

    def _text(
        self, types: dict[str, Type], plain: dict[str, Any]
    ) -> tuple[Type, str, list[str], tuple[tuple[str, str, str], ...]]:
        """Returns the function's result, its parameters, its lines, and its rules for tables."""
        with function() as of:
            for type in types.values():
                source().use(type)
            arguments = {name: value(type, parameter(name)) for name, type in types.items()}
            result: Any = self._body(**arguments, **plain)  # type: ignore[call-arg]
            with definition(self._body):
                result = self._result(result)
                of.say(f"return {here(result)};")
            parameters = ", ".join(
                f"{type.word} {parameter(name)}{type.dimensions}" for name, type in types.items()
            )
            own = set(map(parameter, types))
            tables = tuple(one for one in of.tables if one[0].partition(".")[0] in own)
            return result.type, parameters, of.lines, tables

    def _result(self, result: Any) -> Value:
        """Returns the function's result as one secret value."""
        if isinstance(result, (list, tuple)) and any(isinstance(one, Value) for one in result):
            result = array_of(result)
        if self._returns is not None:
            result = as_value(result, self._returns)
        if not isinstance(result, Value):
            refuse(
                f"returns {result!r} from a component", "return a secret value, a list of them, or a Struct"
            )
        return result


def _key(plain: dict[str, Any]) -> object:
    def typed(one: Any) -> object:
        # True, 1 and 1.0 are equal, but not the same.
        return (type(one), tuple(map(typed, one))) if isinstance(one, tuple) else (type(one), one)

    for one in plain.values():
        if is_itself_alone(one):
            refuse(
                f"gives a component a {type(one).__name__}, whose content may change",
                "give numbers, strings, tuples of these, or frozen dataclasses",
            )
    try:
        hash(key := tuple((name, typed(one)) for name, one in sorted(plain.items())))
    except TypeError:
        refuse(
            "gives a component a plain value that is not hashable",
            "give numbers, strings, or tuples of these",
        )
    return key


def _types_of(of: Callable[..., Any], names: dict[str, Any]) -> dict[str, Type]:
    """Returns the types in the annotations of a function's parameters; `int` and others are plain."""
    found = {}
    for name, annotation in _annotations(of, names).items():
        try:
            found[name] = type_of_annotation(annotation)
        except UsageError:
            continue
    return found


def _local_names(of: Callable[..., Any]) -> dict[str, Any]:
    """Returns the names that annotations may use where a function is decorated within another function."""
    frame = sys._getframe(2)
    return dict(frame.f_locals) if "<locals>" in of.__qualname__ else {}


def _annotations(of: Callable[..., Any], names: dict[str, Any]) -> dict[str, Any]:
    closure = inspect.getclosurevars(of).nonlocals
    try:
        return inspect.get_annotations(of, locals={**names, **closure}, eval_str=True)
    except Exception as e:
        raise UsageError(
            f"{of.__name__}: an annotation cannot be evaluated: {e}",
            "use a type such as bw.u32, bw.i8[4] or a Struct",
        ) from e


def component(body: Callable[P, R]) -> Component[P, R]:
    """Makes a function a component: each call of it is a slot, and all slots of a kind are garbled in the
    same way."""
    return Component(body, _local_names(body))


class Traced(Page, Generic[P, R]):
    """A program that is written in Python. Called with plain values it computes in the clear.

    Attributes:
        source: the program in Brickwork's own language.
    """

    __name__: str

    def __init__(self, body: Callable[P, R], names: dict[str, Any] | None = None) -> None:
        self._body = body
        self._names = names or {}
        self._program: programs.Program | None = None
        self._checked: tuple[programs.Program, list[Fault]] | tuple[()] | None = None
        functools.update_wrapper(self, body)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._body(*args, **kwargs)

    @functools.cached_property
    def source(self) -> str:
        texts = [self._trace() for _ in range(2)]
        if texts[0] != texts[1]:
            raise UsageError(
                f"{self._body.__name__} behaves differently in each call",
                "both parties need the same program: trace it once, `save` it, and send the file to the peer",
            )
        return texts[0]

    def checked(self) -> tuple[programs.Program, list[Fault]] | None:
        """Returns a program that gives the garbler a bit for each possible fault of this program, and these
        faults. Returns None if it can have none.
        """
        if self._checked is None:
            of = Source()
            of.checks = {}
            text = self._trace(of)
            self._checked = (self._compiled(text), list(of.checks)) if of.checks else ()
        return self._checked or None

    def _trace(self, of: Source | None = None) -> str:
        annotations = _annotations(self._body, self._names)
        returns = annotations.pop("return", None)
        parameters = inspect.signature(self._body).parameters
        inputs = {name: _owned(self._body, name, annotations.get(name)) for name in parameters}
        of = of or Source()
        head: list[str] = []
        with tracing(of) as main:
            arguments: dict[str, Any] = {}
            wholes: dict[int, Type] = {}
            for number, party in ((1, "garbler"), (2, "evaluator")):
                own = {name: owned.type for name, owned in inputs.items() if owned.party == party}
                if not own:
                    continue
                whole = (
                    next(iter(own.values()))
                    if len(own) == 1
                    else StructType(f"{party}_input", tuple(own.items()))
                )
                with definition(self._body):
                    of.use(whole)
                wholes[number] = whole
                for name, type in own.items():
                    path = f"input{number}" if len(own) == 1 else f"input{number}.{name}"
                    arguments[name] = value(type, path, main)
            result = self._body(**arguments)  # type: ignore[call-arg]
            for number, whole in wholes.items():
                head += [f"/*@ {keys} {path} */" for path, keys in _tables_of(main, f"input{number}")]
                head.append(f"#input {number} {whole.word}{whole.dimensions}")
            with definition(self._body):
                outputs = _outputs(self._body, returns, result)
            if of.checks:
                faults = [
                    fold([Integer(BIT, path) for path in paths], or_, None) for paths in of.checks.values()
                ]
                found = array_of(faults)
                outputs = [(1, found.type, here(found))]
            for number, type, path in outputs:
                of.use(type)
                head.append(f"#output {number} {type.word}{type.dimensions}")
                main.say(f"output{number} = {path};")
            if of.failed is not None:
                raise of.failed
            return of.text(head, main)

    def as_program(self) -> programs.Program:
        """Returns the program, traced and compiled."""
        if self._program is None:
            self._program = self._compiled(self.source)
        return self._program

    def _compiled(self, text: str) -> programs.Program:
        folder = programs.new_file().removesuffix(".bwp")
        os.mkdir(folder)
        path = os.path.join(folder, f"{Source().new_name(self._body.__name__)}.wir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return programs.Program(path)

    def record(self) -> Mapping[str, Any]:
        return self.as_program().record()

    def save(self, path: str | os.PathLike[str]) -> programs.Program:
        """Writes the program to a `.bwp` file, which can be sent to the peer."""
        return self.as_program().save(path)

    def __repr__(self) -> str:
        return f"<traced {self._body.__name__}>"


def _tables_of(main: Body, port: str) -> list[tuple[str, str]]:
    """Returns the keys of tables of an input that have a rule, with the strictest rule for each."""
    found: dict[str, str] = {}
    for path, field, keys in main.tables:
        name, _, rest = path.partition(".")
        # An element of an array of tables has no name.
        if name == port and "[" not in rest:
            key = f"{rest}.{field}" if rest else field
            found[key] = max(found.get(key, keys), keys, key=EXPECTED.index)
    return list(found.items())


def _owned(of: Callable[..., Any], name: str, annotation: Any) -> Owned:
    if not isinstance(annotation, Owned):
        raise UsageError(
            f"{of.__name__}: the annotation of {name} does not say which party gives it",
            f"write {name}: bw.Garbler[bw.u32] or bw.Evaluator[bw.u32]",
        )
    if annotation.party == "both":
        raise UsageError(
            f"{of.__name__}: the annotation of {name} names both parties", "an input must come from one party"
        )
    return annotation


def _outputs(of: Callable[..., Any], returns: Any, result: Any) -> list[tuple[int, Type, str]]:
    """Returns each party's number, the outputs that it learns, and their position."""
    owned = (
        list(returns) if isinstance(returns, tuple) else list(getattr(returns, "__args__", ())) or [returns]
    )
    several = len(owned) > 1
    if not all(isinstance(one, Owned) for one in owned):
        raise UsageError(
            f"{of.__name__}: the annotation does not say which party learns the result",
            "write -> bw.Both[bw.u32], or bw.Garbler, bw.Evaluator, or a tuple of these",
        )
    results = list(result) if several else [result]
    if len(results) != len(owned):
        raise UsageError(
            f"{of.__name__} returns {len(results)} values",
            f"its annotation has {len(owned)} parts; both numbers must be equal",
        )
    outputs = []
    for number, party in ((1, "garbler"), (2, "evaluator")):
        own = [as_value(one, to.type) for one, to in zip(results, owned) if to.party in (party, "both")]
        if len(own) > 1:
            raise UsageError(f"{of.__name__}: the {party} learns two values", "return a Struct of both")
        outputs += [(number, one.type, here(one)) for one in own]
    return outputs


def program(body: Callable[P, R]) -> Traced[P, R]:
    """Makes a program of a function. The types of its parameters name the party that gives them, and the type
    of its result names the party that learns it.
    """
    return Traced(body, _local_names(body))
