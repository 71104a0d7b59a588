//! `libusdm.so.0`: memory that a QuickAssist card could reach. Here the CPU reads it, so it is ordinary memory, and
//! a "physical" address is the process's own.
//!
//! Blocks carry their size and a mark in front, so that a pointer which is none of ours is left alone. The node is
//! taken as advice that ordinary memory does not need: the system puts a page where it is first touched.
#![deny(unsafe_code)]
#![allow(non_snake_case)]

pub mod memory;
