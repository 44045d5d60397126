//! The crate as an encoder: holds the records of a segment, batch by batch, and writes the batches again.

use crate::serving::Passed;
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::records::{Compression, Record, RecordBatchDecoder, RecordBatchEncoder, RecordEncodeOptions};
use std::time::Instant;

/// Batches are written one behind the other into this much memory; then their bytes go into the checksum.
const LEN_PIECE: usize = 1 << 20;

/// The records of every batch of a segment.
pub fn records_of(segment: &Bytes) -> Vec<Vec<Record>> {
    let mut rest = segment.clone();
    let mut batches = Vec::new();
    while rest.has_remaining() {
        batches.push(RecordBatchDecoder::decode(&mut rest).expect("a sound batch").records);
    }
    batches
}

/// Encodes everything; the checksum is the CRC-32C of all bytes, which is outside the time.
pub fn pass(batches: &[Vec<Record>], memory: &mut BytesMut) -> Passed {
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    let (mut seconds, mut records, mut checksum) = (0.0, 0, 0);
    let mut next = 0;
    while next < batches.len() {
        let started = Instant::now();
        memory.clear();
        while next < batches.len() && memory.len() < LEN_PIECE {
            RecordBatchEncoder::encode(memory, &batches[next], &options).expect("records that fit");
            records += batches[next].len() as u64;
            next += 1;
        }
        seconds += started.elapsed().as_secs_f64();
        checksum = crc32c::crc32c_append(checksum, memory);
    }
    Passed { seconds, records, checksum: i64::from(checksum) }
}
