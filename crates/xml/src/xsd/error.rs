//! What was wrong, where, and against which rule of the standard.

use std::fmt;

macro_rules! rules {
    ($(#[$doc:meta])* $type:ident { $($name:ident $id:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $type { $(#[doc = concat!("`", $id, "`: ", $text)] $name,)* }
        impl $type {
            /// Every rule.
            pub const ALL: &[$type] = &[$($type::$name,)*];
            /// Its name in the standard.
            pub fn name(self) -> &'static str {
                match self { $($type::$name => $id,)* }
            }
            /// The rule in words.
            pub fn text(self) -> &'static str {
                match self { $($type::$name => $text,)* }
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}: {}", self.name(), self.text())
            }
        }
    };
}

rules! {
/// The rule that a document breaks, by its name in XML Schema 1.0 (second edition), or a limit of the validator.
Rule {
    CvcElt1 "cvc-elt.1" "no declaration of the element",
    CvcElt2 "cvc-elt.2" "the declaration is abstract",
    CvcElt31 "cvc-elt.3.1" "xsi:nil on an element that is not nillable",
    CvcElt321 "cvc-elt.3.2.1" "a nil element has content",
    CvcElt322 "cvc-elt.3.2.2" "a nil element whose declaration has a fixed value",
    CvcElt41 "cvc-elt.4.1" "xsi:type is not a QName",
    CvcElt42 "cvc-elt.4.2" "xsi:type names no type",
    CvcElt43 "cvc-elt.4.3" "the type of xsi:type is not derived from the declared one, or the derivation is blocked",
    CvcElt511 "cvc-elt.5.1.1" "the default is not valid by the type of xsi:type",
    CvcElt5221 "cvc-elt.5.2.2.1" "an element with a fixed value has child elements",
    CvcElt5222 "cvc-elt.5.2.2.2" "another value than the fixed one",
    CvcType2 "cvc-type.2" "the type is abstract",
    CvcType311 "cvc-type.3.1.1" "attributes on an element of a simple type",
    CvcType312 "cvc-type.3.1.2" "child elements in an element of a simple type",
    CvcComplexType21 "cvc-complex-type.2.1" "content where the type has none",
    CvcComplexType22 "cvc-complex-type.2.2" "child elements where the type has simple content",
    CvcComplexType23 "cvc-complex-type.2.3" "characters between the elements of a type that is not mixed",
    CvcComplexType24 "cvc-complex-type.2.4" "the sequence of child elements is not that of the type",
    CvcComplexType321 "cvc-complex-type.3.2.1" "an attribute that the type does not have",
    CvcComplexType322 "cvc-complex-type.3.2.2" "an attribute that the wildcard of the type does not allow",
    CvcComplexType4 "cvc-complex-type.4" "a required attribute is missing",
    CvcComplexType51 "cvc-complex-type.5.1" "two attributes of type ID by wildcards",
    CvcComplexType52 "cvc-complex-type.5.2" "an attribute of type ID by a wildcard beside one of the type",
    CvcAttribute3 "cvc-attribute.3" "xsi:nil is no boolean",
    CvcAu "cvc-au" "another value than the fixed one of the attribute",
    CvcAssessAttr "cvc-assess-attr" "no declaration of an attribute, which the wildcard requires",
    CvcAssessElt "cvc-assess-elt" "no declaration of an element, which the wildcard requires",
    CvcDatatypeValid121 "cvc-datatype-valid.1.2.1" "not a literal of the type",
    CvcDatatypeValid122 "cvc-datatype-valid.1.2.2" "not a list of literals of the item type",
    CvcDatatypeValid123 "cvc-datatype-valid.1.2.3" "not a literal of any member type",
    CvcPatternValid "cvc-pattern-valid" "the literal does not match the pattern",
    CvcEnumerationValid "cvc-enumeration-valid" "the value is none of the enumeration",
    CvcLengthValid "cvc-length-valid" "another length than length",
    CvcMinLengthValid "cvc-minLength-valid" "shorter than minLength",
    CvcMaxLengthValid "cvc-maxLength-valid" "longer than maxLength",
    CvcMinInclusiveValid "cvc-minInclusive-valid" "less than minInclusive",
    CvcMinExclusiveValid "cvc-minExclusive-valid" "not greater than minExclusive",
    CvcMaxInclusiveValid "cvc-maxInclusive-valid" "greater than maxInclusive",
    CvcMaxExclusiveValid "cvc-maxExclusive-valid" "not less than maxExclusive",
    CvcTotalDigitsValid "cvc-totalDigits-valid" "more digits than totalDigits",
    CvcFractionDigitsValid "cvc-fractionDigits-valid" "more fraction digits than fractionDigits",
    CvcSimpleType2 "cvc-simple-type.2" "not the name of an unparsed entity of the document",
    CvcId1 "cvc-id.1" "no element has the ID that an IDREF refers to",
    CvcId2 "cvc-id.2" "two elements have the same ID",
    CvcIdentityConstraint3 "cvc-identity-constraint.3" "a field selects several nodes, or one without a simple value",
    CvcIdentityConstraint41 "cvc-identity-constraint.4.1" "two selected nodes have the same values of a unique constraint",
    CvcIdentityConstraint421 "cvc-identity-constraint.4.2.1" "a selected node lacks a field of a key",
    CvcIdentityConstraint422 "cvc-identity-constraint.4.2.2" "two selected nodes have the same key",
    CvcIdentityConstraint423 "cvc-identity-constraint.4.2.3" "a field of a key is a nillable element",
    CvcIdentityConstraint43 "cvc-identity-constraint.4.3" "a keyref refers to no key",
    LimitErrors "limit.errors" "more errors than the limit",
    LimitMemory "limit.memory" "more values of IDs, keys or text than the limit",
}}

rules! {
/// The rule that a schema breaks, by its name in XML Schema 1.0, or a limit of the compiler. `s4s` is the schema for schemas.
SchemaRule {
    SrcResolve "src-resolve" "a reference to a component that is not there",
    SrcResolve4 "src-resolve.4" "a reference to a namespace that the document does not import",
    SrcInclude21 "src-include.2.1" "an included document of another target namespace",
    SrcInclude1 "src-include.1" "an included document that cannot be read",
    SrcImport1 "src-import.1" "an import of the own namespace, or of none from a schema without",
    SrcImport31 "src-import.3.1" "an imported document of another target namespace",
    SrcRedefine5 "src-redefine.5" "a redefined type that is not derived from itself",
    SrcRedefine612 "src-redefine.6.1.2" "a redefined group that refers to itself more than once",
    SrcRedefine621 "src-redefine.6.2.1" "a redefined group that is not in the redefined document",
    SchPropsCorrect2 "sch-props-correct.2" "two components of one kind with the same name",
    S4sDocument "s4s-document" "a schema document is not well-formed, or has another root element",
    S4sEltInvalid "s4s-elt-invalid" "an element that the schema for schemas does not allow there",
    S4sEltMissing "s4s-elt-missing" "an element that the schema for schemas requires is missing",
    S4sAttNotAllowed "s4s-att-not-allowed" "an attribute that the schema for schemas does not allow there",
    S4sAttMustAppear "s4s-att-must-appear" "an attribute that the schema for schemas requires is missing",
    S4sAttInvalidValue "s4s-att-invalid-value" "an attribute with a wrong value",
    SrcElement1 "src-element.1" "an element with default and fixed",
    SrcElement21 "src-element.2.1" "an element with both ref and name, or neither",
    SrcElement22 "src-element.2.2" "an element with ref has what only a declaration can have",
    SrcElement3 "src-element.3" "an element with the attribute type and a type within",
    SrcAttribute1 "src-attribute.1" "an attribute with default and fixed",
    SrcAttribute2 "src-attribute.2" "an attribute with a default whose use is not optional",
    SrcAttribute31 "src-attribute.3.1" "an attribute with both ref and name, or neither",
    SrcAttribute32 "src-attribute.3.2" "an attribute with ref has what only a declaration can have",
    SrcAttribute4 "src-attribute.4" "an attribute with the attribute type and a type within",
    SrcSimpleType2 "src-simple-type.2" "a restriction with both a base and a type within, or neither",
    SrcSimpleType3 "src-simple-type.3" "a list with both itemType and a type within, or neither",
    SrcSimpleType4 "src-simple-type.4" "a union without member types",
    SrcSimpleType "src-simple-type" "a base that is not a simple type",
    SrcCt1 "src-ct.1" "complexContent whose base is a simple type",
    SrcCt2 "src-ct.2" "simpleContent whose base does not allow it",
    SrcCt4 "src-ct.4" "a wildcard intersection or union that cannot be expressed",
    SrcMultipleEnumerations "src-multiple-enumerations" "a facet appears twice",
    SrcAttributeGroup3 "src-attribute_group.3" "an attribute group refers to itself",
    NoXmlns "no-xmlns" "an attribute declaration named xmlns",
    NoXsi "no-xsi" "an attribute declaration in the namespace of schema instances",
    APropsCorrect2 "a-props-correct.2" "the default or fixed value of an attribute is not valid",
    APropsCorrect3 "a-props-correct.3" "an attribute of type ID with a default or fixed value",
    AuPropsCorrect2 "au-props-correct.2" "an attribute's use does not have the fixed value of the declaration",
    EPropsCorrect2 "e-props-correct.2" "the default or fixed value of an element is not valid",
    EPropsCorrect3 "e-props-correct.3" "a substitution group affiliation of an element that is not global",
    EPropsCorrect4 "e-props-correct.4" "the type of a member is not derived from that of its head",
    EPropsCorrect5 "e-props-correct.5" "an element of type ID with a default or fixed value",
    EPropsCorrect6 "e-props-correct.6" "a substitution group contains itself",
    StPropsCorrect2 "st-props-correct.2" "a type is derived from itself",
    StPropsCorrect3 "st-props-correct.3" "the base type's final excludes the derivation",
    CosStRestricts1 "cos-st-restricts.1" "an atomic type is derived from one that is not",
    CosStRestricts21 "cos-st-restricts.2.1" "a list of items that are lists",
    CosStRestricts23 "cos-st-restricts.2.3" "a final of an item type or a member type excludes the list or union",
    CosApplicableFacets "cos-applicable-facets" "a facet that the type does not have",
    StRestrictFacets "st-restrict-facets" "a facet with a value that is no restriction, or contradicts another facet",
    LengthMinLengthMaxLength "length-minLength-maxLength" "length beside minLength or maxLength",
    FacetValue "facet-value" "a facet's value is not one of the type",
    EnumerationRequiredNotation "enumeration-required-notation" "NOTATION without an enumeration",
    CtPropsCorrect3 "ct-props-correct.3" "a type is derived from itself",
    CtPropsCorrect4 "ct-props-correct.4" "two uses of the same attribute",
    CtPropsCorrect5 "ct-props-correct.5" "two attributes of type ID",
    CosCtExtends11 "cos-ct-extends.1.1" "the base type's final excludes extension",
    CosCtExtends14 "cos-ct-extends.1.4" "an extension mixes kinds of content",
    DerivationOkRestriction1 "derivation-ok-restriction.1" "the base type's final excludes restriction",
    DerivationOkRestriction21 "derivation-ok-restriction.2.1" "an attribute is less restricted than in the base type",
    DerivationOkRestriction22 "derivation-ok-restriction.2.2" "an attribute that the base type does not have",
    DerivationOkRestriction3 "derivation-ok-restriction.3" "a required attribute of the base type is missing",
    DerivationOkRestriction4 "derivation-ok-restriction.4" "the attribute wildcard is no restriction of the base type's",
    DerivationOkRestriction5 "derivation-ok-restriction.5" "the content is no restriction of the base type's",
    MgPropsCorrect2 "mg-props-correct.2" "a group refers to itself",
    CosAllLimited1 "cos-all-limited.1" "an all group that is not the whole content of a type",
    CosAllLimited2 "cos-all-limited.2" "an element of an all group occurs more than once",
    CosElementConsistent "cos-element-consistent" "elements with the same name and different types",
    CosNonambig "cos-nonambig" "unique particle attribution: a child may belong to two particles",
    PPropsCorrect "p-props-correct" "minOccurs is greater than maxOccurs",
    CFieldsXpaths "c-fields-xpaths" "a field is not an XPath of the subset",
    CSelectorXpath "c-selector-xpath" "a selector is not an XPath of the subset",
    CPropsCorrect1 "c-props-correct.1" "a keyref whose refer is not a key",
    CPropsCorrect2 "c-props-correct.2" "a keyref with another number of fields than its key",
    PatternValue "pattern-value" "not a regular expression of XML Schema",
    NPropsCorrect "n-props-correct" "a notation without public and system identifier",
    LimitComponents "limit.components" "more components, or deeper derivations, than the limit",
    LimitAutomaton "limit.automaton" "a content model with more states than the limit",
    LimitPattern "limit.pattern" "a regular expression that is larger than the limit",
}}

/// One way in which a document is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The rule.
    pub rule: Rule,
    /// The element or attribute: `/gpx/trk[1]/trkpt[7]/@lat`. A position counts the siblings with the same name; `*[n]` counts all
    /// siblings, where a parent has many names.
    pub path: String,
    /// Bytes of the document, in UTF-8, before the tag or text.
    pub offset: u64,
    /// What is wrong with which value.
    pub message: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invalid { rule, path, offset, message } = self;
        write!(f, "{path} (byte {offset}): {}: {message}", rule.name())
    }
}

impl std::error::Error for Invalid {}

/// One fault of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The rule.
    pub rule: SchemaRule,
    /// The location of the schema document as the resolver got it; empty for the root.
    pub location: String,
    /// The line in it, from 1 on.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SchemaError { rule, location, line, message } = self;
        write!(f, "{location}:{line}: {}: {message}", rule.name())
    }
}

impl std::error::Error for SchemaError {}
