"""What segments would take in other formats, with other codecs and batch sizes, measured by encoding them.

The question and the report are those of KIP-640, which was never built; `size_report.measure_sizes` is the
way in.
"""

from kafka_segments.core.segment import columnar  # noqa: F401 (raises with what to install if Arrow is missing)
from kafka_segments.write.sizes.forms import Form, is_possible, iter_levels
from kafka_segments.write.sizes.frame import FileToMeasure, MeasuredFile, data_file
from kafka_segments.write.sizes.measuring import SizeFinding
from kafka_segments.write.sizes.sampling import SampleLimits
from kafka_segments.write.sizes.size_report import FormSize, SizeReport, measure_sizes

__all__ = [
    "FileToMeasure",
    "Form",
    "FormSize",
    "MeasuredFile",
    "SampleLimits",
    "SizeFinding",
    "SizeReport",
    "data_file",
    "is_possible",
    "iter_levels",
    "measure_sizes",
]
