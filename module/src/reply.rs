//! The engine's form of replies.

use crate::engine::Context;
use guira_commands::{Answer, Reply};

/// The reply for an answer; an error is a reply as well.
pub(crate) fn of(answer: Answer) -> Reply {
    answer.unwrap_or_else(|refusal| refusal)
}

/// Replies within the call of a command. Only insertions depend on the protocol of the client, and
/// asking for it takes a tenth of a microsecond.
pub(crate) fn write_now(context: &Context, reply: &Reply) {
    let is_resp3 = matches!(reply, Reply::Insertions(_)) && context.flags().is_resp3();
    write(context, reply, is_resp3);
}

pub(crate) fn write(context: &Context, reply: &Reply, is_resp3: bool) {
    match reply {
        Reply::Status(text) => context.reply_status(text),
        Reply::Integer(number) => context.reply_integer(*number),
        Reply::Bool(value) => context.reply_bool(*value),
        Reply::Bulk(bytes) => context.reply_bulk(bytes),
        Reply::Text(text) => context.reply_text(text),
        Reply::Null => context.reply_null(),
        Reply::NullArray => context.reply_null_array(),
        Reply::Silence => {}
        Reply::Array(items) => {
            context.reply_array(items.len());
            for item in items {
                write(context, item, is_resp3);
            }
        }
        Reply::Bools(values) => {
            context.reply_array(values.len());
            for &value in values {
                context.reply_bool(value);
            }
        }
        Reply::Insertions(values) => {
            context.reply_array(values.len());
            for &value in values {
                match is_resp3 {
                    true => context.reply_bool(value),
                    false => context.reply_integer(if value { 1 } else { -1 }),
                }
            }
        }
        Reply::Integers(values) => {
            context.reply_array(values.len());
            for &value in values {
                context.reply_integer(value);
            }
        }
        Reply::Map(pairs) => {
            context.reply_map(pairs.len());
            for (key, value) in pairs {
                write(context, key, is_resp3);
                write(context, value, is_resp3);
            }
        }
        Reply::Error(text) => context.reply_error(text),
    }
}
