"""A bar of progress in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell else None
    return type(found).__name__ == "ZMQInteractiveShell"


class Bar:
    """Draws how far the runs are: in a notebook as text that is replaced, in a terminal on standard error."""

    WIDTH = 40

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.display: Any = None
        self.drawn = False
        self.notebook = _in_notebook()
        self.terminal = sys.stderr.isatty()

    def __call__(self, done: int, runs: int, fraction: float) -> None:
        if not (self.notebook or self.terminal):
            return
        passed = time.monotonic() - self.begun
        left = f", {passed / fraction - passed:.0f} s left" if 0 < fraction < 1 else ""
        filled = int(self.WIDTH * fraction)
        bar = "=" * filled + " " * (self.WIDTH - filled)
        self._draw(f"{done}/{runs} runs [{bar}] {100 * fraction:.0f} % ({passed:.0f} s{left})")

    def _draw(self, text: str) -> None:
        if not self.notebook:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self.drawn = True
            return
        from IPython.display import display

        # Not a text, which would be shown in quotes.
        shown = {"text/plain": text}
        if self.display is None:
            self.display = display(shown, raw=True, display_id=True)
        else:
            self.display.update(shown, raw=True)

    def close(self) -> None:
        """Removes the bar of a terminal."""
        if self.drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
