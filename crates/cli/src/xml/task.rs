//! What is done with one document.

use std::{fs, io, path::Path, sync::Arc};

use lookaside::{
    Buf, Document, DocumentStream, Handle, OpError, Runtime, Status, Xml,
    xml::{Error, Events},
};
use lookaside_simd::Cpu;
use lookaside_xml::{
    Session, select,
    tree::{Tree, Trees},
    xpath::{Scope, Value, XPath},
    xsd,
};
use serde_json::json;

use super::{
    Options,
    external::Files,
    layout,
    options::Task,
    show::{self, Shown},
    source::Source,
    status,
    turns::Printed,
};

/// What documents share: tasks, with what was compiled for them.
pub(super) enum Prepared {
    Check,
    Events,
    Tree,
    Format,
    /// Expressions, with their texts.
    Select(Vec<(String, XPath)>),
    /// The same while documents arrive.
    Stream(select::Program),
    Validate(Arc<xsd::Schema>),
}

/// Compiles expressions and schemas. The error has the exit status.
pub(super) fn prepare(options: &Options) -> Result<Prepared, (u8, String)> {
    match &options.task {
        Task::Check => Ok(Prepared::Check),
        Task::Events => Ok(Prepared::Events),
        Task::Tree => Ok(Prepared::Tree),
        Task::Format => Ok(Prepared::Format),
        Task::Select { expressions, stream } => {
            let pairs: Vec<(&str, &str)> =
                options.namespaces.iter().map(|(prefix, uri)| (&**prefix, &**uri)).collect();
            let compiled = expressions.iter().map(|text| {
                XPath::compile(text, &pairs)
                    .map_err(|e| (status::EXPRESSION, format!("{text}: {e}")))
            });
            let compiled = compiled.collect::<Result<Vec<_>, _>>()?;
            if !stream {
                return Ok(Prepared::Select(expressions.iter().cloned().zip(compiled).collect()));
            }
            let program = select::Program::compile(&compiled);
            program.map(Prepared::Stream).map_err(|errors| {
                let said = errors.iter().map(|(index, e)| {
                    let text = &expressions[*index];
                    format!("{text}: cannot be selected while the document arrives: {e}")
                });
                (status::EXPRESSION, said.collect::<Vec<_>>().join("\nlookaside: "))
            })
        }
        Task::Validate { schema } => {
            let failed = |e: io::Error| (status::SCHEMA, format!("{}: {e}", schema.display()));
            let root = fs::read(schema).map_err(failed)?;
            let folder = schema.parent().unwrap_or(Path::new(""));
            let beside = |_: &str, location: &str| fs::read(folder.join(location)).ok();
            let compiled = xsd::Schema::compile(&root, beside).map_err(|errors| {
                let said = errors.iter().map(|e| {
                    let name = match e.location.is_empty() {
                        true => schema.display().to_string(),
                        false => folder.join(&e.location).display().to_string(),
                    };
                    format!("{name}:{}: {}: {}", e.line, e.rule.name(), e.message)
                });
                (status::SCHEMA, said.collect::<Vec<_>>().join("\nlookaside: "))
            })?;
            Ok(Prepared::Validate(Arc::new(compiled)))
        }
    }
}

/// What became of a document.
#[derive(Default)]
pub(super) struct Done {
    pub status: u8,
    /// Nodes that were selected.
    pub found: u64,
}

/// Takes the events of a piece.
type Take<'a> = dyn FnMut(&dyn Document, Events<'_>) -> io::Result<()> + 'a;

/// One thread's means.
pub(super) struct Worker<'a> {
    prepared: &'a Prepared,
    session: Session,
    trees: Trees,
    runtime: &'a Runtime,
    handle: Handle,
    stream: Option<DocumentStream>,
    validator: Option<xsd::Stream>,
    selector: Option<select::Stream<'a>>,
    memory: Buf,
    /// What documents refer to, if that is read.
    files: Option<Files>,
}

/// Bytes for the events of a piece: more than most pieces need.
const ROOM: usize = 1 << 20;

impl<'a> Worker<'a> {
    pub(super) fn new(
        prepared: &'a Prepared,
        runtime: &'a Runtime,
        options: &Options,
    ) -> Worker<'a> {
        let files = options.external.then(Files::default);
        let mut session = Session::new(Cpu::host());
        if let Some(files) = &files {
            session = session.resolver(files.resolver());
        }
        Worker {
            prepared,
            trees: Trees::new(&session),
            session,
            runtime,
            handle: runtime.handle(),
            stream: None,
            validator: None,
            selector: None,
            memory: Buf::zeroed(ROOM),
            files,
        }
    }

    /// Reads a document.
    pub(super) fn document(
        &mut self,
        json: bool,
        source: &mut Source<'_>,
        printed: &mut Printed<'_>,
    ) -> io::Result<Done> {
        let Some(files) = self.files.clone() else { return self.read(json, source, printed) };
        files.document(source.name());
        let done = self.read(json, source, printed);
        for missing in files.missing() {
            let name = source.name();
            printed.complaints += &format!("{name}: warning: not read: {missing}\n");
        }
        done
    }

    fn read(
        &mut self,
        json: bool,
        source: &mut Source<'_>,
        printed: &mut Printed<'_>,
    ) -> io::Result<Done> {
        let name = source.name().to_owned();
        let fault = |error: Error, printed: &mut Printed<'_>| {
            let Error { rule, line, column, offset } = error;
            match json {
                true => show::line(
                    &mut printed.out,
                    &json!({
                        "file": name, "line": line, "column": column, "byte": offset, "rule": format!("{rule:?}"),
                        "message": rule.text(),
                    }),
                ),
                false => printed.complaints += &format!("{name}:{line}:{column}: error: {rule}\n"),
            }
            Ok(Done { status: status::FAULT, found: 0 })
        };
        let (prepared, session) = (self.prepared, &self.session);
        match prepared {
            Prepared::Check => match self.events(source, &mut |_, _| Ok(()))? {
                Some(error) => fault(error, printed),
                None => Ok(Done::default()),
            },
            Prepared::Events => {
                let mut show = |document: &dyn Document, events: Events<'_>| {
                    show::events(&mut printed.out, document, events, json);
                    printed.spill()
                };
                match self.events(source, &mut show)? {
                    Some(error) => fault(error, printed),
                    None => Ok(Done::default()),
                }
            }
            Prepared::Validate(schema) => {
                let validator =
                    self.validator.get_or_insert_with(|| xsd::Stream::new(session, schema));
                validator.reset();
                let mut lines = show::Lines::default();
                let mut is_valid = true;
                loop {
                    let piece = source.read()?;
                    lines.next(piece.data);
                    let fed = validator.feed(lines.piece(), piece.last);
                    for invalid in validator.take_errors() {
                        is_valid = false;
                        let line = lines.line(invalid.offset);
                        show::invalid(printed, &name, line, &invalid, json);
                    }
                    match fed {
                        Err(error) => return fault(error, printed),
                        Ok(()) if piece.last => break,
                        Ok(()) => printed.spill()?,
                    }
                }
                Ok(Done { status: if is_valid { 0 } else { status::INVALID }, found: 0 })
            }
            Prepared::Stream(program) => {
                let selector =
                    self.selector.get_or_insert_with(|| select::Stream::new(session, program));
                selector.reset();
                let mut found = 0;
                loop {
                    let piece = source.read()?;
                    let fed = selector.feed(&piece.data, piece.last, &mut |one| {
                        found += 1;
                        let shown = Shown::from(one);
                        show::selected(&mut printed.out, &name, one.expression, &shown, json);
                    });
                    match fed {
                        Err(error) => {
                            return fault(error, printed).map(|done| Done { found, ..done });
                        }
                        Ok(()) if piece.last => return Ok(Done { status: 0, found }),
                        Ok(()) => printed.spill()?,
                    }
                }
            }
            Prepared::Select(expressions) => {
                let bytes = source.whole()?;
                let tree = match self.tree(&bytes)? {
                    Ok(tree) => tree,
                    Err(error) => return fault(error, printed),
                };
                let mut found = 0;
                for (index, (text, xpath)) in expressions.iter().enumerate() {
                    let value = xpath.evaluate(&tree, &Scope::default());
                    let value = match value {
                        Ok(value) => value,
                        Err(e) => {
                            printed.complaints += &format!("lookaside: {name}: {text}: {e}\n");
                            return Ok(Done { status: status::EXPRESSION, found });
                        }
                    };
                    found += self.show(&mut printed.out, &name, index as u32, &tree, &value, json);
                    printed.spill()?;
                }
                self.trees.give_back(tree);
                Ok(Done { status: 0, found })
            }
            Prepared::Tree => {
                let bytes = source.whole()?;
                match self.tree(&bytes)? {
                    Err(error) => fault(error, printed),
                    Ok(tree) => {
                        show::tree(printed, &tree, json)?;
                        self.trees.give_back(tree);
                        Ok(Done::default())
                    }
                }
            }
            Prepared::Format => {
                let bytes = source.whole()?;
                match self.whole(&bytes)? {
                    Some(error) => fault(error, printed),
                    None if !show::contains_ascii(&bytes) => {
                        let what = "format wants UTF-8, ISO-8859, Windows or KOI8 encodings";
                        printed.complaints += &format!("lookaside: {name}: {what}\n");
                        Ok(Done { status: status::FAULT, found: 0 })
                    }
                    None => {
                        printed.out.extend(layout::format(&bytes));
                        Ok(Done::default())
                    }
                }
            }
        }
    }

    /// Shows what an expression says. Returns how many nodes, or values, that are.
    fn show(
        &self,
        out: &mut Vec<u8>,
        file: &str,
        expression: u32,
        tree: &Tree<'_>,
        value: &Value,
        json: bool,
    ) -> u64 {
        match value {
            Value::Nodes(nodes) => {
                for &node in nodes {
                    show::selected(out, file, expression, &show::node(tree, node), json);
                }
                nodes.len() as u64
            }
            other => {
                let kind = match other {
                    Value::Number(_) => "number",
                    Value::Boolean(_) => "boolean",
                    _ => "string",
                };
                let value = other.to_string(tree);
                let shown = Shown { kind, name: String::new(), value };
                show::selected(out, file, expression, &shown, json);
                1
            }
        }
    }

    fn tree<'d>(&mut self, bytes: &'d [u8]) -> io::Result<Result<Tree<'d>, Error>> {
        use lookaside_xml::tree::ParseError;
        match self.trees.parse(bytes) {
            Ok(tree) => Ok(Ok(tree)),
            Err(ParseError::Document(error)) => Ok(Err(error)),
            Err(ParseError::Tree(e)) => Err(io::Error::other(e.to_string())),
        }
    }

    /// Whether a document that is here is well-formed: its error.
    fn whole(&mut self, bytes: &[u8]) -> io::Result<Option<Error>> {
        self.restart()?;
        for (piece, last) in pieces(bytes) {
            if let Some(error) = self.piece(piece.to_vec(), last, &mut |_, _| Ok(()))? {
                return Ok(Some(error));
            }
        }
        Ok(None)
    }

    /// Gives the events of a document to `take`. Returns its error.
    fn events(
        &mut self,
        source: &mut Source<'_>,
        take: &mut Take<'_>,
    ) -> io::Result<Option<Error>> {
        self.restart()?;
        loop {
            let piece = source.read()?;
            let error = self.piece(piece.data, piece.last, take)?;
            if error.is_some() || piece.last {
                return Ok(error);
            }
        }
    }

    fn restart(&mut self) -> io::Result<()> {
        let failed = |e: String| io::Error::other(e);
        match &self.stream {
            Some(stream) => {
                stream.restart().map_err(|e| failed(e.to_string()))?;
            }
            None => {
                let resolver = self.files.as_ref().map(Files::resolver);
                let documents = self.runtime.xml(Xml { resolver, ..Xml::default() });
                let documents = documents.map_err(|e| failed(e.to_string()))?;
                self.stream = Some(documents.stream().map_err(|e| failed(e.to_string()))?);
            }
        }
        Ok(())
    }

    fn piece(
        &mut self,
        data: Vec<u8>,
        last: bool,
        take: &mut Take<'_>,
    ) -> io::Result<Option<Error>> {
        let Some(stream) = &self.stream else { return Ok(None) };
        let mut src = Buf::from(data);
        loop {
            let dst = std::mem::replace(&mut self.memory, Buf::empty());
            let response = self.handle.call(stream.parse(src, dst, last)).wait();
            self.memory = response.dst;
            let done = match response.result {
                Ok(done) => done,
                Err(OpError::BadDocument { .. }) => {
                    let error = stream.document().ask(|document| document.error());
                    return Ok(error.ok().flatten().flatten());
                }
                Err(e) => return Err(io::Error::other(e.to_string())),
            };
            let (Some(written), Some(source)) = (self.memory.as_slice(), response.src.as_slice())
            else {
                return Ok(None);
            };
            let events = Events::new(&written[..done.produced], done.checksum, source);
            let taken = stream.document().ask(|document| take(document, events));
            taken.ok().flatten().unwrap_or(Ok(()))?;
            if done.status != Status::Overflow {
                return Ok(None);
            }
            if done.produced == 0 {
                // The longest value must fit.
                self.memory = Buf::zeroed(2 * written.len());
            }
            src = Buf::from(source[done.consumed..].to_vec());
        }
    }
}

/// Pieces that a request takes.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    const MOST: usize = 1 << 20;
    let count = bytes.len().div_ceil(MOST).max(1);
    (0..count).map(move |n| {
        let piece = &bytes[n * MOST..bytes.len().min((n + 1) * MOST)];
        (piece, n + 1 == count)
    })
}
