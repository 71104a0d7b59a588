//! What threads print, in the order of the command line.

use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use crate::scan::print;

/// What is printed of a document whose turn has not come, before it has to wait.
const MOST: usize = 1 << 20;

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    next: Mutex<usize>,
    moved: Condvar,
}

/// What is printed of one document.
pub(super) struct Printed<'a> {
    turns: &'a Turns,
    number: usize,
    /// For standard output.
    pub out: Vec<u8>,
    /// For standard error.
    pub complaints: String,
}

impl Turns {
    pub(super) fn printed(&self, number: usize) -> Printed<'_> {
        Printed { turns: self, number, out: vec![], complaints: String::new() }
    }

    fn wait(&self, number: usize) -> MutexGuard<'_, usize> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        while *next != number {
            next = self.moved.wait(next).unwrap_or_else(PoisonError::into_inner);
        }
        next
    }
}

impl Printed<'_> {
    /// Prints what there is, if it is much.
    pub(super) fn spill(&mut self) -> io::Result<()> {
        match self.out.len() > MOST {
            true => {
                let _turn = self.turns.wait(self.number);
                print(&mut self.out)
            }
            false => Ok(()),
        }
    }

    /// Prints the rest, and gives the turn to the next.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let mut turn = self.turns.wait(self.number);
        let result = print(&mut self.out);
        eprint!("{}", self.complaints);
        *turn += 1;
        self.turns.moved.notify_all();
        result
    }
}
