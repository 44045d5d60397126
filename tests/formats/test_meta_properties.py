"""`meta.properties`, by the rules of java.util.Properties and of Kafka's MetaProperties."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from tests.made.samples import RECORDED

from kafka_segments.core.formats import MAX_LEN_META_PROPERTIES, MetaProperties, read_meta_properties
from kafka_segments.errors import DecodeError

CLUSTER, DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAQ", "yc2b0GrBoIJJ_pUZLjvI-A"


def test_recorded_files():
    found = {read_meta_properties(path.read_bytes()) for path in sorted(RECORDED.glob("*/*/meta.properties"))}
    assert MetaProperties(0, None, 1, None) in found
    assert MetaProperties(0, "sBlHYYLWSnuaCtmv52Pa-g", 1, None) in found
    assert MetaProperties(1, CLUSTER, 1, DIRECTORY) in found


@pytest.mark.parametrize(
    "text",
    [
        "version=1\nnode.id=7\ncluster.id=a:b=c\n",
        "version=1\r\nnode.id=7\rcluster.id=a:b=c",
        "#comment\\\n! another\n\n \t\f\n  version : 1\nnode.id 7\ncluster.id\t=\ta:b=c",
        "version\\\n  =1\nnode.\\\n\tid=7\ncluster.id=a\\:\\\n  b\\=c",
        "version=0\nversion=1\nn\\ode\\u002eid=7\ncluster.id=\\u0061:b=c",
        "version=1\nnode.id=+07\ncluster.id=a:b=c\nother=#\\\\\n",
        "version=1\nnode.id=7\ncluster.id=a:b=c\\",
    ],
)
def test_the_format_of_java(text):
    assert read_meta_properties(text.encode("latin-1")) == MetaProperties(1, "a:b=c", 7, None)


def test_version_0_needs_no_ids():
    assert read_meta_properties(b"") == MetaProperties(0, None, None, None)
    assert read_meta_properties(b"version=0\nnode.id=x\n") == MetaProperties(0, None, None, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"version=2\n", "version '2' is unknown; only 0 and 1 are known"),
        (b"version=\xff\n", "0 and 1 are known"),
        (b"version=1\ncluster.id=a\n", "node.id is missing"),
        (b"version=1\nnode.id=1\n", "cluster.id is missing"),
        (b"version=1\nnode.id=one\ncluster.id=a\n", "node.id is 'one', which is not a number"),
        (b"version=1\nnode.id=1 \ncluster.id=a\n", "node.id is '1 '"),
        (b"broker.id=\n", "broker.id is ''"),
        (b"directory.id=abc\n", "directory.id is 'abc'"),
        (b"version=\\u003\n", "that is not followed by four digits"),
        (b"#" * (MAX_LEN_META_PROPERTIES + 1), "it has more than"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(DecodeError, match=said.replace("\\", "\\\\")):
        read_meta_properties(text)


@pytest.mark.parametrize("seed", range(200))
def test_any_bytes(seed):
    random = Random(seed)
    data = bytearray(b"version=1\nnode.id=7\ncluster.id=a\\:b\n")
    for _ in range(random.randrange(1, 6)):
        data[random.randrange(len(data))] = random.choice(b"\\u=: \n\r\t#09\xff\0")
    with suppress(DecodeError):
        assert read_meta_properties(bytes(data)).version in {0, 1}
