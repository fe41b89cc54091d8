"""Environments of Gymnasium: an agent is the consumer of a fetch.

Needs the package ``gymnasium``. Importing this module registers ``ndnweir/Consumer-v0``.

>>> import gymnasium
>>> import ndnweir.gym
>>> env = gymnasium.make("ndnweir/Consumer-v0", scenario="dumbbell", set={"run.duration": "5s"})
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step([0.5])
>>> observation.shape, terminated, truncated
((8,), False, False)
>>> env.close()
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import gymnasium
import numpy
from gymnasium import spaces

from ._run import run
from ._scenario import Scenario
from ._schemes import Scheme
from .errors import InputError

MAX_WINDOW = 1e6


@dataclass
class Step:
    """What happened between two actions, of one consumer."""

    time: float = 0.0
    """Seconds from the last action to now."""
    data: int = 0
    """Segments that arrived."""
    bits: float = 0.0
    """Their bits on the wire."""
    marks: int = 0
    """Of these, marked ones."""
    losses: int = 0
    """Interests that timed out or were found lost."""
    nacks: int = 0
    """NACKs."""
    rtts: list[float] = field(default_factory=list)
    """Round-trip times in seconds."""
    window: float = 1.0
    """The window, in segments."""
    in_flight: int = 0
    """Interests outstanding."""
    least_rtt: float = 0.0
    """The least round-trip time so far, in seconds; 0 before the first."""

    @property
    def rtt(self) -> float:
        """The mean round-trip time in seconds; the least one of before if none was measured."""
        return sum(self.rtts) / len(self.rtts) if self.rtts else self.least_rtt

    def observation(self) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
        """Window, mean and least round-trip time, their ratio, marks, losses and NACKs per segment that arrived, and
        Interests in flight per window: logarithms (natural, of one more) where values have no bound."""
        count = max(1, self.data)
        ratio = self.rtt / self.least_rtt if self.least_rtt > 0 else 1.0
        values = [
            math.log1p(self.window),
            math.log1p(1000 * self.rtt),
            math.log1p(1000 * self.least_rtt),
            min(ratio, 100.0),
            min(self.marks / count, 1.0),
            math.log1p(self.losses / count),
            math.log1p(self.nacks / count),
            min(self.in_flight / self.window, 100.0),
        ]
        return numpy.array(values, dtype=numpy.float32)


def reward(step: Step) -> float:
    """Logarithm of the rate in Mbit/s, less twice the round-trip time over the least one beyond 1, less ten times the
    share of losses: more for who takes more, with diminishing returns, and less for queues (ours)."""
    if step.time <= 0:
        return 0.0
    rate = step.bits / step.time / 1e6
    ratio = step.rtt / step.least_rtt if step.least_rtt > 0 else 1.0
    lost = step.losses / max(1, step.data + step.losses)
    return math.log(max(rate, 1e-3)) - 2.0 * (min(ratio, 100.0) - 1.0) - 10.0 * lost


class _Ended(Exception):
    """Ends a run whose episode is given up."""


@dataclass
class Turn:
    """An agent that is to act, and what happened since it acted."""

    agent: int
    step: Step


class Episode:
    """A run in a thread of its own, which waits at each step for its agents: for the one whose step it is, or with
    ``together`` for all at once."""

    def __init__(self, start: Callable[[type], Any], interval: float, *, together: bool = False) -> None:
        self.turns: queue.Queue[list[Turn] | BaseException | None] = queue.Queue(1)
        self.actions: queue.Queue[list[float] | None] = queue.Queue(1)
        self.interval = interval
        self.together = together
        self.agents: list[Any] = []
        self.results: Any = None
        self.thread = threading.Thread(target=self._run, args=(start,), daemon=True)
        self.thread.start()

    def _run(self, start: Callable[[type], Any]) -> None:
        episode = self

        class Agent:
            """The consumer: its window is what the agent says."""

            def __init__(self) -> None:
                if episode.together and any(agent.now > 0 for agent in episode.agents):
                    raise InputError("flows that come and go are no agents that act together; use ndnweir/Consumer-v0")
                self.number = len(episode.agents)
                episode.agents.append(self)
                self.window = 2.0
                self.now = self.due = 0.0
                self.step = Step(window=self.window)

            def on_data(self, event: Any, ctx: Any) -> None:
                self.step.data += 1
                self.step.bits += 8.0 * event.size
                self.step.marks += event.mark > 0
                if event.rtt is not None:
                    self.step.rtts.append(event.rtt)
                    least = self.step.least_rtt
                    self.step.least_rtt = min(least, event.rtt) if least > 0 else event.rtt
                self.act(event, ctx)

            def on_congestion(self, event: Any, ctx: Any) -> None:
                if event.kind == "nack":
                    self.step.nacks += 1
                else:
                    self.step.losses += 1
                self.act(event, ctx)

            def act(self, event: Any, ctx: Any) -> None:
                self.step.in_flight = event.in_flight
                if ctx.now >= self.due:
                    episode._act(self, ctx.now)

            def begin(self, factor: float, now: float) -> None:
                self.window = min(max(self.window * factor, 1.0), MAX_WINDOW)
                self.now, self.due = now, now + episode.interval
                self.step = Step(window=self.window, in_flight=self.step.in_flight, least_rtt=self.step.least_rtt)

        try:
            self.results = start(Agent)
        except _Ended:
            pass
        except BaseException as error:  # handed over to whoever waits
            self.turns.put(error)
            return
        self.turns.put(None)

    def _act(self, agent: Any, now: float) -> None:
        acting = self.agents if self.together else [agent]
        for one in acting:
            one.step.time = now - one.now
        self.turns.put([Turn(one.number, one.step) for one in acting])
        factors = self.actions.get()
        if factors is None:
            raise _Ended
        for one, factor in zip(acting, factors, strict=True):
            one.begin(factor, now)

    def act(self, actions: Iterable[Any]) -> None:
        """Gives the actions of those whose turn it is."""
        exponents = (float(numpy.clip(numpy.asarray(a, numpy.float64).reshape(-1)[0], -1.0, 1.0)) for a in actions)
        self.actions.put([2.0**exponent for exponent in exponents])

    def next(self) -> list[Turn] | None:
        """Waits for the next turns; ``None`` at the end of the run."""
        turns = self.turns.get()
        if isinstance(turns, BaseException):
            raise turns
        return turns

    def end(self) -> None:
        """Gives the run up."""
        while self.thread.is_alive():
            try:
                self.actions.put_nowait(None)
            except queue.Full:
                pass
            try:
                self.turns.get(timeout=0.01)
            except queue.Empty:
                pass


def observation_space() -> spaces.Box:
    """Eight numbers (:meth:`Step.observation`)."""
    return spaces.Box(-1.0, 101.0, (8,), numpy.float32)


def action_space() -> spaces.Box:
    """The exponent of the window's factor, with base 2."""
    return spaces.Box(-1.0, 1.0, (1,), numpy.float32)


def starter(
    scenario: str | Scenario, base: str, seed: int, set: Mapping[str, object] | Iterable[str] | None
) -> Callable[[type], Any]:
    """What runs a scenario with a class as its consumer."""

    def start(agent: type) -> Any:
        return run(scenario, Scheme("agent", base=base, consumer=agent), [seed], set=set, threads=1, progress=False)

    return start


class Consumer(gymnasium.Env[Any, Any]):
    """Consumers of a scenario are agents with one policy, over the other parts of the scheme ``base``.

    **Observation**: eight numbers (:meth:`Step.observation`). **Action**: one number in [-1, 1]; the window is
    multiplied by 2 to the power of it, and stays between 1 and 10⁶ segments. **Reward**: :func:`reward`, or another
    function of a :class:`Step`. A step is made at the first Data or failure after ``interval`` seconds. **Truncated** at
    the end of the scenario's run, never terminated. ``info`` has the values of the :class:`Step`; after the
    last one ``info["results"]`` are the :class:`ndnweir.Results` of the episode. ``reset(seed=…)`` sets the seed of the run;
    without, the next one of the generator. Of several consumers each takes its turn: a step is of ``info["agent"]``,
    counted from 0.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: str | Scenario = "dumbbell",
        *,
        base: str = "bic",
        interval: float = 0.1,
        set: Mapping[str, object] | Iterable[str] | None = None,
        reward: Callable[[Step], float] = reward,
        render_mode: str | None = None,
    ) -> None:
        self.scenario = scenario
        self.base = base
        self.interval = interval
        self.set = set
        self.reward = reward
        self.render_mode = render_mode
        self.observation_space = observation_space()
        self.action_space = action_space()
        self._episode: Episode | None = None
        self._observation = Step().observation()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins a run; its seed is ``seed``, or the next of the environment's generator."""
        super().reset(seed=seed)
        self.close()
        chosen = int(self.np_random.integers(1, 2**32)) if seed is None else seed

        self._episode = Episode(starter(self.scenario, self.base, chosen, self.set), self.interval)
        turn = self._next()
        return self._observe(turn), self._info(turn)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Multiplies the window by 2 to the power of the action and runs until the next step."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("reset the environment before a step")
        self._episode.act([action])
        turn = self._next()
        observation, info = self._observe(turn), self._info(turn)
        if turn is None:
            info["results"], self._episode = self._episode.results, None
            return observation, 0.0, False, True, info
        return observation, float(self.reward(turn.step)), False, False, info

    def _next(self) -> Turn | None:
        assert self._episode is not None
        turns = self._episode.next()
        return turns[0] if turns else None

    def _observe(self, turn: Turn | None) -> Any:
        if turn is not None:
            self._observation = turn.step.observation()
        return self._observation

    def _info(self, turn: Turn | None) -> dict[str, Any]:
        return {} if turn is None else {"agent": turn.agent, **asdict(turn.step)}

    def close(self) -> None:
        """Ends the run."""
        if self._episode is not None:
            self._episode.end()
            self._episode = None


gymnasium.register(id="ndnweir/Consumer-v0", entry_point="ndnweir.gym:Consumer")
