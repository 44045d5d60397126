"""One partition: its directories, segments and their order, replicas, log end and records."""
