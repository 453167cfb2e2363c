//! Reads the settings from the command line, the environment and a file.
//!
//! Variables and lines of the file are turned into options of the command line. The definition in
//! [`Config`] therefore determines the settings and their allowed values for all three.

use crate::config::{Config, Outranked, Password, password};
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches, Parser, parser::ValueSource};
use std::{
    ffi::{OsStr, OsString},
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// The server cannot be started with these settings.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The command line is wrong, or asks for help.
    #[error(transparent)]
    CommandLine(#[from] clap::Error),
    /// A variable of the environment is invalid.
    #[error("{variable} in the environment: {fault}")]
    Environment {
        /// The name of the variable.
        variable: String,
        /// What is wrong.
        fault: String,
    },
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The settings file is invalid.
    #[error("{}:{line}: {fault}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        fault: String,
    },
    /// The file with the password does not hold a valid one.
    #[error("{}: {fault}", path.display())]
    Password {
        /// The path of the file.
        path: PathBuf,
        /// What is wrong.
        fault: String,
    },
    /// The settings do not fit together.
    #[error("{0}")]
    Together(&'static str),
}

/// A setting in the form of a command-line option.
struct Setting {
    name: String,
    option: OsString,
}

impl Setting {
    fn new(name: &str, value: &OsStr) -> Self {
        let mut option = OsString::from(format!("--{name}="));
        option.push(value);
        Self {
            name: name.to_owned(),
            option,
        }
    }

    /// Checks the setting as if it were the only one, and returns what is wrong.
    fn check(&self, command: &Command) -> Result<(), String> {
        let parsed = command
            .clone()
            .try_get_matches_from([OsStr::new(""), &self.option]);
        parsed.map(drop).map_err(|error| {
            // The usage of the command line is left out.
            let text = error.to_string();
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let said = lines
                .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
            let said: Vec<_> = said.collect();
            said.join("; ").trim_start_matches("error: ").to_owned()
        })
    }
}

/// Reads the settings. `arguments` begins with the name of the program; `variable` looks up a
/// variable of the environment.
///
/// # Errors
///
/// [`SettingsError`]
pub fn load(
    arguments: impl IntoIterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Config, SettingsError> {
    let command = Config::command();
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let matches = command.clone().try_get_matches_from(&arguments)?;
    let is_typed =
        |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let (typed, others): (Vec<&Arg>, Vec<&Arg>) = command.get_arguments().partition(is_typed);

    let in_environment = from_environment(&command, &others, variable)?;
    put_before(&mut arguments, &in_environment);
    let matches = command.clone().try_get_matches_from(&arguments)?;
    let mut outranked = Vec::new();
    if let Some(path) = matches.get_one::<PathBuf>("config") {
        let mut in_file = from_file(&command, path)?;
        outranked = outranked_by(&in_environment, &in_file);
        in_file.retain(|setting| {
            !typed
                .iter()
                .any(|arg| arg.get_long() == Some(&setting.name))
                && !in_environment
                    .iter()
                    .any(|other| other.name == setting.name)
        });
        put_before(&mut arguments, &in_file);
    }

    let mut config = Config::from_arg_matches(&command.try_get_matches_from(&arguments)?)?;
    config.outranked = outranked;
    config.check().map_err(SettingsError::Together)?;
    if let Some(path) = &config.requirepass_file {
        config.requirepass = Some(read_password(path)?);
    }
    if let Some(path) = &config.standby.masterauth_file {
        config.standby.masterauth = Some(read_password(path)?);
    }
    Ok(config)
}

/// Reads the password, which must be the only line of the file.
fn read_password(path: &Path) -> Result<Password, SettingsError> {
    let text = read(path)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    password(line).map_err(|fault| SettingsError::Password {
        path: path.to_path_buf(),
        fault,
    })
}

/// Returns the configuration with these settings, and the defaults of all others.
///
/// # Errors
///
/// The first setting with an invalid value, and what is wrong with it.
pub(crate) fn parse(values: &[(&'static str, OsString)]) -> Result<Config, (&'static str, String)> {
    let command = Config::command();
    let mut arguments = vec![OsString::new()];
    for (name, value) in values {
        let setting = Setting::new(name, value);
        setting.check(&command).map_err(|fault| (*name, fault))?;
        arguments.push(setting.option);
    }
    let first = values.first().map_or("", |(name, _)| name);
    Config::try_parse_from(arguments).map_err(|error| (first, error.to_string()))
}

/// Inserts `settings` after the name of the program.
fn put_before(arguments: &mut Vec<OsString>, settings: &[Setting]) {
    let at = arguments.len().min(1);
    let options = settings.iter().map(|setting| setting.option.clone());
    arguments.splice(at..at, options);
}

/// The variable of the environment for the setting with this name.
fn variable_of(name: &str) -> String {
    format!("GUIRA_{}", name.to_uppercase().replace('-', "_"))
}

/// The settings of the file for which the environment has another value.
fn outranked_by(in_environment: &[Setting], in_file: &[Setting]) -> Vec<Outranked> {
    let values = |of: &[Setting], name: &str| -> Vec<OsString> {
        let named = of.iter().filter(|setting| setting.name == name);
        named.map(|setting| setting.option.clone()).collect()
    };
    let differs = |setting: &&Setting| {
        let in_file = values(in_file, &setting.name);
        !in_file.is_empty() && in_file != values(in_environment, &setting.name)
    };
    let outranked = in_environment.iter().filter(differs);
    outranked
        .map(|setting| Outranked {
            setting: setting.name.clone(),
            variable: variable_of(&setting.name),
        })
        .collect()
}

fn from_environment(
    command: &Command,
    options: &[&Arg],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<Setting>, SettingsError> {
    let mut settings = Vec::new();
    for name in options.iter().filter_map(|arg| arg.get_long()) {
        let in_capitals = variable_of(name);
        let Some(value) = variable(&in_capitals) else {
            continue;
        };
        let setting = Setting::new(name, &value);
        setting
            .check(command)
            .map_err(|fault| SettingsError::Environment {
                variable: in_capitals,
                fault,
            })?;
        settings.push(setting);
    }
    Ok(settings)
}

fn from_file(command: &Command, path: &Path) -> Result<Vec<Setting>, SettingsError> {
    let text = read(path)?;
    let wrong = |place: Range<usize>, fault: String| SettingsError::File {
        path: path.to_path_buf(),
        line: 1 + text[..place.start.min(text.len())].matches('\n').count(),
        fault,
    };
    let table = DeTable::parse(&text).map_err(|error| {
        let place = error.span().unwrap_or_default();
        wrong(place, error.message().to_owned())
    })?;
    let mut settings = Vec::new();
    for (name, value) in table.get_ref() {
        let place = name.span();
        let name = name.get_ref();
        if name == "config" {
            let fault = "a settings file cannot name another one";
            return Err(wrong(place, fault.into()));
        }
        let many = command
            .get_arguments()
            .find(|arg| arg.get_long() == Some(name))
            .is_some_and(|arg| matches!(arg.get_action(), ArgAction::Append));
        let values = match value.get_ref() {
            DeValue::Array(values) if many => values.iter().collect(),
            _ => vec![value],
        };
        for value in values {
            let text = text_of(value.get_ref())
                .map_err(|fault| wrong(value.span(), format!("{name}: {fault}")))?;
            let setting = Setting::new(name, OsStr::new(&text));
            setting
                .check(command)
                .map_err(|fault| wrong(place.clone(), fault))?;
            settings.push(setting);
        }
    }
    Ok(settings)
}

/// Formats a value as a user would type it.
fn text_of(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Boolean(value) => Ok(value.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Integer(_) => Err("give numbers in decimal, and other values in quotes"),
        DeValue::Array(_) => Err("this setting has one value, not a list of them"),
        DeValue::Table(_) => Err("tables are not allowed: write each setting as name = value"),
        DeValue::Datetime(_) => Err("give a number, true, false, or a text in quotes"),
    }
}

fn read(path: &Path) -> Result<String, SettingsError> {
    fs::read_to_string(path).map_err(|error| SettingsError::Read {
        path: path.to_path_buf(),
        error,
    })
}
