"""The tools that the Makefile starts: which Java and Python they choose, what they say when there is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tools import environment, java, spark_versions


def fake_java(folder: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    """A `java` that answers as one of that version does, and prints the arguments it is given otherwise."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    properties = f"    java.home = {folder}\n    java.specification.version = {version}\n"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = -XshowSettings:properties ]; then\n'
        f"cat >&2 <<END\n{properties}END\n"
        'else for word; do echo "<$word>"; done; fi\n'
    )
    program.chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return program


def test_a_tested_java_is_preferred_to_a_newer_one_and_an_old_one_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = [fake_java(tmp_path / version, version) for version in ("1.8", "11", "99", "21", "17")]
    found = java.find(iter([tmp_path / "absent", *programs]))
    assert found == java.Java(tmp_path / "21", 21)
    assert "Java 8" in (said := capsys.readouterr().err)
    assert "Java 11" in said


def test_a_newer_java_is_taken_when_no_tested_one_is_there(tmp_path: Path) -> None:
    found = java.find(iter([fake_java(tmp_path / "a", "99")]))
    assert found == java.Java(tmp_path / "a", 99)


def test_a_program_that_does_not_run_is_no_java(tmp_path: Path) -> None:
    broken = tmp_path / "java"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert java.find(iter([broken])) is None


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "mine", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "mine"))
    assert java.find() == java.Java(tmp_path / "mine", 21)


def test_a_whole_java_is_its_own_home(tmp_path: Path) -> None:
    fake_java(tmp_path / "whole", "21")
    assert java.spark_home(java.Java(tmp_path / "whole", 21), cache=tmp_path) == tmp_path / "whole"


def test_a_trimmed_java_gets_a_stand_in_that_drops_the_one_argument(tmp_path: Path) -> None:
    fake_java(tmp_path / "a 'trimmed' one", "21", modules="java.base")
    home = java.spark_home(java.Java(tmp_path / "a 'trimmed' one", 21), cache=tmp_path / "cache")
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-Dx=a b", "", "Main"]
    said = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    ).stdout
    assert said.splitlines() == ["<-Xmx1g>", "<-Dx=a b>", "<>", "<Main>"]
    assert java.spark_home(java.Java(tmp_path / "a 'trimmed' one", 21), cache=tmp_path / "cache") == home


def test_where_nothing_can_be_installed_the_way_by_hand_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(java, "find", lambda: None)
    monkeypatch.setattr(java, "attempts", lambda: iter([("trying", [["false"]])]))
    monkeypatch.setattr("sys.argv", ["java.py", "--install"])
    assert java.main() == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    for words in ("apt-get install", "brew install", "JAVA_HOME", "needs no Java"):
        assert words in captured.err


def test_a_tested_python_is_looked_for_when_the_running_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minor in (11, 12):
        program = tmp_path / f"python3.{minor}"
        program.write_text(f"#!/bin/sh\necho 3 {minor}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 2))
    assert environment.find_python() == str(tmp_path / "python3.12")


def test_no_suitable_python_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 2))
    with pytest.raises(environment.SetupError, match=r"3\.11 or newer is needed, and this is 3\.9"):
        environment.find_python()


def test_a_stamp_of_another_place_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, stamp = tmp_path / "python", tmp_path / "stamp.json"
    python.touch()
    monkeypatch.setattr(environment, "PYTHON", python)
    monkeypatch.setattr(environment, "STAMP", stamp)
    stamp.write_text('{"root": "elsewhere", "run": "0"}')
    assert environment.read_stamp() == {}
    stamp.write_text("torn {")
    assert environment.read_stamp() == {}
    stamp.write_text(f'{{"root": "{environment.ROOT}", "run": "0"}}')
    assert environment.read_stamp()["run"] == "0"


def test_an_environment_counts_only_as_its_lock_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_versions, "FOLDER", tmp_path)
    assert not spark_versions.is_there("4.1")
    (tmp_path / "4.1").mkdir()
    stamp = tmp_path / "4.1" / spark_versions.STAMP
    stamp.write_text(spark_versions.wanted_stamp("4.2"))
    assert not spark_versions.is_there("4.1")
    stamp.write_text(spark_versions.wanted_stamp("4.1"))
    assert spark_versions.is_there("4.1")


def test_every_version_has_a_lock_with_that_spark() -> None:
    for version in (*spark_versions.VERSIONS, spark_versions.CONNECTOR):
        pinned = [
            line for line in spark_versions.lock_of(version).read_text().splitlines() if "pyspark==" in line
        ]
        assert len(pinned) == 1
        assert pinned[0].startswith(f"pyspark=={version}")


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"no such version: 3\.5 \(there are 4\.0, 4\.1, 4\.2\)"):
        spark_versions.main(["3.5"])


def test_the_tests_of_a_version_are_counted(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "import pytest\n"
        "def test_a(): pass\n"
        "def test_b(): pass\n"
        "def test_c(): assert 0\n"
        "def test_d(): pytest.skip('not here')\n"
        "def test_e(nothing): pass\n"
    )
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junit-xml={report}"]
    subprocess.run([*command, str(tests)], cwd=tmp_path, capture_output=True, check=False)
    assert spark_versions.counts_of(report) == "2 passed, 1 failed, 1 errors, 1 skipped"
    assert spark_versions.counts_of(tmp_path / "none.xml") == "pytest told nothing"
