"""A Spark Connect server in a process of its own, as an administrator starts one, on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.recording.server import free_ports, wait_until

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def serving(work: Path) -> Iterator[str]:
    """Start a server with two tasks at a time; yields its address, for `SparkSession.builder.remote`.

    Its Python workers see the environment's `PYTHONPATH` and `PYSPARK_PYTHON`.

    Args:
        work: where it runs, and logs.

    Raises:
        RecordingError: it does not listen after ten minutes.
        RuntimeError: it has ended instead; the message holds the end of its log.
    """
    import pyspark

    port = free_ports(1)[0]
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    # In the foreground and not by sbin/start-connect-server.sh: so it is our child, and ends with us.
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command = [str(submit), "--class", SERVER, "--master", "local[2]", *options, "spark-internal"]
    environment = {name: value for name, value in os.environ.items() if name != "SPARK_CONNECT_MODE_ENABLED"}
    log = work / "connect-server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        # Seconds where the machine is free; on a busy one 110 s were seen.
        wait_until("the Connect server", lambda: _listens(process, port, log), 600)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(process: subprocess.Popen[bytes], port: int, log: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the Connect server has ended:\n{log.read_text(errors='replace')[-3000:]}")
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
