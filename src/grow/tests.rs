use super::{Block, OnceBlock, Planes, low_bits};
use crate::{cuckoo::Cuckoo, hash::Class, layout::G14x4};

#[test]
fn the_low_bits_are_as_many_as_the_level() {
    let low = [0, 1, 2, 3, 4, 8].map(|level| low_bits(0b1011, level));
    assert_eq!(low, [0, 1, 0b11, 0b11, 0b1011, 0b1011]);
}

#[test]
fn each_level_doubles_the_words() {
    let planes = Planes::<G14x4>::new(4, 2).expect("a few bytes");
    assert_eq!((planes.buckets(), planes.words()), (4, 4));
    assert_eq!((planes.level(), planes.max_level()), (0, 2));
    assert!(!planes.is_growing(0));
    let bytes = planes.bytes();
    assert_eq!(bytes, 4 * 8 + 3 * size_of::<OnceBlock>());
    for level in 0..2 {
        assert!(planes.begin(level).is_some());
        assert!(planes.is_growing(level));
        assert_eq!(planes.words(), 8 << level);
        assert_eq!(planes.words_to_split(), 4 << level);
        planes.sweep_all();
        assert_eq!((planes.level(), planes.words_to_split()), (level + 1, 0));
    }
    assert!(!planes.is_growing(2));
    assert_eq!(planes.bytes(), bytes + 2 * size_of::<Block>() + (4 + 8) * 8);
}

/// All items are there after each single split, and in each plane only its own.
#[test]
fn a_split_takes_each_item_along() {
    const BUCKETS: usize = 8;
    let cuckoo = Cuckoo::<G14x4>::new(BUCKETS, 3).expect("a few bytes");
    let planes = &cuckoo.table.planes;
    let class = |item: u64| cuckoo.class(item.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let present: Vec<Class> = (1..=24).map(class).collect();
    let absent: Vec<Class> = (100..200)
        .map(class)
        .filter(|class| !present.contains(class))
        .collect();
    for &class in &present {
        assert_eq!(cuckoo.insert(class), Ok(()));
    }
    for level in 0..3 {
        planes.begin(level).expect("a few bytes");
        for word in 0..BUCKETS << level {
            planes.split((word / BUCKETS) as u64, word % BUCKETS, level);
            for &class in &present {
                assert!(
                    cuckoo.contains(class),
                    "{class:?} at word {word} of {level}"
                );
                let copies = present.iter().filter(|&&other| other == class).count();
                assert_eq!(
                    cuckoo.count(class),
                    copies,
                    "{class:?} at word {word} of {level}"
                );
            }
            for &class in &absent {
                assert!(
                    !cuckoo.contains(class),
                    "{class:?} at word {word} of {level}"
                );
                assert!(!cuckoo.remove(class), "{class:?} at word {word} of {level}");
            }
        }
        // The hint is the sweep's.
        assert_eq!(planes.level(), level);
        planes.sweep_all();
        assert_eq!(planes.level(), level + 1);
    }
    assert_eq!(cuckoo.len.sum(), present.len());
    for &class in &present {
        assert!(cuckoo.remove(class), "{class:?}");
    }
    assert!(present.iter().all(|&class| !cuckoo.contains(class)));
}
