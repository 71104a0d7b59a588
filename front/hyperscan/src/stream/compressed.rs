//! Streams in fewer bytes: a state is mostly zeros. After a byte for the stream's own flag come pairs of a number of
//! zeros and a number of other bytes, 16 bits each, with those bytes.

/// The fewest zeros that are worth a pair.
const RUN: usize = 8;

/// The state, and whether the stream was ended by a callback.
pub(super) fn compress(mut state: &[u8], terminated: bool) -> Vec<u8> {
    let mut out = vec![u8::from(terminated)];
    while !state.is_empty() {
        let most = state.len().min(usize::from(u16::MAX));
        let zeros = state[..most].iter().take_while(|&&byte| byte == 0).count();
        state = &state[zeros..];
        let most = state.len().min(usize::from(u16::MAX));
        let run = state[..most].windows(RUN).position(|window| window == [0; RUN]);
        let (others, rest) = state.split_at(run.unwrap_or(most));
        out.extend((zeros as u16).to_le_bytes());
        out.extend((others.len() as u16).to_le_bytes());
        out.extend(others);
        state = rest;
    }
    out
}

/// Fills `state`; `None` if the bytes are not of a state of this length. Returns whether the stream was ended.
pub(super) fn expand(bytes: &[u8], mut state: &mut [u8]) -> Option<bool> {
    let (&flag, mut bytes) = bytes.split_first()?;
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let zeros = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let others = usize::from(u16::from_le_bytes([head[2], head[3]]));
        let (zeroed, left) = state.split_at_mut_checked(zeros)?;
        zeroed.fill(0);
        let (copied, left) = left.split_at_mut_checked(others)?;
        let (from, rest) = rest.split_at_checked(others)?;
        copied.copy_from_slice(from);
        (state, bytes) = (left, rest);
    }
    (state.is_empty() && flag <= 1).then_some(flag == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expanded_states_are_the_compressed_ones() {
        let mut states = vec![vec![], vec![0; 200_000], vec![7; 200_000]];
        for len in 0..40 {
            states.push((0..len).map(|n| if n % 11 < 9 { 0 } else { n as u8 }).collect());
        }
        for state in states {
            for terminated in [false, true] {
                let bytes = compress(&state, terminated);
                let mut back = vec![9; state.len()];
                assert_eq!(expand(&bytes, &mut back), Some(terminated));
                assert_eq!(back, state);
                for cut in 0..bytes.len() {
                    if cut == 1 && state.is_empty() {
                        continue;
                    }
                    assert_eq!(expand(&bytes[..cut], &mut back), None, "{} {cut}", state.len());
                    if cut > 200 {
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn zeros_are_small() {
        assert!(compress(&[0; 4000], false).len() < 10);
    }
}
