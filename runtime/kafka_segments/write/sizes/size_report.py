"""Report on what segments take in other forms: `measure_sizes`, and its results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kafka_segments.write.sizes.estimate import Estimate
from kafka_segments.write.sizes.forms import Form
from kafka_segments.write.sizes.frame import MeasuredFile
from kafka_segments.write.sizes.measuring import Gauge, OnFinding, measure_whole
from kafka_segments.write.sizes.sampling import Sample, SampleLimits, sample_files
from kafka_segments.write.sizes.tally import FormTally, Tally
from kafka_segments.write.sizes.timing import DecodeTimes

__all__ = ["FormSize", "SizeReport", "measure_sizes"]


@dataclass(frozen=True, slots=True)
class FormSize:
    """What segments take in one form.

    Attributes:
        form: the form.
        num_bytes: bytes of all entries; its interval is 0 if all were read.
        ratio: the same as a share of the bytes that are there.
        records_per_batch: mean number of records in an entry; NaN without any.
        encode_seconds: CPU time of encoding all records on this machine.
        decode_seconds: CPU time of verifying and reading them as Arrow columns.
    """

    form: Form
    num_bytes: Estimate
    ratio: Estimate
    records_per_batch: float
    encode_seconds: float
    decode_seconds: float


@dataclass(frozen=True, slots=True)
class SizeReport:
    """Result of a measurement.

    Attributes:
        num_files: segments.
        num_file_bytes: their bytes, with holes and the zeros at their ends.
        num_bytes: bytes of the sound entries in them.
        tally: counts of the entries that were read.
        scale: all entries, as a multiple of those that were read.
        sizes: what they take in each form, in the order of the forms.
        sample: how the entries were chosen; None if all were read.
        num_findings: damaged places in what was read.
    """

    num_files: int
    num_file_bytes: int
    num_bytes: Estimate
    tally: Tally
    scale: float
    sizes: tuple[FormSize, ...]
    sample: Sample | None
    num_findings: int

    def losses(self, magic: int) -> Counter[str]:
        """Return what a format does not carry, of all entries; names are those of `convert.LOSSES`."""
        scaled = {
            name: round(count * self.scale)
            for (lost_in, name), count in self.tally.losses.items()
            if lost_in == magic
        }
        return Counter(scaled)


def measure_sizes(
    files: Sequence[MeasuredFile],
    forms: Sequence[Form],
    *,
    limits: SampleLimits | None,
    on_finding: OnFinding,
    progress: Callable[[int, int], None],
) -> SizeReport:
    """Measure what segments take in other forms.

    Args:
        files: the segments.
        forms: the forms.
        limits: of a sample; None reads all entries.
        on_finding: called with each damaged place.
        progress: called with how much is done, and of how much.

    Raises:
        OptionError: a form that Kafka does not have.
        MissingCodecError: the package of a codec is not installed.
        KafkaFormatError: a file that cannot be read.
    """
    with Gauge(forms, on_finding) as gauge:
        if limits is None or not any(file.num_data for file in files):
            sample, tally = None, measure_whole(files, gauge, progress)
        else:
            sample, tally = sample_files(files, forms, gauge, limits, progress), Tally()
            for one in sample.tallies:
                tally.add(one)
    num_bytes = _bytes_there(files, sample, tally)
    scale = num_bytes.value / tally.num_bytes if tally.num_bytes else 1.0
    sizes = tuple(_size_of(form, sample, tally, num_bytes, gauge.decoding) for form in forms)
    return SizeReport(
        len(files),
        sum(file.size for file in files),
        num_bytes,
        tally,
        scale,
        sizes,
        sample,
        gauge.num_findings,
    )


def _bytes_there(files: Sequence[MeasuredFile], sample: Sample | None, tally: Tally) -> Estimate:
    """The bytes of all entries: known if all was read, or if nothing but entries is in the files."""
    if sample is None:
        return Estimate(float(tally.num_bytes), 0.0)
    if not sample.is_exact:
        return sample.bytes_there()
    return Estimate(float(sum(file.num_data for file in files)), 0.0)


def _size_of(
    form: Form, sample: Sample | None, tally: Tally, num_bytes: Estimate, decoding: DecodeTimes
) -> FormSize:
    counts = tally.forms.get(form, FormTally())
    seconds = counts.encode_ns / 1e9
    if counts.num_encoded_bytes:
        seconds *= num_bytes.value / counts.num_encoded_bytes
    depth = counts.num_records / counts.num_batches if counts.num_batches else math.nan
    there = num_bytes.value
    if sample is None:
        total = Estimate(float(counts.num_bytes), 0.0)
        ratio = Estimate(counts.num_bytes / there if there else math.nan, 0.0)
    else:
        ratio = sample.ratio(form)
        relative = math.hypot(ratio.relative, num_bytes.relative if num_bytes.half_width else 0.0)
        total = Estimate(there * ratio.value, there * ratio.value * relative)
    return FormSize(form, total, ratio, depth, seconds, decoding.seconds(form, there))
