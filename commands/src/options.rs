//! What a client asks of a filter: the options of `CF.RESERVE` and `CF.INSERT`, and their limits.

use crate::{
    Reply, Window,
    argument::{
        Argument,
        ArgumentKind::{Float, Integer},
    },
    numbers::{fraction, number},
};
use std::{fmt, time::Duration};
use thiserror::Error;

/// The false-positive rate of a filter that was made without `ERROR`: RedisBloom's
/// first filter has 1.45 %.
pub const DEFAULT_RATE: f64 = 0.01;

/// The capacity of a key that an insert makes, where no setting says otherwise.
pub const DEFAULT_CAPACITY: usize = 256;

/// Distinct items to which keys can grow that inserts make, memory permitting: their clients chose
/// no size, and expect a key to take whatever they add.
const DEFAULT_REACH: usize = 1 << 20;

/// The least capacity of a key, with the default bucket size.
pub const MIN_CAPACITY: i64 = 4;

/// The most items that a client may ask for, at first or when the filter has grown. No rate allows the
/// library more than 6 items in each of 2^32 buckets, and a client that requests too many learns how
/// many fit.
pub const MAX_CAPACITY: i64 = 6 << 32;

/// The largest `EXPANSION`.
pub const MAX_EXPANSION: u16 = 32_768;

/// The lowest rate of the library.
pub const MIN_RATE: f64 = 2e-9;

/// The most seconds of a window: a hundred years.
const MAX_WINDOW: i64 = 100 * 365 * 86_400;

/// The most epochs of a window that the library has.
const MAX_EPOCHS: i64 = 13;

const BAD_CAPACITY: Reply = Reply::error("Bad capacity");

/// The reply to an option that does not exist.
pub(crate) const UNKNOWN_ARGUMENT: Reply = Reply::error("Unknown argument received");

/// What `CF.RESERVE` was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Distinct items that must fit.
    pub capacity: usize,
    /// The false-positive rate, at every size.
    pub rate: f64,
    /// RedisBloom's slots of a bucket; this filter chooses its own.
    pub bucket_size: u8,
    /// RedisBloom's bound on relocations; this filter has its own.
    pub max_iterations: u16,
    /// 0: the filter does not grow.
    pub expansion: u16,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            capacity: DEFAULT_CAPACITY,
            rate: DEFAULT_RATE,
            bucket_size: 2,
            max_iterations: 20,
            expansion: 1,
        }
    }
}

/// The filter that a client wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// What it is like.
    pub options: Options,
    /// Distinct items that must fit when it has grown. Without this number it grows as
    /// [`Growth::furthest`](crate::Growth::furthest) says, and to at least `reach` items if its
    /// rate and the memory allow it.
    pub max_capacity: Option<usize>,
    /// 0 if the client chose the capacity.
    pub reach: usize,
    /// How long it remembers items, if not for ever. Then the host lets its
    /// [window](crate::Filter::window) move on.
    pub window: Option<Window>,
    /// The bits of a slot's counter, if slots have one.
    pub counter_bits: Option<u32>,
    /// Where its hash function begins, if its client chose that.
    pub seed: Option<Seed>,
}

/// The seed of a filter. With it, items can be chosen that collide, so no log may show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub(crate) u64);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(_)")
    }
}

impl From<Options> for Wanted {
    fn from(options: Options) -> Self {
        Self {
            options,
            max_capacity: None,
            reach: 0,
            window: None,
            counter_bits: None,
            seed: None,
        }
    }
}

impl Wanted {
    /// What its memory depends on.
    #[must_use]
    pub const fn without_seed(self) -> Self {
        Self { seed: None, ..self }
    }

    /// A key that an insert makes with the `defaults` of its host.
    pub(crate) fn by_default(defaults: Options) -> Self {
        Self {
            reach: DEFAULT_REACH,
            ..defaults.into()
        }
    }
}

/// `MAXCAPACITY` is not a number of items to which the filter could grow.
#[derive(Debug, Error)]
enum MaxCapacityError {
    #[error("MAXCAPACITY: value must be in the range [{least}, {most}], and is {value}")]
    Range { value: i64, least: i64, most: i64 },
    #[error("MAXCAPACITY and EXPANSION 0 exclude each other: with EXPANSION 0 the size is fixed")]
    Fixed,
}

/// What `WINDOW` and `EPOCHS` say cannot be.
#[derive(Debug, Error)]
enum WindowError {
    #[error("{name}: value must be in the range [1, {most}], and is {value}")]
    Range {
        name: &'static str,
        value: i64,
        most: i64,
    },
    #[error("EPOCHS is for filters with a WINDOW")]
    Epochs,
}

/// `COUNTERS` asks for counters that a filter cannot have.
#[derive(Debug, Error)]
#[error("COUNTERS: value must be 4 or 8, and is {0}")]
struct CountersError(i64);

/// What `SEED` says cannot be. The error does not repeat it.
#[derive(Debug, Error)]
#[error("SEED: value must be in the range [0, {}]", u64::MAX)]
struct SeedError;

/// The other key says what an option beside [`LIKE`] says.
#[derive(Debug, Error)]
pub(crate) enum LikeError {
    #[error("LIKE takes {0} from the other key: leave it out")]
    Option(String),
    #[error("LIKE takes the capacity from the other key, which is {like}, and not {asked}")]
    Capacity { asked: i64, like: usize },
}

/// The option of `CF.RESERVE` whose value is a key.
pub(crate) const LIKE: &str = "LIKE";

/// The option whose value is secret.
pub(crate) const SEED: &str = "SEED";

/// The options of `CF.RESERVE`, which `CF.INSERT` takes as well. Each has a value.
pub(crate) const OPTIONS: [Argument; 9] = [
    Argument::option("BUCKETSIZE", "bucketsize", Integer),
    Argument::option("MAXITERATIONS", "maxiterations", Integer),
    Argument::option("EXPANSION", "expansion", Integer),
    Argument::option("ERROR", "rate", Float),
    Argument::option("MAXCAPACITY", "maxcapacity", Integer),
    Argument::option("WINDOW", "seconds", Integer),
    Argument::option("EPOCHS", "epochs", Integer),
    Argument::option("COUNTERS", "bits", Integer),
    Argument::option(SEED, "seed", Integer),
];

/// True if one of [`OPTIONS`] has this name.
pub(crate) fn is_option(name: &[u8]) -> bool {
    let is_called = |token: &str| token.as_bytes().eq_ignore_ascii_case(name);
    OPTIONS.iter().any(|it| it.token.is_some_and(is_called))
}

/// What `CF.RESERVE key [capacity] LIKE key` names.
pub(crate) struct Like<'a> {
    pub(crate) source: &'a [u8],
    pub(crate) capacity: Option<i64>,
}

/// The other key that `CF.RESERVE key` names with these words, if it does.
pub(crate) fn like<'a>(words: &[&'a [u8]]) -> Result<Option<Like<'a>>, Reply> {
    let (capacity, pairs) = match words.len() % 2 {
        0 => (None, words),
        _ => (Some(words[0]), &words[1..]),
    };
    let (pairs, _) = pairs.as_chunks::<2>();
    let Some(source) = value(pairs, LIKE) else {
        return Ok(None);
    };
    let is_other = |[name, _]: &&[&[u8]; 2]| !name.eq_ignore_ascii_case(LIKE.as_bytes());
    if let Some([name, _]) = pairs.iter().find(is_other) {
        if !is_option(name) {
            return Err(UNKNOWN_ARGUMENT);
        }
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        return Err(Reply::Error(LikeError::Option(name).to_string().into()));
    }
    let capacity = capacity.map(|word| number(word).ok_or(BAD_CAPACITY));
    let capacity = capacity.transpose()?;
    Ok(Some(Like { source, capacity }))
}

/// What `CF.RESERVE key capacity [option value]...` asks for.
pub(crate) fn of_reserve(capacity: &[u8], pairs: &[[&[u8]; 2]]) -> Result<Wanted, Reply> {
    let capacity = number(capacity).ok_or(BAD_CAPACITY)?;
    let out_of_range = "Capacity must be in the range [2 * BUCKETSIZE, 25769803776]";
    wanted(capacity, pairs, Options::default(), out_of_range)
}

/// The key that `CF.INSERT key [CAPACITY capacity] [option value]...` creates. What it does not specify is
/// as in the `defaults` of its host.
pub(crate) fn of_insert(
    capacity: Option<&[u8]>,
    pairs: &[[&[u8]; 2]],
    defaults: Options,
) -> Result<Wanted, Reply> {
    if capacity.is_none() && pairs.is_empty() {
        return Ok(Wanted::by_default(defaults));
    }
    let out_of_range = "Capacity must be in the range [cf-bucket-size * 2, 25769803776]";
    let (capacity, reach) = match capacity {
        Some(word) => (number(word).ok_or(BAD_CAPACITY)?, 0),
        None => {
            let capacity = i64::try_from(defaults.capacity).unwrap_or(MAX_CAPACITY);
            (capacity, DEFAULT_REACH)
        }
    };
    let wanted = wanted(capacity, pairs, defaults, out_of_range)?;
    Ok(Wanted { reach, ..wanted })
}

/// The filter with this capacity and these options, checked in the order in which RedisBloom checks them,
/// and then what RedisBloom does not have.
fn wanted(
    capacity: i64,
    pairs: &[[&[u8]; 2]],
    defaults: Options,
    out_of_range: &'static str,
) -> Result<Wanted, Reply> {
    let mut options = defaults;
    if let Some(max_iterations) = in_range(pairs, "MAXITERATIONS", 1, 65_535)? {
        options.max_iterations = max_iterations;
    }
    if let Some(bucket_size) = in_range(pairs, "BUCKETSIZE", 1, 255)? {
        options.bucket_size = bucket_size as u8;
    }
    if let Some(expansion) = in_range(pairs, "EXPANSION", 0, MAX_EXPANSION)? {
        options.expansion = expansion;
    }
    if let Some(rate) = value(pairs, "ERROR") {
        options.rate = fraction(rate).ok_or(Reply::error("Couldn't parse ERROR"))?;
        if !(MIN_RATE..1.0).contains(&options.rate) {
            return Err(Reply::error("ERROR: value must be in the range [2e-9, 1)"));
        }
    }
    if !pairs.iter().all(|[name, _]| is_option(name)) {
        return Err(UNKNOWN_ARGUMENT);
    }
    let in_bounds = in_bounds(capacity, options.bucket_size);
    options.capacity = in_bounds.ok_or(Reply::error(out_of_range))?;
    let window = window(pairs)?;
    let counter_bits = counter_bits(pairs)?;
    let seed = seed(pairs)?;
    let max_capacity = value(pairs, "MAXCAPACITY")
        .map(|value| max_capacity(value, capacity, options.expansion))
        .transpose()?;
    Ok(Wanted {
        options,
        max_capacity,
        reach: 0,
        window,
        counter_bits,
        seed,
    })
}

/// What `SEED n` asks for.
fn seed(pairs: &[[&[u8]; 2]]) -> Result<Option<Seed>, Reply> {
    let Some(word) = value(pairs, SEED) else {
        return Ok(None);
    };
    let refused = || Reply::Error(SeedError.to_string().into());
    number(word).map(Seed).map(Some).ok_or_else(refused)
}

/// What `COUNTERS bits` asks for.
fn counter_bits(pairs: &[[&[u8]; 2]]) -> Result<Option<u32>, Reply> {
    let Some(bits) = value(pairs, "COUNTERS") else {
        return Ok(None);
    };
    let bits: i64 = number(bits).ok_or(Reply::error("Couldn't parse COUNTERS"))?;
    match bits {
        4 | 8 => Ok(Some(bits as u32)),
        _ => Err(Reply::Error(CountersError(bits).to_string().into())),
    }
}

/// What `WINDOW seconds` and `EPOCHS n` ask for.
fn window(pairs: &[[&[u8]; 2]]) -> Result<Option<Window>, Reply> {
    let refuse = |error: WindowError| Reply::Error(error.to_string().into());
    let up_to = |name: &'static str, most: i64| {
        let Some(value) = value(pairs, name) else {
            return Ok(None);
        };
        let unparsed = || Reply::Error(format!("Couldn't parse {name}").into());
        match number(value).ok_or_else(unparsed)? {
            value if (1..=most).contains(&value) => Ok(Some(value)),
            value => Err(refuse(WindowError::Range { name, value, most })),
        }
    };
    let seconds = up_to("WINDOW", MAX_WINDOW)?;
    let epochs = up_to("EPOCHS", MAX_EPOCHS)?;
    let Some(seconds) = seconds else {
        return match epochs {
            Some(_) => Err(refuse(WindowError::Epochs)),
            None => Ok(None),
        };
    };
    Ok(Some(Window {
        length: Duration::from_secs(seconds.unsigned_abs()),
        epochs: epochs.map(|epochs| epochs as u32),
    }))
}

/// The number of items that `MAXCAPACITY value` names.
fn max_capacity(value: &[u8], capacity: i64, expansion: u16) -> Result<usize, Reply> {
    let value: i64 = number(value).ok_or(Reply::error("Couldn't parse MAXCAPACITY"))?;
    let refuse = |error: MaxCapacityError| Reply::Error(error.to_string().into());
    if expansion == 0 {
        return Err(refuse(MaxCapacityError::Fixed));
    }
    let range = capacity..=MAX_CAPACITY;
    match usize::try_from(value) {
        Ok(items) if range.contains(&value) => Ok(items),
        _ => Err(refuse(MaxCapacityError::Range {
            value,
            least: capacity,
            most: MAX_CAPACITY,
        })),
    }
}

fn in_bounds(capacity: i64, bucket_size: u8) -> Option<usize> {
    let least = 2 * i64::from(bucket_size);
    let fits = (least..=MAX_CAPACITY).contains(&capacity);
    usize::try_from(capacity).ok().filter(|_| fits)
}

/// What follows the option called `name`.
fn value<'a>(pairs: &[[&'a [u8]; 2]], name: &str) -> Option<&'a [u8]> {
    let named = |pair: &&[&'a [u8]; 2]| pair[0].eq_ignore_ascii_case(name.as_bytes());
    pairs.iter().find(named).map(|pair| pair[1])
}

fn in_range(pairs: &[[&[u8]; 2]], name: &str, least: u16, most: u16) -> Result<Option<u16>, Reply> {
    let Some(value) = value(pairs, name) else {
        return Ok(None);
    };
    let unparsed = || Reply::Error(format!("Couldn't parse {name}").into());
    let number: i64 = number(value).ok_or_else(unparsed)?;
    match u16::try_from(number) {
        Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
        _ => Err(Reply::Error(
            format!("{name}: value must be in the range [{least}, {most}]").into(),
        )),
    }
}

impl Options {
    /// Bytes of its encoding.
    pub const BYTES: usize = 8 + 8 + 1 + 2 + 2;

    /// For saves and dumps.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0..8].copy_from_slice(&(self.capacity as u64).to_le_bytes());
        bytes[8..16].copy_from_slice(&self.rate.to_le_bytes());
        bytes[16] = self.bucket_size;
        bytes[17..19].copy_from_slice(&self.max_iterations.to_le_bytes());
        bytes[19..21].copy_from_slice(&self.expansion.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) made; `None` if it cannot have.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let at = |start: usize| std::array::from_fn(|i| bytes[start + i]);
        let options = Self {
            capacity: u64::from_le_bytes(at(0)).try_into().ok()?,
            rate: f64::from_le_bytes(at(8)),
            bucket_size: bytes[16],
            max_iterations: u16::from_le_bytes([bytes[17], bytes[18]]),
            expansion: u16::from_le_bytes([bytes[19], bytes[20]]),
        };
        (options.rate > 0.0 && options.rate < 1.0).then_some(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Filter, Growth};

    fn wanted(line: &str) -> Result<Wanted, String> {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        let (pairs, []) = words[1..].as_chunks::<2>() else {
            panic!("{line}");
        };
        of_reserve(words[0], pairs).map_err(|refusal| match refusal {
            Reply::Error(text) => text.into_owned(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_window_is_of_a_length_and_epochs() {
        let plain = wanted("100 ERROR 0.001").unwrap();
        assert_eq!(plain.window, None);
        let wanted = wanted("100 window 3600 EXPANSION 0 epochs 6 BUCKETSIZE 4").unwrap();
        let window = Window {
            length: Duration::from_secs(3600),
            epochs: Some(6),
        };
        assert_eq!(wanted.window, Some(window));
        assert_eq!(wanted.options.expansion, 0);
        let wanted = self::wanted("100 WINDOW 60 EXPANSION 2 MAXCAPACITY 5000").unwrap();
        assert_eq!(
            (wanted.options.expansion, wanted.max_capacity),
            (2, Some(5_000))
        );
    }

    #[test]
    fn what_a_window_cannot_be_is_named() {
        for (line, refusal) in [
            (
                "9 WINDOW 0",
                "WINDOW: value must be in the range [1, 3153600000], and is 0",
            ),
            (
                "9 WINDOW -1",
                "WINDOW: value must be in the range [1, 3153600000], and is -1",
            ),
            ("9 WINDOW 1.5", "Couldn't parse WINDOW"),
            (
                "9 WINDOW 9 EPOCHS 14",
                "EPOCHS: value must be in the range [1, 13], and is 14",
            ),
            ("9 WINDOW 9 EPOCHS x", "Couldn't parse EPOCHS"),
            ("9 EPOCHS 4", "EPOCHS is for filters with a WINDOW"),
        ] {
            assert_eq!(wanted(line).unwrap_err(), refusal, "{line}");
        }
    }

    #[test]
    fn counters_have_4_or_8_bits() {
        for (bits, window) in [(4, ""), (8, ""), (4, "WINDOW 9"), (8, "WINDOW 9 EPOCHS 1")] {
            for (size, most) in [("MAXCAPACITY 1000", 1000), ("EXPANSION 0", 100)] {
                let line = format!("100 counters {bits} {size} {window}");
                let wanted = wanted(line.trim()).unwrap();
                assert_eq!(wanted.counter_bits, Some(bits), "{line}");
                let growth = Growth::of(&wanted, usize::MAX).unwrap();
                let filter = Filter::wanted(&wanted, growth, Clock::Process).unwrap();
                assert_eq!(filter.counter_bits(), bits, "{line}");
                assert_eq!(filter.window().is_some(), !window.is_empty(), "{line}");
                assert!(filter.max_capacity() >= most, "{line}");
            }
        }
        for (line, refusal) in [
            ("9 COUNTERS 0", "COUNTERS: value must be 4 or 8, and is 0"),
            ("9 COUNTERS 5", "COUNTERS: value must be 4 or 8, and is 5"),
            ("9 COUNTERS -8", "COUNTERS: value must be 4 or 8, and is -8"),
            ("9 COUNTERS x", "Couldn't parse COUNTERS"),
            (
                "9 COUNTERS 5 WINDOW 9",
                "COUNTERS: value must be 4 or 8, and is 5",
            ),
        ] {
            assert_eq!(wanted(line).unwrap_err(), refusal, "{line}");
        }
    }

    /// The library says the same.
    #[test]
    fn as_many_epochs_as_the_library_has_are_allowed() {
        let options = Options::default();
        for (window, is_built) in
            [(MAX_EPOCHS, true), (MAX_EPOCHS + 1, false)].map(|(epochs, built)| {
                let length = Duration::from_secs(MAX_WINDOW.unsigned_abs());
                let epochs = Some(epochs as u32);
                (Window { length, epochs }, built)
            })
        {
            let wanted = Wanted {
                window: Some(window),
                ..options.into()
            };
            let growth = Growth::of(&wanted, usize::MAX);
            let built = growth.is_ok_and(|growth| {
                Filter::build_window(options, growth, window, Clock::Process).is_ok()
            });
            assert_eq!(built, is_built, "{window:?}");
        }
    }
}
