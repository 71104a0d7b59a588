//! Schemas: what is refused, by which rule; includes, imports, redefinitions.

use std::collections::HashMap;
use std::sync::Arc;

use lookaside_xml::xsd::{Schema, SchemaError};

use crate::{LIBXML2, schema_text, validate};

fn errors(text: &str) -> Vec<SchemaError> {
    Schema::compile(text.as_bytes(), |_, _| None).err().unwrap_or_default()
}

/// Components, and the rule that they break. `true`: libxml2 refuses them as well; else it does not look at that rule.
#[rustfmt::skip]
const REFUSED: &[(&str, &str, bool)] = &[
    ("<xs:element name='e' type='t'/>", "src-resolve", true),
    ("<xs:element name='e' type='q:t'/>", "s4s-att-invalid-value", true),
    ("<xs:element name='e' type='u:t' xmlns:u='urn:u'/>", "src-resolve.4", true),
    ("<xs:element name='e'/><xs:element name='e'/>", "sch-props-correct.2", true),
    ("<xs:element/>", "s4s-att-must-appear", true),
    ("<xs:element name='e' foo=''/>", "s4s-att-not-allowed", true),
    ("<xs:foo/>", "s4s-elt-invalid", true),
    ("<xs:element name='e'><xs:sequence/></xs:element>", "s4s-elt-invalid", true),
    ("<xs:element name='1'/>", "s4s-att-invalid-value", true),
    ("<xs:simpleType name='s'/>", "s4s-elt-missing", true),
    ("<xs:element name='e' default='1' fixed='1'/>", "src-element.1", true),
    ("<xs:element name='e' type='xs:int'><xs:simpleType><xs:list itemType='xs:int'/></xs:simpleType></xs:element>", "src-element.3", true),
    ("<xs:complexType name='t'><xs:sequence><xs:element/></xs:sequence></xs:complexType>", "src-element.2.1", true),
    ("<xs:element name='g'/><xs:complexType name='t'><xs:sequence><xs:element ref='g' type='xs:int'/></xs:sequence></xs:complexType>", "src-element.2.2", true),
    ("<xs:element name='e' type='xs:int' default='x'/>", "e-props-correct.2", true),
    ("<xs:attribute name='a' type='xs:int' default='x'/>", "a-props-correct.2", true),
    ("<xs:attribute name='a' type='xs:ID' default='x'/>", "a-props-correct.3", true),
    ("<xs:attribute name='a' default='1' fixed='1'/>", "src-attribute.1", true),
    ("<xs:complexType name='t'><xs:attribute name='a' use='required' default='1'/></xs:complexType>", "src-attribute.2", true),
    ("<xs:complexType name='t'><xs:attribute name='a'/><xs:attribute name='a'/></xs:complexType>", "ct-props-correct.4", true),
    ("<xs:complexType name='t'><xs:attribute name='a' type='xs:ID'/><xs:attribute name='b' type='xs:ID'/></xs:complexType>", "ct-props-correct.5", true),
    ("<xs:attribute name='xmlns'/>", "no-xmlns", true),
    ("<xs:element name='e' substitutionGroup='f' type='xs:string'/><xs:element name='f' type='xs:int'/>", "e-props-correct.4", true),
    ("<xs:element name='e' substitutionGroup='f'/><xs:element name='f' substitutionGroup='e'/>", "e-props-correct.6", true),
    ("<xs:complexType name='t'><xs:complexContent><xs:extension base='t'/></xs:complexContent></xs:complexType>", "ct-props-correct.3", true),
    ("<xs:simpleType name='t'><xs:restriction base='t'/></xs:simpleType>", "st-props-correct.2", true),
    ("<xs:group name='g'><xs:sequence><xs:group ref='g'/></xs:sequence></xs:group>", "mg-props-correct.2", true),
    ("<xs:attributeGroup name='g'><xs:attributeGroup ref='g'/></xs:attributeGroup>", "src-attribute_group.3", true),
    ("<xs:complexType name='t'><xs:sequence><xs:any minOccurs='2'/></xs:sequence></xs:complexType>", "p-props-correct", true),
    ("<xs:complexType name='t'><xs:sequence><xs:element name='a' minOccurs='0'/><xs:element name='a'/></xs:sequence></xs:complexType>", "cos-nonambig", true),
    ("<xs:complexType name='t'><xs:choice><xs:element name='a'/><xs:any/></xs:choice></xs:complexType>", "cos-nonambig", true),
    ("<xs:complexType name='t'><xs:sequence><xs:any minOccurs='0'/><xs:any/></xs:sequence></xs:complexType>", "cos-nonambig", true),
    ("<xs:complexType name='t'><xs:sequence><xs:element name='a' maxOccurs='3000' minOccurs='2'/><xs:element name='a'/></xs:sequence></xs:complexType>", "cos-nonambig", false),
    ("<xs:element name='h'/><xs:element name='m' substitutionGroup='h'/><xs:complexType name='t'><xs:choice><xs:element ref='h'/><xs:element ref='m'/></xs:choice></xs:complexType>", "cos-nonambig", true),
    ("<xs:complexType name='t'><xs:sequence><xs:element name='a'/><xs:element name='b'/><xs:element name='a' type='xs:int'/></xs:sequence></xs:complexType>", "cos-element-consistent", false),
    ("<xs:complexType name='t'><xs:sequence><xs:all/></xs:sequence></xs:complexType>", "s4s-elt-invalid", true),
    ("<xs:group name='g'><xs:all><xs:element name='a'/></xs:all></xs:group><xs:complexType name='t'><xs:sequence><xs:group ref='g'/></xs:sequence></xs:complexType>", "cos-all-limited.1", true),
    ("<xs:complexType name='t'><xs:all><xs:element name='a' maxOccurs='2'/></xs:all></xs:complexType>", "cos-all-limited.2", true),
    ("<xs:complexType name='b'><xs:sequence><xs:element name='a'/></xs:sequence></xs:complexType><xs:complexType name='t'><xs:complexContent mixed='true'><xs:extension base='b'><xs:sequence><xs:element name='c'/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>", "cos-ct-extends.1.4", true),
    ("<xs:complexType name='b' final='extension'/><xs:complexType name='t'><xs:complexContent><xs:extension base='b'/></xs:complexContent></xs:complexType>", "cos-ct-extends.1.1", true),
    ("<xs:complexType name='b' final='#all'/><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'/></xs:complexContent></xs:complexType>", "derivation-ok-restriction.1", true),
    ("<xs:complexType name='t'><xs:complexContent><xs:extension base='xs:int'/></xs:complexContent></xs:complexType>", "src-ct.1", true),
    ("<xs:complexType name='b'/><xs:complexType name='t'><xs:simpleContent><xs:extension base='b'/></xs:simpleContent></xs:complexType>", "src-ct.2", true),
    ("<xs:complexType name='b'><xs:attribute name='a' use='required'/></xs:complexType><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'><xs:attribute name='a'/></xs:restriction></xs:complexContent></xs:complexType>", "derivation-ok-restriction.2.1", true),
    ("<xs:complexType name='b'/><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'><xs:attribute name='a'/></xs:restriction></xs:complexContent></xs:complexType>", "derivation-ok-restriction.2.2", true),
    ("<xs:complexType name='b'><xs:attribute name='a' use='required'/></xs:complexType><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'><xs:attribute name='a' use='prohibited'/></xs:restriction></xs:complexContent></xs:complexType>", "derivation-ok-restriction.3", true),
    ("<xs:complexType name='b'/><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'><xs:anyAttribute/></xs:restriction></xs:complexContent></xs:complexType>", "derivation-ok-restriction.4", true),
    ("<xs:complexType name='b'><xs:sequence><xs:element name='a'/></xs:sequence></xs:complexType><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'><xs:sequence><xs:element name='a' minOccurs='0'/></xs:sequence></xs:restriction></xs:complexContent></xs:complexType>", "derivation-ok-restriction.5", false),
    ("<xs:complexType name='b'><xs:sequence><xs:element name='a' type='xs:int'/></xs:sequence></xs:complexType><xs:complexType name='t'><xs:complexContent><xs:restriction base='b'><xs:sequence><xs:element name='a' type='xs:string'/></xs:sequence></xs:restriction></xs:complexContent></xs:complexType>", "derivation-ok-restriction.5", false),
    ("<xs:simpleType name='t'><xs:restriction base='xs:int'><xs:length value='1'/></xs:restriction></xs:simpleType>", "cos-applicable-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:string'><xs:minInclusive value='1'/></xs:restriction></xs:simpleType>", "cos-applicable-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:boolean'><xs:enumeration value='true'/></xs:restriction></xs:simpleType>", "cos-applicable-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:int'><xs:maxInclusive value='x'/></xs:restriction></xs:simpleType>", "facet-value", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:int'><xs:enumeration value='1.5'/></xs:restriction></xs:simpleType>", "facet-value", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:int'><xs:minInclusive value='5'/><xs:maxInclusive value='4'/></xs:restriction></xs:simpleType>", "st-restrict-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:byte'><xs:maxInclusive value='200'/></xs:restriction></xs:simpleType>", "st-restrict-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:int'><xs:minInclusive value='5'/><xs:minExclusive value='4'/></xs:restriction></xs:simpleType>", "st-restrict-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:string'><xs:minLength value='5'/><xs:maxLength value='4'/></xs:restriction></xs:simpleType>", "st-restrict-facets", false),
    ("<xs:simpleType name='t'><xs:restriction base='xs:string'><xs:length value='5'/><xs:maxLength value='6'/></xs:restriction></xs:simpleType>", "length-minLength-maxLength", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:string'><xs:length value='5'/><xs:length value='5'/></xs:restriction></xs:simpleType>", "src-multiple-enumerations", false),
    ("<xs:simpleType name='t'><xs:restriction base='xs:decimal'><xs:totalDigits value='2'/><xs:fractionDigits value='3'/></xs:restriction></xs:simpleType>", "st-restrict-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:token'><xs:whiteSpace value='preserve'/></xs:restriction></xs:simpleType>", "st-restrict-facets", false),
    ("<xs:simpleType name='s'><xs:restriction base='xs:string'><xs:maxLength value='4' fixed='true'/></xs:restriction></xs:simpleType><xs:simpleType name='t'><xs:restriction base='s'><xs:maxLength value='3'/></xs:restriction></xs:simpleType>", "st-restrict-facets", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:string'><xs:pattern value='('/></xs:restriction></xs:simpleType>", "pattern-value", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:string'><xs:pattern value='((a{1000}){1000}){1000}'/></xs:restriction></xs:simpleType>", "limit.pattern", false),
    ("<xs:simpleType name='t'><xs:restriction base='xs:int'><xs:simpleType><xs:list itemType='xs:int'/></xs:simpleType></xs:restriction></xs:simpleType>", "src-simple-type.2", true),
    ("<xs:simpleType name='t'><xs:list/></xs:simpleType>", "src-simple-type.3", true),
    ("<xs:simpleType name='t'><xs:list itemType='xs:NMTOKENS'/></xs:simpleType>", "cos-st-restricts.2.1", true),
    ("<xs:simpleType name='t'><xs:union/></xs:simpleType>", "src-simple-type.4", true),
    ("<xs:simpleType name='t'><xs:restriction base='xs:anySimpleType'/></xs:simpleType>", "cos-st-restricts.1", true),
    ("<xs:simpleType name='s' final='restriction'><xs:restriction base='xs:int'/></xs:simpleType><xs:simpleType name='t'><xs:restriction base='s'/></xs:simpleType>", "st-props-correct.3", true),
    ("<xs:simpleType name='s' final='list'><xs:restriction base='xs:int'/></xs:simpleType><xs:simpleType name='t'><xs:list itemType='s'/></xs:simpleType>", "cos-st-restricts.2.3", true),
    ("<xs:element name='e' type='xs:NOTATION'/>", "enumeration-required-notation", false),
    ("<xs:element name='e'><xs:key name='k'><xs:selector xpath='a[1]'/><xs:field xpath='@b'/></xs:key></xs:element>", "c-selector-xpath", true),
    ("<xs:element name='e'><xs:key name='k'><xs:selector xpath='@a'/><xs:field xpath='@b'/></xs:key></xs:element>", "c-selector-xpath", true),
    ("<xs:element name='e'><xs:key name='k'><xs:selector xpath='a'/><xs:field xpath='@b/c'/></xs:key></xs:element>", "c-fields-xpaths", false),
    ("<xs:element name='e'><xs:keyref name='k' refer='l'><xs:selector xpath='a'/><xs:field xpath='@b'/></xs:keyref></xs:element>", "c-props-correct.1", true),
    ("<xs:element name='e'><xs:key name='l'><xs:selector xpath='a'/><xs:field xpath='@b'/></xs:key><xs:keyref name='k' refer='l'><xs:selector xpath='a'/><xs:field xpath='@b'/><xs:field xpath='@c'/></xs:keyref></xs:element>", "c-props-correct.2", true),
    ("<xs:import/>", "src-import.1", true),
    ("<xs:include schemaLocation='nowhere'/>", "src-include.1", true),
];

#[test]
fn refused_schemas() {
    let mut different = Vec::new();
    for (components, rule, also_there) in REFUSED {
        let text = schema_text(components);
        let found = errors(&text);
        let names: Vec<&str> = found.iter().map(|it| it.rule.name()).collect();
        assert_eq!(names.first(), Some(rule), "{components}\n{found:?}");
        if let Some(library) = &*LIBXML2
            && library.schema(&text).is_none() != *also_there
        {
            different.push(components);
        }
    }
    assert!(different.is_empty(), "libxml2 differs: {different:#?}");
}

#[test]
fn places_of_errors() {
    let text = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>\n<xs:annotation><xs:documentation><x>\n</x></xs:documentation>
        </xs:annotation>\n<xs:element name='e' type='t'/>\n</xs:schema>";
    assert_eq!((errors(text)[0].line, errors(text).len()), (5, 1));
    assert_eq!(errors("<a>")[0].rule.name(), "s4s-document");
    assert_eq!(errors("<a/>")[0].rule.name(), "s4s-document");
}

/// Schema documents by location; the first one is the root. Also compiled by libxml2, from files.
struct Documents<'a>(&'a [(&'a str, &'a str)]);

impl Documents<'_> {
    fn compile(&self) -> Result<Arc<Schema>, Vec<SchemaError>> {
        let all: HashMap<&str, &str> = self.0.iter().copied().collect();
        let resolve = |_: &str, location: &str| all.get(location).map(|it| it.as_bytes().to_vec());
        Schema::compile(self.0[0].1.as_bytes(), resolve).map(Arc::new)
    }

    fn check(&self, name: &str, documents: &[(&str, bool)]) {
        let schema = self.compile().unwrap_or_else(|e| panic!("{e:?}"));
        let folder =
            std::env::temp_dir().join(format!("lookaside-xsd-{}-{name}", std::process::id()));
        for (location, text) in self.0 {
            let path = folder.join(location);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let theirs =
            LIBXML2.as_ref().map(|it| it.schema_file(&folder.join(self.0[0].0)).expect("libxml2"));
        for (document, is_valid) in documents {
            let errors = validate(&schema, document);
            assert_eq!(errors.is_empty(), *is_valid, "{document} {errors:?}");
            if let Some(theirs) = &theirs {
                let parsed = LIBXML2.as_ref().and_then(|it| it.parse(document)).unwrap();
                assert_eq!(theirs.is_valid(&parsed), *is_valid, "libxml2: {document}");
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

fn schema(attributes: &str, components: &str) -> String {
    format!(
        "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' {attributes}>{components}</xs:schema>"
    )
}

#[test]
fn includes() {
    let root = schema(
        "targetNamespace='urn:t' xmlns='urn:t'",
        "<xs:include schemaLocation='sub/a.xsd'/><xs:include schemaLocation='b.xsd'/><xs:element name='e' type='T'/>",
    );
    // No target namespace: it takes that of who includes it.
    let a = schema(
        "",
        "<xs:include schemaLocation='../b.xsd'/><xs:complexType name='T'><xs:sequence><xs:element name='x' type='U'/></xs:sequence></xs:complexType>",
    );
    let b = schema(
        "targetNamespace='urn:t'",
        "<xs:include schemaLocation='root.xsd'/><xs:simpleType name='U'><xs:restriction base='xs:int'/></xs:simpleType>",
    );
    Documents(&[("root.xsd", &root), ("sub/a.xsd", &a), ("b.xsd", &b)]).check(
        "include",
        &[
            ("<e xmlns='urn:t'><x xmlns=''>1</x></e>", true),
            ("<e xmlns='urn:t'><x xmlns=''>a</x></e>", false),
        ],
    );
    let wrong = schema("targetNamespace='urn:u'", "");
    let errors = Documents(&[
        ("root.xsd", &schema("", "<xs:include schemaLocation='w.xsd'/>")),
        ("w.xsd", &wrong),
    ])
    .compile();
    assert_eq!(errors.unwrap_err()[0].rule.name(), "src-include.2.1");
}

#[test]
fn imports() {
    let root = schema(
        "targetNamespace='urn:t' xmlns='urn:t' xmlns:u='urn:u'",
        "<xs:import namespace='urn:u' schemaLocation='u.xsd'/><xs:import namespace='http://www.w3.org/XML/1998/namespace'/>
        <xs:element name='e'><xs:complexType><xs:sequence><xs:element ref='u:x'/><xs:element name='y' type='u:T'/></xs:sequence>
        </xs:complexType></xs:element>",
    );
    let u = schema(
        "targetNamespace='urn:u'",
        "<xs:element name='x' type='xs:int'/><xs:simpleType name='T'><xs:restriction base='xs:token'><xs:length value='1'/></xs:restriction></xs:simpleType>",
    );
    Documents(&[("root.xsd", &root), ("u.xsd", &u)]).check(
        "import",
        &[
            ("<t:e xmlns:t='urn:t'><x xmlns='urn:u'>1</x><y>a</y></t:e>", true),
            ("<t:e xmlns:t='urn:t'><x xmlns='urn:u'>a</x><y>a</y></t:e>", false),
            ("<t:e xmlns:t='urn:t'><x xmlns='urn:u'>1</x><y>ab</y></t:e>", false),
            ("<x xmlns='urn:u'>1</x>", true),
        ],
    );
    let xml = schema("", "<xs:import namespace='http://www.w3.org/XML/1998/namespace'/><xs:element name='e'><xs:complexType>
        <xs:attribute ref='xml:lang'/></xs:complexType></xs:element>");
    let schema = Documents(&[("root.xsd", &xml)]).compile().unwrap();
    assert!(
        validate(&schema, "<e xml:lang='en'/>").is_empty()
            && !validate(&schema, "<e xml:lang='1'/>").is_empty()
    );
}

#[test]
fn redefinitions() {
    let root = schema(
        "",
        "<xs:redefine schemaLocation='b.xsd'><xs:complexType name='T'><xs:complexContent><xs:extension base='T'><xs:sequence>
        <xs:element name='y'/></xs:sequence></xs:extension></xs:complexContent></xs:complexType>
        <xs:simpleType name='S'><xs:restriction base='S'><xs:maxInclusive value='9'/></xs:restriction></xs:simpleType>
        <xs:attributeGroup name='A'><xs:attributeGroup ref='A'/><xs:attribute name='b'/></xs:attributeGroup>
        <xs:group name='G'><xs:sequence><xs:group ref='G'/><xs:element name='h'/></xs:sequence></xs:group></xs:redefine>",
    );
    let b = schema(
        "",
        "<xs:complexType name='T'><xs:sequence><xs:element name='x' type='S'/><xs:group ref='G'/></xs:sequence><xs:attributeGroup ref='A'/>
        </xs:complexType><xs:simpleType name='S'><xs:restriction base='xs:int'/></xs:simpleType>
        <xs:attributeGroup name='A'><xs:attribute name='a'/></xs:attributeGroup>
        <xs:group name='G'><xs:sequence><xs:element name='g'/></xs:sequence></xs:group><xs:element name='e' type='T'/>",
    );
    Documents(&[("root.xsd", &root), ("b.xsd", &b)]).check(
        "redefine",
        &[
            ("<e a='' b=''><x>9</x><g/><h/><y/></e>", true),
            ("<e><x>10</x><g/><h/><y/></e>", false),
            ("<e><x>9</x><g/><h/></e>", false),
            ("<e><x>9</x><g/><y/></e>", false),
            ("<e c=''><x>9</x><g/><h/><y/></e>", false),
        ],
    );
}
