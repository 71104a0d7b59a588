//! What a token of the prolog means where it stands: the grammar of declarations as a machine over tokens.

/// A token of the prolog, of content, or of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    /// Nothing is left.
    None,
    /// The bytes end within a token.
    Partial,
    PartialChar,
    Invalid,
    // Content.
    TrailingCr,
    TrailingBrackets,
    StartTag,
    EmptyTag,
    EndTag,
    DataChars,
    Newline,
    CdataOpen,
    CdataClose,
    EntityRef,
    CharRef,
    // Both.
    Pi,
    XmlDecl,
    Comment,
    // Prolog.
    Space,
    DeclOpen,
    DeclClose,
    Name,
    Nmtoken,
    PrefixedName,
    NameQuestion,
    NameAsterisk,
    NamePlus,
    PoundName,
    Or,
    Percent,
    OpenParen,
    CloseParen,
    CloseParenQuestion,
    CloseParenAsterisk,
    CloseParenPlus,
    OpenBracket,
    CloseBracket,
    Literal,
    ParamEntityRef,
    InstanceStart,
    CondOpen,
    CondClose,
    Comma,
    IgnoreSection,
}

/// What is to be done with a token. The `..None` are of declarations of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Error,
    None,
    XmlDecl,
    TextDecl,
    InstanceStart,
    Pi,
    Comment,
    DoctypeNone,
    DoctypeName,
    DoctypePublic,
    DoctypeSystem,
    DoctypeSubset,
    DoctypeClose,
    EntityNone,
    GeneralName,
    ParamName,
    EntityValue,
    EntityPublic,
    EntitySystem,
    EntityNotation,
    EntityComplete,
    NotationNone,
    NotationName,
    NotationPublic,
    NotationSystem,
    NotationNoSystem,
    AttlistNone,
    AttlistElement,
    AttributeName,
    /// The type by its number in [`TYPES`].
    AttributeType(u8),
    EnumValue,
    NotationValue,
    Implied,
    Required,
    DefaultValue,
    FixedValue,
    ElementNone,
    ElementName,
    ContentEmpty,
    ContentAny,
    ContentPcdata,
    /// Quantifier 0 to 3: none, `?`, `*`, `+`.
    ContentElement(u8),
    GroupOpen,
    GroupClose(u8),
    GroupSequence,
    GroupChoice,
    ParamRef,
    InnerParamRef,
    IgnoreSection,
}

/// Types of attributes that are words.
pub(crate) const TYPES: [&std::ffi::CStr; 8] =
    [c"CDATA", c"ID", c"IDREF", c"IDREFS", c"ENTITY", c"ENTITIES", c"NMTOKEN", c"NMTOKENS"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Prolog(u8),
    Doctype(u8),
    Subset,
    External(u8),
    Entity(u8),
    Notation(u8),
    Attlist(u8),
    Element(u8),
    Condition(u8),
    DeclClose,
    Error,
}

/// Where the machine is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prolog {
    at: At,
    pub(crate) level: u32,
    none: Role,
    include: u32,
    /// This is the document, not an external entity.
    pub(crate) document: bool,
    pub(crate) in_value: bool,
}

impl Prolog {
    pub(crate) fn new() -> Prolog {
        let none = Role::None;
        Prolog { at: At::Prolog(0), level: 0, none, include: 0, document: true, in_value: false }
    }

    /// For an external parameter entity, or the external subset.
    pub(crate) fn external() -> Prolog {
        Prolog { at: At::External(0), document: false, ..Prolog::new() }
    }

    fn top(&mut self) {
        self.at = if self.document { At::Subset } else { At::External(1) };
    }

    fn go(&mut self, at: At, role: Role) -> Role {
        self.at = at;
        role
    }

    fn close(&mut self, none: Role, role: Role) -> Role {
        self.none = none;
        self.go(At::DeclClose, role)
    }

    /// The role of a token with this text.
    pub(crate) fn role(&mut self, tok: Tok, text: &[u8]) -> Role {
        self.step(tok, text).unwrap_or_else(|| {
            if !self.document && tok == Tok::ParamEntityRef {
                return Role::InnerParamRef;
            }
            self.at = At::Error;
            Role::Error
        })
    }

    fn step(&mut self, tok: Tok, text: &[u8]) -> Option<Role> {
        use Tok::*;
        let keyword = text.get(2..).unwrap_or(&[]);
        Some(match (self.at, tok) {
            (At::Error, _) => Role::None,
            (At::Prolog(0), Space) => self.go(At::Prolog(1), Role::None),
            (At::Prolog(0), XmlDecl) => self.go(At::Prolog(1), Role::XmlDecl),
            (At::Prolog(0), Tok::Pi) => self.go(At::Prolog(1), Role::Pi),
            (At::Prolog(0), Tok::Comment) => self.go(At::Prolog(1), Role::Comment),
            (At::Prolog(_), Space) => Role::None,
            (At::Prolog(_), Tok::Pi) => Role::Pi,
            (At::Prolog(_), Tok::Comment) => Role::Comment,
            (At::Prolog(0 | 1), DeclOpen) if keyword == b"DOCTYPE" => {
                self.go(At::Doctype(0), Role::DoctypeNone)
            }
            (At::Prolog(_), InstanceStart) => self.go(At::Error, Role::InstanceStart),
            (At::Doctype(_), Space) => Role::DoctypeNone,
            (At::Doctype(0), Name | PrefixedName) => self.go(At::Doctype(1), Role::DoctypeName),
            (At::Doctype(1 | 4), OpenBracket) => self.go(At::Subset, Role::DoctypeSubset),
            (At::Doctype(1 | 4 | 5), DeclClose) => self.go(At::Prolog(2), Role::DoctypeClose),
            (At::Doctype(1), Name) if text == b"SYSTEM" => {
                self.go(At::Doctype(3), Role::DoctypeNone)
            }
            (At::Doctype(1), Name) if text == b"PUBLIC" => {
                self.go(At::Doctype(2), Role::DoctypeNone)
            }
            (At::Doctype(2), Literal) => self.go(At::Doctype(3), Role::DoctypePublic),
            (At::Doctype(3), Literal) => self.go(At::Doctype(4), Role::DoctypeSystem),
            (At::Subset, _) => return self.subset(tok, keyword),
            (At::External(at), _) => {
                self.at = At::External(1);
                match tok {
                    XmlDecl if at == 0 => Role::TextDecl,
                    CondOpen => self.go(At::Condition(0), Role::None),
                    CondClose if self.include == 0 => return Option::None,
                    CondClose => {
                        self.include -= 1;
                        Role::None
                    }
                    CloseBracket => return Option::None,
                    Tok::None if self.include > 0 => return Option::None,
                    _ => return self.subset(tok, keyword),
                }
            }
            (At::Entity(_), Space) => Role::EntityNone,
            (At::Entity(0), Percent) => self.go(At::Entity(1), Role::EntityNone),
            (At::Entity(0), Name) => self.go(At::Entity(2), Role::GeneralName),
            (At::Entity(1), Name) => self.go(At::Entity(7), Role::ParamName),
            (At::Entity(at @ (2 | 7)), Name) if text == b"SYSTEM" => {
                self.go(At::Entity(at + 2), Role::EntityNone)
            }
            (At::Entity(at @ (2 | 7)), Name) if text == b"PUBLIC" => {
                self.go(At::Entity(at + 1), Role::EntityNone)
            }
            (At::Entity(2 | 7), Literal) => self.close(Role::EntityNone, Role::EntityValue),
            (At::Entity(at @ (3 | 8)), Literal) => self.go(At::Entity(at + 1), Role::EntityPublic),
            (At::Entity(at @ (4 | 9)), Literal) => self.go(At::Entity(at + 1), Role::EntitySystem),
            (At::Entity(5 | 10), DeclClose) => {
                self.top();
                Role::EntityComplete
            }
            (At::Entity(5), Name) if text == b"NDATA" => self.go(At::Entity(6), Role::EntityNone),
            (At::Entity(6), Name) => self.close(Role::EntityNone, Role::EntityNotation),
            (At::Notation(_), Space) => Role::NotationNone,
            (At::Notation(0), Name) => self.go(At::Notation(1), Role::NotationName),
            (At::Notation(1), Name) if text == b"SYSTEM" => {
                self.go(At::Notation(3), Role::NotationNone)
            }
            (At::Notation(1), Name) if text == b"PUBLIC" => {
                self.go(At::Notation(2), Role::NotationNone)
            }
            (At::Notation(2), Literal) => self.go(At::Notation(4), Role::NotationPublic),
            (At::Notation(3 | 4), Literal) => self.close(Role::NotationNone, Role::NotationSystem),
            (At::Notation(4), DeclClose) => {
                self.top();
                Role::NotationNoSystem
            }
            (At::Attlist(at), _) => return self.attlist(at, tok, text),
            (At::Element(at), _) => return self.element(at, tok, text),
            (At::Condition(_), Space) => Role::None,
            (At::Condition(0), Name) if text == b"INCLUDE" => self.go(At::Condition(1), Role::None),
            (At::Condition(0), Name) if text == b"IGNORE" => self.go(At::Condition(2), Role::None),
            (At::Condition(1), OpenBracket) => {
                self.include += 1;
                self.go(At::External(1), Role::None)
            }
            (At::Condition(2), OpenBracket) => self.go(At::External(1), Role::IgnoreSection),
            (At::DeclClose, Space) => self.none,
            (At::DeclClose, DeclClose) => {
                self.top();
                self.none
            }
            _ => return Option::None,
        })
    }

    fn subset(&mut self, tok: Tok, keyword: &[u8]) -> Option<Role> {
        Some(match (tok, keyword) {
            (Tok::Space | Tok::None, _) => Role::None,
            (Tok::DeclOpen, b"ENTITY") => self.go(At::Entity(0), Role::EntityNone),
            (Tok::DeclOpen, b"ATTLIST") => self.go(At::Attlist(0), Role::AttlistNone),
            (Tok::DeclOpen, b"ELEMENT") => self.go(At::Element(0), Role::ElementNone),
            (Tok::DeclOpen, b"NOTATION") => self.go(At::Notation(0), Role::NotationNone),
            (Tok::Pi, _) => Role::Pi,
            (Tok::Comment, _) => Role::Comment,
            (Tok::ParamEntityRef, _) => Role::ParamRef,
            (Tok::CloseBracket, _) => self.go(At::Doctype(5), Role::DoctypeNone),
            _ => return Option::None,
        })
    }

    fn attlist(&mut self, at: u8, tok: Tok, text: &[u8]) -> Option<Role> {
        use Tok::*;
        let pound = text.get(1..).unwrap_or(&[]);
        let next = |at| At::Attlist(at);
        Some(match (at, tok) {
            (_, Space) => Role::AttlistNone,
            (0, Name | PrefixedName) => self.go(next(1), Role::AttlistElement),
            (1, DeclClose) => {
                self.top();
                Role::AttlistNone
            }
            (1, Name | PrefixedName) => self.go(next(2), Role::AttributeName),
            (2, Name) => {
                if let Some(kind) = TYPES.iter().position(|word| word.to_bytes() == text) {
                    self.go(next(8), Role::AttributeType(kind as u8))
                } else if text == b"NOTATION" {
                    self.go(next(5), Role::AttlistNone)
                } else {
                    return Option::None;
                }
            }
            (2, OpenParen) => self.go(next(3), Role::AttlistNone),
            (3, Nmtoken | Name | PrefixedName) => self.go(next(4), Role::EnumValue),
            (4 | 7, CloseParen) => self.go(next(8), Role::AttlistNone),
            (4 | 7, Or) => self.go(next(at - 1), Role::AttlistNone),
            (5, OpenParen) => self.go(next(6), Role::AttlistNone),
            (6, Name) => self.go(next(7), Role::NotationValue),
            (8, PoundName) if pound == b"IMPLIED" => self.go(next(1), Role::Implied),
            (8, PoundName) if pound == b"REQUIRED" => self.go(next(1), Role::Required),
            (8, PoundName) if pound == b"FIXED" => self.go(next(9), Role::AttlistNone),
            (8, Literal) => self.go(next(1), Role::DefaultValue),
            (9, Literal) => self.go(next(1), Role::FixedValue),
            _ => return Option::None,
        })
    }

    fn element(&mut self, at: u8, tok: Tok, text: &[u8]) -> Option<Role> {
        use Tok::*;
        let none = Role::ElementNone;
        let next = |at| At::Element(at);
        let quantified = match tok {
            Name | PrefixedName => Some(0),
            NameQuestion => Some(1),
            NameAsterisk => Some(2),
            NamePlus => Some(3),
            _ => Option::None,
        };
        let closed = match tok {
            CloseParen => Some(0),
            CloseParenQuestion => Some(1),
            CloseParenAsterisk => Some(2),
            CloseParenPlus => Some(3),
            _ => Option::None,
        };
        Some(match (at, tok) {
            (_, Space) => none,
            (0, Name | PrefixedName) => self.go(next(1), Role::ElementName),
            (1, Name) if text == b"EMPTY" => self.close(none, Role::ContentEmpty),
            (1, Name) if text == b"ANY" => self.close(none, Role::ContentAny),
            (1, OpenParen) => {
                self.level = 1;
                self.go(next(2), Role::GroupOpen)
            }
            (2, PoundName) if text == b"#PCDATA" => self.go(next(3), Role::ContentPcdata),
            (2, OpenParen) => {
                self.level = 2;
                self.go(next(6), Role::GroupOpen)
            }
            (3, CloseParen) => self.close(none, Role::GroupClose(0)),
            (3 | 5, CloseParenAsterisk) => self.close(none, Role::GroupClose(2)),
            (3 | 5, Or) => self.go(next(4), none),
            (4, Name | PrefixedName) => self.go(next(5), Role::ContentElement(0)),
            (6, OpenParen) => {
                self.level += 1;
                Role::GroupOpen
            }
            (2 | 6, _) if quantified.is_some() => {
                self.go(next(7), Role::ContentElement(quantified.unwrap_or(0)))
            }
            (7, _) if closed.is_some() => {
                self.level -= 1;
                if self.level == 0 {
                    self.none = none;
                    self.at = At::DeclClose;
                }
                Role::GroupClose(closed.unwrap_or(0))
            }
            (7, Comma) => self.go(next(6), Role::GroupSequence),
            (7, Or) => self.go(next(6), Role::GroupChoice),
            _ => return Option::None,
        })
    }
}
