"""README's code works by copying, in an environment with the wheel and its extras, and nothing of a clone."""

from __future__ import annotations

import pytest
from tests.packaging import readme
from tests.packaging.test_extras import PYTHONS

pytestmark = pytest.mark.packaging


@pytest.mark.parametrize("version", PYTHONS)
def test_the_readme_with_a_wheel(environments, version, tmp_path):
    said = readme.run_without_spark(environments("spark", version), tmp_path)
    readme.check(said)


@pytest.mark.spark
@pytest.mark.parametrize("version", PYTHONS)
def test_the_readme_in_pyspark_with_a_wheel(environments, version, tmp_path):
    run = environments("spark", version)
    programs = readme.programs()
    assert run("python", "-c", programs["write"], cwd=tmp_path).returncode == 0
    done = run("python", "-c", programs["spark"], cwd=tmp_path, network=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "|orders|    2|" in done.stdout
