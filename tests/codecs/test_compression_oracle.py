"""Parity with Kafka: what its own classes make of compressed payloads, sound and damaged, we make of them.

The contract says that what Kafka's reader takes without complaint we take too, with the same bytes.
"""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path
from random import Random

import pytest
from tests.made.payloads import WRITERS_OF, mutate, some_content
from tests.oracle import jvm

from kafka_segments.core.codecs import CODEC_NAMES, decompress
from kafka_segments.errors import DecompressionError

pytestmark = pytest.mark.oracle

PROGRAM = Path(__file__).parent / "java" / "CodecTruth.java"
NUM_PAYLOADS = 3000

Case = tuple[str, int, bytes]


def make_cases(seed: int) -> list[Case]:
    random = Random(seed)
    cases = []
    for index in range(NUM_PAYLOADS):
        codec = CODEC_NAMES[index % len(CODEC_NAMES)]
        payload, another = (random.choice(WRITERS_OF[codec])(some_content(random)) for _ in range(2))
        cases.append((codec, random.choice([0, 1, 2]), mutate(random, payload, another)))
    return cases


def verdicts_of_kafka(cases: list[Case]) -> list[str]:
    jars = jvm.fetch_jars(Path(jvm.__file__).parent / "pom.xml")
    classes = jvm.compile_java([PROGRAM], jars)
    command, environment = jvm.java_command([classes, jars], *jvm.QUIET, "CodecTruth")
    lines = "".join(f"{codec} {magic} {payload.hex()}\n" for codec, magic, payload in cases)
    result = subprocess.run(command, env=environment, input=lines, capture_output=True, text=True, check=True)
    return result.stdout.splitlines()


def verdict_of_ours(case: Case) -> str:
    codec, magic, payload = case
    try:
        content = decompress(codec, payload, magic=magic)
    except DecompressionError as error:
        return f"error {error}"
    return f"ok {len(content)} {zlib.crc32(content)}"


def test_kafka_and_we_agree_on_sound_and_damaged_payloads() -> None:
    cases = make_cases(seed=3)
    theirs = verdicts_of_kafka(cases)
    assert len(theirs) == len(cases)
    # Both kinds must be there in numbers, or the comparison says little.
    num_taken = sum(verdict.startswith("ok") for verdict in theirs)
    assert NUM_PAYLOADS // 4 < num_taken < NUM_PAYLOADS * 3 // 4

    differences = []
    for case, their_verdict in zip(cases, theirs, strict=True):
        our_verdict = verdict_of_ours(case)
        same = our_verdict == their_verdict or (our_verdict[:5] == their_verdict[:5] == "error")
        if not same:
            differences.append((case[0], case[1], case[2][:60].hex(), their_verdict, our_verdict))
    assert differences == []
