//! Values of the module in the format of `DUMP`: taken apart, changed, and put together again.

/// The engine's tag for a value of a module.
const MODULE: u8 = 7;

/// The engine's tag after the last number or string. Others precede each of them.
const END: u64 = 0;
const NUMBER: u64 = 2;
const STRING: u64 = 5;

/// The bytes of the version of the format and a checksum.
const TRAILER: usize = 10;

/// The bytes of the module's own checksum.
const SUM: usize = 4;

/// A number or a string of a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Number(u64),
    Bytes(Vec<u8>),
}

/// A payload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Payload {
    /// The name of the type, and the version of its format.
    id: u64,
    pub(crate) items: Vec<Item>,
    trailer: Vec<u8>,
}

impl Payload {
    /// Parses the `DUMP` of an engine with `rdbcompression no`.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let (body, trailer) = bytes.split_at(bytes.len() - TRAILER);
        let (&kind, mut rest) = body.split_first().expect("it has a type");
        assert_eq!(kind, MODULE);
        let id = take_number(&mut rest);
        let mut items = Vec::new();
        loop {
            items.push(match take_number(&mut rest) {
                END => break,
                NUMBER => Item::Number(take_number(&mut rest)),
                STRING => {
                    let length = take_number(&mut rest) as usize;
                    let (bytes, after) = rest.split_at(length);
                    rest = after;
                    Item::Bytes(bytes.to_vec())
                }
                other => panic!("a value has an item of kind {other}"),
            });
        }
        assert!(rest.is_empty());
        Self {
            id,
            items,
            trailer: trailer.to_vec(),
        }
    }

    /// Encodes the payload, for an engine that does not verify the checksum.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![MODULE];
        put_number(&mut bytes, self.id);
        for item in &self.items {
            match item {
                Item::Number(number) => {
                    put_number(&mut bytes, NUMBER);
                    put_number(&mut bytes, *number);
                }
                Item::Bytes(string) => {
                    put_number(&mut bytes, STRING);
                    put_number(&mut bytes, string.len() as u64);
                    bytes.extend(string);
                }
            }
        }
        put_number(&mut bytes, END);
        bytes.extend(&self.trailer);
        bytes
    }

    /// Another value of the same type.
    pub(crate) fn with_items(&self, items: Vec<Item>) -> Self {
        Self {
            items,
            ..self.clone()
        }
    }

    /// A load with this header that has received these pieces.
    pub(crate) fn loading(&self, header: &[u8], pieces: &[Vec<u8>]) -> Self {
        const LOADING: u64 = 2;
        let mut items = vec![Item::Number(LOADING), Item::Bytes(header.to_vec())];
        items.extend(pieces.iter().cloned().map(Item::Bytes));
        items.extend([Item::Bytes(Vec::new()), Item::Number(0)]);
        let mut payload = self.with_items(items);
        payload.set_sums();
        payload
    }

    /// Corrects the checksums of the module. (The engine does not verify its own.)
    pub(crate) fn set_sums(&mut self) {
        let (last, before) = self.items.split_last_mut().expect("there are items");
        if let Item::Number(sum) = last {
            // A load has a checksum of its header and pieces.
            let strings = before.iter().filter_map(|item| match item {
                Item::Bytes(bytes) => Some(bytes),
                Item::Number(_) => None,
            });
            let all: Vec<u8> = strings.flatten().copied().collect();
            *sum = (all.len() as u64) << 32 | u64::from(crc32fast::hash(&all));
            return;
        }
        // A filter has the header of a dump, and then the strings of a snapshot, up to an empty
        // one.
        let mut strings = self.items.iter_mut().filter_map(|item| match item {
            Item::Bytes(bytes) => Some(bytes),
            Item::Number(_) => None,
        });
        if let Some(header) = strings.next() {
            set_sum(header);
        }
        let mut snapshot: Vec<&mut Vec<u8>> = Vec::new();
        for string in strings {
            if string.is_empty() {
                break;
            }
            snapshot.push(string);
        }
        let mut all: Vec<u8> = snapshot
            .iter()
            .flat_map(|string| string.iter())
            .copied()
            .collect();
        set_sum(&mut all);
        let mut rest = &all[..];
        for string in snapshot {
            let (now, after) = rest.split_at(string.len());
            string.copy_from_slice(now);
            rest = after;
        }
    }
}

fn set_sum(bytes: &mut [u8]) {
    if bytes.len() >= SUM {
        let (body, sum) = bytes.split_at_mut(bytes.len() - SUM);
        sum.copy_from_slice(&crc32fast::hash(body).to_le_bytes());
    }
}

/// Writes a number like the engine: in one, two, five or nine bytes.
fn put_number(bytes: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => bytes.push(number as u8),
        0x40..0x4000 => bytes.extend((0x4000 | number as u16).to_be_bytes()),
        0x4000..=0xffff_ffff => {
            bytes.push(0x80);
            bytes.extend((number as u32).to_be_bytes());
        }
        _ => {
            bytes.push(0x81);
            bytes.extend(number.to_be_bytes());
        }
    }
}

fn take_number(bytes: &mut &[u8]) -> u64 {
    let first = bytes[0];
    let (length, mask) = match first {
        0..0x40 => return take(bytes, 1, 0x3f),
        0x40..0x80 => (2, 0x3fff),
        0x80 => (5, 0xffff_ffff),
        0x81 => (9, u64::MAX),
        other => panic!("a number begins with {other}"),
    };
    take(bytes, length, mask)
}

fn take(bytes: &mut &[u8], length: usize, mask: u64) -> u64 {
    let (now, rest) = bytes.split_at(length);
    *bytes = rest;
    let number = now
        .iter()
        .fold(0, |number: u64, &byte| number << 8 | u64::from(byte));
    number & mask
}
