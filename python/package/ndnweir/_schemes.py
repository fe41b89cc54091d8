"""Schemes written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar, overload

from . import _native
from .errors import InputError

C = TypeVar("C", bound=type)

FAMILIES = ("consumer", "marker", "strategy")
REQUIRED = {"consumer": ("on_data", "on_congestion"), "marker": (), "strategy": ("on_interest",)}


class Context(Protocol):
    """What methods get beside the event: use nothing else, so that runs repeat."""

    now: float
    """Seconds since the start."""

    def random(self) -> float:
        """A number in [0, 1), from a stream of this instance that the seed determines."""


class Scheme:
    """A scheme with parts written in Python; the others are those of ``base``.

    >>> class Fixed:
    ...     window = 20.0
    ...     def on_data(self, event, ctx): pass
    ...     def on_congestion(self, event, ctx): pass
    >>> import ndnweir
    >>> scheme = Scheme("twenty", base="plain", consumer=Fixed)
    >>> runs = ndnweir.run("dumbbell", [scheme, "fixed"], set={"run.duration": "2s"}).runs
    >>> runs.to_pydict()["scheme"]
    ['twenty', 'fixed']
    """

    def __init__(
        self,
        name: str,
        *,
        base: str = "plain",
        consumer: type | None = None,
        marker: type | None = None,
        strategy: type | None = None,
    ) -> None:
        self.name = name
        self.base = base
        parts = {"consumer": consumer, "marker": marker, "strategy": strategy}
        self.parts = {family: part for family, part in parts.items() if part is not None}
        if not self.parts:
            raise InputError(f"scheme {name}: give a consumer, marker or strategy written in Python")
        for family, part in self.parts.items():
            missing = [method for method in REQUIRED[family] if not callable(getattr(part, method, None))]
            if family == "marker" and not any(hasattr(part, method) for method in ("on_enqueue", "on_dequeue")):
                missing = ["on_enqueue or on_dequeue"]
            if missing:
                raise InputError(f"{part.__name__} is no {family}: it lacks {' and '.join(missing)}")

    def definition(self) -> tuple[str, str, list[tuple[str, type]]]:
        """As the native part takes it."""
        return self.name, self.base, [*self.parts.items()]

    def __repr__(self) -> str:
        return f"<ndnweir.Scheme {self.name}: {self.base} with {', '.join(self.parts)} of Python>"


def _decorator(family: str) -> Callable[..., object]:
    def decorate(cls: type | None = None, *, base: str | None = None, name: str | None = None) -> object:
        def mark(cls: type) -> type:
            start = base or ("plain" if family == "consumer" else "bic")
            cls.__ndnweir__ = Scheme(name or cls.__name__, base=start, **{family: cls})  # type: ignore[attr-defined]
            return cls

        return mark if cls is None else mark(cls)

    return decorate


@overload
def consumer(cls: C) -> C: ...
@overload
def consumer(*, base: str = "plain", name: str | None = None) -> Callable[[C], C]: ...
def consumer(cls: type | None = None, *, base: str | None = None, name: str | None = None) -> object:
    """Makes a class a scheme: its consumer, over the other parts of ``base``.

    The class has ``window`` (a number from 1 on, or a method without arguments), ``on_data(event, ctx)`` for each
    segment that arrives and ``on_congestion(event, ctx)`` for each Interest that fails; ``pacing()``, if it is there,
    gives the seconds between Interests or ``None``. An instance is made for each fetch.

    >>> @consumer
    ... class Halving:
    ...     def __init__(self):
    ...         self.window = 2.0
    ...     def on_data(self, event, ctx):
    ...         if event.mark:
    ...             self.on_congestion(event, ctx)
    ...         else:
    ...             self.window += 1 / self.window
    ...     def on_congestion(self, event, ctx):
    ...         self.window = max(1.0, self.window / 2)
    >>> import ndnweir
    >>> ndnweir.check(Halving)
    """
    return _decorator("consumer")(cls, base=base, name=name)


@overload
def marker(cls: C) -> C: ...
@overload
def marker(*, base: str = "bic", name: str | None = None) -> Callable[[C], C]: ...
def marker(cls: type | None = None, *, base: str | None = None, name: str | None = None) -> object:
    """Makes a class a scheme: the marker of its queues, over the other parts of ``base``.

    ``on_enqueue(event, ctx)`` when a packet joins and ``on_dequeue(event, ctx)`` when its transmission begins, either or
    both, return ``None``, ``"mark"``, ``"drop"``, or a level from 1 to 255. An instance is made for each queue.
    """
    return _decorator("marker")(cls, base=base, name=name)


@overload
def strategy(cls: C) -> C: ...
@overload
def strategy(*, base: str = "bic", name: str | None = None) -> Callable[[C], C]: ...
def strategy(cls: type | None = None, *, base: str | None = None, name: str | None = None) -> object:
    """Makes a class a scheme: the forwarding strategy of its nodes, over the other parts of ``base``.

    ``on_interest(event, ctx)`` returns a face of ``event.hops``, several (the first is the way, the others are probes),
    ``None`` to send nothing, or ``"reject"``. ``on_data(event, ctx)`` and ``on_timeout(event, ctx)``, if they are there,
    tell what came of it. An instance is made for each node.
    """
    return _decorator("strategy")(cls, base=base, name=name)


def check(cls: type | Scheme, seeds: int = 20) -> None:
    """Checks a consumer, marker or strategy, or all that a scheme has of Python, as those that come with ndnweir are.

    Random operations and a standard workload run on fresh instances, each twice: what a component does must repeat
    exactly. A consumer's window stays a number from 1 on, it never waits for ever, and a window that was cut grows
    again. A marker meets packets of every kind and size, at links of any rate, full queues and pauses. A strategy meets
    routes and links that come and go, Interests that are new, retransmitted or joining, NACKs and timeouts; a new
    Interest with one next hop must be sent.

    Raises ``RunError`` with what shows otherwise, or what the class raises.

    >>> class Every10th:
    ...     def on_enqueue(self, event, ctx):
    ...         return "mark" if event.kind == "data" and ctx.random() < 0.1 else None
    >>> check(Every10th)
    """
    written = cls if isinstance(cls, Scheme) else getattr(cls, "__ndnweir__", None)
    parts: dict[str, type] = written.parts if isinstance(written, Scheme) else dict([_family(cls)])
    for family, part in parts.items():
        CHECKS[family](part, seeds)


CHECKS = {"consumer": _native.check_consumer, "marker": _native.check_marker, "strategy": _native.check_strategy}


def _family(cls: object) -> tuple[str, type]:
    """A class without a decorator, and its family by its methods."""

    def has(method: str) -> bool:
        return callable(getattr(cls, method, None))

    if isinstance(cls, type):
        if has("on_interest"):
            return "strategy", cls
        if has("on_enqueue") or has("on_dequeue"):
            return "marker", cls
        if has("on_data") and has("on_congestion"):
            return "consumer", cls
    name = getattr(cls, "__name__", repr(cls))
    raise InputError(
        f"{name} is no component: a consumer has on_data and on_congestion, a marker on_enqueue or on_dequeue, "
        "a strategy on_interest"
    )


def split(schemes: object) -> tuple[list[str], list[Scheme]]:
    """Names, and the schemes written in Python among them."""
    if schemes is None:
        return [], []
    if isinstance(schemes, str):
        return [name.strip() for name in schemes.split(",")], []
    if isinstance(schemes, (Scheme, type)):
        schemes = [schemes]
    if not isinstance(schemes, Iterable):
        raise InputError(f"schemes: {schemes!r} is none; give names, or classes with @ndnweir.consumer")
    names, written = [], []
    for item in schemes:
        found = getattr(item, "__ndnweir__", item)
        if isinstance(found, Scheme):
            written.append(found)
            names.append(found.name)
        elif isinstance(found, str):
            names.append(found)
        else:
            raise InputError(f"schemes: {item!r} is none; give names, or classes with @ndnweir.consumer")
    if len(set(names)) < len(names):
        raise InputError(f"schemes: {', '.join(names)}: give each once, and each a name of its own")
    return names, written
