//! What was wrong, where, and against which rule.

use std::fmt;

macro_rules! rules {
    ($($name:ident $text:literal,)*) => {
        /// The rule of XML 1.0 (fifth edition), Namespaces in XML 1.0, or of the session's limits that was broken. The
        /// text of `Display` begins with the number of the production or the name of the constraint.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule { $(#[doc = concat!("`", $text, "`")] $name,)* }
        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];
            /// The rule in words.
            pub fn text(self) -> &'static str {
                match self { $(Rule::$name => $text,)* }
            }
        }
    };
}

rules! {
    Document "[1] document: one root element, and nothing but comments and processing instructions around it",
    Char "[2] Char: a character that XML excludes",
    Space "[3] S: white space is missing",
    Name "[5] Name: not a name",
    Nmtoken "[7] Nmtoken: not a name token",
    EntityValue "[9] EntityValue: not an entity's value",
    AttValue "[10] AttValue: an attribute's value is not quoted",
    SystemLiteral "[11] SystemLiteral: not a system identifier",
    PubidLiteral "[12] PubidLiteral: not a public identifier",
    CharData "[14] CharData: \"]]>\" in text",
    Comment "[15] Comment: \"--\" in a comment",
    Pi "[16] PI: not a processing instruction",
    PiTarget "[17] PITarget: the target \"xml\" is reserved",
    CdSect "[18] CDSect: not a CDATA section",
    XmlDecl "[23] XMLDecl: not an XML declaration",
    Version "[26] VersionNum: not a version 1 of XML",
    Doctype "[28] doctypedecl: not a document type declaration",
    MarkupDecl "[29] markupdecl: not a declaration",
    Standalone "[32] SDDecl: neither \"yes\" nor \"no\"",
    StartTag "[40] STag: not a start-tag",
    Attribute "[41] Attribute: not an attribute",
    EndTag "[42] ETag: not an end-tag",
    Content "[43] content: markup that content cannot have",
    ElementDecl "[45] elementdecl: not an element type declaration",
    ContentSpec "[46] contentspec: not a content model",
    AttlistDecl "[52] AttlistDecl: not an attribute-list declaration",
    ConditionalSect "[61] conditionalSect: not a conditional section",
    CharRef "[66] CharRef: not a character reference",
    EntityRef "[68] EntityRef: not an entity reference",
    PeReference "[69] PEReference: not a parameter-entity reference",
    EntityDecl "[70] EntityDecl: not an entity declaration",
    TextDecl "[77] TextDecl: not a text declaration",
    EncodingDecl "[80] EncodingDecl: not an encoding's name",
    NotationDecl "[82] NotationDecl: not a notation declaration",
    UnexpectedEnd "[1] document: the document ends too early",
    ElementTypeMatch "WFC: Element Type Match: the end-tag has another name than the start-tag",
    UniqueAttSpec "WFC: Unique Att Spec: an attribute appears twice",
    NoExternalEntityReferences "WFC: No External Entity References: an attribute refers to an external entity",
    NoLessThanInAttributes "WFC: No < in Attribute Values",
    LegalCharacter "WFC: Legal Character: a reference to a character that XML excludes",
    EntityDeclared "WFC: Entity Declared: a reference to an entity that is not declared",
    ParsedEntity "WFC: Parsed Entity: a reference to an unparsed entity",
    NoRecursion "WFC: No Recursion: an entity refers to itself",
    PesInInternalSubset "WFC: PEs in Internal Subset: a parameter entity within a declaration",
    PeBetweenDeclarations "WFC: PE Between Declarations: a parameter entity is not a series of declarations",
    EntityBalance "4.3.2 Well-Formed Parsed Entities: an entity begins or ends within an element",
    MalformedEncoding "4.3.3: bytes that are not in the encoding",
    UnknownEncoding "4.3.3: an encoding that is not known",
    EncodingMismatch "4.3.3: another encoding than the declared one",
    NsQName "[NS 7] QName: not a qualified name",
    NsReserved "NSC: Reserved Prefixes and Namespace Names",
    NsPrefixDeclared "NSC: Prefix Declared: a prefix that is not declared",
    NsNoPrefixUndeclaring "NSC: No Prefix Undeclaring",
    NsAttributesUnique "NSC: Attributes Unique: an attribute appears twice under two prefixes",
    NsColon "[NS 7] a colon in the name of an entity, a notation or a target",
    LimitDepth "limit: depth",
    LimitAttributes "limit: attributes",
    LimitName "limit: name",
    LimitExpansion "limit: expansion",
    LimitAmplification "limit: amplification",
    LimitMemory "limit: memory",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// A document that is not well-formed, or beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The rule.
    pub rule: Rule,
    /// Bytes of the document before the place, in the document's encoding. In an entity's text: those before the reference's end,
    /// or before the reference, if it stands in a value or between declarations.
    pub offset: u64,
    /// The line, from 1 on.
    pub line: u64,
    /// The character in its line, from 1 on.
    pub column: u64,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {} (byte {})", self.line, self.column, self.rule, self.offset)
    }
}

impl std::error::Error for Error {}
