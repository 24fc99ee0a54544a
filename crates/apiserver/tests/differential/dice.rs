//! Chance that can be repeated: the same seed throws the same numbers on every machine and in every version.

/// A source of chance.
pub(crate) struct Dice(u64);

impl Dice {
    /// The dice of one case. Every case has its own, so that one can be repeated without those before it.
    pub(crate) fn of(seed: u64, case: usize) -> Dice {
        let mut dice = Dice(seed ^ (case as u64).wrapping_mul(0xd1b5_4a32_d192_ed03));
        dice.throw();
        dice
    }

    /// The next number of splitmix64.
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; zero if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.throw() % (end.max(1) as u64)) as usize
    }

    /// True in this many of a hundred throws.
    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// True once in this many throws.
    pub(crate) fn once_in(&mut self, throws: usize) -> bool {
        self.below(throws) == 0
    }

    /// One of these, of which there must be one.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Brings these into any order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}
