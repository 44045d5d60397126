"""The benchmark without its timing: goals are judged rightly, and the Python decoders read the same."""

from __future__ import annotations

import dataclasses
import itertools
import json
import platform
import shutil
import tomllib
from pathlib import Path

import pytest
from crc32c import crc32c
from tests.bench import (
    corpora,
    cpu,
    encoding,
    frames,
    goals,
    once,
    ours,
    passes,
    processes,
    report,
    rounds,
    salvaging,
    searching,
)
from tests.bench.corpora import MIB, Corpus
from tests.bench.decoders import DECODERS
from tests.bench.processes import Figure
from tests.bench.rounds import Measured

CORPUS = Corpus("json170", Path("json170.log"), 1000, 10_000_000, 10, 1000, "hand")
GOAL = goals.RateGoal("json170", "fastest", 1.4, "java-views")
LEN_SLICE = 64 << 10


def measured(name: str, seconds: float, checksum: int = 7) -> Measured:
    """A decoder that read the corpus."""
    entry = Measured(DECODERS[name], CORPUS, num_bytes=1000)
    entry.add({"seconds": seconds, "records": CORPUS.num_records, "checksum": checksum, "consuming": 0.01})
    return entry


def without(name: str, problem: str, *, missing: bool) -> Measured:
    """A decoder that did not."""
    return Measured(DECODERS[name], CORPUS, num_bytes=1000, problem=problem, missing=missing)


def test_a_goal_is_against_the_fastest_peer_that_ran() -> None:
    entries = [measured("columns", 0.2), measured("java-views", 0.5), measured("rust", 0.25)]
    row = goals.judge_rate(GOAL, entries)
    assert (row["ours_mrps"], row["peer"], row["peer_mrps"]) == (50, "rust", 40)
    assert (row["ratio"], row["goal"], row["met"]) == (1.25, 1.4, False)
    assert goals.judge_rate(dataclasses.replace(GOAL, at_least=1.25), entries)["met"] is True


def test_peers_that_check_no_crc_are_not_the_fastest() -> None:
    entries = [measured("columns", 0.2), measured("java-views", 0.5), measured("java-views-no-crc", 0.1)]
    row = goals.judge_rate(GOAL, entries)
    assert (row["peer"], row["met"]) == ("java-views", True)


def test_a_goal_without_its_named_peer_is_not_judged_and_says_why() -> None:
    entries = [measured("columns", 0.2), without("java-views", "cannot run here: no java", missing=True)]
    entries.append(measured("rust", 0.9))
    row = goals.judge_rate(GOAL, entries)
    assert (row["ratio"], row["met"]) == (None, None)
    assert "cannot run here: no java" in row["note"]
    assert "no java" in report.table([row, *goals.decoder_rows(entries)], "heading")


def test_views_are_judged_against_copied_columns() -> None:
    entries = [measured("views", 0.2), measured("columns", 0.5), measured("rust", 0.1)]
    row = goals.judge_rate(goals.RateGoal("json170", "columns", 2.5, ours="views"), entries)
    assert (row["name"], row["ratio"], row["met"]) == ("views against ours, columns", 2.5, True)


def test_an_encoder_is_judged_against_encoders() -> None:
    entries = [measured("encoder", 0.2), measured("rust-encoder", 0.3), measured("columns", 0.9)]
    goal = goals.RateGoal("json170", "rust-encoder", 1.1, ours="encoder")
    row = goals.judge_rate(goal, entries)
    assert (row["name"], row["ours"]) == ("encoder against Rust kafka-protocol, encoder", "encoder")
    assert (row["ratio"], row["met"]) == (1.5, True)


def test_a_failure_of_ours_is_a_miss() -> None:
    entries = [without("columns", "fell over", missing=False), measured("java-views", 0.5)]
    row = goals.judge_rate(GOAL, entries)
    assert (row["ratio"], row["met"], row["note"]) == (None, False, "fell over")


def test_who_reads_something_else_has_no_rate() -> None:
    entries = [measured("columns", 0.1, checksum=8), measured("java-views", 0.5), measured("rust", 0.9)]
    rounds.compare(entries)
    assert entries[0].rate is None
    assert entries[0].failed
    assert "WRONG" in entries[0].problem
    assert [entry.problem for entry in entries[1:]] == ["", ""]
    assert goals.judge_rate(GOAL, entries)["met"] is False


def test_who_writes_something_else_has_no_rate(small_corpora: dict[str, Path]) -> None:
    path = small_corpora["encode170"]
    corpus = dataclasses.replace(CORPUS, name="encode170", path=path, num_bytes=path.stat().st_size)
    there = crc32c(path.read_bytes())
    entries = []
    for name, written in (("rust-encoder", there), ("java-builder", there ^ 1)):
        entries.append(Measured(DECODERS[name], corpus))
        entries[-1].add({"seconds": 0.5, "records": 7, "checksum": written})
    rounds.compare_with_file(entries)
    assert entries[0].rate == 7 / 0.5 / 1e6
    assert (entries[1].rate, entries[1].failed) == (None, True)
    assert "WRONG" in entries[1].problem


def test_two_passes_that_differ_are_an_error() -> None:
    entry = measured("rust", 0.5)
    with pytest.raises(rounds.WorkerError, match="differ"):
        entry.add({"seconds": 0.5, "records": 1, "checksum": 7})


@pytest.mark.parametrize(
    ("value", "bound", "ratio", "met"),
    [
        (0.3, {"at_most": 0.6}, 2, True),
        (0.6, {"at_most": 0.6}, 1, True),
        (1.2, {"at_most": 0.6}, 0.5, False),
        (1.9, {"at_least": 1.8}, 1.9, True),
        (1.7, {"at_least": 1.8}, 1.7, False),
    ],
)
def test_a_figure_has_a_bound_from_above_or_below(
    value: float, bound: dict[str, float], ratio: float, met: bool
) -> None:
    figure = Figure("it", "it", "json170", "s", value)
    row = goals.judge_figure(figure, goals.FigureGoal("it", **bound), quick=False)
    assert (row["ratio"], row["met"]) == (ratio, met)


def test_a_quick_run_does_not_judge_what_size_decides() -> None:
    entries = [measured("columns", 0.2), measured("java-views", 0.5)]
    row = goals.judge_rate(GOAL, entries, quick=True)
    assert (row["ratio"], row["met"]) == (2.5, None)
    goal = goals.FigureGoal("it", at_most=1, full_size=True)
    row = goals.judge_figure(Figure("it", "it", "", "s", 0.5), goal, quick=True)
    assert (row["ratio"], row["met"]) == (2, None)


def test_a_figure_that_failed_is_a_miss_and_one_never_had_is_told() -> None:
    figures = [Figure("first-decode", "first-decode", "", "", note="fell over", failed=True)]
    wanted = [goals.FigureGoal("first-decode-warm", at_most=1), goals.FigureGoal("import", at_most=1)]
    _, failed, absent = goals.judge_figures(figures, wanted, quick=False)
    assert (failed["met"], failed["note"]) == (False, "fell over")
    assert (absent["met"], absent["note"]) == (None, "not measured")


def test_a_bound_may_differ_by_the_kind_of_cpu(tmp_path: Path) -> None:
    path = tmp_path / "goals.toml"
    path.write_text(
        '[[rate]]\ncorpus = "json170"\npeer = "rust"\nat_least = {amd = 3, intel = 2}\nwhy = "it is so"\n'
        '[[figure]]\nname = "it"\nat_most = {intel = 2}\nwhy = "it is so"\n'
    )
    entries = [measured("columns", 0.2), measured("rust", 0.5)]
    figure = Figure("it", "it", "json170", "s", 1.0)
    met = {}
    for kind in ("amd", "intel", "aarch64"):
        (rate,), (bound,) = goals.load(kind, path)
        rows = [goals.judge_rate(rate, entries), goals.judge_figure(figure, bound, quick=False)]
        met[kind] = [row["met"] for row in rows]
        said = report.table(rows, "heading") + report.markdown(rows, "heading")
        assert (goals.OTHER_KIND in said) == (None in met[kind])
    assert met == {"amd": [False, None], "intel": [True, True], "aarch64": [None, None]}


def test_goals_that_differ_say_why() -> None:
    for entry in itertools.chain.from_iterable(tomllib.loads(goals.FILE.read_text()).values()):
        differs = any(isinstance(value, dict) for value in entry.values())
        assert differs == bool(entry.get("why"))


@pytest.mark.parametrize(("floor", "ratio"), [(0.02, 0.5), (0.05, 0.75), (None, 0.5)])
def test_a_bound_from_above_may_be_so_many_times_the_floor(floor: float | None, ratio: float) -> None:
    figure = Figure("it", "it", "huge", "s", 0.2, floor=floor)
    row = goals.judge_figure(figure, goals.FigureGoal("it", at_most=0.1, or_times=3), quick=False)
    assert (row["ratio"], row["met"]) == (ratio, False)


@pytest.mark.parametrize(
    ("vendor", "kind"), [("GenuineIntel", "intel"), ("AuthenticAMD", "amd"), ("", platform.machine())]
)
def test_a_cpu_says_its_kind_and_its_name(vendor: str, kind: str) -> None:
    info = "processor\t: 0\n" + (f"vendor_id\t: {vendor}\n" if vendor else "") + "model name\t: It 3000\n\n"
    assert cpu.this_cpu(info) == cpu.Cpu(kind, "It 3000")


def test_a_table_for_the_documentation_has_what_was_reached() -> None:
    rows = [goals.judge_rate(GOAL, [measured("columns", 0.2), measured("java-views", 0.25)])]
    *_, line = report.markdown(rows, "heading").splitlines()
    assert line == "| columns against the fastest peer | json170 | 50 M/s | 40 M/s | 1.25 | 1.4 | MISSED |"


@pytest.mark.parametrize("kind", ["amd", "intel"])
def test_every_goal_names_what_is_measured(kind: str) -> None:
    rate_goals, figure_goals = goals.load(kind)
    for goal in rate_goals:
        assert goal.corpus in corpora.NAMES
        assert {goal.ours, goal.peer, goal.named or goal.peer} <= {"fastest", *DECODERS}
        assert goal.peer != "fastest" or goal.named in DECODERS
    assert {goal.corpus for goal in rate_goals} == set(corpora.NAMES)
    modules = (processes.__file__, searching.__file__)
    source = "".join(Path(name).read_text(encoding="utf-8") for name in modules)
    source += "".join(f" find-{codec}" for codec in corpora.CODECS)
    for goal in figure_goals:
        assert goal.name.removesuffix("-warm").removesuffix("-cold") in source
        assert (goal.at_least is None) != (goal.at_most is None)


def test_rows_are_written_with_the_agreed_keys(tmp_path: Path) -> None:
    entries = [measured("columns", 0.2), measured("views", 0.25), measured("java-views", 0.5)]
    rows = [goals.judge_rate(GOAL, entries), *goals.decoder_rows(entries)]
    report.write(rows, tmp_path / "bench.json")
    read = json.loads((tmp_path / "bench.json").read_text())
    assert all({"name", "corpus", "ratio", "goal", "met"} <= row.keys() for row in read)
    assert [(row["ratio"], row["goal"], row["met"]) for row in read] == [
        (2.5, 1.4, True),
        (None, None, None),
        (None, None, None),
        (2, None, None),
    ]


@pytest.fixture(scope="module")
def small_corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Small corpora of every kind, compressed ones by the fallback that needs no Java."""
    folder = tmp_path_factory.mktemp("corpora")
    made = {}
    plain = {"json170": 16384, "kib": 16384, "small": MIB, "headers": 16384}
    for name, len_batch in plain.items():
        made[name] = folder / f"{name}.log"
        corpora.write_plain(made[name], LEN_SLICE, len_batch, corpora.rows_of(name, num_values=1000))
    for name, len_batch in corpora.ENCODED.items():
        made[name] = folder / f"{name}.log"
        corpora.write_plain(made[name], LEN_SLICE, len_batch + 1, corpora.rows_of(name, num_values=1000))
    for codec in corpora.CODECS:
        made[codec] = folder / f"{codec}.log"
        corpora.recompress_in_python(made["json170"], codec, made[codec])
    return made


@pytest.mark.parametrize("corpus", [name for name in corpora.NAMES if name not in corpora.ENCODED])
def test_the_python_decoders_come_to_the_same_sum(small_corpora: dict[str, Path], corpus: str) -> None:
    names = ["columns", "columns-file", "columns-no-crc", "views", "views-file"]
    names += ["aiokafka", "kafka-python", "librdkafka"]
    names += ["kaitai", "construct"] if corpus not in corpora.CODECS else []
    results = {name: passes.make(name, small_corpora[corpus])() for name in names}
    assert results["aiokafka"].records
    assert len({(result.records, result.checksum) for result in results.values()}) == 1


@pytest.mark.parametrize("corpus", corpora.ENCODED)
@pytest.mark.parametrize("encoder", encoding.NAMES)
def test_the_python_encoders_write_the_bytes_of_the_corpus(
    small_corpora: dict[str, Path], corpus: str, encoder: str
) -> None:
    result = encoding.make(encoder, small_corpora[corpus])()
    assert result.records == passes.make("aiokafka", small_corpora[corpus])().records
    assert result.checksum == crc32c(small_corpora[corpus].read_bytes())
    part = encoding.make(encoder, small_corpora[corpus], LEN_SLICE // 2)()
    assert part.checksum == crc32c(corpora.cut(small_corpora[corpus].read_bytes(), LEN_SLICE // 2))


def test_compressed_corpora_hold_the_same_records(small_corpora: dict[str, Path]) -> None:
    sums = {passes.make("aiokafka", small_corpora[name])().checksum for name in ("json170", *corpora.CODECS)}
    assert len(sums) == 1


def test_the_limits_run(small_corpora: dict[str, Path]) -> None:
    assert passes.make("memcpy", small_corpora["small"])().seconds > 0
    for codec in corpora.CODECS:
        assert passes.make("decompress", small_corpora[codec])().seconds > 0


def test_a_cut_is_whole_batches_and_never_nothing(small_corpora: dict[str, Path]) -> None:
    segment = small_corpora["json170"].read_bytes()
    ends = [end for _, end in corpora.positions(segment)]
    assert len(corpora.cut(segment, ends[1] + 5)) == ends[1]
    assert len(corpora.cut(segment, 1)) == ends[0]
    assert corpora.cut(segment, 0) == segment


def test_copies_go_on_with_their_offsets(small_corpora: dict[str, Path], tmp_path: Path) -> None:
    source = small_corpora["json170"]
    one = passes.make("aiokafka", source)()
    assert one.records is not None
    corpora.repeat(source, tmp_path / "twice.log", 2, one.records)
    twice = passes.make("aiokafka", tmp_path / "twice.log")()
    assert one.checksum is not None
    assert (twice.records, twice.checksum) == (2 * one.records, 2 * one.checksum + one.records * one.records)


def test_queries_of_polars_give_what_they_are_named_for(
    small_corpora: dict[str, Path], tmp_path: Path
) -> None:
    copied = tmp_path / "copied.log"
    shutil.copy(small_corpora["json170"], copied)
    log = frames.log_directory(tmp_path / "log", copied)
    found = {name: work() for name, work in frames.queries(log, log, log).items()}
    num_rows = found["all"].height
    assert (found["all"].width, found["one_column"].width) == (8, 1)
    assert found["one_column"].height == found["large_all"].height == found["count"].item() == num_rows
    assert found["copies"].equals(found["views"])
    assert 0.005 < found["one_percent"].height / num_rows < 0.02


def test_the_pages_with_headers_are_read(small_corpora: dict[str, Path]) -> None:
    answer = once.headers(small_corpora["json170"])
    assert answer["batches"] == len(list(corpora.positions(small_corpora["json170"].read_bytes())))
    assert answer["seconds"] > 0 < answer["floor"]


def test_one_thread_and_two_read_all_records_into_tables(small_corpora: dict[str, Path]) -> None:
    answer = once.tables(small_corpora["json170"])
    assert answer["records"] == passes.make("aiokafka", small_corpora["json170"])().records
    assert answer["one"] > 0 < answer["two"]


def test_salvage_and_cp_make_the_same_segment(tmp_path: Path) -> None:
    path = tmp_path / "source" / "orders-0" / f"{0:020}.log"
    path.parent.mkdir(parents=True)
    corpora.write_plain(path, MIB // 16, 16384, corpora.rows_of("json170", num_values=1000))
    salvaging.copied(tmp_path / "source", tmp_path / "cp")
    salvaging.salvaged(tmp_path / "source", tmp_path / "salvage")
    made = [tmp_path / name / "orders-0" / path.name for name in ("cp", "salvage/log")]
    assert [one.read_bytes() for one in made] == [path.read_bytes()] * 2


def test_find_reads_a_whole_corpus_and_the_least_seconds_count(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    corpora.write_plain(path, MIB // 16, 16384, corpora.rows_of("json170"))
    assert ours.find_bytes(path, searching.NEEDLE) == 0
    assert ours.find_bytes(path, b"Lisbon") > 10
    best = searching.least({"much": lambda: sum(range(300_000)), "nothing": lambda: None})
    assert 0 <= best["nothing"] < best["much"]
