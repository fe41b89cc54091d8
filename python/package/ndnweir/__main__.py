"""``python -m ndnweir`` is the command."""

from ._command import main

main()
