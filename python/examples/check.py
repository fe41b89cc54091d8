"""Executes the notebooks of this folder, which must be stored without outputs.

    python check.py [NOTEBOOK ...]

Ends with how many passed, and exits with 1 if one failed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).parent


def stored(notebook: nbformat.NotebookNode) -> list[str]:
    """What of a run a notebook has stored."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.id for cell in code if cell.outputs or cell.execution_count is not None]


def main() -> int:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb"))
    failed = 0
    for path in paths:
        began = time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        outputs = stored(notebook)
        if outputs:
            print(f"{path.name}: {', '.join(outputs)} have outputs; clear them before they are stored")
            failed += 1
            continue
        try:
            NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
        except CellExecutionError as error:
            print(f"{path.name}: {error}")
            failed += 1
            continue
        print(f"{path.name}: {time.monotonic() - began:.0f} s", flush=True)
    if not paths:
        print("there are no notebooks")
        failed += 1
    print(f"{len(paths) - failed} notebooks passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
