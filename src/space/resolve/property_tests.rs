//! What holds for every point, configuration and size of the shipped families.

use proptest::prelude::*;

use super::super::*;
use super::tests::Case;

fn coordinates(space: &Space) -> impl Strategy<Value = Point> + use<> {
    let each: Vec<_> = space
        .dimensions()
        .iter()
        .map(|dimension| {
            let count = match dimension {
                Dimension::Category { count } => *count,
                Dimension::Number { .. } => 1,
            };
            let number = matches!(dimension, Dimension::Number { .. });
            (-0.5..1.5f64, 0..=count, 0..9u8).prop_map(move |(u, c, what)| match (what, number) {
                (0, _) => Coordinate::Inactive,
                (_, true) => Coordinate::Number(u),
                (_, false) => Coordinate::Category(c),
            })
        })
        .collect();
    each.prop_map(Point)
}

fn loaded() -> Space {
    Case::shipped("10.11", "8-cores-32g-nvme")
        .baseline("log_bin", "ON")
        .space()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_point_is_a_legal_configuration_and_comes_back(point in coordinates(&loaded())) {
        let space = loaded();
        let c = space.decode(&point);
        let allowed = ["memory", "disk", "durability", "server limit"];
        if let Err(breach) = space.permits(&c) {
            prop_assert!(allowed.contains(&breach.constraint.as_str()) || breach.constraint.starts_with("bounds of "), "{breach}");
        }
        prop_assert_eq!(&space.snap(&c), &c);
        prop_assert_eq!(&space.decode(&space.encode(&c)), &c);
        let written = space.writes(&c).unwrap();
        for (i, knob) in space.knobs().iter().enumerate() {
            if !space.is_active(i, &c) {
                prop_assert!(c.get(&knob.name).is_none());
                prop_assert!(knob.variables().iter().all(|v| written.iter().all(|(name, _)| name != v)));
            }
        }
    }

    #[test]
    fn what_was_observed_is_encoded_as_it_is_snapped(numbers in prop::collection::vec(any::<f64>(), 60), keep in prop::collection::vec(any::<bool>(), 60)) {
        let space = loaded();
        let c: Configuration = space
            .knobs()
            .iter()
            .zip(numbers.iter().zip(&keep))
            .filter(|(_, (_, keep))| **keep)
            .map(|(knob, (x, _))| (knob.name.clone(), Value::Float(*x)))
            .collect();
        prop_assert_eq!(space.decode(&space.encode(&c)), space.snap(&c));
    }

    #[test]
    fn more_of_anything_never_takes_less_memory(pool in 64i64..30_000, sort in 64i64..16_000, more in 1i64..1000) {
        let space = loaded();
        let total = |pool: i64, sort: i64| {
            let mut c = space.snap(&space.default_configuration());
            c.set("innodb_buffer_pool_size", pool << 20);
            c.set("sort_buffer_size", sort << 10);
            space.memory(&c).unwrap().unwrap().total
        };
        prop_assert!(total(pool + more, sort) >= total(pool, sort));
        prop_assert!(total(pool, sort + more) >= total(pool, sort));
    }
}
