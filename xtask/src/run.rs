//! Runs commands in the root of the repository.

use std::{
    env, iter,
    path::PathBuf,
    process::{Command, Output},
    time::Instant,
};

/// The reason for which a task failed.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) String);

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A command in the root, without the environment variables that cargo sets for its children.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).args(arguments);
    for (name, _) in env::vars()
        .filter(|(name, _)| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR")
    {
        command.env_remove(name);
    }
    command
}

/// The command as a user would type it, without its directory and without removed variables.
fn shown(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        let (name, value) = (name.to_string_lossy(), value?.to_string_lossy());
        Some(format!("{name}={value:?}"))
    });
    let words = iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned());
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Runs the command. Fails if the command fails.
pub(crate) fn succeed(mut command: Command) -> Result<(), Failed> {
    let status = command.status()?;
    match status.success() {
        true => Ok(()),
        false => Err(Failed(format!("{} failed: {status}", shown(&command)))),
    }
}

/// Runs the command, and returns its output.
pub(crate) fn output(mut command: Command) -> Result<Output, Failed> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(output),
        false => Err(Failed(format!(
            "{} failed:\n{}",
            shown(&command),
            String::from_utf8_lossy(&output.stderr)
        ))),
    }
}

pub(crate) fn bash(script: &str, variables: &[(&str, &str)]) -> Result<(), Failed> {
    let mut command = command("bash", &[script]);
    command.envs(variables.iter().copied());
    succeed(command)
}

/// The steps of a task, and the time of each.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<(String, f64)>);

impl Steps {
    pub(crate) fn time(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let begin = Instant::now();
        println!("== {name}");
        step()?;
        self.0
            .push((name.to_owned(), begin.elapsed().as_secs_f64()));
        Ok(())
    }

    pub(crate) fn cargo(&mut self, arguments: &[&str]) -> Result<(), Failed> {
        self.time(&format!("cargo {}", arguments.join(" ")), || {
            succeed(command("cargo", arguments))
        })
    }

    pub(crate) fn print(self) {
        println!();
        for (name, seconds) in &self.0 {
            println!("{seconds:7.1} s  {name}");
        }
        let all: f64 = self.0.iter().map(|(_, seconds)| seconds).sum();
        println!("{all:7.1} s  all");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_only_the_variables_that_are_set() {
        let mut wrong = command("false", &["--because"]);
        wrong.env("RUSTFLAGS", "--cfg guira_loom");
        let failed = succeed(wrong).unwrap_err();
        let expected = "RUSTFLAGS=\"--cfg guira_loom\" false --because failed: ";
        assert!(failed.0.starts_with(expected), "{failed:?}");
    }
}
