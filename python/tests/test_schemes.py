"""Schemes written in Python."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import ndnweir

SHORT = {"run.duration": "3s"}


@ndnweir.consumer(name="python-aimd")
class Aimd:
    """The law of `aimd` of RFC 5681, without its guard."""

    def __init__(self) -> None:
        self.window = 2.0
        self.cut_at = 0.0

    def on_data(self, event: Any, ctx: Any) -> None:
        if event.mark:
            self.cut(event, ctx)
        else:
            self.window += 1 / self.window

    def on_congestion(self, event: Any, ctx: Any) -> None:
        self.cut(event, ctx)

    def cut(self, event: Any, ctx: Any) -> None:
        if ctx.now - self.cut_at > event.srtt:
            self.window, self.cut_at = max(1.0, self.window / 2), ctx.now


class Twenty:
    window = 20.0

    def on_data(self, event: Any, ctx: Any) -> None:
        pass

    def on_congestion(self, event: Any, ctx: Any) -> None:
        pass


def rows(*arguments: Any, **options: Any) -> dict[str, list[Any]]:
    return ndnweir.run(*arguments, progress=False, **{"set": SHORT, **options}).runs.to_pydict()


def test_a_constant_window_of_python_gives_the_run_of_the_same_window_of_rust() -> None:
    scheme = ndnweir.Scheme("twenty", base="fixed", consumer=Twenty)
    change = {**SHORT, "scheme.fixed.consumer.window": 20}
    found = rows("dumbbell", [scheme, "fixed"], set=change)
    assert found["event_hash"][0] == found["event_hash"][1]


def test_a_law_of_python_fills_the_link_and_repeats_with_any_number_of_threads() -> None:
    found = rows("dumbbell", [Aimd, "aimd"], 2, set={"run.duration": "10s"})
    assert found["scheme"] == ["python-aimd"] * 2 + ["aimd"] * 2
    assert all(goodput > 5 for goodput in found["goodput_mbps"]), found["goodput_mbps"]
    again = rows("dumbbell", [Aimd, "aimd"], 2, set={"run.duration": "10s"}, threads=1)
    assert found == again
    ndnweir.check(Aimd)


def test_no_command_repeats_a_scheme_of_python_and_stand_ins_are_named() -> None:
    repeat = ndnweir.run("dumbbell", [Aimd, "ecp"], set=SHORT, progress=False).summary["repeat"]
    assert repeat["command"] == "" and "ecp" in repeat["notes"][0]


def test_pacing_spreads_interests() -> None:
    class Paced(Twenty):
        def pacing(self) -> float:
            return 0.01

    found = rows("dumbbell", [ndnweir.Scheme("paced", consumer=Paced), ndnweir.Scheme("not", consumer=Twenty)])
    paced, free = found["goodput_mbps"]
    # A hundred Data of 1024 B a second, and two consumers.
    assert paced == pytest.approx(2 * 0.1 * 8.192, rel=0.05) and free > 2 * paced


def test_a_marker_marks_and_drops() -> None:
    @ndnweir.marker(base="bic", name="after-5ms")
    class Late:
        def on_dequeue(self, event: Any, ctx: Any) -> str | None:
            return "mark" if event.kind == "data" and event.wait > 0.005 else None

    @ndnweir.marker(base="bic", name="one-in-a-hundred")
    class Lossy:
        def on_enqueue(self, event: Any, ctx: Any) -> str | None:
            return "drop" if event.kind == "data" and ctx.random() < 0.01 else None

    found = rows("dumbbell", [Late, Lossy], set={"run.duration": "10s"})
    assert found["marks"][0] > 10 and found["bottleneck_queue_ms"][0] < 15
    dropped = {name: count for name, count in found.items() if name.startswith("drops_")}
    assert any(count[1] > 10 for count in dropped.values()), dropped


def test_a_strategy_in_turns_uses_both_ways() -> None:
    @ndnweir.strategy(base="bic", name="in-turns")
    class Turns:
        def __init__(self) -> None:
            self.count = itertools.count()

        def on_interest(self, event: Any, ctx: Any) -> int | None:
            if event.arrival == "joining":
                return None
            return event.hops[next(self.count) % len(event.hops)][0] if event.hops else None

    found = rows("two-paths", [Turns, "bic"])
    both, one = found["goodput_mbps"]
    assert both > 1.3 * one, found["goodput_mbps"]


def test_what_a_class_raises_ends_the_run_and_is_raised() -> None:
    class Broken(Twenty):
        def on_data(self, event: Any, ctx: Any) -> None:
            raise KeyError("no such thing")

    class Negative(Twenty):
        def on_data(self, event: Any, ctx: Any) -> None:
            self.window = -1.0

    class Unborn(Twenty):
        def __init__(self) -> None:
            raise OSError("not today")

    for part, error, words in [
        (Broken, KeyError, "no such thing"),
        (Negative, ValueError, "window is -1"),
        (Unborn, OSError, "not today"),
    ]:
        with pytest.raises(error, match=words):
            rows("dumbbell", [ndnweir.Scheme("it", consumer=part)])
        with pytest.raises(error, match=words):
            ndnweir.check(part)


def test_a_strategy_may_only_name_faces_of_the_hops() -> None:
    class Astray:
        def on_interest(self, event: Any, ctx: Any) -> int:
            return 999

    with pytest.raises(ValueError, match="return a face of"):
        rows("dumbbell", [ndnweir.Scheme("astray", strategy=Astray)])


def test_check_finds_a_consumer_that_never_grows_and_one_that_does_not_repeat() -> None:
    shared = itertools.count()

    class Forgetful(Twenty):
        def on_data(self, event: Any, ctx: Any) -> None:
            self.window = 2.0 + next(shared) % 7

    with pytest.raises(ndnweir.RunError, match="other windows"):
        ndnweir.check(Forgetful)
    with pytest.raises(ndnweir.RunError, match="grow again|window grow"):
        ndnweir.check(Twenty)


def test_check_accepts_markers_and_strategies_that_keep_to_the_rules() -> None:
    @ndnweir.marker
    class Late:
        def on_dequeue(self, event: Any, ctx: Any) -> str | None:
            return "mark" if event.wait > 0.005 else "drop" if event.wait > 0.1 and ctx.random() < 0.1 else None

    class Cheapest:
        def on_interest(self, event: Any, ctx: Any) -> Any:
            if event.arrival == "joining":
                return None
            return event.hops[0][0] if event.hops else "reject"

    ndnweir.check(Late, seeds=3)
    ndnweir.check(Cheapest, seeds=3)
    ndnweir.check(ndnweir.Scheme("both", marker=Late, strategy=Cheapest), seeds=1)


def test_check_finds_markers_that_fail_at_some_rate_or_do_not_repeat() -> None:
    shared = itertools.count()

    class AtZero:
        def on_enqueue(self, event: Any, ctx: Any) -> str | None:
            return "mark" if 8 * event.bytes / event.rate > 0.01 else None

    class InTurns:
        def on_enqueue(self, event: Any, ctx: Any) -> str | None:
            return "mark" if next(shared) % 7 == 0 else None

    class Loud:
        def on_dequeue(self, event: Any, ctx: Any) -> int:
            return 256

    with pytest.raises(ZeroDivisionError):
        ndnweir.check(AtZero)
    with pytest.raises(ndnweir.RunError, match="other decisions"):
        ndnweir.check(InTurns)
    with pytest.raises(ValueError, match="returned 256"):
        ndnweir.check(Loud)


def test_check_finds_strategies_that_name_no_hop_send_nothing_or_do_not_repeat() -> None:
    shared = itertools.count()

    class First:
        def on_interest(self, event: Any, ctx: Any) -> int:
            return event.hops[0][0]

    class Silent:
        def on_interest(self, event: Any, ctx: Any) -> None:
            return None

    class InTurns:
        def on_interest(self, event: Any, ctx: Any) -> int | None:
            return event.hops[next(shared) % len(event.hops)][0] if event.hops else None

    class Back:
        def on_interest(self, event: Any, ctx: Any) -> int:
            return event.in_face

    with pytest.raises(IndexError):
        ndnweir.check(First)
    with pytest.raises(ndnweir.RunError, match="sent or held"):
        ndnweir.check(Silent)
    with pytest.raises(ndnweir.RunError, match="other decisions"):
        ndnweir.check(InTurns)
    with pytest.raises(ValueError, match="return a face of"):
        ndnweir.check(Back)
    with pytest.raises(ndnweir.InputError, match="a strategy on_interest"):
        ndnweir.check(int)


def test_what_is_no_scheme_is_rejected() -> None:
    with pytest.raises(ndnweir.InputError, match="on_enqueue or on_dequeue"):
        ndnweir.Scheme("x", marker=Twenty)
    with pytest.raises(ndnweir.InputError, match="lacks on_data"):
        ndnweir.Scheme("x", consumer=int)
    with pytest.raises(ndnweir.InputError, match="give a consumer"):
        ndnweir.Scheme("x")
    with pytest.raises(ndnweir.InputError, match="give each once"):
        rows("dumbbell", [Aimd, Aimd])
    with pytest.raises(ndnweir.InputError, match="is none"):
        rows("dumbbell", [3])
    with pytest.raises(ndnweir.InputError, match="did you mean"):
        rows("dumbbell", [ndnweir.Scheme("x", base="pcom", consumer=Twenty)])
