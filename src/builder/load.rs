//! Loading a saved filter, and comparing its settings with those of a builder.

use super::Builder;
use crate::{
    error::{Difference, LoadError},
    filter::Filter,
    lifetime::Lifetime,
    snapshot::{
        file::Loaded,
        header::{Hashing, Header},
    },
};
use std::{hash::BuildHasher, path::Path};

impl<S: Clone + BuildHasher + 'static, T: Lifetime> Builder<S, T> {
    /// Loads the filter that [`save`](crate::CuckooFilter::save) has saved, if its settings are those of the
    /// builder.
    ///
    /// The seed is that of the file, unless [`seed`](Self::seed) or [`hasher`](Self::hasher) was called.
    /// In an [`ExpiringFilter`](crate::ExpiringFilter), the time since `save` counts: see
    /// [`load`](crate::ExpiringFilter::load).
    ///
    /// ```
    /// use guira::{Difference, ExpiringFilter, LoadError};
    /// use std::time::Duration;
    ///
    /// # let directory = std::env::temp_dir().join(format!("guira-builder-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let path = directory.join("seen.guira");
    /// let builder = ExpiringFilter::builder(Duration::from_secs(3600)).capacity(50_000);
    /// let seen = match builder.load(&path) {
    ///     Err(error) if error.is_not_found() => builder.clone().build()?, // the first start
    ///     loaded => loaded?,
    /// };
    /// seen.insert("ani")?;
    /// seen.save(&path)?;
    /// assert!(builder.load(&path)?.contains("ani"));
    ///
    /// let Err(LoadError::Settings(differences)) = builder.capacity(80_000).load(&path) else {
    ///     panic!("the capacity has changed");
    /// };
    /// assert_eq!(differences, [Difference::Capacity { saved: 50_000, asked: 80_000 },
    ///     Difference::MaxCapacity { saved: 50_000, asked: 80_000 }]);
    /// # std::fs::remove_dir_all(directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// * [`LoadError::Settings`]: the settings have changed since the filter was saved. A filter cannot
    ///   change them. Either keep the saved one, which [`CuckooFilter::load`] loads as it is, or
    ///   [`build`](Self::build) a new one and use both until it has all items. The guide says how, in
    ///   "Replace a live filter".
    /// * [`LoadError::Snapshot`]: the file cannot be read, or is damaged.
    ///   [`is_not_found`](LoadError::is_not_found) says that there is none.
    /// * [`LoadError::Build`]: no filter can have the settings of the builder.
    ///
    /// [`CuckooFilter::load`]: crate::CuckooFilter::load
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Filter<S, T>, LoadError> {
        let (geometry, window) = self.plan()?;
        let asked = Header {
            geometry,
            window,
            hashing: Hashing::of(&self.hasher),
        };
        let loaded = Loaded::<T>::read(path.as_ref(), usize::MAX)?;
        let differences = self.differences(&loaded.content.header, &asked);
        if !differences.is_empty() {
            return Err(LoadError::Settings(differences));
        }
        let hasher = |seed| match self.reseed {
            Some(reseed) => reseed(seed),
            None => self.hasher.clone(),
        };
        Ok(loaded.content.finish(hasher, loaded.elapsed)?)
    }

    /// In what the saved filter differs from the one that the builder makes.
    fn differences(&self, saved: &Header, asked: &Header) -> Vec<Difference> {
        let windows = [saved, asked].map(|header| header.window);
        let counters = [saved, asked].map(|header| header.geometry.series.counter_bits);
        let rates = [saved, asked].map(|header| header.geometry.highest_rate());
        let probes = [saved, asked].map(|header| header.hashing.probe);
        macro_rules! difference {
            ($variant:ident, $pair:expr) => {{
                let [saved, asked] = $pair;
                (saved != asked).then_some(Difference::$variant { saved, asked })
            }};
        }
        let all = [
            difference!(Capacity, windows.map(|window| window.capacity)),
            difference!(MaxCapacity, windows.map(|window| window.max_capacity)),
            difference!(Ttl, windows.map(|window| window.ttl)),
            difference!(Epochs, windows.map(|window| window.epochs)),
            difference!(CounterBits, counters),
            difference!(FalsePositiveRate, rates).filter(|_| !self.has_layout(saved, asked)),
            difference!(Hasher, probes).filter(|_| self.reseed.is_none()),
        ];
        all.into_iter().flatten().collect()
    }

    /// True if the saved filter has the layout that the builder chooses for its items.
    fn has_layout(&self, saved: &Header, asked: &Header) -> bool {
        let counter_bits = saved.geometry.series.counter_bits;
        if saved.window == asked.window && counter_bits == asked.geometry.series.counter_bits {
            return saved.geometry == asked.geometry;
        }
        let window = saved.window;
        let grows = window.max_capacity > window.capacity;
        let with_saved = Self {
            capacity: window.capacity,
            max_capacity: grows.then_some(window.max_capacity),
            epochs: Some(window.epochs),
            counter_bits: (counter_bits > 0).then_some(counter_bits),
            ..self.clone()
        };
        with_saved.geometry(window.epochs) == Ok(saved.geometry)
    }
}
