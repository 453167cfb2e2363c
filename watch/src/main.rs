//! The commands of the page without a browser: `replay` and `find`.

#[cfg(not(guira_faults))]
fn main() {
    eprintln!("build this with RUSTFLAGS=\"--cfg guira_faults\"");
    std::process::exit(2);
}

#[cfg(guira_faults)]
fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["replay"] => native::replay(),
        ["find", duet, fault] => {
            native::find(duet, fault);
            Ok(())
        }
        _ => {
            eprintln!(
                "replay: executes commands from standard input, one per line\nfind SCENE FAULT: looks for a schedule that shows the fault"
            );
            std::process::exit(2)
        }
    }
}

#[cfg(guira_faults)]
mod native {
    use guira_watch::session::Session;
    use std::io::{self, BufRead, Write};

    /// Writes a line of output for each line of input.
    pub(super) fn replay() -> io::Result<()> {
        let mut session = Session::default();
        let mut out = io::stdout().lock();
        for line in io::stdin().lock().lines() {
            writeln!(out, "{}", session.answer(&line?))?;
        }
        Ok(())
    }

    /// Tries random schedules, and prints the wrong one with the fewest switches.
    pub(super) fn find(duet: &str, fault: &str) {
        // The random numbers are a Weyl sequence, scrambled by a multiplication.
        let mut state = 0_u64;
        let mut random = |below: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 31).wrapping_mul(0xd134_2543_de82_ef95);
            (mixed >> 40) % below
        };
        let mut best: Option<(usize, String, &str)> = None;
        for _ in 0..20_000 {
            let mut schedule = String::new();
            while schedule.len() < 60 {
                let (thread, length) = (random(3), 1 + random(9));
                schedule.push_str(&thread.to_string().repeat(length as usize));
            }
            let (wrong, taken) = Session::play(duet, fault, &schedule);
            let Some(wrong) = wrong else { continue };
            let bytes = taken.as_bytes();
            let switches = bytes.windows(2).filter(|pair| pair[0] != pair[1]).count();
            if best.as_ref().is_none_or(|best| switches < best.0) {
                best = Some((switches, taken, wrong));
            }
        }
        match best {
            Some((_, schedule, wrong)) => println!("{duet}\t{fault}\t{wrong}\t{schedule}"),
            None => println!("{duet}\t{fault}\tnothing goes wrong"),
        }
    }
}
