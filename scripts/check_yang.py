"""Checks the YANG modules of packaging/yang, and that the router's agent has the same leaves.

Reads the modules with pyang's library, prints every error and warning, and compares path, type and access of each leaf
with crates/control/tests/model.txt, which a Rust test compares with the agent. `--write` writes that file.
"""

import sys
from pathlib import Path

from pyang import context, repository

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "packaging" / "yang"
MODEL = ROOT / "crates" / "control" / "tests" / "model.txt"
KINDS = {"counter64": "uint64", "counter32": "uint32"}


def base(type_statement):
    """The built-in type behind a type statement, with the names of an enumeration."""
    while getattr(type_statement, "i_typedef", None) is not None:
        type_statement = type_statement.i_typedef.search_one("type")
    if type_statement.arg == "enumeration":
        return "|".join(name.arg for name in type_statement.search("enum"))
    return KINDS.get(type_statement.arg, type_statement.arg)


def leaves(statement, path):
    """A line for each leaf below a statement."""
    for child in statement.i_children:
        keys = [key.arg for key in getattr(child, "i_key", [])]
        here = f"{path}/{child.arg}" + "".join(f"[{key}]" for key in keys)
        if child.keyword in ("leaf", "leaf-list"):
            many = "*" if child.keyword == "leaf-list" else ""
            mode = "key" if getattr(child, "i_is_key", False) else "rw" if child.i_config else "ro"
            yield f"{here} {base(child.search_one('type'))}{many} {mode}"
        else:
            yield from leaves(child, here)


def main():
    modules = context.Context(repository.FileRepository(str(MODULES)))
    read = [modules.add_module(file.name, file.read_text()) for file in sorted(MODULES.glob("*.yang"))]
    modules.validate()
    failed = False
    for position, tag, arguments in modules.errors:
        from pyang import error

        print(f"{position}: {error.err_to_str(tag, arguments)}", file=sys.stderr)
        failed = True
    if failed or None in read:
        return 1
    found = "".join(f"{line}\n" for module in read for line in leaves(module, ""))
    if "--write" in sys.argv[1:]:
        MODEL.write_text(found)
    elif found != MODEL.read_text():
        told = f"{MODEL.relative_to(ROOT)} and the modules of {MODULES.relative_to(ROOT)} have other leaves"
        print(f"{told}; after a change of the modules: scripts/check-yang --write", file=sys.stderr)
        return 1
    print(f"{len(read)} modules, {found.count(chr(10))} leaves")
    return 0


if __name__ == "__main__":
    sys.exit(main())
