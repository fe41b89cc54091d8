"""Runs and their tables, as a notebook has them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pytest

import ndnweir

SHORT = {"run.duration": "2s"}


@pytest.fixture(scope="module")
def results() -> ndnweir.Results:
    return ndnweir.run(
        "dumbbell", ["bic", "cubic"], seeds=2, set=SHORT, vary={"link.R1-R2.rate": ["5Mbps", "10Mbps"]}, progress=False
    )


def test_every_library_of_data_frames_reads_the_same_values(results: ndnweir.Results) -> None:
    rows = results.runs.to_pydict()
    assert rows["scheme"] == ["bic", "bic", "cubic", "cubic"] * 2
    assert rows["link.R1-R2.rate"] == ["5Mbps"] * 4 + ["10Mbps"] * 4
    assert results.runs.to_pandas()["goodput_mbps"].tolist() == rows["goodput_mbps"]
    assert results.runs.to_polars()["goodput_mbps"].to_list() == rows["goodput_mbps"]
    arrow = results.runs.to_pyarrow()
    mean = duckdb.sql("select avg(goodput_mbps) from arrow").to_arrow_table().to_pydict()
    assert next(iter(mean.values())) == [pytest.approx(sum(rows["goodput_mbps"]) / 8)]


def test_tables_say_what_the_command_says(results: ndnweir.Results, tmp_path) -> None:
    words = ["sim", "dumbbell", "--scheme", "bic,cubic", "--seeds", "2", "--set", "run.duration=2s"]
    words += ["--set", "link.R1-R2.rate=5Mbps", "--json", "--out", str(tmp_path / "out")]
    said = json.loads(subprocess.run([ndnweir.command(), *words], check=True, capture_output=True).stdout)
    rows = results.consumers.to_pandas().query("case == '5Mbps'")
    expected = [c["goodput_mbps"] for run in said["runs"] for c in run["consumers"]]
    assert rows["goodput_mbps"].tolist() == expected
    assert results.runs.to_pydict()["event_hash"][:4] == [run["event_hash"] for run in said["runs"]]
    one = ndnweir.run("dumbbell", "bic,cubic", 2, set={**SHORT, "link.R1-R2.rate": "5Mbps"}, progress=False)
    assert one.summary == said


def test_series_and_links_have_a_row_for_each_bin_and_direction(results: ndnweir.Results) -> None:
    links = results.links.to_pandas()
    assert set(links["link"]) >= {"R1>R2", "R2>R1"} and len(links) == 8 * 10
    series = results.series("links").to_pandas()
    one = series.query("case == '5Mbps' and scheme == 'bic' and seed == 1 and link == 'R2>R1'")
    assert one["time_s"].is_monotonic_increasing and len(one) > 10
    assert results.flows.to_pydict()["consumer"] == []
    with pytest.raises(ndnweir.InputError, match="there are: network"):
        results.series("queues")


def test_results_do_not_depend_on_threads(results: ndnweir.Results) -> None:
    again = ndnweir.run(
        "dumbbell", "bic,cubic", [1, 2], set=SHORT, vary=["link.R1-R2.rate=5Mbps,10Mbps"], threads=1, progress=False
    )
    assert again.runs.to_pydict() == results.runs.to_pydict()


@pytest.mark.parametrize("seeds", [0, 1.5, True, [1.5], ["1"], [], [1, 1], [-1], None])
def test_seeds_that_are_no_whole_numbers_are_rejected_with_a_remedy(seeds: object) -> None:
    with pytest.raises(ndnweir.InputError, match="give"):
        ndnweir.run("dumbbell", "bic", seeds=seeds, set=SHORT, progress=False)  # type: ignore[arg-type]


def test_a_link_has_a_trace_in_place_of_a_rate() -> None:
    scenario = ndnweir.Scenario("traced")
    scenario.link("C", "P", delay="5ms", trace="cell.trace")
    assert 'trace = "cell.trace"' in scenario.to_toml() and "rate" not in scenario.to_toml()


def test_a_scenario_is_read_from_text_and_built_in_python() -> None:
    scenario = ndnweir.Scenario("two", duration="2s", start_jitter="5ms")
    for node in ("C", "R", "P"):
        scenario.node(node)
    scenario.link("C", "R", rate="100Mbps", delay="1ms", queue="200 packets")
    scenario.link("R", "P", rate="10Mbps", delay="5ms", queue="1 BDP")
    scenario.producer("P", prefix="/a")
    scenario.consumer("C", prefix="/a")
    built = ndnweir.run(scenario, "bic", progress=False)
    read = ndnweir.run(scenario.to_toml(), "bic", progress=False)
    assert built.runs.to_pydict()["event_hash"] == read.runs.to_pydict()["event_hash"]
    assert built.runs.to_pydict()["goodput_mbps"][0] > 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scenario": "dumbel"}, "did you mean"),
        ({"schemes": "bik"}, "did you mean"),
        ({"seeds": 0}, "from 1 on"),
        ({"seeds": [1, 1]}, "each once"),
        ({"threads": 0}, "1 to 1024"),
        ({"set": {"run.duration": 5}}, "write a time"),
        ({"set": {"link.X.rate": "5Mbps"}}, 'no link is called "X"'),
        ({"vary": {"link.R1-R2.rate": []}}, "empty key or value"),
        ({"scenario": "name = \"x\"\n[run]\nduratoin = \"5s\"\n"}, "duratoin"),
    ],
)
def test_what_is_wrong_is_said_with_a_remedy(arguments: dict, words: str) -> None:
    with pytest.raises(ndnweir.InputError, match=words):
        ndnweir.run(**{"scenario": "dumbbell", "progress": False, **arguments})


def test_problems_of_a_scenario_have_line_and_help() -> None:
    with pytest.raises(ndnweir.ScenarioError) as caught:
        ndnweir.run("name = \"x\"\n\n[run]\nduratoin = \"5s\"\n")
    assert any(p.line == 4 and "duration" in p.help for p in caught.value.problems), caught.value.problems


def test_python_goes_on_while_a_run_does() -> None:
    counted, done = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    fractions: list[float] = []
    ndnweir.run("dumbbell", "bic", set={"run.duration": "20s"}, progress=lambda d, n, f: fractions.append(f))
    done.set()
    thread.join()
    assert counted > 20 and fractions[-1] == 1.0 and fractions == sorted(fractions)


def test_an_exception_in_progress_ends_the_runs() -> None:
    def refuse(done: int, runs: int, fraction: float) -> None:
        raise OSError("enough")

    with pytest.raises(OSError, match="enough"):
        ndnweir.run("dumbbell", "bic", set={"run.duration": "2000s"}, progress=refuse)


def test_ctrl_c_ends_the_runs() -> None:
    code = "import ndnweir\nprint('begin', flush=True)\nndnweir.run('dumbbell', 'bic', set={'run.duration': '9000s'})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None and it.stdout.readline() == "begin\n"
        time.sleep(1)
        it.send_signal(signal.SIGINT)
        _, said = it.communicate(timeout=60)
    assert it.returncode != 0 and "KeyboardInterrupt" in said


def test_a_report_is_shown_and_saved(results: ndnweir.Results, tmp_path) -> None:
    page = results.report("5Mbps")
    assert page.save(tmp_path / "page.html").read_text().startswith("<!")
    assert "srcdoc=" in page._repr_html_()
    with pytest.raises(ndnweir.InputError, match="5Mbps; 10Mbps"):
        results.report()
    folder = results.save(tmp_path / "folder")
    assert (folder / "report.html").is_file() and (folder / "summary.json").is_file()
