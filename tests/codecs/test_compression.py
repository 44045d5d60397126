"""Codecs: what writers produce is read, what Kafka takes is taken, everything else raises ours."""

from __future__ import annotations

import struct
import sys
import zlib

import lz4.frame
import pytest
import snappy
from hypothesis import given
from hypothesis import strategies as st
from tests.forgotten import forget
from tests.made.codecs import XERIAL_HEADER, gzip_member, lz4_frame, xerial
from tests.made.payloads import WRITERS, gzip_member_with, zstd_frame, zstd_skippable
from tests.python import run_python

from kafka_segments.core import codecs
from kafka_segments.core.codecs import CODEC_NAMES, DEFAULT_MAX_DECOMPRESSED, codec_named, decompress
from kafka_segments.errors import DecompressionError, MissingCodecError

CONTENTS = {
    "empty": b"",
    "one byte": b"\x00",
    "short": b"records of a batch",
    "several blocks": b"".join(b'{"id":%d,"name":"kafka"}' % index for index in range(12_000)),
    "incompressible": b"".join(zlib.crc32(b"%d" % index).to_bytes(4, "big") for index in range(40_000)),
}
TEXT = CONTENTS["short"]

LEN_JAVA_READ = 131_075  # ZSTD_DStreamInSize, by which zstd-jni reads its source
JAVA_LZ4_HEADER = bytes.fromhex("04224d18 60 40 82")
BROKEN_LZ4_HEADER = bytes.fromhex("04224d18 60 40 1a")  # KAFKA-3160


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("codec, write", WRITERS.values(), ids=WRITERS)
def test_reads_what_writers_write(codec, write, content) -> None:
    payload = write(content)
    assert decompress(codec, payload) == content
    inside = b"before" + payload + b"after"
    assert decompress(codec, memoryview(inside)[6:-5]) == content


@pytest.mark.parametrize("codec, write", WRITERS.values(), ids=WRITERS)
def test_the_bound_is_exact(codec, write) -> None:
    content = CONTENTS["several blocks"]
    payload = write(content)
    assert decompress(codec, payload, max_size=len(content)) == content
    for max_size in (len(content) - 1, len(content) // 2, 1, 0):
        with pytest.raises(DecompressionError, match=rf"{max_size} bytes.*raise the bound") as caught:
            decompress(codec, payload, max_size=max_size)
        assert caught.value.codec == codec


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_nothing_fits_into_a_bound_of_zero(codec) -> None:
    assert decompress(codec, WRITERS_OF_NOTHING[codec], max_size=0) == b""


WRITERS_OF_NOTHING = {
    "gzip": gzip_member(b""),
    "snappy": XERIAL_HEADER,
    "lz4": lz4_frame(b""),
    "zstd": zstd_frame(b""),
}


ONE_UNIT_WRITERS = ["gzip", "gzip-stored", "gzip-all-fields", "snappy-bare", "lz4-java", "lz4-aiokafka"]
ONE_UNIT_WRITERS += ["lz4-kafka-python", "lz4-large-blocks", "zstd-java", "zstd-sized", "zstd-checksum"]


@pytest.mark.parametrize("name", ONE_UNIT_WRITERS)
def test_every_proper_prefix_is_refused(name) -> None:
    codec, write = WRITERS[name]
    payload = write(TEXT)
    for size in range(1, len(payload)):
        with pytest.raises(DecompressionError) as caught:
            decompress(codec, payload[:size])
        assert caught.value.codec == codec


def test_a_prefix_of_a_snappy_stream_is_refused_unless_it_ends_between_chunks() -> None:
    stream = xerial([TEXT, TEXT])
    ends = {len(XERIAL_HEADER): b"", len(xerial([TEXT])): TEXT}
    for size in range(1, len(stream)):
        # snappy-java, like us, does not mind up to three bytes of a next chunk's length.
        end = max((end for end in ends if end <= size < end + 4), default=None)
        if end is not None:
            assert decompress("snappy", stream[:size]) == ends[end]
            continue
        with pytest.raises(DecompressionError):
            decompress("snappy", stream[:size])


# What Kafka 4.3.1 made of the same bytes (test_compression_oracle.py asks it again where Java is).
TAKEN_BY_KAFKA = {
    "gzip: garbage after the last member": ("gzip", gzip_member(TEXT) + b"garbage that is no member", TEXT),
    "gzip: zeros after the last member": ("gzip", gzip_member(TEXT) + bytes(100), TEXT),
    "gzip: a second member's first bytes": ("gzip", gzip_member(TEXT) + gzip_member(TEXT)[:18], TEXT),
    "gzip: reserved flags": ("gzip", gzip_member_with(0xE0, TEXT), TEXT),
    "gzip: second member's header is wrong": (
        "gzip",
        gzip_member(TEXT) + gzip_member_with(2, TEXT, header_crc_error=1),
        TEXT,
    ),
    "gzip: second member's name does not end": (
        "gzip",
        gzip_member(TEXT) + b"\x1f\x8b\x08\x08" + b"n" * 30,
        TEXT,
    ),
    "snappy: a stream without chunks": ("snappy", XERIAL_HEADER, b""),
    "snappy: three bytes after the last chunk": ("snappy", xerial([TEXT]) + b"\0\0\0", TEXT),
    "snappy: a second header that is none": (
        "snappy",
        # Kafka's stream goes on behind it, see tests/mutations/found.py.
        xerial([TEXT]) + b"\x82SNA" + bytes(12) + xerial([TEXT])[16:],
        TEXT + TEXT,
    ),
    "lz4: a second frame": ("lz4", lz4_frame(TEXT) + lz4_frame(b"more"), TEXT),
    "lz4: garbage after the frame": ("lz4", lz4_frame(TEXT) + b"garbage", TEXT),
    "lz4: wrong content checksum": ("lz4", lz4_frame(TEXT, content_checksum=True)[:-4] + b"\1\2\3\4", TEXT),
    "lz4: a stored block of no bytes ends it": ("lz4", JAVA_LZ4_HEADER + b"\0\0\0\x80rest", b""),
    "zstd: no bytes at all": ("zstd", b"", b""),
    "zstd: only a skippable frame": ("zstd", zstd_skippable(b"nothing", 15), b""),
    "zstd: second frame cut short": ("zstd", zstd_frame(TEXT) + zstd_frame(TEXT)[:9], TEXT),
}

REFUSED_BY_KAFKA = {
    "gzip: no bytes": ("gzip", b"", "does not begin"),
    "gzip: another format": ("gzip", b"not gzip at all, surely not", "does not begin"),
    "gzip: wrong checksum": ("gzip", gzip_member(TEXT)[:-8] + bytes(4) + gzip_member(TEXT)[-4:], "trailer"),
    "gzip: wrong size": ("gzip", gzip_member(TEXT)[:-4] + bytes(4), "trailer"),
    "gzip: first header's checksum": ("gzip", gzip_member_with(2, TEXT, header_crc_error=1), "member header"),
    "gzip: second member cut short": ("gzip", gzip_member(TEXT) + gzip_member(TEXT)[:-1], "trailer"),
    "gzip: broken deflate stream": ("gzip", gzip_member(TEXT)[:10] + b"\xff" * 30, "invalid block type"),
    "snappy: no bytes": ("snappy", b"", "empty block"),
    "snappy: a chunk of no bytes": ("snappy", xerial([TEXT]) + bytes(4), "empty block"),
    "snappy: chunk longer than the rest": ("snappy", xerial([TEXT])[:-1], "chunk of"),
    "snappy: negative chunk length": ("snappy", XERIAL_HEADER + b"\xff\xff\xff\xfe", "chunk of -2"),
    "snappy: second header cut short": ("snappy", xerial([TEXT]) + XERIAL_HEADER[:-1], "stream header"),
    "snappy: broken block": ("snappy", snappy.compress(TEXT)[:-1], "corrupt input"),
    "snappy: a size of six bytes": ("snappy", b"\x85\x80\x80\x80\x80\0\x10hello", "five bytes"),
    "snappy: declared size is wrong": ("snappy", b"\x05" + snappy.compress(TEXT)[1:], "corrupt input"),
    "lz4: no bytes": ("lz4", b"", "frame header"),
    "lz4: another format": ("lz4", b"not an LZ4 frame", "magic number"),
    "lz4: skippable frame first": ("lz4", zstd_skippable(b"abc") + lz4_frame(TEXT), "magic number"),
    "lz4: dependent blocks": ("lz4", lz4_frame(bytes(1 << 17), block_linked=True), "dependent blocks"),
    "lz4: wrong header checksum": ("lz4", BROKEN_LZ4_HEADER + lz4_frame(TEXT)[7:], "headerChecksum"),
    "lz4: reserved flag": ("lz4", b"\x04\x22\x4d\x18\x61\x40" + lz4_frame(TEXT)[6:], "reserved"),
    "lz4: version": ("lz4", b"\x04\x22\x4d\x18\xa0\x40" + lz4_frame(TEXT)[6:], "version"),
    "lz4: block size": ("lz4", b"\x04\x22\x4d\x18\x60\x30" + lz4_frame(TEXT)[6:], "block size"),
    "lz4: no end mark": ("lz4", lz4_frame(TEXT)[:-4], "end mark"),
    "lz4: no content checksum": ("lz4", lz4_frame(TEXT, content_checksum=True)[:-1], "content checksum"),
    "lz4: wrong block checksum": (
        "lz4",
        lz4_frame(TEXT, block_checksum=True)[:-8] + bytes(8),
        "blockChecksum",
    ),
    "lz4: block longer than the frame's largest": (
        "lz4",
        JAVA_LZ4_HEADER + struct.pack("<I", 0x80010001) + bytes(65537) + bytes(4),
        "maxBlockSize",
    ),
    "zstd: another format": ("zstd", b"not zstd at all", "Unknown frame descriptor"),
    "zstd: garbage after the frame": ("zstd", zstd_frame(TEXT) + b"garbage", "Unknown frame descriptor"),
    "zstd: cut short": ("zstd", zstd_frame(TEXT)[:-1], "within a frame"),
    "zstd: wrong checksum": ("zstd", zstd_frame(TEXT, checksum=True)[:-1] + b"\0", "checksum"),
    "zstd: second frame in another read of Java's": (
        "zstd",
        zstd_skippable(bytes(LEN_JAVA_READ - 10)) + zstd_frame(TEXT)[:9],
        "within a frame",
    ),
}


@pytest.mark.parametrize("codec, payload, content", TAKEN_BY_KAFKA.values(), ids=TAKEN_BY_KAFKA)
def test_takes_what_kafka_takes(codec, payload, content) -> None:
    assert decompress(codec, payload) == content


@pytest.mark.parametrize("codec, payload, reason", REFUSED_BY_KAFKA.values(), ids=REFUSED_BY_KAFKA)
def test_refuses_what_kafka_refuses(codec, payload, reason) -> None:
    with pytest.raises(DecompressionError, match=reason) as caught:
        decompress(codec, payload)
    assert caught.value.codec == codec
    assert str(caught.value).startswith(f"{codec} payload does not decompress: ")


def test_lz4_content_size_is_not_looked_at() -> None:
    frame = lz4_frame(TEXT, store_size=True)
    wrong = lz4_frame(bytes(5), store_size=True)
    # The wrong frame's header says 5 bytes, and its own checksum is right.
    assert decompress("lz4", wrong[:15] + frame[15:]) == TEXT


def test_lz4_header_checksum_is_not_looked_at_in_magic_0_only() -> None:
    payload = BROKEN_LZ4_HEADER + lz4_frame(TEXT, block_size=4)[7:]
    assert decompress("lz4", payload, magic=0) == TEXT
    for magic in (1, 2):
        with pytest.raises(DecompressionError):
            decompress("lz4", payload, magic=magic)
    assert decompress("gzip", gzip_member(TEXT), magic=0) == TEXT


@given(data=st.binary(max_size=200), codec=st.sampled_from(CODEC_NAMES), magic=st.sampled_from([0, 1, 2]))
def test_any_bytes_decompress_or_raise_our_error(data: bytes, codec: str, magic: int) -> None:
    heads = {
        "gzip": b"\x1f\x8b\x08",
        "snappy": XERIAL_HEADER,
        "lz4": JAVA_LZ4_HEADER,
        "zstd": b"\x28\xb5\x2f\xfd",
    }
    for payload in (data, heads[codec] + data):
        try:
            assert len(decompress(codec, payload, max_size=5_000, magic=magic)) <= 5_000
        except DecompressionError as error:
            assert error.codec == codec


@pytest.mark.parametrize("codec", ["brotli", "none", "", "../lz4", "output"])
def test_unknown_codec(codec) -> None:
    with pytest.raises(DecompressionError, match="unknown compression codec") as caught:
        decompress(codec, b"")
    assert caught.value.codec == codec


PACKAGES = {
    "snappy": ("snappy", "python-snappy"),
    "lz4": ("lz4.frame", "lz4"),
    "zstd": ("zstandard", "zstandard"),
}


@pytest.mark.parametrize(
    "codec, package, distribution", [(codec, *names) for codec, names in PACKAGES.items()]
)
def test_missing_package(monkeypatch, codec, package, distribution) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    forget(monkeypatch, [f"kafka_segments.core.codecs.{codec}"])
    with pytest.raises(MissingCodecError, match=f"pip install {distribution}") as caught:
        decompress(codec, b"")
    assert caught.value.codec == codec
    assert isinstance(caught.value, ImportError)
    others = set(CODEC_NAMES) - {codec}
    assert all(decompress(other, WRITERS_OF_NOTHING[other]) == b"" for other in others)


def test_packages_are_imported_when_first_needed() -> None:
    program = (
        "import sys, kafka_segments.core.codecs as compression\n"
        "heavy = {'lz4', 'lz4.frame', 'snappy', 'cramjam', 'zstandard'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "compression.codec_named('lz4')\n"
        "assert heavy & set(sys.modules) == {'lz4', 'lz4.frame'}\n"
    )
    run_python("-c", program)


def test_names_and_default() -> None:
    assert CODEC_NAMES == ("gzip", "snappy", "lz4", "zstd")
    assert [codec_named(name).name for name in CODEC_NAMES] == list(CODEC_NAMES)
    assert DEFAULT_MAX_DECOMPRESSED == 256 * 1024 * 1024
    assert codecs.decompress.__kwdefaults__ == {"max_size": DEFAULT_MAX_DECOMPRESSED, "magic": 2}


def test_lz4_library_agrees_with_our_plain_header() -> None:
    """The library's own reading of a whole frame is the reference for ours."""
    for settings in (
        {"block_size": size, "block_checksum": check} for size in (4, 5, 6, 7) for check in (0, 1)
    ):
        frame = lz4_frame(CONTENTS["several blocks"], **settings)
        assert decompress("lz4", frame) == lz4.frame.decompress(frame)
