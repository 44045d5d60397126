"""What segments would take in other formats, with other codecs and batch sizes, measured by encoding them.

The question and the report are those of KIP-640, which was never built; `size_report.measure_sizes` is the
way in.
"""

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)
from kafka_segments.sizes.recoding import Form, is_possible
from kafka_segments.sizes.size_report import FormSize, SizeReport, measure_sizes
from kafka_segments.sizes.stretches import MeasuredFile, data_file

__all__ = [
    "Form",
    "FormSize",
    "MeasuredFile",
    "SizeReport",
    "data_file",
    "is_possible",
    "measure_sizes",
]
