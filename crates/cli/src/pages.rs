//! Completions for shells and manual pages, made of what clap knows of the command line.

use std::{error::Error, fs, io, path::PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_complete::{Shell, generate};
use clap_mangen::Man;

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
        let mut command = CommandLine::command().disable_help_subcommand(true);
        command.build();
        self.page(&command).map_err(named)?;
        Ok(())
    }

    /// The page of a command, and those of the commands in it.
    fn page(&self, command: &Command) -> io::Result<()> {
        command.get_subcommands().try_for_each(|inner| self.page(inner))?;
        // As the help has it: of itself the page would list options without their values.
        let usage = command.clone().render_usage().to_string();
        let lines = usage.trim_start_matches("Usage:").lines().map(str::trim);
        let usage = lines.collect::<Vec<_>>().join("\n");
        let man = Man::new(command.clone().override_usage(usage))
            .source(concat!("lookaside ", env!("CARGO_PKG_VERSION")))
            .manual("Lookaside");
        let mut text = Vec::new();
        man.render(&mut text)?;
        // What stands below the options has the name that sections of this kind have elsewhere, and its lines and
        // columns stay as they are: up to 80 characters, which fit without an indentation.
        let notes = "\n.SH NOTES\n.nf\n.in 0\n";
        let text = String::from_utf8_lossy(&text).replace("\n.SH EXTRA\n", notes);
        fs::write(self.folder.join(man.get_filename()), text)
    }
}
