//! SNOW 3G: UEA2 and UIA2.
