//! Cryptography: `cpa_cy*.h`.
