//! The command line of `lookaside xml`.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Subcommand, ValueHint};

use crate::args;

/// What is done with each document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    Check,
    Validate { schema: PathBuf },
    Select { expressions: Vec<String>, stream: bool },
    Events,
    Tree,
    Format,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) task: Task,
    pub(super) paths: Vec<OsString>,
    /// Prefixes of expressions.
    pub(super) namespaces: Vec<(String, String)>,
    /// Whether external entities are read.
    pub(super) external: bool,
    pub(super) json: bool,
    pub(super) speed: bool,
}

/// Checks, validates, searches and shows XML documents
///
/// Reads files, also gzip'd ones, folders with all that is in them, standard input (- or no file); several side by side,
/// with progress on a terminal. XML 1.0 (fifth edition) with namespaces. Nothing is fetched. A fault is printed to
/// standard error as FILE:LINE:COLUMN: error: RULE, the standard's number first.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0; 1 if a document is not well-formed or cannot be read; 2 for a
mistaken command line; and as xmllint: 3 not valid, 5 the schema is wrong,
6 cannot write, 10 an expression is wrong, 11 nothing was selected.")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    task: Given,
}

#[derive(Subcommand)]
enum Given {
    /// Checks that documents are well-formed: prints their faults alone
    Check {
        #[command(flatten)]
        reading: Reading,
        /// An object for each fault: {file, line, column, byte, rule, message, path}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        documents: Documents,
    },
    /// Validates by an XML Schema (1.0); faults have path, rule and value
    Validate {
        /// The schema; those that it includes or imports are looked for beside it
        #[arg(long, value_name = "FILE")]
        schema: PathBuf,
        #[command(flatten)]
        reading: Reading,
        /// An object for each fault: {file, line, column, byte, rule, message, path}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        documents: Documents,
    },
    /// Prints what an XPath 1.0 expression selects
    ///
    /// Each node on a line: elements as XML, others their value.
    #[command(override_usage = "lookaside xml select [OPTIONS] XPATH [FILE|FOLDER|-]...\n       \
                          lookaside xml select [OPTIONS] -e XPATH... [FILE|FOLDER|-]...")]
    Select {
        /// An expression
        #[arg(short, long, value_name = "XPATH", allow_hyphen_values = true)]
        expression: Vec<String>,
        /// What a prefix in expressions means
        #[arg(short, long, value_name = "PREFIX=URI", value_parser = namespace)]
        namespace: Vec<(String, String)>,
        /// While the document arrives, whatever its size
        ///
        /// Names of elements, values of attributes and texts; paths that need no more than what came
        #[arg(long)]
        stream: bool,
        #[command(flatten)]
        reading: Reading,
        /// An object for each node: {file, expression, kind, name, value}
        #[arg(long)]
        json: bool,
        /// Files and folders; before them XPATH, without -e
        #[arg(value_name = "FILE|FOLDER|-", value_hint = ValueHint::AnyPath)]
        operands: Vec<OsString>,
    },
    /// Prints a line for each event: kind, name, text as a JSON string
    Events {
        #[command(flatten)]
        reading: Reading,
        /// An object for each event: {kind, name, uri, text}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        documents: Documents,
    },
    /// Prints a line for each node, indented
    Tree {
        #[command(flatten)]
        reading: Reading,
        /// An object for each node: {kind, name, uri, text}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        documents: Documents,
    },
    /// Puts elements on lines of their own
    ///
    /// All but white space between tags stays as it is.
    Format {
        #[command(flatten)]
        reading: Reading,
        #[command(flatten)]
        documents: Documents,
    },
}

#[derive(Args)]
struct Reading {
    /// Read external entities, and the external subset of the DTD
    ///
    /// From the files that they name, as seen from the document; any file that you can read: not for documents you do
    /// not trust
    #[arg(long)]
    external: bool,
    /// Print the rate, and what served it, to standard error
    #[arg(long)]
    speed: bool,
}

#[derive(Args)]
struct Documents {
    /// Files, folders with all that is in them; standard input
    #[arg(value_name = "FILE|FOLDER|-", value_hint = ValueHint::AnyPath)]
    paths: Vec<OsString>,
}

fn namespace(pair: &str) -> Result<(String, String), &'static str> {
    let (prefix, uri) = pair.split_once('=').ok_or("PREFIX=URI is wanted")?;
    Ok((prefix.to_owned(), uri.to_owned()))
}

impl args::Options for Options {
    type Arguments = Arguments;
    const COMMAND: &[&str] = &["xml", "select"];

    fn of(arguments: Arguments) -> Result<Options, &'static str> {
        let mut namespaces = Vec::new();
        let (task, reading, json, paths) = match arguments.task {
            Given::Check { reading, json, documents } => {
                (Task::Check, reading, json, documents.paths)
            }
            Given::Validate { schema, reading, json, documents } => {
                (Task::Validate { schema }, reading, json, documents.paths)
            }
            Given::Select { mut expression, namespace, stream, reading, json, mut operands } => {
                if expression.is_empty() {
                    // As grep: the first operand.
                    if operands.is_empty() {
                        return Err("xml select wants an expression");
                    }
                    let first = operands.remove(0).into_string();
                    expression.push(first.map_err(|_| "the expression is no UTF-8")?);
                }
                namespaces = namespace;
                (Task::Select { expressions: expression, stream }, reading, json, operands)
            }
            Given::Events { reading, json, documents } => {
                (Task::Events, reading, json, documents.paths)
            }
            Given::Tree { reading, json, documents } => {
                (Task::Tree, reading, json, documents.paths)
            }
            Given::Format { reading, documents } => (Task::Format, reading, false, documents.paths),
        };
        let Reading { external, speed } = reading;
        Ok(Options { task, paths, namespaces, external, json, speed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, parse};

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        let args = ["lookaside", "xml"].into_iter().chain(line.split_whitespace());
        match parse(args.map(OsString::from))? {
            Command::Xml(options) => Ok(options.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn command_lines() {
        let options = parsed("select -n a=urn:a=b //a:x f g --json").unwrap();
        let expressions = vec!["//a:x".to_owned()];
        assert_eq!(options.task, Task::Select { expressions, stream: false });
        assert_eq!((options.paths.len(), options.json), (2, true));
        assert_eq!(options.namespaces, [("a".to_owned(), "urn:a=b".to_owned())]);
        let options = parsed("select f -e //a --expression=-b --stream").unwrap();
        let expressions = vec!["//a".to_owned(), "-b".to_owned()];
        assert_eq!(options.task, Task::Select { expressions, stream: true });
        assert_eq!(options.paths, ["f"]);
        let options = parsed("validate --schema s.xsd -- -f").unwrap();
        assert_eq!(options.task, Task::Validate { schema: "s.xsd".into() });
        assert_eq!(options.paths, ["-f"]);
        assert_eq!(parsed("check --help").unwrap_err().exit_code(), 0);
        for line in [
            "",
            "chek",
            "validate f",
            "select",
            "select --stream",
            "check --schema s",
            "check --stream",
            "format --json",
            "select -n a //a",
            "check --json=1",
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.use_stderr(), "{error}");
        }
        assert!(parsed("chek").unwrap_err().to_string().contains("'check'"));
    }
}
