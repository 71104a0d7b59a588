//! CRC-32 and CRC-64.
