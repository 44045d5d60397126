"""Spark's own settings for stores, where a data source in Python can find them.

Strategy: in a task, the local properties have everything that begins with `spark.hadoop.`, from the session's
configuration and from `spark.conf.set`. The process that plans has no such thing, and no JVM to ask; it has
the files that the driver was started with, `spark-defaults.conf` and Hadoop's `core-site.xml`. The options of
the read go before all of these. What is set by `spark.conf.set` alone is therefore not known while planning:
then the options have to say it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pyspark.sql import SparkSession

from kafka_segments.core.io.loggers import get_logger
from kafka_segments.core.io.store_settings import STORE_PREFIXES
from kafka_segments.spark.read_options import Settings

__all__ = ["driver_settings", "of_session", "task_settings"]

_log = get_logger(__name__)

_HADOOP = "spark.hadoop."
_SITES = ("core-site.xml", "hdfs-site.xml")
_DEFAULTS = "spark-defaults.conf"
# As java.util.Properties: a name, then "=", ":" or blanks, then the value.
_PROPERTY = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[=:]?\s*(.*?)\s*")


def driver_settings(options: Mapping[str, str]) -> Settings:
    """Settings for the process that plans: of the files there are, and the options of the read."""
    return Settings({**_of_files(os.environ), **options})


def of_session(spark: SparkSession, options: Mapping[str, str]) -> Settings:
    """Settings for the process of a user, who has a classic session."""
    return Settings(
        {**_of_files(os.environ), **_of_hadoop(dict(spark.sparkContext.getConf().getAll())), **options}
    )


def task_settings(options: Mapping[str, str]) -> Settings:
    """Settings for a task: of the files on its machine, of the session, and the options of the read."""
    from pyspark import TaskContext

    context: Any = TaskContext.get()
    # There is no other way to ask for all of them; the attribute is the same from Spark 3 to 4.3.
    properties = getattr(context, "_localProperties", None) or {}
    return Settings({**_of_files(os.environ), **_of_hadoop(properties), **options})


def _of_files(environment: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    hadoop = environment.get("HADOOP_CONF_DIR")
    for name in _SITES if hadoop else ():
        found.update(_of_site(Path(str(hadoop), name)))
    home = environment.get("SPARK_HOME")
    spark = environment.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    if spark:
        found.update(_of_hadoop(dict(_properties(Path(spark, _DEFAULTS)))))
    return found


def _of_hadoop(properties: Mapping[str, str]) -> dict[str, str]:
    names = [name for name in properties if name.startswith(_HADOOP)]
    named = {name.removeprefix(_HADOOP): properties[name] for name in names}
    return {name: value for name, value in named.items() if name.startswith(STORE_PREFIXES)}


def _of_site(path: Path) -> dict[str, str]:
    """Properties of one of Hadoop's files; none if it does not exist."""
    found = {}
    try:
        for one in ElementTree.parse(path).getroot().iter("property"):
            name, value = one.findtext("name"), one.findtext("value")
            if name and value is not None and name.strip().startswith(STORE_PREFIXES):
                found[name.strip()] = value.strip()
    except FileNotFoundError:
        return {}
    except (OSError, ElementTree.ParseError) as error:
        # Not the error's text: it may show a line of the file.
        _log.warning("%s cannot be read (%s); its settings are not known", path, type(error))
    return found


def _properties(path: Path) -> Iterator[tuple[str, str]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        _log.warning("%s cannot be read (%s); its settings are not known", path, type(error))
        return
    for line in text.splitlines():
        match = _PROPERTY.fullmatch(line)
        if match is not None:
            yield match[1], match[2]
