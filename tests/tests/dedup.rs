//! Runs the example `dedup`, and compares its output with a `HashSet`.

use crate::common;
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    collections::HashSet,
    env, fs,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// A rate so low that no test drops a line by mistake.
const RATE: &str = "--false-positive-rate=1e-8";

/// The example, with a rate at which it drops no line by mistake.
fn dedup() -> Command {
    let mut command = example();
    command.arg(RATE);
    command
}

/// The example with its own rate.
fn example() -> Command {
    common::example::example("dedup")
}

/// Runs `command` with `input` on its standard input.
fn run(command: &mut Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    thread::scope(|scope| {
        // A child that fails early does not read all of its input.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// Checks that every distinct line of `inputs` is passed on once, and nothing else. Of millions of
/// lines, about one run in a hundred drops one by mistake, and hardly any run drops four.
#[track_caller]
fn assert_distinct(output: &Output, inputs: &[&[u8]]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(output.stdout.is_empty() || output.stdout.ends_with(b"\n"));
    let expected: HashSet<&[u8]> = inputs.iter().flat_map(|input| lines(input)).collect();
    let kept = lines(&output.stdout);
    let distinct: HashSet<&[u8]> = kept.iter().copied().collect();
    assert_eq!(kept.len(), distinct.len(), "a line was passed on twice");
    assert!(distinct.is_subset(&expected), "a line was not in the input");
    let dropped = expected.len() - distinct.len();
    let by_mistake = if expected.len() > 1_000 { 3 } else { 0 };
    assert!(dropped <= by_mistake, "{dropped} lines were dropped");
}

/// `lines` lines of random bytes. Each occurs about four times.
fn random_text(seed: u64, lines: usize) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(seed);
    let pool: Vec<Vec<u8>> = (0..lines / 4)
        .map(|_| {
            let length = random.random_range(0..60);
            (0..length)
                .map(|_| random.random::<u8>())
                .filter(|&byte| byte != b'\n')
                .collect()
        })
        .collect();
    let mut text = Vec::new();
    for _ in 0..lines {
        text.extend_from_slice(&pool[random.random_range(0..pool.len())]);
        text.push(b'\n');
    }
    text
}

/// The numbers from 0 to `count` - 1, one per line.
fn numbers(count: u32) -> String {
    (0..count).map(|number| number.to_string() + "\n").collect()
}

/// A directory for one test, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("guira-dedup-{}-{name}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn standard_input_with_any_number_of_threads() {
    let text = random_text(1, 100_000);
    for threads in ["1", "2", "3", "8", "64"] {
        let output = run(dedup().args(["--threads", threads]), &text);
        assert_distinct(&output, &[&text]);
    }
}

#[test]
fn files_and_standard_input_together() {
    let directory = Directory::new("files");
    let (a, b, c) = (
        random_text(2, 60_000),
        random_text(3, 500),
        random_text(2, 30_000),
    );
    let files = [directory.file("a", &a), directory.file("b", &b)];
    for threads in ["1", "2", "5"] {
        let output = run(dedup().args(["--threads", threads]).args(&files), &c);
        assert_distinct(&output, &[&a, &b]);
        let output = run(
            dedup().args(["--threads", threads]).args(&files).arg("-"),
            &c,
        );
        assert_distinct(&output, &[&a, &b, &c]);
    }
}

#[test]
fn every_thread_meets_every_line() {
    // The lines of one block again and again, so that the threads race for each.
    let block = random_text(4, 10_000);
    let text = block.repeat(20);
    for _ in 0..5 {
        assert_distinct(&run(dedup().args(["--threads", "8"]), &text), &[&text]);
    }
}

#[test]
fn one_thread_keeps_the_order() {
    let output = run(dedup().args(["--threads", "1"]), b"c\na\nc\nb\na\n");
    assert_eq!(output.stdout, b"c\na\nb\n");
}

#[test]
fn the_last_line_needs_no_line_feed() {
    let output = run(dedup().args(["--threads", "1"]), b"a\nb\na");
    assert_eq!(output.stdout, b"a\nb\n");
    let directory = Directory::new("last-line");
    let files = [
        directory.file("a", b"x\nend"),
        directory.file("b", b"end\nof file"),
    ];
    let output = run(dedup().args(["--threads", "1"]).args(files), b"");
    assert_eq!(output.stdout, b"x\nend\nof file\n");
}

#[test]
fn lines_are_bytes_and_kept_as_they_are() {
    let text = b"dos\r\ndos\n\xff\xfe\n\n\xff\xfe\n \ndos\r\n\n\0\n";
    let output = run(dedup().args(["--threads", "1"]), text);
    assert_eq!(output.stdout, b"dos\r\ndos\n\xff\xfe\n\n \n\0\n");
}

#[test]
fn a_line_may_be_longer_than_a_block() {
    let mut text = vec![b'x'; 3_000_000];
    text.extend_from_slice(b"\nshort\n");
    let text = text.repeat(2);
    assert_distinct(&run(&mut dedup(), &text), &[&text]);
}

#[test]
fn empty_input_has_no_lines() {
    let output = run(&mut dedup(), b"");
    assert_distinct(&output, &[]);
    let directory = Directory::new("empty");
    assert_distinct(&run(dedup().arg(directory.file("empty", b"")), b""), &[]);
}

#[test]
fn the_closing_line_counts() {
    let output = run(&mut dedup(), b"a\nb\na\nb\nc");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("5 lines, 3 distinct; "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let output = run(dedup().arg("--quiet"), b"a\nb\na\nb\nc");
    assert!(output.stderr.is_empty());
}

#[test]
fn the_closing_line_of_one_line_is_singular_and_has_a_speed() {
    let output = run(&mut dedup(), b"a\n");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("1 line, 1 distinct; "), "{stderr}");
    let speed = stderr.split("; ").nth(1).unwrap();
    let (lines, bytes) = speed.split_once(" lines/s, ").unwrap();
    let lines: u64 = lines.replace(',', "").parse().unwrap();
    assert!(lines > 0, "{stderr}");
    let bytes: f64 = bytes.split(' ').next().unwrap().parse().unwrap();
    assert!(bytes > 0.0, "{stderr}");
}

#[test]
fn a_stream_of_two_million_lines_has_room() {
    let text = numbers(2_000_000);
    assert_distinct(&run(&mut dedup(), text.as_bytes()), &[text.as_bytes()]);
    let output = run(&mut example(), text.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    // At the default rate at most two lines are dropped on average.
    assert!(lines(&output.stdout).len() > 1_999_970);
}

#[test]
fn the_stated_number_of_dropped_lines_is_about_right() {
    let text = numbers(100_000);
    let arguments = ["--false-positive-rate=0.01", "--capacity=100000"];
    let output = run(example().args(arguments), text.as_bytes());
    let stderr = String::from_utf8(output.stderr).unwrap();
    let dropped = 100_000 - lines(&output.stdout).len();
    let stated: f64 = stderr
        .split(": ")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // The number of dropped lines is a sum of rare, independent events. The bounds are 8 standard
    // deviations.
    let deviation = 8.0 * stated.sqrt();
    assert!(
        (dropped as f64 - stated).abs() < deviation,
        "{dropped} dropped, but {stderr}"
    );
}

#[test]
fn an_unreadable_file_is_named() {
    let directory = Directory::new("unreadable");
    let good = directory.file("good", b"a\n");
    for bad in [directory.0.join("no-such-file"), directory.0.clone()] {
        for capacity in [&[][..], &["--capacity=10"][..]] {
            let output = run(dedup().args(capacity).args([&good, &bad]), b"");
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{stderr}");
            let start = format!("dedup: cannot read {}: ", bad.display());
            assert!(stderr.starts_with(&start), "{stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
        }
    }
}

#[test]
fn a_full_filter_is_an_error_that_says_what_to_do() {
    let text = numbers(200_000);
    for threads in ["1", "4"] {
        let output = run(
            dedup().args(["--capacity=1000", "--threads", threads]),
            text.as_bytes(),
        );
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("room for 1000 distinct lines"), "{stderr}");
        assert!(stderr.contains("--capacity"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        let kept = lines(&output.stdout);
        assert!(kept.len() >= 1_000, "{} kept", kept.len());
        assert_eq!(kept.len(), kept.iter().collect::<HashSet<_>>().len());
    }
}

#[test]
fn a_rate_out_of_range_is_an_error() {
    let output = run(example().arg("--false-positive-rate=2"), b"a\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("false-positive rate 2")
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let directory = Directory::new("pipe");
    let text = numbers(1_000_000);
    let file = directory.file("text", text.as_bytes());
    let mut child = dedup()
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// The example with a time window, and a rate at which it drops hardly any line by mistake.
fn windowed() -> Command {
    let mut command = example();
    command.arg("--false-positive-rate=4e-8");
    command
}

/// Longer than any of the tests takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A line that keeps arriving is passed on again after the window has ended, and not before.
#[test]
fn a_window_forgets() {
    let mut child = windowed()
        .args(["--window=1", "--capacity=1000", "--threads=4", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (start, goes_on) = (Instant::now(), AtomicBool::new(true));
    let times: Vec<Duration> = thread::scope(|scope| {
        scope.spawn(|| {
            while goes_on.load(Ordering::Relaxed) && start.elapsed() < PATIENCE {
                stdin.write_all(b"guira\nguira\n").unwrap();
                thread::sleep(Duration::from_millis(5));
            }
            drop(stdin);
        });
        let lines = stdout.lines().enumerate().map(|(number, line)| {
            assert_eq!(line.unwrap(), "guira");
            if number == 2 {
                goes_on.store(false, Ordering::Relaxed);
            }
            start.elapsed()
        });
        lines.collect()
    });
    assert!(child.wait().unwrap().success());
    assert!(times.len() >= 3, "{times:?}");
    // Each line arrives one second after the one before, and may be read late.
    let mut early = (0..)
        .zip(&times)
        .filter(|&(second, &time)| time < Duration::from_secs(second));
    assert_eq!(early.next(), None, "{times:?}");
}

#[test]
fn a_window_of_no_length_is_refused() {
    let output = run(windowed().arg("--window=0"), b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--window"));
}

#[test]
fn more_lines_than_a_window_has_room_for_are_an_error() {
    let text: String = (0..10_000).map(|line| format!("{line}\n")).collect();
    let output = run(
        windowed().args(["--window=60", "--capacity=100"]),
        text.as_bytes(),
    );
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("room for 100 distinct lines"));
}

/// If all lines of the files fit, a window longer than the run changes nothing.
#[test]
fn within_a_window_each_line_comes_once() {
    let text = random_text(11, 20_000);
    let output = run(
        windowed().args(["--window=3600", "--capacity=20000"]),
        &text,
    );
    assert_distinct(&output, &[&text]);
}
