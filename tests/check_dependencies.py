"""scripts/check-dependencies finds licences, sources, bans and advisories that break the rules."""

import importlib.machinery
import importlib.util
import subprocess
import tempfile
import unittest
from pathlib import Path

PATH = str(Path(__file__).resolve().parent.parent / "scripts/check-dependencies")
loader = importlib.machinery.SourceFileLoader("check_dependencies", PATH)
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_dependencies", loader))
loader.exec_module(check)

RULES = {"licenses": {"allow": ["MIT", "Unicode-3.0"]}, "bans": {"deny": [{"crate": "bad"}], "skip": [{"crate": "twice@0.2"}]}}


def package(name, version="1.0.0", licence="MIT", source=check.REGISTRY):
    return {"name": name, "version": version, "license": licence, "source": source, "dependencies": []}


class Dependencies(unittest.TestCase):
    def test_expressions_of_licences_are_met_or_not(self):
        for expression, expected in [
            ("MIT", True), ("GPL-3.0", False), ("GPL-3.0 OR MIT", True), ("GPL-3.0/MIT", True), ("GPL-3.0 AND MIT", False),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", True), ("(GPL-3.0 OR Apache-2.0) AND Unicode-3.0", False),
            ("Apache-2.0 WITH LLVM-exception OR MIT", True), ("MIT WITH Something", False),
        ]:
            self.assertEqual(check.allowed(expression, ["MIT", "Unicode-3.0"]), expected, expression)

    def test_versions_meet_requirements_as_cargo_has_it(self):
        for found, requirement, expected in [
            ("1.2.3", ">= 1.2.3", True), ("1.2.3-alpha.1", ">= 1.2.3", False), ("1.2.3", "^1.1", True), ("2.0.0", "^1.1", False),
            ("0.3.9", "^0.3.1", True), ("0.4.0", "^0.3.1", False), ("0.0.4", "^0.0.3", False), ("1.2.9", "~1.2.3", True),
            ("1.3.0", "~1.2.3", False), ("1.5.0", ">= 1.2, < 1.5", False), ("1.4.9", ">= 1.2, < 1.5", True), ("1.0.0", "= 1.0.0", True),
            ("1.10.0", "> 1.9.0", True), ("1.0.0+build", "<= 1.0.0", True), ("0.9.0", "^0", True), ("1.9.0", "1.2", True),
        ]:
            self.assertEqual(check.meets(found, requirement), expected, f"{found} {requirement}")

    def test_everything_that_breaks_a_rule_is_named(self):
        fine = [package("a"), package("twice", "0.2.9"), package("twice", "0.3.0"), package("ours", source=None)]
        self.assertEqual(list(check.problems(fine, RULES)), [])
        for broken, word in [
            (package("b", source="git+https://example.org/b"), "comes from"), (package("b", licence="GPL-3.0"), "licence GPL-3.0"),
            (package("b", licence=None), "licence None"), (package("bad"), "banned"), (package("a", "2.0.0"), "versions 1.0.0, 2.0.0"),
        ]:
            found = list(check.problems(fine + [broken], RULES))
            self.assertEqual(len(found), 1, found)
            self.assertIn(word, found[0])

    def test_a_lock_file_that_is_out_of_date_is_named_and_stays(self):
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "crates/a/fuzz"
            for name, place in [("targets", folder), ("needed", folder / "needed")]:
                (place / "src").mkdir(parents=True)
                (place / "src/lib.rs").touch()
                (place / "Cargo.toml").write_text(f'[package]\nname = "{name}"\nversion = "0.1.0"\n[workspace]\n')
            subprocess.run(["cargo", "generate-lockfile", "--offline"], cwd=folder, check=True, capture_output=True)
            before = (folder / "Cargo.lock").read_text()
            self.assertEqual(list(check.stale(Path(root))), [])
            with open(folder / "Cargo.toml", "a") as manifest:
                manifest.write('[dependencies]\nneeded = { path = "needed" }\n')
            found = list(check.stale(Path(root)))
            self.assertEqual(len(found), 1, found)
            self.assertIn("crates/a/fuzz/Cargo.lock", found[0])
            self.assertEqual((folder / "Cargo.lock").read_text(), before)

    def test_an_advisory_concerns_the_versions_that_are_not_patched(self):
        advisory, versions = {"package": "ring", "id": "RUSTSEC-2025-0009"}, {"patched": [">= 0.17.12"], "unaffected": ["< 0.10"]}
        for version, expected in [("0.17.11", True), ("0.17.12", False), ("0.9.4", False)]:
            self.assertEqual(check.concerns(package("ring", version), advisory, versions), expected, version)
        self.assertFalse(check.concerns(package("other", "0.17.0"), advisory, versions))


if __name__ == "__main__":
    unittest.main()
