//! exchange.
