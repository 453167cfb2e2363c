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

/// The steps of a task, the time of each, and warnings.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    times: Vec<(String, f64)>,
    warnings: Vec<String>,
}

impl Steps {
    /// Runs a task, and prints the times of its steps even if one fails.
    pub(crate) fn of(task: impl FnOnce(&mut Self) -> Result<(), Failed>) -> Result<(), Failed> {
        let mut steps = Self::default();
        let done = task(&mut steps);
        print!("{}", steps.summary());
        done
    }

    pub(crate) fn time(
        &mut self,
        name: &str,
        step: impl FnOnce() -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let begin = Instant::now();
        println!("== {name}");
        let done = step();
        self.times
            .push((name.to_owned(), begin.elapsed().as_secs_f64()));
        done
    }

    pub(crate) fn cargo(&mut self, arguments: &[&str]) -> Result<(), Failed> {
        self.time(&format!("cargo {}", arguments.join(" ")), || {
            succeed(command("cargo", arguments))
        })
    }

    /// Remembers a complaint that does not end the task.
    pub(crate) fn warn(&mut self, what: String) {
        self.warnings.push(what);
    }

    fn summary(&self) -> String {
        let all = self.times.iter().map(|(_, seconds)| seconds).sum();
        let all = ("all".to_owned(), all);
        let times = self.times.iter().chain([&all]);
        let times = times.map(|(name, seconds)| format!("{seconds:7.1} s  {name}\n"));
        let warnings = self
            .warnings
            .iter()
            .map(|what| format!("warning: {what}\n"));
        iter::once("\n".to_owned())
            .chain(times)
            .chain(warnings)
            .collect()
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

    #[test]
    fn the_time_of_a_step_that_fails_is_in_the_summary_with_the_warnings() {
        let mut steps = Steps::default();
        let failed = steps.time("models", || Err(Failed("no".into())));
        assert!(failed.is_err());
        steps.warn("a word".into());
        let summary = steps.summary();
        let lines: Vec<_> = summary.lines().collect();
        let [blank, step, all, warning] = lines[..] else {
            panic!("{summary}");
        };
        assert_eq!((blank, warning), ("", "warning: a word"));
        assert!(step.ends_with(" s  models") && all.ends_with(" s  all"));
    }
}
