"""The command `kafka-segments` as `python -m kafka_segments`."""

import sys

from kafka_segments.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
