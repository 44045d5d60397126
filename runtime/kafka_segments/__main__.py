"""`python -m kafka_segments`: the command `kafka-segments`."""

import sys

from kafka_segments.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
