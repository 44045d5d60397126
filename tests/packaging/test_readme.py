"""README's code works by copying, in an environment with the wheel and its extras, and nothing of a clone."""

from __future__ import annotations

import pytest
from tests.packaging import readme
from tests.packaging.test_extras import NUM_RECORDS, PYTHONS_OF_EXTRAS, RECORDED

pytestmark = pytest.mark.packaging


@pytest.mark.long
@pytest.mark.parametrize("version", PYTHONS_OF_EXTRAS)
def test_the_readme_with_a_wheel(environments, version, tmp_path):
    said = readme.run_without_spark(environments("spark", version), tmp_path)
    readme.check(said)


READ = """
import sys
frame = spark.read.format("kafka-segments").option("subscribe", "shapes").load(sys.argv[1])
print(f"{frame.count()} records")
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.long(short=False)
@pytest.mark.parametrize("version", PYTHONS_OF_EXTRAS)
def test_the_readme_in_pyspark_with_a_wheel(environments, version, tmp_path):
    """README's program, then in its session another read."""
    run = environments("spark", version)
    programs = readme.programs()
    assert run("python", "-c", programs["write"], cwd=tmp_path).returncode == 0
    log_dir = RECORDED / "kafka-4.3" / "clean"
    done = run("python", "-c", programs["spark"] + READ, log_dir, cwd=tmp_path, network=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|orders|    2|" in done.stdout
    assert done.stdout.endswith(f"\n{NUM_RECORDS} records\n")
