"""The chart of a run: million records a second, by corpus, ours and the peers. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.bench.corpora import NAMES
from tests.bench.goals import Row

# Decoder -> label and colour; ours stands out, the peers are greys by language.
BARS = {
    "columns": ("kafka-segments, columns", "#d9480f"),
    "java-views": ("Java MemoryRecords, views", "#343a40"),
    "java-copied": ("Java MemoryRecords, copied", "#868e96"),
    "rust": ("Rust kafka-protocol", "#1971c2"),
    "aiokafka": ("aiokafka", "#74b816"),
    "kafka-python": ("kafka-python", "#c0eb75"),
}
WIDTH = 0.8 / len(BARS)


def draw(rows: Sequence[Row], path: Path, subtitle: str) -> None:
    """Draw the rates of a run's rows into a PNG.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    rates = {(row["corpus"], row["decoder"]): row["mrps"] for row in rows if "decoder" in row}
    figure, axes = plt.subplots(figsize=(10, 4.6), dpi=120)
    for place, (decoder, (label, colour)) in enumerate(BARS.items()):
        heights = [rates.get((corpus, decoder)) or 0 for corpus in NAMES]
        left = [corpus + (place - (len(BARS) - 1) / 2) * WIDTH for corpus in range(len(NAMES))]
        bars = axes.bar(left, heights, WIDTH, label=label, color=colour)
        if decoder in ("columns", "java-views", "rust"):
            labels = [f"{height:.0f}" if height >= 10 else f"{height:.1f}" for height in heights]
            axes.bar_label(bars, labels, fontsize=7, padding=1)
    axes.set_xticks(range(len(NAMES)), NAMES)
    axes.set_ylabel("million records a second, one core")
    axes.set_title("Decoding Kafka segments, CRC checked: more is better", loc="left", fontsize=12, pad=22)
    axes.text(0, 1.02, subtitle, transform=axes.transAxes, fontsize=8, color="#495057")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    # No program's version and no date: the same figures are the same bytes.
    figure.savefig(path, metadata={"Software": None})
    plt.close(figure)
