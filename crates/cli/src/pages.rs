//! Completions for shells and manual pages, made of what clap knows of the command line.

use std::{error::Error, fs, path::PathBuf};

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};

use crate::args::CommandLine;

/// Prints completions for a shell
///
/// To install them by hand: lookaside completions bash > /etc/bash_completion.d/lookaside
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// A script for the shell.
    pub(crate) fn text(&self) -> String {
        let mut text = Vec::new();
        generate(self.shell, &mut CommandLine::command(), "lookaside", &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Writes the manual pages
///
/// One for each command, for who installs them: lookaside manual-pages /usr/local/share/man/man1
#[derive(Debug, Args)]
pub(crate) struct ManualPages {
    /// The folder, which must be there
    folder: PathBuf,
}

impl ManualPages {
    /// Writes them.
    pub(crate) fn write(&self) -> Result<(), Box<dyn Error>> {
        let named = |e| format!("{}: {e}", self.folder.display());
        fs::read_dir(&self.folder).map_err(named)?;
        clap_mangen::generate_to(CommandLine::command(), &self.folder).map_err(named)?;
        Ok(())
    }
}
