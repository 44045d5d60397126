//! How every program here speaks: `serve` answers each line on standard input with one pass, as a line of JSON;
//! `once` does one pass and ends.

use std::io::{self, BufRead, Write};

/// What a pass took and came to; the sums are those of tests/bench/README.md.
pub struct Passed {
    pub seconds: f64,
    pub records: u64,
    pub checksum: i64,
}

impl Passed {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let Passed { seconds, records, checksum } = self;
        writeln!(out, "{{\"seconds\": {seconds:.6}, \"records\": {records}, \"checksum\": {checksum}}}")?;
        out.flush()
    }
}

/// Does passes, one or as many as are asked for.
pub fn run(mode: &str, mut pass: impl FnMut() -> Passed) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if mode == "once" {
        return pass().write(&mut out);
    }
    writeln!(out, "{{\"ready\": true}}")?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        line?;
        pass().write(&mut out)?;
    }
    Ok(())
}
