//! Prints segments and varints as ../reference.py describes.
use std::fmt::Write;

use kafka::kafka_control_record_value::KafkaControlRecordValue_Content as ControlContent;
use kafka::kafka_log_segment::{KafkaLogSegment, KafkaLogSegment_Entry, KafkaLogSegment_EntryBody_Content as Content};
use kafka::kafka_message_legacy::KafkaMessageLegacy;
use kafka::kafka_record::KafkaRecord_RecordBody;
use kafka::kafka_record_batch_v2::{KafkaRecordBatchV2, KafkaRecordBatchV2_Compression};
use kafka::kafka_unsigned_varint::KafkaUnsignedVarint;
use kafka::kafka_varint::KafkaVarint;
use kafka::kafka_varlong::KafkaVarlong;
use kaitai::{BytesReader, KError, KResult, KStruct, OptRc};

fn hex(data: &[u8]) -> String {
    data.iter().map(|one| format!("{one:02x}")).collect()
}

fn text(data: &[u8], is_there: bool) -> String {
    match (is_there, data.is_empty()) {
        (false, _) => "-".into(),
        (_, true) => ".".into(),
        _ => hex(data),
    }
}

fn known(number: i64, count: i64) -> String {
    if (0..count).contains(&number) { number.to_string() } else { "?".into() }
}

fn control(body: &KafkaRecord_RecordBody) -> KResult<String> {
    // Not kept: the instance is read anew where `control_value` needs it, and a kept one would be in the way.
    let (version, kind) = body.control_key().map(|key| (*key.version(), i64::from(&*key.record_type())))?;
    let mut detail = String::from("-");
    if (0..=2).contains(&kind) && *body.len_value().value()? >= 0 {
        detail = match body.control_value()?.content().as_ref() {
            Some(ControlContent::KafkaControlRecordValue_LeaderChangeMessage(found)) => found.leader_id().to_string(),
            Some(ControlContent::KafkaControlRecordValue_EndTxnMarker(found)) => found.coordinator_epoch().to_string(),
            _ => return Err(KError::CastError),
        };
    }
    Ok(format!("control {version} {} {detail}", known(kind, 7)))
}

fn record(out: &mut String, body: &KafkaRecord_RecordBody) -> KResult<()> {
    let key = text(&body.key(), *body.len_key().value()? >= 0);
    let value = text(&body.value(), *body.len_value().value()? >= 0);
    let _ = write!(out, "record {} {} {} {key} {value}", body.offset()?, body.timestamp()?, body.sequence()?);
    for header in body.headers().iter() {
        let value = text(&header.value(), *header.len_value().value()? >= 0);
        let _ = write!(out, " {}={value}", hex(&header.key()));
    }
    out.push('\n');
    if *body.is_control_record()? {
        let _ = writeln!(out, "{}", control(body).unwrap_or("control error".into()));
    }
    Ok(())
}

fn batch(out: &mut String, found: &KafkaRecordBatchV2) -> KResult<()> {
    let bits = found.attributes();
    let _ = writeln!(
        out,
        "batch {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
        found.partition_leader_epoch(),
        found.crc(),
        known(i64::from(&*bits.compression()), 5),
        i64::from(&*bits.timestamp_type()),
        i32::from(*bits.is_transactional()),
        i32::from(*bits.is_control()),
        i32::from(*bits.has_delete_horizon()),
        found.last_offset_delta(),
        found.base_timestamp(),
        found.max_timestamp(),
        found.producer_id(),
        found.producer_epoch(),
        found.base_sequence(),
        found.num_records(),
        found.payload()?.len()
    );
    if *bits.compression() == KafkaRecordBatchV2_Compression::None {
        for each in found.records()?.iter() {
            record(out, &each.body())?;
        }
    }
    Ok(())
}

fn message(out: &mut String, found: &KafkaMessageLegacy) -> KResult<()> {
    let header = found.header();
    let _ = writeln!(
        out,
        "message {} {} {} {} {} {} {}",
        found.offset()?,
        found.timestamp_value()?,
        found.timestamp_type()?,
        header.crc(),
        known(i64::from(&*header.attributes().compression()), 5),
        text(&found.key(), *found.len_key() >= 0),
        text(&found.value(), *found.len_value() >= 0)
    );
    Ok(())
}

fn content(out: &mut String, found: &KafkaLogSegment_Entry) -> KResult<()> {
    match found.body().content()?.as_ref() {
        Some(Content::KafkaRecordBatchV2(each)) => batch(out, each),
        Some(Content::KafkaMessageLegacy(each)) => message(out, each),
        _ => Ok(()),
    }
}

fn entry(out: &mut String, found: &KafkaLogSegment_Entry) -> KResult<()> {
    if *found.is_padding()? {
        let _ = writeln!(out, "padding {}", found.padding().len());
    } else if !*found.is_complete()? {
        let _ = writeln!(out, "partial {}", found.partial().len());
    } else {
        let magic = *found.body().magic()?;
        let _ = writeln!(out, "entry {} {} {magic}", found.base_offset(), found.len_body());
        if content(out, found).is_err() {
            out.push_str("error\n");
        }
    }
    Ok(())
}

fn varint(kind: u8, data: &[u8]) -> KResult<String> {
    let stream = BytesReader::from(data);
    Ok(match kind {
        0 => {
            let found: OptRc<KafkaVarint> = KafkaVarint::read_into(&stream, None, None)?;
            format!("{} {}", *found.value()?, *found.len()?)
        }
        1 => {
            let found: OptRc<KafkaVarlong> = KafkaVarlong::read_into(&stream, None, None)?;
            format!("{} {}", *found.value()?, *found.len()?)
        }
        _ => {
            let found: OptRc<KafkaUnsignedVarint> = KafkaUnsignedVarint::read_into(&stream, None, None)?;
            format!("{} {}", *found.value()?, *found.len()?)
        }
    })
}

fn main() -> KResult<()> {
    let mut out = String::new();
    for (index, file) in std::env::args().skip(1).enumerate() {
        let _ = writeln!(out, "file {index}");
        let data = std::fs::read(&file).expect("a file");
        if file.ends_with(".varints") {
            let mut at = 0;
            while at < data.len() {
                let end = at + 2 + usize::from(data[at + 1]);
                let found = varint(data[at], &data[at + 2..end]).unwrap_or("error".into());
                let _ = writeln!(out, "varint {} {found}", data[at]);
                at = end;
            }
            continue;
        }
        let segment: KResult<OptRc<KafkaLogSegment>> = KafkaLogSegment::read_into(&BytesReader::from(data), None, None);
        match segment {
            Ok(found) => {
                for each in found.entries().iter() {
                    entry(&mut out, each)?;
                }
            }
            Err(_) => out.push_str("segment error\n"),
        }
    }
    print!("{out}");
    Ok(())
}
