//! Settings of the module, for `CONFIG GET` and `CONFIG SET`.

use super::{
    api::{self, ERR, OK, api, with_nul},
    border::guarded,
    context::Context,
    string::{OwnedStr, Str},
};
use std::{
    ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_void},
    ptr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

/// A numeric setting.
#[derive(Debug)]
pub(crate) struct Number {
    name: &'static CStr,
    least: i64,
    /// True if values such as `64mb` are accepted.
    is_memory: bool,
    value: AtomicI64,
}

/// A setting that is a number with a fraction. The engine has no such type, so it is registered as
/// text.
#[derive(Debug)]
pub(crate) struct Fraction {
    name: &'static CStr,
    /// Checks a value; the error says which values are allowed.
    check: fn(&str) -> Result<f64, String>,
    bits: AtomicU64,
    /// The text of the value, which the engine reads when a client requests the setting.
    text: Mutex<Option<Text>>,
}

struct Text(OwnedStr);

// SAFETY: settings are read and changed on the engine's main thread only.
unsafe impl Send for Text {}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_str().fmt(f)
    }
}

/// The engine refused a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingError {
    #[error("the engine refuses the setting {0:?}")]
    Refused(&'static CStr),
    #[error("the engine refuses the values of the settings: the lines above say which")]
    Values,
}

impl Number {
    pub(crate) const fn new(name: &'static CStr, default: i64, least: i64) -> Self {
        Self {
            name,
            least,
            is_memory: false,
            value: AtomicI64::new(default),
        }
    }

    pub(crate) const fn of_memory(self) -> Self {
        Self {
            is_memory: true,
            ..self
        }
    }

    pub(crate) const fn least(&self) -> i64 {
        self.least
    }

    pub(crate) fn get(&self) -> i64 {
        // Relaxed: nothing else depends on the value, here and below.
        self.value.load(Ordering::Relaxed)
    }
}

impl Fraction {
    pub(crate) const fn new(
        name: &'static CStr,
        default: f64,
        check: fn(&str) -> Result<f64, String>,
    ) -> Self {
        Self {
            name,
            check,
            bits: AtomicU64::new(default.to_bits()),
            text: Mutex::new(None),
        }
    }

    pub(crate) fn get(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }
}

impl Context {
    /// Registers a number with its default value and its maximum.
    pub(crate) fn register_number(
        &self,
        setting: &'static Number,
        default: i64,
        most: i64,
    ) -> Result<(), SettingError> {
        const MEMORY: c_uint = 1 << 7;
        // SAFETY: the context is valid. The callbacks receive the setting, which lives forever.
        let result = unsafe {
            (api().RegisterNumericConfig)(
                self.raw(),
                setting.name.as_ptr(),
                default,
                if setting.is_memory { MEMORY } else { 0 },
                setting.least,
                most,
                get_number,
                set_number,
                None,
                ptr::from_ref(setting).cast_mut().cast(),
            )
        };
        registered(setting.name, result)
    }

    pub(crate) fn register_fraction(
        &self,
        setting: &'static Fraction,
        default: f64,
    ) -> Result<(), SettingError> {
        let default = with_nul(&default.to_string());
        // SAFETY: as for numbers; the engine copies the text.
        let result = unsafe {
            (api().RegisterStringConfig)(
                self.raw(),
                setting.name.as_ptr(),
                default.as_ptr(),
                0,
                get_fraction,
                set_fraction,
                None,
                ptr::from_ref(setting).cast_mut().cast(),
            )
        };
        registered(setting.name, result)
    }

    /// Sets all settings to their values in the engine's configuration file, or to their defaults.
    pub(crate) fn load_settings(&self) -> Result<(), SettingError> {
        // SAFETY: the context is valid.
        match unsafe { (api().LoadConfigs)(self.raw()) } {
            OK => Ok(()),
            _ => Err(SettingError::Values),
        }
    }
}

/// Converts the engine's result for a setting.
fn registered(name: &'static CStr, result: c_int) -> Result<(), SettingError> {
    match result {
        OK => Ok(()),
        _ => Err(SettingError::Refused(name)),
    }
}

unsafe extern "C" fn get_number(_: *const c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: this is the registered setting, which lives forever.
    let setting = unsafe { &*setting.cast::<Number>() };
    setting.get()
}

unsafe extern "C" fn set_number(
    _: *const c_char,
    value: c_longlong,
    setting: *mut c_void,
    _: *mut *mut api::Str,
) -> c_int {
    // SAFETY: as above. The engine has checked that the value is in range.
    let setting = unsafe { &*setting.cast::<Number>() };
    setting.value.store(value, Ordering::Relaxed);
    OK
}

unsafe extern "C" fn get_fraction(_: *const c_char, setting: *mut c_void) -> *mut api::Str {
    let get = || {
        // SAFETY: this is the registered setting, which lives forever.
        let setting = unsafe { &*setting.cast::<Fraction>() };
        // No thread calls the engine while it holds the lock.
        let mut text = setting.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text =
            text.get_or_insert_with(|| Text(OwnedStr::new(setting.get().to_string().as_bytes())));
        // The engine copies the text before it calls the module again.
        text.0.as_str().raw()
    };
    guarded("a setting", get, ptr::null_mut)
}

unsafe extern "C" fn set_fraction(
    _: *const c_char,
    value: *mut api::Str,
    setting: *mut c_void,
    error: *mut *mut api::Str,
) -> c_int {
    let set = || {
        // SAFETY: as above; the engine passes a string that is valid during this call.
        let (setting, value) = unsafe { (&*setting.cast::<Fraction>(), Str::new(value)) };
        let bytes = value.map_or(&[][..], Str::as_bytes);
        match (setting.check)(&String::from_utf8_lossy(bytes)) {
            Ok(number) => {
                let text = Text(OwnedStr::new(bytes));
                *setting.text.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                setting.bits.store(number.to_bits(), Ordering::Relaxed);
                OK
            }
            Err(reason) => {
                if !error.is_null() {
                    // SAFETY: the engine provides room for a string, which it frees.
                    unsafe { *error = OwnedStr::new(reason.as_bytes()).into_raw() }
                }
                ERR
            }
        }
    };
    guarded("a setting", set, || ERR)
}
