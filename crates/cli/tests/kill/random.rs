//! Numbers that look random and follow from a seed, so that a failing run can be repeated.

/// SplitMix64: small, and its streams do not resemble each other even for seeds that follow each other.
pub(crate) struct Random(u64);

impl Random {
    /// The stream of one seed and whatever tells its users apart.
    pub(crate) fn new(seed: u64, parts: &[u64]) -> Random {
        let mut random = Random(seed);
        for part in parts {
            random = Random(random.next() ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93));
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Whether something happens that happens so many times in a hundred.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}
