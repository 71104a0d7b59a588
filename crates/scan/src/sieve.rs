//! Which of the many users of a string may match where it is, by the bytes beside it.
//!
//! Twenty expressions have ` Build`, each with something else before it. Tables say for the bytes next to the string which users
//! take them, so that the others are not looked at one by one.

use crate::node::ByteSet;
use crate::tail::Tail;

/// Strings with fewer users have no sieve.
const LEAST: usize = 6;
/// Bytes on each side that are looked at.
const BESIDE: usize = 2;
/// In the tables: no byte.
const NONE: usize = 256;
/// Users of one sieve: a bit each.
const USERS: usize = 64;

/// The users that take a byte at a place.
type Takers = [u64; 257];

/// Of up to 64 users, which ones may match.
#[derive(Debug)]
struct Sieve {
    before: [Takers; BESIDE],
    after: [Takers; BESIDE],
}

/// The sieves of a string: of 64 users each.
#[derive(Debug, Default)]
pub(crate) struct Sieves(Box<[Sieve]>);

impl Sieves {
    /// Of users with these parts before and behind the string; `None`: nothing is known of them.
    pub(crate) fn new<'a>(
        users: impl ExactSizeIterator<Item = Option<(&'a Tail, &'a Tail)>>,
    ) -> Sieves {
        if users.len() < LEAST {
            return Sieves::default();
        }
        let beside = |tail: Option<&Tail>| tail.map_or(vec![], |tail| tail.nearest(BESIDE));
        let (before, after): (Vec<_>, Vec<_>) =
            users.map(|it| (beside(it.map(|it| it.0)), beside(it.map(|it| it.1)))).unzip();
        let sieve =
            |(before, after): (&[_], &[_])| Sieve { before: takers(before), after: takers(after) };
        Sieves(before.chunks(USERS).zip(after.chunks(USERS)).map(sieve).collect())
    }

    /// Calls `each` with those of the string's `users` that may match where it is.
    #[inline]
    pub(crate) fn each(
        &self,
        data: &[u8],
        start: usize,
        end: usize,
        users: &[u32],
        mut each: impl FnMut(u32),
    ) {
        if self.0.is_empty() {
            users.iter().for_each(|user| each(*user));
            return;
        }
        let byte = |at: Option<usize>| {
            at.and_then(|at| data.get(at)).map_or(NONE, |byte| usize::from(*byte))
        };
        let before: [usize; BESIDE] = std::array::from_fn(|i| byte(start.checked_sub(i + 1)));
        let after: [usize; BESIDE] = std::array::from_fn(|i| byte(Some(end + i)));
        for (sieve, users) in self.0.iter().zip(users.chunks(USERS)) {
            let take = |takers: &[Takers; BESIDE], bytes: [usize; BESIDE]| {
                takers.iter().zip(bytes).fold(u64::MAX, |all, (takers, byte)| all & takers[byte])
            };
            let mut may = take(&sieve.before, before) & take(&sieve.after, after);
            while may != 0 {
                if let Some(user) = users.get(may.trailing_zeros() as usize) {
                    each(*user);
                }
                may &= may - 1;
            }
        }
    }

    /// Memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

/// The takers at each distance, of users with these sets.
fn takers(users: &[Vec<ByteSet>]) -> [Takers; BESIDE] {
    let mut all = [[0; 257]; BESIDE];
    for (user, sets) in users.iter().enumerate() {
        for (distance, takers) in all.iter_mut().enumerate() {
            match sets.get(distance) {
                Some(set) => set.iter().for_each(|byte| takers[usize::from(byte)] |= 1 << user),
                None => takers.iter_mut().for_each(|takers| *takers |= 1 << user),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::node::Node;

    /// Whether a tail matches from a string on.
    fn matches(tail: &Tail, byte: impl Fn(usize) -> Option<u8>) -> bool {
        let mut found = false;
        tail.run(byte, |_| {
            found = true;
            ControlFlow::Break(())
        });
        found
    }

    #[test]
    fn no_user_that_matches_is_left_out_and_few_others_are_not() {
        let mut random = 7u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        let tail = |below: &mut dyn FnMut(usize) -> usize| -> Vec<Node> {
            let class = |below: &mut dyn FnMut(usize) -> usize| {
                Node::Class((b'a'..=b'd').filter(|_| below(2) == 0).collect())
            };
            let optional = |node| Node::Repeat { node: Box::new(node), min: 0, max: Some(2) };
            let part = |below: &mut dyn FnMut(usize) -> usize| match below(3) {
                0 => optional(class(below)),
                _ => class(below),
            };
            (0..below(4)).map(|_| part(below)).collect()
        };
        let (mut matched, mut passed) = (0, 0);
        for count in [2, LEAST, 64, 65, 150] {
            let tails: Vec<Option<(Tail, Tail)>> = (0..count)
                .map(|_| {
                    let (before, after) = (tail(&mut below), tail(&mut below));
                    let both = (Tail::backward(&before).unwrap(), Tail::forward(&after).unwrap());
                    (below(10) > 0).then_some(both)
                })
                .collect();
            let sieves = Sieves::new(
                tails.iter().map(|it| it.as_ref().map(|(before, after)| (before, after))),
            );
            let users: Vec<u32> = (0..count as u32).map(|user| user * 3).collect();
            for _ in 0..200 {
                let data: Vec<u8> = (0..below(7)).map(|_| b'a' + below(5) as u8).collect();
                let start = below(data.len() + 1);
                let end = start + below(data.len() + 1 - start);
                let mut some = vec![];
                sieves.each(&data, start, end, &users, |user| some.push(user));
                assert!(some.is_sorted());
                for (user, tails) in users.iter().zip(&tails) {
                    let matches = tails.as_ref().is_none_or(|(before, after)| {
                        matches(before, |i| start.checked_sub(i + 1).map(|at| data[at]))
                            && matches(after, |i| data.get(end + i).copied())
                    });
                    assert!(!matches || some.contains(user), "{user} of {count} in {data:?}");
                    matched += usize::from(matches && count >= LEAST);
                    passed += usize::from(some.contains(user) && count >= LEAST);
                }
            }
        }
        assert!(matched * 2 > passed && matched > 1000, "{matched} of {passed}");
    }
}
