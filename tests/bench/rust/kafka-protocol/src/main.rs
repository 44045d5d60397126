//! The crate kafka-protocol as a decoder and an encoder: `peers serve|once decode|encode PATH`, over a segment in
//! memory.

mod encoding;
#[path = "../../serving.rs"]
mod serving;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::records::{Record, RecordBatchDecoder};
use serving::Passed;
use std::io;
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

/// Decodes everything, CRC checked.
fn pass(segment: &Bytes) -> Passed {
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
    Passed { seconds: started.elapsed().as_secs_f64(), records, checksum: checksum as i64 }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let segment = Bytes::from(std::fs::read(&arguments[3])?);
    if arguments[2] == "encode" {
        let batches = encoding::records_of(&segment);
        let mut memory = BytesMut::new();
        return serving::run(&arguments[1], || encoding::pass(&batches, &mut memory));
    }
    serving::run(&arguments[1], || pass(&segment))
}
