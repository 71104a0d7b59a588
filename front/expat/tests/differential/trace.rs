//! What handlers see of a document.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Write;

use lookaside_expat::abi::*;

use crate::documents::{Case, Random};
use crate::library::{Library, P, text};

/// How a document is read.
#[derive(Debug)]
pub struct Plan {
    namespaces: bool,
    triplets: bool,
    foreign: bool,
    param_parsing: c_int,
    /// Which handlers are set, a bit each.
    handlers: u32,
    /// The length of pieces; 0: at random.
    piece: usize,
    /// Suspend behind so many events; 0: never.
    pub suspend: usize,
    seed: u64,
}

impl Plan {
    /// At once, by all handlers but the default one.
    pub fn plain() -> Plan {
        Plan {
            namespaces: false,
            triplets: false,
            foreign: false,
            param_parsing: 0,
            handlers: u32::MAX ^ 1 << 8,
            piece: 1 << 20,
            suspend: 0,
            seed: 0,
        }
    }

    pub fn random(random: &mut Random) -> Plan {
        Plan {
            namespaces: random.chance(60),
            triplets: random.chance(20),
            foreign: random.chance(10),
            param_parsing: random.below(3) as c_int,
            handlers: match random.below(3) {
                0 => u32::MAX,
                1 => u32::MAX ^ 1 << random.below(18),
                _ => random.below(1 << 18) as u32,
            },
            piece: random.pick(&[0, 0, 1, 3, 1 << 20, 1 << 20]),
            suspend: if random.chance(20) { 1 + random.below(4) } else { 0 },
            seed: random.below(1 << 30) as u64,
        }
    }
}

struct State<'a> {
    library: &'a Library,
    case: &'a Case,
    plan: &'a Plan,
    random: Random,
    log: String,
    parsers: Vec<P>,
    events: usize,
    entities: usize,
}

impl State<'_> {
    fn parser(&self) -> P {
        *self.parsers.last().expect("one is parsing")
    }

    fn event(&mut self, what: std::fmt::Arguments<'_>) {
        let (l, p) = (self.library, self.parser());
        // SAFETY: the parser that is calling.
        let place = unsafe { ((l.byte)(p), (l.count)(p), (l.line)(p), (l.column)(p)) };
        let _ = writeln!(self.log, "{what} at {place:?}");
        self.events += 1;
        if self.plan.suspend > 0 && self.events.is_multiple_of(self.plan.suspend) {
            // SAFETY: as above.
            let done = unsafe { (l.stop)(p, 1) };
            let _ = writeln!(self.log, "stop {done}");
        }
    }

    fn run(&mut self, bytes: &[u8], p: P) {
        let l = self.library;
        let mut at = 0;
        loop {
            let rest = bytes.len() - at;
            let len = match self.plan.piece {
                0 if bytes.len() > 10_000 => self.random.below(9000).min(rest),
                0 => self.random.below(12).min(rest),
                // Expat tries an unfinished token again with each piece.
                piece if bytes.len() > 10_000 => piece.max(900).min(rest),
                piece => piece.min(rest),
            };
            let last = at + len == bytes.len();
            // SAFETY: these bytes.
            let mut done =
                unsafe { (l.parse)(p, bytes[at..].as_ptr().cast(), len as c_int, last.into()) };
            while done == STATUS_SUSPENDED {
                let _ = writeln!(self.log, "suspended");
                // SAFETY: a parser that is suspended.
                done = unsafe { (l.resume)(p) };
            }
            at += len;
            if last || done == STATUS_ERROR {
                break;
            }
        }
        // SAFETY: a parser.
        unsafe {
            let error = (l.error)(p);
            let place = ((l.byte)(p), (l.line)(p), (l.column)(p));
            let _ = match error {
                0 => writeln!(self.log, "end 0"),
                error => writeln!(self.log, "end {error} at {place:?}"),
            };
        }
    }
}

/// The state that a handler gets.
fn state<'a>(data: Data) -> &'a mut State<'a> {
    // SAFETY: the pointer that `trace` set.
    unsafe { &mut *data.cast() }
}

unsafe extern "C" fn start(data: Data, name: Str, atts: *mut Str) {
    let state = state(data);
    let mut list = String::new();
    // SAFETY: a list that ends with null.
    unsafe {
        let mut at = atts;
        while !(*at).is_null() {
            let _ = write!(list, " {}={}", text(*at), text(*at.add(1)));
            at = at.add(2);
        }
        let (l, p) = (state.library, state.parser());
        let _ = write!(list, " ({} {})", (l.specified)(p), (l.id_index)(p));
    }
    state.event(format_args!("start {}{list}", text(name)));
}

unsafe extern "C" fn end(data: Data, name: Str) {
    state(data).event(format_args!("end {}", text(name)));
}

fn bytes(s: Str, len: c_int) -> String {
    // SAFETY: so many bytes.
    String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(s.cast(), len as usize) }).into()
}

unsafe extern "C" fn characters(data: Data, s: Str, len: c_int) {
    let state = state(data);
    state.event(format_args!("text {:?}", bytes(s, len)));
    if state.random.chance(5) {
        // SAFETY: the parser that is calling.
        unsafe { (state.library.default_current)(state.parser()) };
    }
}

unsafe extern "C" fn default(data: Data, s: Str, len: c_int) {
    state(data).event(format_args!("default {:?}", bytes(s, len)));
}

unsafe extern "C" fn pi(data: Data, target: Str, text_: Str) {
    state(data).event(format_args!("pi {} {}", text(target), text(text_)));
}

unsafe extern "C" fn comment(data: Data, s: Str) {
    state(data).event(format_args!("comment {}", text(s)));
}

unsafe extern "C" fn start_cdata(data: Data) {
    state(data).event(format_args!("cdata"));
}

unsafe extern "C" fn end_cdata(data: Data) {
    state(data).event(format_args!("cdata end"));
}

unsafe extern "C" fn doctype(data: Data, name: Str, system: Str, public: Str, subset: c_int) {
    let (name, system, public) = (text(name), text(system), text(public));
    state(data).event(format_args!("doctype {name} {system} {public} {subset}"));
}

unsafe extern "C" fn doctype_end(data: Data) {
    state(data).event(format_args!("doctype end"));
}

unsafe extern "C" fn unparsed(data: Data, name: Str, base: Str, system: Str, public: Str, of: Str) {
    let all = [name, base, system, public, of].map(text).join(" ");
    state(data).event(format_args!("unparsed {all}"));
}

unsafe extern "C" fn notation(data: Data, name: Str, base: Str, system: Str, public: Str) {
    let all = [name, base, system, public].map(text).join(" ");
    state(data).event(format_args!("notation {all}"));
}

unsafe extern "C" fn namespace(data: Data, prefix: Str, uri: Str) {
    state(data).event(format_args!("namespace {} {}", text(prefix), text(uri)));
}

unsafe extern "C" fn namespace_end(data: Data, prefix: Str) {
    state(data).event(format_args!("namespace end {}", text(prefix)));
}

unsafe extern "C" fn not_standalone(data: Data) -> c_int {
    let state = state(data);
    state.event(format_args!("not standalone"));
    c_int::from(!state.random.chance(5))
}

unsafe extern "C" fn skipped(data: Data, name: Str, param: c_int) {
    state(data).event(format_args!("skipped {} {param}", text(name)));
}

fn model(node: &Content) -> String {
    let name = text(node.name);
    let mut all = format!("({} {} {name}", node.kind, node.quant);
    for at in 0..node.numchildren as usize {
        // SAFETY: so many children.
        all += &model(unsafe { &*node.children.add(at) });
    }
    all + ")"
}

unsafe extern "C" fn element_decl(data: Data, name: Str, content: *mut Content) {
    let state = state(data);
    // SAFETY: a model, which is freed as it should be.
    let all = unsafe { model(&*content) };
    state.event(format_args!("element {} {all}", text(name)));
    // SAFETY: as above.
    unsafe { (state.library.free_model)(state.parser(), content) };
}

unsafe extern "C" fn attlist_decl(
    data: Data,
    element: Str,
    name: Str,
    kind: Str,
    value: Str,
    required: c_int,
) {
    let all = [element, name, kind, value].map(text).join(" ");
    state(data).event(format_args!("attribute {all} {required}"));
}

unsafe extern "C" fn entity_decl(
    data: Data,
    name: Str,
    param: c_int,
    value: Str,
    len: c_int,
    base: Str,
    system: Str,
    public: Str,
    of: Str,
) {
    let value = if value.is_null() { "-".into() } else { bytes(value, len) };
    let all = [name, base, system, public, of].map(text).join(" ");
    state(data).event(format_args!("entity {all} {param} {value:?}"));
}

unsafe extern "C" fn xml_decl(data: Data, version: Str, encoding: Str, standalone: c_int) {
    let all = [version, encoding].map(text).join(" ");
    state(data).event(format_args!("xml {all} {standalone}"));
}

unsafe extern "C" fn external(
    parser: *mut c_void,
    context: Str,
    base: Str,
    system: Str,
    public: Str,
) -> c_int {
    // SAFETY: the first field of a parser is its user's data (`XML_GetUserData`).
    let data: Data = unsafe { *parser.cast() };
    let state = state(data);
    // The order of a context's parts is that of a hash table.
    let mut parts: Vec<String> = match context.is_null() {
        true => vec!["-".into()],
        false => text(context).trim_matches('"').split("\\u{c}").map(String::from).collect(),
    };
    parts.sort();
    let all = [base, system, public].map(text).join(" ");
    state.event(format_args!("external {parts:?} {all}"));
    state.entities += 1;
    if state.parsers.len() > 4 || state.entities > 20 {
        return 1;
    }
    let key: usize = text(system).bytes().map(usize::from).sum();
    let bytes = state.case.others[key % state.case.others.len()].clone();
    let l = state.library;
    // SAFETY: the parser that is calling.
    let child = unsafe { (l.child)(parser.cast(), context, std::ptr::null()) };
    state.parsers.push(child);
    state.run(&bytes, child);
    state.parsers.pop();
    // SAFETY: the child, which nobody uses again.
    unsafe {
        let error = (l.error)(child);
        (l.free)(child);
        c_int::from(error == 0)
    }
}

/// Reads a document; what was seen, a line each.
pub fn trace(library: &Library, case: &Case, plan: &Plan) -> String {
    let l = library;
    let mut state = State {
        library,
        case,
        plan,
        random: Random(plan.seed),
        log: String::new(),
        parsers: vec![],
        events: 0,
        entities: 0,
    };
    // SAFETY: as `expat.h` asks.
    unsafe {
        let p = match plan.namespaces {
            true => (l.create_ns)(std::ptr::null(), b'|' as c_char),
            false => (l.create)(std::ptr::null()),
        };
        state.parsers.push(p);
        // When a token that is not whole is tried again depends on how large expat's buffer is.
        if let Some(deferral) = l.deferral {
            deferral(p, 0);
        }
        (l.user_data)(p, (&raw mut state).cast());
        (l.triplets)(p, plan.triplets.into());
        (l.param_parsing)(p, plan.param_parsing);
        (l.foreign)(p, plan.foreign.into());
        let on = |bit: u32| plan.handlers & 1 << bit != 0;
        (l.element)(p, on(0).then_some(start as _), on(1).then_some(end as _));
        (l.characters)(p, on(2).then_some(characters as _));
        (l.pi)(p, on(3).then_some(pi as _));
        (l.comment)(p, on(4).then_some(comment as _));
        (l.cdata)(p, on(5).then_some(start_cdata as _), on(6).then_some(end_cdata as _));
        match on(7) {
            true => (l.default_expand)(p, on(8).then_some(default as _)),
            false => (l.default)(p, on(8).then_some(default as _)),
        }
        (l.doctype)(p, on(9).then_some(doctype as _), on(10).then_some(doctype_end as _));
        (l.unparsed)(p, on(11).then_some(unparsed as _));
        (l.notation)(p, on(12).then_some(notation as _));
        (l.namespace)(p, on(13).then_some(namespace as _), on(13).then_some(namespace_end as _));
        (l.not_standalone)(p, on(14).then_some(not_standalone as _));
        (l.external)(p, (plan.handlers & 3 << 15 != 0).then_some(external as _));
        (l.skipped)(p, on(17).then_some(skipped as _));
        (l.element_decl)(p, on(10).then_some(element_decl as _));
        (l.attlist_decl)(p, on(11).then_some(attlist_decl as _));
        (l.entity_decl)(p, on(12).then_some(entity_decl as _));
        (l.xml_decl)(p, on(9).then_some(xml_decl as _));
        state.run(&case.main, p);
        (l.free)(p);
    }
    state.log
}
