// Prints segments and varints as ../reference.py describes; C++98, for the classes of C++98 and of C++11.
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "kafka_log_segment.h"
#include "kafka_unsigned_varint.h"
#include "kafka_varint.h"
#include "kafka_varlong.h"

static const std::string null_text = "-";

static std::string hex(const std::string& data) {
    static const char digits[] = "0123456789abcdef";
    std::string found;
    for (std::string::size_type i = 0; i < data.size(); i++) {
        unsigned char byte = static_cast<unsigned char>(data[i]);
        found += digits[byte >> 4];
        found += digits[byte & 15];
    }
    return found;
}

static std::string text(const std::string& data, bool is_there) {
    return !is_there ? null_text : data.empty() ? std::string(".") : hex(data);
}

static std::string known(long number, long count) {
    std::ostringstream found;
    found << number;
    return number >= 0 && number < count ? found.str() : std::string("?");
}

static void control(kafka_record_t::record_body_t* body) {
    std::ostringstream line;
    try {
        kafka_control_record_key_t* key = body->control_key();
        long kind = key->record_type();
        line << "control " << key->version() << " " << known(kind, 7) << " ";
        if (kind < 0 || kind > 2 || body->len_value()->value() < 0) {
            line << "-";
        } else if (kind == 2) {
            line << static_cast<kafka_control_record_value_t::leader_change_message_t*>(
                body->control_value()->content())->leader_id();
        } else {
            line << static_cast<kafka_control_record_value_t::end_txn_marker_t*>(
                body->control_value()->content())->coordinator_epoch();
        }
    } catch (const std::exception&) {
        line.str("control error");
    }
    std::cout << line.str() << "\n";
}

static void record(kafka_record_t::record_body_t* body) {
    std::cout << "record " << body->offset() << " " << body->timestamp() << " " << body->sequence() << " "
              << text(body->key(), body->len_key()->value() >= 0) << " "
              << text(body->value(), body->len_value()->value() >= 0);
    for (size_t i = 0; i < body->headers()->size(); i++) {
        std::cout << " " << hex(body->headers()->at(i)->key()) << "="
                  << text(body->headers()->at(i)->value(), body->headers()->at(i)->len_value()->value() >= 0);
    }
    std::cout << "\n";
    if (body->is_control_record()) {
        control(body);
    }
}

static void batch(kafka_record_batch_v2_t* found) {
    kafka_record_batch_v2_t::batch_attributes_t* bits = found->attributes();
    std::cout << "batch " << found->partition_leader_epoch() << " " << found->crc() << " "
              << known(bits->compression(), 5) << " " << static_cast<int>(bits->timestamp_type()) << " "
              << bits->is_transactional() << " " << bits->is_control() << " " << bits->has_delete_horizon() << " "
              << found->last_offset_delta() << " " << found->base_timestamp() << " " << found->max_timestamp() << " "
              << found->producer_id() << " " << found->producer_epoch() << " " << found->base_sequence() << " "
              << found->num_records() << " " << found->payload().size() << "\n";
    if (bits->compression() == kafka_record_batch_v2_t::COMPRESSION_NONE) {
        for (size_t i = 0; i < found->records()->size(); i++) {
            record(found->records()->at(i)->body());
        }
    }
}

static void message(kafka_message_legacy_t* found) {
    std::cout << "message " << found->offset() << " " << found->timestamp_value() << " "
              << static_cast<int>(found->timestamp_type()) << " " << found->header()->crc() << " "
              << known(found->header()->attributes()->compression(), 5) << " "
              << text(found->key(), found->len_key() >= 0) << " "
              << text(found->value(), found->len_value() >= 0) << "\n";
}

static void entry(kafka_log_segment_t::entry_t* found) {
    if (found->is_padding()) {
        std::cout << "padding " << found->padding().size() << "\n";
    } else if (!found->is_complete()) {
        std::cout << "partial " << found->partial().size() << "\n";
    } else {
        int magic = found->body()->magic();
        std::cout << "entry " << found->base_offset() << " " << found->len_body() << " " << magic << "\n";
        try {
            if (magic == 2) {
                batch(static_cast<kafka_record_batch_v2_t*>(found->body()->content()));
            } else if (magic == 0 || magic == 1) {
                message(static_cast<kafka_message_legacy_t*>(found->body()->content()));
            }
        } catch (const std::exception&) {
            std::cout << "error\n";
        }
    }
}

template <class T>
static void varint(int kind, const std::string& data) {
    try {
        kaitai::kstream stream(data);
        T found(&stream);
        std::ostringstream line;
        line << found.value() << " " << found.len();
        std::cout << "varint " << kind << " " << line.str() << "\n";
    } catch (const std::exception&) {
        std::cout << "varint " << kind << " error\n";
    }
}

static void varints(const std::string& data) {
    for (std::string::size_type at = 0; at < data.size(); at += 2 + data[at + 1]) {
        std::string bytes = data.substr(at + 2, data[at + 1]);
        if (data[at] == 0) {
            varint<kafka_varint_t>(0, bytes);
        } else if (data[at] == 1) {
            varint<kafka_varlong_t>(1, bytes);
        } else {
            varint<kafka_unsigned_varint_t>(2, bytes);
        }
    }
}

int main(int count, char** arguments) {
    for (int index = 1; index < count; index++) {
        std::cout << "file " << index - 1 << "\n";
        std::string name = arguments[index];
        std::ifstream file(name.c_str(), std::ios::binary);
        std::ostringstream content;
        content << file.rdbuf();
        std::string data = content.str();
        if (name.size() > 8 && name.substr(name.size() - 8) == ".varints") {
            varints(data);
            continue;
        }
        kaitai::kstream stream(data);
        // Never deleted: in C++98 an instance that failed leaves a pointer that was not set.
        kafka_log_segment_t* segment = new kafka_log_segment_t(&stream);
        for (size_t i = 0; i < segment->entries()->size(); i++) {
            entry(&*segment->entries()->at(i));
        }
    }
    return 0;
}
