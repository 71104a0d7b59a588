//! AES at once: one message, all lanes.
