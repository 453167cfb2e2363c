//! Tests the simulator with protocols whose transfers are known.

use guira_coherence::{
    machine::{Kind, LINE, Machine},
    processor::{ICE_LAKE, MILAN, Processor},
    simulation::{self, Body, Outcome, access},
};
use std::sync::atomic::{AtomicU64, Ordering};

const ROUNDS: u64 = 1000;

fn run(processor: Processor, threads: usize, body: impl Fn(usize) + Sync) -> Outcome {
    let body = &body;
    let bodies = (0..threads).map(|thread| {
        let body: Body<'_> = Box::new(move || body(thread));
        body
    });
    let machine = Machine::new(processor, threads);
    simulation::run(machine, 1, |_| {}, bodies.collect())
}

/// Counters of threads, `apart` bytes from each other.
fn counters(processor: Processor, threads: usize, apart: usize) -> Outcome {
    run(processor, threads, |thread| {
        for round in 0..ROUNDS {
            if round == ROUNDS / 10 {
                simulation::warmed_up();
            }
            access(LINE * 1000 + thread * apart, Kind::Exchange);
            simulation::complete();
        }
    })
}

fn total(outcome: &Outcome) -> u64 {
    let costs = outcome.machine.costs();
    costs.iter().map(|line| line.transfers).sum()
}

#[test]
fn padded_counters_scale_and_never_move() {
    for processor in [MILAN, ICE_LAKE] {
        let one = counters(processor, 1, LINE);
        let many = counters(processor, 8, LINE);
        assert_eq!(total(&many), 0);
        assert!(
            (many.rate / one.rate - 8.0).abs() < 0.1,
            "{}",
            many.rate / one.rate
        );
    }
}

#[test]
fn counters_on_one_line_move_with_each_access() {
    for processor in [MILAN, ICE_LAKE] {
        let outcome = counters(processor, 8, 8);
        let moves = total(&outcome);
        let after_warming = 8 * (ROUNDS - ROUNDS / 10);
        assert!(moves * 10 > after_warming * 8, "{moves} of {after_warming}");
        assert_eq!(outcome.machine.costs().len(), 1);
        // The transfers happen one after the other.
        let period = 1.0 / outcome.rate;
        let near = processor.near as f64;
        assert!(period > near * 0.9 && period < near * 1.5, "{period} ns");
    }
}

#[test]
fn a_transfer_between_sockets_costs_what_is_published() {
    let machine = &mut Machine::new(MILAN, 128);
    let bounce = |from: usize, to: usize, machine: &mut Machine| {
        machine.access(from, 0, LINE, Kind::Exchange);
        let begin = 1_000_000_000;
        machine.access(to, begin, LINE, Kind::Exchange) - begin
    };
    let exchange = MILAN.exchange * MILAN.cycle;
    assert_eq!(bounce(0, 1, machine), 23_000 + exchange);
    *machine = Machine::new(MILAN, 128);
    assert_eq!(bounce(0, 8, machine), 107_000 + exchange);
    *machine = Machine::new(MILAN, 128);
    assert_eq!(bounce(0, 64, machine), 197_000 + exchange);
}

#[test]
fn readers_share_a_line_without_transfers() {
    let outcome = run(MILAN, 64, |_| {
        for round in 0..ROUNDS {
            if round == ROUNDS / 10 {
                simulation::warmed_up();
            }
            access(LINE, Kind::Load);
            simulation::complete();
        }
    });
    assert_eq!(total(&outcome), 0);
}

/// One writer, and readers of two words under a sequence number. No reader sees a partial write,
/// and each write costs one transfer for each reader in between.
#[test]
fn a_seqlock_is_consistent_and_moves_its_line() {
    let words: [AtomicU64; 3] = Default::default();
    let load = |index: usize| {
        access(LINE * 7 + index * 8, Kind::Load);
        words[index].load(Ordering::Relaxed)
    };
    let store = |index: usize, value: u64| {
        access(LINE * 7 + index * 8, Kind::Exchange);
        words[index].store(value, Ordering::Relaxed);
    };
    let retries = AtomicU64::new(0);
    let outcome = run(MILAN, 4, |thread| {
        simulation::warmed_up();
        for round in 1..=ROUNDS {
            if thread == 0 {
                store(0, 2 * round - 1);
                store(1, round);
                store(2, round);
                store(0, 2 * round);
                simulation::work(2000);
            } else {
                loop {
                    let before = load(0);
                    let values = (load(1), load(2));
                    if before % 2 == 0 && load(0) == before {
                        assert_eq!(values.0, values.1);
                        break;
                    }
                    retries.fetch_add(1, Ordering::Relaxed);
                    simulation::work(50);
                }
                simulation::work(2000);
            }
            simulation::complete();
        }
    });
    // The threads interfere: without interleaving, nothing would be retried.
    assert!(retries.into_inner() > 0);
    let moves = total(&outcome);
    assert!((ROUNDS..16 * ROUNDS).contains(&moves), "{moves}");
}

#[test]
fn the_same_accesses_give_the_same_outcome() {
    let rates = [(); 2].map(|()| counters(MILAN, 16, 8).rate.to_bits());
    assert_eq!(rates[0], rates[1]);
}

#[test]
fn a_table_beyond_the_caches_is_bound_by_memory() {
    let spread = |lines: usize| {
        run(MILAN, 1, move |_| {
            for index in 0..20_000_usize {
                if index == 10_000 {
                    simulation::warmed_up();
                }
                let line = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                access((1 << 30) + line % lines * LINE, Kind::Load);
                simulation::complete();
            }
        })
    };
    let (small, large) = (spread(256), spread(1 << 24));
    assert!(small.rate > 5.0 * large.rate);
}
