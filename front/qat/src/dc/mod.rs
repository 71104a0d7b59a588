//! Data compression: `cpa_dc*.h`.
