//! KASUMI: F8 and F9.
