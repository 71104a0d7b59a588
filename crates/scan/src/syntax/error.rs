//! What is wrong with an expression, and where.

/// Why an expression is refused. The wording is Hyperscan's where it refuses the same.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A construct of PCRE that is not supported.
    Unsupported(Construct),
    /// The expression has more than [`MAX_LENGTH`](super::MAX_LENGTH) bytes.
    TooLong,
    /// Groups and repeats are nested more than [`MAX_DEPTH`](super::MAX_DEPTH) deep.
    TooDeep,
    /// The classes of the expression need too many alternatives of bytes.
    TooLarge,
    /// A bound of a repeat is larger than [`MAX_REPEAT`](super::MAX_REPEAT).
    RepeatTooLarge,
    /// A quantifier without anything to repeat, after an assertion or another quantifier, or `{n,m}` with `n > m`.
    InvalidRepeat,
    /// A number with more digits than 2^31 - 1 has.
    NumberTooBig,
    /// `)` without its `(`.
    UnmatchedParenthesis,
    /// `(` without its `)`.
    MissingParenthesis,
    /// `(?` with an unknown character after it.
    UnknownGroup,
    /// A name of a group that begins with a digit.
    GroupNameDigit,
    /// Two groups of one name.
    DuplicateGroupName(String),
    /// A reference to a group that the expression does not have.
    InvalidReference,
    /// A condition with more than two alternatives, or `(?(DEFINE)...)` with more than one.
    ConditionBranches,
    /// `(?#` without its `)`.
    UnterminatedComment,
    /// `[` without its `]`.
    UnterminatedClass,
    /// A range such as `z-a`.
    RangeOrder,
    /// A range that ends in a class: `a-\d`.
    InvalidRange,
    /// `[:name:]` with an unknown name.
    InvalidPosixName,
    /// `[:name:]` outside of a class.
    PosixOutsideClass,
    /// A letter after a backslash that has no meaning in a class.
    ClassEscape(u8),
    /// A backslash at the end.
    TrailingBackslash,
    /// `\c` without an ASCII character after it.
    ControlEscape,
    /// `\x{...}` that is not hexadecimal or without `}`.
    InvalidHex,
    /// `\o{...}` that is not octal or without braces.
    InvalidOctal,
    /// A code that no character has: above 255, or above 0x10FFFF with UTF-8.
    CharacterTooLarge,
    /// `\p` without a property, or without `}`.
    MalformedProperty,
    /// A property of Unicode that is not known.
    UnknownProperty,
    /// `(*...)` with an unknown name.
    UnknownVerb,
    /// `(*UTF8)` or `(*UCP)` after the start.
    MisplacedVerb,
    /// The expression is not UTF-8.
    InvalidUtf8,
    /// The expression matches the empty string everywhere, which needs [`Flags::allow_empty`](super::Flags::allow_empty).
    MatchesEmpty,
    /// The start of matches is asked for, and the expression can match the empty string.
    EmptyStart,
    /// No data has a match.
    NeverMatches,
    /// An empty literal.
    EmptyLiteral,
    /// Two flags, by their letters, that cannot be used together.
    FlagsConflict(char, char),
    /// A flag, by its letter, that has no meaning for a literal.
    LiteralFlag(char),
    /// The least offset or length is larger than the largest offset.
    ParametersOrder,
    /// Extended parameters that no match of the expression can satisfy.
    ParametersUnsatisfiable,
    /// A character that a combination cannot have.
    CombinationCharacter,
    /// An operator without its operand.
    MissingOperand,
    /// Two operands without an operator.
    MissingOperator,
    /// The id of an operand has more than 9 digits.
    IdTooLarge,
    /// A combination of a single operand.
    NoOperation,
    /// An operand of a combination that is no pattern of the set.
    UnknownOperand(u32),
    /// An operand of a combination that has a flag which operands cannot have, by its letter.
    OperandFlag(u32, char),
}

impl ErrorKind {
    /// Whether it is about a place in the expression, and not about the expression as a whole.
    pub fn has_place(&self) -> bool {
        use ErrorKind as E;
        !matches!(
            self,
            E::TooLong
                | E::TooDeep
                | E::TooLarge
                | E::RepeatTooLarge
                | E::InvalidReference
                | E::InvalidUtf8
                | E::MatchesEmpty
                | E::EmptyStart
                | E::NeverMatches
                | E::EmptyLiteral
                | E::FlagsConflict(..)
                | E::LiteralFlag(_)
                | E::ParametersOrder
                | E::ParametersUnsatisfiable
                | E::NoOperation
                | E::UnknownOperand(_)
                | E::OperandFlag(..)
                | E::Unsupported(Construct::EditDistance | Construct::HammingDistance)
        )
    }
}

/// A construct that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Construct {
    /// `(?=...)`, `(?!...)`, `(?<=...)`, `(?<!...)`.
    Lookaround,
    /// `\1`, `\g{1}`, `\k<name>`, `(?P=name)`.
    BackReference,
    /// `(?>...)`.
    AtomicGroup,
    /// `a*+`.
    Possessive,
    /// `(?(condition)...)`.
    Conditional,
    /// `(?R)`, `(?1)`, `(?&name)`, `\g<1>`.
    Recursion,
    /// `(?C)`.
    Callout,
    /// `(?{...})`.
    Code,
    /// `(*VERB)`.
    Verb,
    /// `(?|...)`.
    BranchReset,
    /// `\K`.
    StartReset,
    /// `\G`.
    ScanStart,
    /// `\R`.
    NewlineSequence,
    /// `\X`.
    GraphemeCluster,
    /// `\C` in UTF-8 mode.
    SingleByte,
    /// `\N`, `\l`, `\u`, `\L`, `\U`, `\k`: this letter after a backslash.
    Escape(u8),
    /// `\b` and `\B` with Unicode properties.
    UnicodeBoundary,
    /// `[.x.]`, `[=x=]`.
    Collating,
    /// Matches within an edit distance.
    EditDistance,
    /// Matches within a Hamming distance.
    HammingDistance,
}

/// An expression that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The id of the pattern.
    pub id: u32,
    /// The byte of the expression at which the construct begins.
    pub offset: usize,
    /// What is wrong.
    pub kind: ErrorKind,
}

impl std::fmt::Display for Construct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Construct::Lookaround => "Zero-width assertions are not supported",
            Construct::BackReference => "Back-references are unsupported",
            Construct::AtomicGroup => "Atomic groups are unsupported",
            Construct::Possessive => "Possessive quantifiers are not supported",
            Construct::Conditional => "Conditional subpattern unsupported",
            Construct::Recursion => "Subpattern reference unsupported",
            Construct::Callout => "Callout not supported",
            Construct::Code => "Embedded code is not supported",
            Construct::Verb => "Unsupported control verb",
            Construct::BranchReset => "Unrecognised character after (?",
            Construct::StartReset => "\\K not supported",
            Construct::ScanStart => "\\G not supported",
            Construct::NewlineSequence => "\\R not supported",
            Construct::GraphemeCluster => "\\X unsupported",
            Construct::SingleByte => "\\C is unsupported in UTF8",
            Construct::Escape(letter) => {
                return write!(f, "'\\{}' not supported", letter.escape_ascii());
            }
            Construct::UnicodeBoundary => "\\b and \\B unsupported in UCP mode",
            Construct::Collating => "Unsupported POSIX collating element",
            Construct::EditDistance => "Edit distance is not supported",
            Construct::HammingDistance => "Hamming distance is not supported",
        };
        f.write_str(text)
    }
}

impl std::fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use ErrorKind as E;
        let text = match self {
            E::Unsupported(construct) => return construct.fmt(f),
            E::TooLong => "Pattern length exceeds limit",
            E::TooDeep => "Groups are nested too deep",
            E::TooLarge => "Pattern is too large",
            E::RepeatTooLarge => "Bounded repeat is too large",
            E::InvalidRepeat => "Invalid repeat",
            E::NumberTooBig => "Number is too big",
            E::UnmatchedParenthesis => "Unmatched parentheses",
            E::MissingParenthesis => "Missing close parenthesis for group started",
            E::UnknownGroup => "Unrecognised character after (?",
            E::GroupNameDigit => "Group name cannot begin with a digit",
            E::DuplicateGroupName(name) => {
                return write!(f, "Two named subpatterns use the name '{name}'");
            }
            E::InvalidReference => "Invalid back reference",
            E::ConditionBranches => "Conditional with more than two branches",
            E::UnterminatedComment => "Unterminated comment",
            E::UnterminatedClass => "Unterminated character class starting",
            E::RangeOrder => "Range out of order in character class",
            E::InvalidRange => "Invalid range in character class",
            E::InvalidPosixName => "Invalid POSIX named class",
            E::PosixOutsideClass => "POSIX named classes are only supported inside a class",
            E::ClassEscape(letter) => {
                return write!(
                    f,
                    "'\\{}' not supported in a character class",
                    letter.escape_ascii()
                );
            }
            E::TrailingBackslash => "Unescaped \\ at end of input",
            E::ControlEscape => "\\c must be followed by an ASCII character",
            E::InvalidHex => "Value in \\x{...} sequence is non-hex or missing }",
            E::InvalidOctal => "Value in \\o{...} sequence is non-octal or missing braces",
            E::CharacterTooLarge => "Value of a character is too large",
            E::MalformedProperty => "Malformed property",
            E::UnknownProperty => "Unknown property",
            E::UnknownVerb => "Unknown control verb",
            E::MisplacedVerb => "(*UTF8) and (*UCP) must be at start of expression, encountered",
            E::InvalidUtf8 => "Expression is not valid UTF-8",
            E::MatchesEmpty => {
                "Pattern matches empty buffer; use HS_FLAG_ALLOWEMPTY to enable support"
            }
            E::EmptyStart => {
                "Start of match is not currently supported for patterns which match an empty buffer"
            }
            E::NeverMatches => "Pattern can never match",
            E::EmptyLiteral => "Pure literal API doesn't support empty string",
            E::FlagsConflict(one, other) => {
                return write!(f, "Flag {one} is not supported in combination with flag {other}");
            }
            E::LiteralFlag(letter) => {
                return write!(f, "Flag {letter} is not supported for a literal");
            }
            E::ParametersOrder => {
                "In the extended parameters, min_offset and min_length must be less than or equal to max_offset"
            }
            E::ParametersUnsatisfiable => {
                "Extended parameter constraints can not be satisfied for any match from this expression"
            }
            E::CombinationCharacter => "Unknown character",
            E::MissingOperand => "Not enough operand",
            E::MissingOperator => "Not enough operator",
            E::IdTooLarge => "Expression id too large",
            E::NoOperation => "No logical operation",
            E::UnknownOperand(id) => return write!(f, "Unknown sub-expression id {id}"),
            E::OperandFlag(id, letter) => {
                return write!(
                    f,
                    "Sub-expression {id} has flag {letter}, which an operand cannot have"
                );
            }
        };
        f.write_str(text)
    }
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pattern {}: {} at index {}", self.id, self.kind, self.offset)
    }
}

impl std::error::Error for SyntaxError {}
