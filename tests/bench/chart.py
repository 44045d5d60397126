"""The chart of a run: million records a second, by corpus, ours and the peers. Needs matplotlib.

Three parts: plain corpora and compressed ones that are decoded, and those that are encoded, where each bar is
the encoder of whom it is in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench.corpora import CODECS, ENCODED
from tests.bench.decoders import PLAIN
from tests.bench.goals import Row

# Decoder -> label and colour; ours stands out, the peers are greys by language.
BARS = {
    "columns": ("kafka-segments, columns", "#d9480f"),
    "views": ("kafka-segments, views", "#ff922b"),
    "java-views": ("Java MemoryRecords, views", "#343a40"),
    "java-copied": ("Java MemoryRecords, copied", "#868e96"),
    "rust": ("Rust kafka-protocol", "#1971c2"),
    "krabka": ("Rust krabka-protocol, borrowed", "#74c0fc"),
    "franz-go": ("Go franz-go", "#0ca678"),
    "librdkafka": ("librdkafka, with broker and network", "#ae3ec9"),
    "aiokafka": ("aiokafka", "#74b816"),
    "kafka-python": ("kafka-python", "#c0eb75"),
}
ENCODER_BARS = {
    "encoder": BARS["columns"],
    "java-builder": BARS["java-views"],
    "rust-encoder": BARS["rust"],
    "aiokafka-builder": BARS["aiokafka"],
    "kafka-python-builder": BARS["kafka-python"],
}
LABELLED = ("columns", "views", "java-views", "rust", "krabka", "encoder", "java-builder", "rust-encoder")


def draw(rows: Sequence[Row], path: Path, subtitle: str) -> None:
    """Draw the rates of a run's rows into a PNG.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rates = {(row["corpus"], row["decoder"]): row["mrps"] for row in rows if "decoder" in row}
    widths = (len(PLAIN), len(CODECS), len(ENCODED))
    figure, parts = plt.subplots(1, 3, figsize=(13, 5), dpi=120, width_ratios=widths)
    plain, compressed, encoded = parts
    draw_bars(plain, PLAIN, rates, BARS)
    draw_bars(compressed, CODECS, rates, BARS)
    draw_bars(encoded, tuple(ENCODED), rates, ENCODER_BARS)
    plain.set_ylabel("million records a second, one core")
    for axes, title in zip(parts, ("decoding", "decoding", "encoding"), strict=True):
        axes.set_title(title, fontsize=9)
    figure.legend(*plain.get_legend_handles_labels(), loc="lower center", ncols=5, frameon=False, fontsize=8)
    title = "Kafka segments, with their CRCs: more is better"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    figure.text(0.99, 0.955, subtitle, ha="right", fontsize=8, color="#495057")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    # No program's version: the same figures are the same bytes.
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)


def draw_bars(
    axes: Any,
    corpora: Sequence[str],
    rates: dict[tuple[str, str], float | None],
    shown: dict[str, tuple[str, str]],
) -> None:
    """A group of bars for each corpus."""
    width = 0.84 / len(shown)
    for place, (decoder, (label, colour)) in enumerate(shown.items()):
        heights = [rates.get((corpus, decoder)) or 0 for corpus in corpora]
        left = [corpus + (place - (len(shown) - 1) / 2) * width for corpus in range(len(corpora))]
        bars = axes.bar(left, heights, width, label=label, color=colour)
        if decoder in LABELLED:
            # Who could not run has no bar and no label.
            labels = [f"{height:.{0 if height >= 20 else 1}f}" if height else "" for height in heights]
            axes.bar_label(bars, labels, fontsize=7, padding=2, rotation=90)
    axes.set_xticks(range(len(corpora)), corpora)
    axes.spines[["top", "right"]].set_visible(False)
