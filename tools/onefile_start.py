"""The start of kafka-segments.pyz, its `__main__`: any Python can read this, older ones get a message."""
# mypy: ignore-errors

import os
import sys

PYTHONS = ()  # of this file, as pairs; tools/onefile.py fills them in
MACHINES = ()  # likewise


def _others():
    """Programs on the PATH that may be a Python of this file."""
    names = ["python%d.%d" % version for version in PYTHONS]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    paths = [os.path.join(folder, name) for name in names for folder in folders if folder]
    return [path for path in paths if os.access(path, os.X_OK)]


def _refuse(why):
    """End with status 2 and a message that names what is needed."""
    versions = ", ".join("%d.%d" % version for version in PYTHONS)
    text = "kafka-segments.pyz: %s. It needs CPython %s on Linux with glibc, %s" % (
        why,
        versions,
        " or ".join(MACHINES),
    )
    others = _others()
    text += "; here is %s: run it with that" % others[0] if others else ""
    sys.stderr.write(text + "\n")
    sys.exit(2)


def _main():
    sys.dont_write_bytecode = True  # nothing of Python's own library is written either
    if sys.version_info[:2] not in PYTHONS:
        _refuse("this is Python %d.%d (%s)" % (sys.version_info[0], sys.version_info[1], sys.executable))
    # Nothing that is installed: this file has all, and other versions may be there.
    apart = ("site-packages", "dist-packages")
    sys.path[1:] = [path for path in sys.path[1:] if os.path.basename(path) not in apart]
    import kafka_segments_natives

    if not kafka_segments_natives.is_supported():
        _refuse("this Python is one for %s" % kafka_segments_natives.TAG)
    try:
        from kafka_segments.cli.main import main
    except kafka_segments_natives.NativeError as error:
        _refuse(str(error))
    sys.exit(main())


if __name__ == "__main__":
    _main()
