//! The crate krabka-protocol as a decoder that borrows keys, values and headers from the segment, or from the
//! decompressed batch: `peers serve|once PATH`.

#[path = "../../serving.rs"]
mod serving;

use krabka_protocol::DecodeBorrow;
use krabka_protocol::records::{RecordBatchBorrowed, RecordBorrowed};
use serving::Passed;
use std::io;
use std::time::Instant;

const VERSION_OF_FETCH: i16 = 12;

/// What is added up of one record, but for its batch's offset and timestamp.
fn sum_of(record: &RecordBorrowed) -> i64 {
    let mut sum = i64::from(record.offset_delta) + record.timestamp_delta;
    sum += record.key.map_or(0, <[u8]>::len) as i64;
    if let Some(value) = record.value.filter(|value| !value.is_empty()) {
        sum += i64::from(value[value.len() / 2]);
    }
    for header in &record.headers {
        sum += (header.key.len() + header.value.map_or(0, <[u8]>::len)) as i64;
    }
    sum
}

/// Decodes everything, CRC checked.
fn pass(segment: &[u8]) -> Passed {
    let started = Instant::now();
    let (mut records, mut checksum) = (0, 0i64);
    let mut rest = segment;
    while !rest.is_empty() {
        let batch = RecordBatchBorrowed::decode_borrow(&mut rest, VERSION_OF_FETCH).expect("a sound batch");
        let base = batch.header().base_offset.get() + batch.header().base_timestamp.get();
        for record in &batch {
            checksum = checksum.wrapping_add(base + sum_of(&record.expect("a sound record")));
            records += 1;
        }
    }
    Passed { seconds: started.elapsed().as_secs_f64(), records, checksum }
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let segment = std::fs::read(&arguments[2])?;
    serving::run(&arguments[1], || pass(&segment))
}
