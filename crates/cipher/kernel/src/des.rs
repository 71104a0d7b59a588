//! DES and triple DES.
