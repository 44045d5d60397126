//! The crate kafka-protocol as a decoder and an encoder: `peers serve|once decode|encode PATH`.
//!
//! `serve` keeps the segment in memory and answers every line on standard input with one pass over it, as a line
//! of JSON; `once` does one pass and ends. The checksums are those of tests/bench/README.md.

mod encoding;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::records::{Record, RecordBatchDecoder};
use std::io::{self, BufRead, Write};
use std::time::Instant;

/// What is added up of one record.
fn sum_of(record: &Record) -> u64 {
    let mut sum = (record.offset + record.timestamp) as u64;
    if let Some(key) = &record.key {
        sum += key.len() as u64;
    }
    if let Some(value) = record.value.as_ref().filter(|value| !value.is_empty()) {
        sum += u64::from(value[value.len() / 2]);
    }
    for (key, value) in &record.headers {
        sum += key.len() as u64 + value.as_ref().map_or(0, |value| value.len() as u64);
    }
    sum
}

/// Decodes everything, CRC checked, and prints seconds, records and checksum.
fn pass(segment: &Bytes, out: &mut impl Write) -> io::Result<()> {
    let started = Instant::now();
    let (mut records, mut checksum) = (0u64, 0u64);
    let mut rest = segment.clone();
    while rest.has_remaining() {
        let batch = RecordBatchDecoder::decode(&mut rest).expect("a sound batch");
        for record in &batch.records {
            checksum = checksum.wrapping_add(sum_of(record));
        }
        records += batch.records.len() as u64;
    }
    let seconds = started.elapsed().as_secs_f64();
    let checksum = checksum as i64;
    writeln!(out, "{{\"seconds\": {seconds:.6}, \"records\": {records}, \"checksum\": {checksum}}}")?;
    out.flush()
}

/// A function that does one pass of what is asked for.
fn work(what: &str, segment: Bytes) -> Box<dyn FnMut(&mut io::StdoutLock) -> io::Result<()>> {
    if what == "encode" {
        let batches = encoding::records_of(&segment);
        let mut memory = BytesMut::new();
        return Box::new(move |out| encoding::pass(&batches, &mut memory, out));
    }
    Box::new(move |out| pass(&segment, out))
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let mut work = work(&arguments[2], Bytes::from(std::fs::read(&arguments[3])?));
    let mut out = io::stdout().lock();
    if arguments[1] == "once" {
        return work(&mut out);
    }
    writeln!(out, "{{\"ready\": true}}")?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        line?;
        work(&mut out)?;
    }
    Ok(())
}
