//! ZUC: EEA3 and EIA3.
