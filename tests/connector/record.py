"""Record what Spark's `kafka` source answers: `python tests/connector/record.py [SET...]`.

For every recorded set a broker of 4.3.1 is started on copies of its partitions, and the source asked
(`queries.py`). Writes tests/vectors/connector. Needs what `make test` needs; five minutes. To be run after
tests/recording/record.py, whose segments it reads: `make record` does.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from datetime import date
from pathlib import Path

# Run as a script: the project root holds `tests`.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import pyarrow.parquet as pq
from tests.connector import connector, queries, served
from tests.connector.queries import Query
from tests.oracle import jvm
from tools import spark_versions

README = """\
What Spark's own `kafka` source answered, asked of a broker 4.3.1 on copies of `../recorded`.
One Parquet file a query of `tests/connector/queries.py`, `errors.json` where it failed.
Recorded by `python tests/connector/record.py` on {day}, Spark {spark}, spark-sql-kafka-0-10 {spark}.
"""


def everything() -> list[Query]:
    """All queries there are."""
    return [*queries.whole_sets(), *queries.one_by_one(), *queries.selections()]


def record(name: str, work: Path) -> None:
    """Ask everything of one set, and replace what was recorded of it."""
    asked = [query for query in everything() if query.set_name == name]
    answers = connector.ask(asked, work)
    folder = connector.ANSWERS / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    errors = {}
    for query, found in zip(asked, answers, strict=True):
        if isinstance(found, str):
            errors[query.name] = found
        else:
            pq.write_table(found, folder / f"{query.name}.parquet", compression="zstd", compression_level=19)
    if errors:
        (folder / connector.ERRORS).write_text(json.dumps(errors, indent=1) + "\n", encoding="utf-8")
    print(f"{name}: {len(asked)} queries, {len(errors)} of them failed", flush=True)


def main(names: list[str]) -> int:
    """Record the named sets, or all."""
    unknown = sorted(set(names) - set(served.served_sets()))
    missing = jvm.missing_tools()
    if unknown or missing:
        print(missing or f"no such set: {', '.join(unknown)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=jvm.CACHE) as work:
        for name in names or served.served_sets():
            record(name, Path(work) / name.replace("/", "-"))
    text = README.format(day=date.today().isoformat(), spark=spark_versions.CONNECTOR)
    (connector.ANSWERS / "README.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
