//! Every construct of complex types and content models.

use crate::{check, check_whole, invalid, valid};

const SPACE: &str = "Datatypes, 4.3.6: white space around xs:int is collapsed";
const CONTENT: &str = "cvc-complex-type.2.4";

fn element(content: &str) -> String {
    format!(
        "<xs:element name='e'><xs:complexType>{content}</xs:complexType></xs:element>
        <xs:element name='g'/><xs:element name='h' type='xs:int'/>"
    )
}

#[test]
fn sequences_choices_and_bounds() {
    let sequence = element(
        "<xs:sequence><xs:element name='a'/><xs:element name='b' minOccurs='0'/><xs:element name='c' maxOccurs='2'/></xs:sequence>",
    );
    check(
        &sequence,
        &[
            valid("<e><a/><b/><c/></e>"),
            valid("<e> <a/> <c/> <c/> </e>"),
            invalid("<e><b/><c/></e>", CONTENT),
            invalid("<e><a/><b/></e>", CONTENT),
            invalid("<e><a/><c/><c/><c/></e>", CONTENT),
            invalid("<e/>", CONTENT),
            invalid("<e><a/>x<c/></e>", "cvc-complex-type.2.3"),
            invalid("<f/>", "cvc-elt.1"),
        ],
    );
    let choice = element(
        "<xs:choice maxOccurs='unbounded'><xs:element name='a'/><xs:sequence><xs:element name='b'/><xs:element name='c'/></xs:sequence></xs:choice>",
    );
    check(
        &choice,
        &[
            valid("<e><a/><b/><c/><a/></e>"),
            invalid("<e><a/><b/></e>", CONTENT),
            invalid("<e><c/></e>", CONTENT),
            invalid("<e/>", CONTENT),
        ],
    );
    let bounds = element(
        "<xs:sequence minOccurs='2' maxOccurs='3'><xs:element name='a'/><xs:element name='b' minOccurs='0'/></xs:sequence>",
    );
    check(
        &bounds,
        &[
            valid("<e><a/><a/></e>"),
            valid("<e><a/><b/><a/><a/><b/></e>"),
            invalid("<e><a/></e>", CONTENT),
            invalid("<e><a/><a/><a/><a/></e>", CONTENT),
        ],
    );
    // Copies of one particle do not compete.
    let optional = element(
        "<xs:sequence minOccurs='0' maxOccurs='3'><xs:element name='a' minOccurs='0'/></xs:sequence>",
    );
    check(
        &optional,
        &[valid("<e/>"), valid("<e><a/><a/><a/></e>"), invalid("<e><a/><a/><a/><a/></e>", CONTENT)],
    );
    // (a{2,3}){2}: four, five or six.
    let nested = element(
        "<xs:sequence minOccurs='2' maxOccurs='2'><xs:element name='a' minOccurs='2' maxOccurs='3'/></xs:sequence>",
    );
    for (count, is_valid) in [(3, false), (4, true), (5, true), (6, true), (7, false)] {
        let document = format!("<e>{}</e>", "<a/>".repeat(count));
        check(&nested, &[if is_valid { valid(&document) } else { invalid(&document, CONTENT) }]);
    }
    let none = element(
        "<xs:sequence><xs:element name='a' minOccurs='0' maxOccurs='0'/><xs:element name='b'/></xs:sequence>",
    );
    check(&none, &[valid("<e><b/></e>"), invalid("<e><a/><b/></e>", CONTENT)]);
    check(&element("<xs:choice/>"), &[invalid("<e/>", CONTENT)]);
    check(
        &element("<xs:choice minOccurs='0'/>"),
        &[valid("<e/>"), invalid("<e><a/></e>", "cvc-complex-type.2.1")],
    );
}

#[test]
fn large_bounds_are_counters() {
    let large = element(
        "<xs:sequence><xs:sequence minOccurs='2' maxOccurs='5000'><xs:element name='a'/><xs:element name='b' minOccurs='0' maxOccurs='3000'/>
        </xs:sequence><xs:element name='c' minOccurs='1500' maxOccurs='unbounded'/></xs:sequence>",
    );
    let schema = crate::compile(&crate::schema_text(&large));
    let verdict = |a: usize, b: usize, c: usize| {
        let document =
            format!("<e>{}{}</e>", format!("<a/>{}", "<b/>".repeat(b)).repeat(a), "<c/>".repeat(c));
        crate::validate(&schema, &document).is_empty()
    };
    assert!(verdict(2, 0, 1500) && verdict(2, 3000, 2000) && verdict(5000, 0, 1501));
    assert!(
        !verdict(1, 0, 1500)
            && !verdict(5001, 0, 1500)
            && !verdict(2, 3001, 1500)
            && !verdict(2, 1, 1499)
    );
    let exact = element(
        "<xs:sequence><xs:element name='a' minOccurs='2000' maxOccurs='2000'/><xs:element name='a'/></xs:sequence>",
    );
    let schema = crate::compile(&crate::schema_text(&exact));
    for count in [2000, 2001, 2002] {
        let document = format!("<e>{}</e>", "<a/>".repeat(count));
        assert_eq!(crate::validate(&schema, &document).is_empty(), count == 2001, "{count}");
    }
}

#[test]
fn all_groups() {
    let all = element(
        "<xs:all><xs:element name='a'/><xs:element name='b' minOccurs='0'/><xs:element name='c' type='xs:int'/></xs:all>",
    );
    check(
        &all,
        &[
            valid("<e><a/><b/><c>1</c></e>"),
            valid("<e><c>1</c><a/></e>"),
            invalid("<e><a/><b/></e>", CONTENT),
            invalid("<e><a/><c>1</c><a/></e>", CONTENT),
            invalid("<e><a/><c>x</c></e>", "cvc-datatype-valid.1.2.1"),
            invalid("<e/>", CONTENT),
        ],
    );
    let optional =
        element("<xs:all minOccurs='0'><xs:element name='a'/><xs:element name='b'/></xs:all>");
    check(&optional, &[valid("<e/>"), valid("<e><b/><a/></e>"), invalid("<e><b/></e>", CONTENT)]);
    let mut members = String::new();
    for n in 0..70 {
        members += &format!("<xs:element name='m{n}' minOccurs='{}'/>", u8::from(n == 69));
    }
    let schema =
        crate::compile(&crate::schema_text(&element(&format!("<xs:all>{members}</xs:all>"))));
    assert!(crate::validate(&schema, "<e><m69/><m0/><m33/></e>").is_empty());
    assert!(!crate::validate(&schema, "<e><m0/><m33/></e>").is_empty());
    assert!(!crate::validate(&schema, "<e><m69/><m65/><m65/></e>").is_empty());
}

#[test]
fn content_types() {
    check(
        &element(""),
        &[
            valid("<e/>"),
            valid("<e><!-- x --></e>"),
            invalid("<e> </e>", "cvc-complex-type.2.1"),
            invalid("<e><a/></e>", "cvc-complex-type.2.1"),
            invalid("<e>x</e>", "cvc-complex-type.2.1"),
        ],
    );
    let mixed = "<xs:element name='e'><xs:complexType mixed='true'><xs:sequence><xs:element name='a' minOccurs='0'/></xs:sequence>
        </xs:complexType></xs:element>";
    check(mixed, &[valid("<e>x<a/>y</e>"), valid("<e/>"), invalid("<e>x<b/></e>", CONTENT)]);
    let simple = "<xs:element name='e'><xs:complexType><xs:simpleContent><xs:extension base='xs:int'><xs:attribute name='u'/>
        </xs:extension></xs:simpleContent></xs:complexType></xs:element>";
    check(
        simple,
        &[
            valid("<e u='x'> 5 </e>").differs(SPACE),
            invalid("<e>a</e>", "cvc-datatype-valid.1.2.1"),
            invalid("<e>1<a/></e>", "cvc-complex-type.2.2"),
            invalid("<e v='1'>1</e>", "cvc-complex-type.3.2.1"),
        ],
    );
    check(
        "<xs:element name='e' type='xs:int'/>",
        &[
            valid("<e>1</e>"),
            valid(
                "<e xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='a b'>1</e>",
            ),
            invalid("<e a='1'>1</e>", "cvc-type.3.1.1"),
            invalid("<e><a/></e>", "cvc-type.3.1.2"),
            invalid("<e/>", "cvc-datatype-valid.1.2.1"),
        ],
    );
    check("<xs:element name='e'/>", &[valid("<e a='1'>x<b c='2'/></e>")]);
}

#[test]
fn attributes() {
    let uses = element(
        "<xs:attribute name='r' type='xs:int' use='required'/><xs:attribute name='o'/><xs:attribute name='d' default='x'/>
        <xs:attribute name='f' type='xs:decimal' fixed='1.0'/><xs:attribute name='p' use='prohibited'/>",
    );
    check(
        &uses,
        &[
            valid("<e r='1' o='' d='y' f='1.00'/>"),
            valid("<e r=' 1 '/>").differs(SPACE),
            invalid("<e/>", "cvc-complex-type.4"),
            invalid("<e r='x'/>", "cvc-datatype-valid.1.2.1"),
            invalid("<e r='1' f='2'/>", "cvc-au"),
            invalid("<e r='1' p='2'/>", "cvc-complex-type.3.2.1"),
            invalid("<e r='1' q='2'/>", "cvc-complex-type.3.2.1"),
        ],
    );
    let group = "<xs:attributeGroup name='g'><xs:attribute name='a' use='required'/><xs:attributeGroup ref='h'/></xs:attributeGroup>
        <xs:attributeGroup name='h'><xs:attribute name='b' type='xs:boolean'/><xs:attribute ref='c'/></xs:attributeGroup>
        <xs:attribute name='c' type='xs:int'/>
        <xs:element name='e'><xs:complexType><xs:attributeGroup ref='g'/></xs:complexType></xs:element>";
    check(
        group,
        &[
            valid("<e a='' b='true' c='1'/>"),
            invalid("<e b='true'/>", "cvc-complex-type.4"),
            invalid("<e a='' b='x'/>", "cvc-datatype-valid.1.2.1"),
            invalid("<e a='' c='x'/>", "cvc-datatype-valid.1.2.1"),
        ],
    );
    let mut many = String::new();
    for n in 0..80 {
        many += &format!(
            "<xs:attribute name='a{n}' use='{}'/>",
            if n == 79 { "required" } else { "optional" }
        );
    }
    let schema = crate::compile(&crate::schema_text(&element(&many)));
    assert!(crate::validate(&schema, "<e a79='' a3=''/>").is_empty());
    assert_eq!(crate::validate(&schema, "<e a78=''/>")[0].rule.name(), "cvc-complex-type.4");
}

#[test]
fn wildcards() {
    let wild = |namespace: &str, process: &str| {
        format!(
            "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' targetNamespace='urn:t'><xs:element name='e'><xs:complexType>
            <xs:sequence><xs:any namespace='{namespace}' processContents='{process}' minOccurs='0'/></xs:sequence>
            <xs:anyAttribute namespace='{namespace}' processContents='{process}'/></xs:complexType></xs:element>
            <xs:element name='i' type='xs:int'/><xs:attribute name='i' type='xs:int'/></xs:schema>"
        )
    };
    let within = |name: &str, content: &str| {
        format!(
            "<t:e xmlns:t='urn:t' xmlns:u='urn:u'><{name} xmlns:t='urn:t'>{content}</{name}></t:e>"
        )
    };
    let attribute = |name: &str| format!("<t:e xmlns:t='urn:t' xmlns:u='urn:u' {name}='x'/>");
    // Namespaces: any, other, local, target, listed.
    for (namespace, allowed) in [
        ("##any", "u: t: -"),
        ("##other", "u:"),
        ("##local", "-"),
        ("##targetNamespace", "t:"),
        ("urn:u ##local", "u: -"),
    ] {
        let schema = wild(namespace, "skip");
        for (prefix, name) in [("u:", "u:a"), ("t:", "t:a"), ("-", "a")] {
            let is_allowed = allowed.split(' ').any(|it| it == prefix);
            let document = within(name, "<x/>");
            check_whole(
                &schema,
                &[if is_allowed { valid(&document) } else { invalid(&document, CONTENT) }],
            );
            let document = attribute(name);
            let rule = "cvc-complex-type.3.2.2";
            check_whole(
                &schema,
                &[if is_allowed { valid(&document) } else { invalid(&document, rule) }],
            );
        }
    }
    // What is declared, and what is not.
    let number = "cvc-datatype-valid.1.2.1";
    for (process, of_declared, of_undeclared) in [
        ("strict", Some(number), Some("cvc-assess-elt")),
        ("lax", Some(number), None),
        ("skip", None, None),
    ] {
        let schema = wild("##any", process);
        let of = |document: &str, rule: Option<&str>| {
            check_whole(&schema, &[rule.map_or(valid(document), |rule| invalid(document, rule))]);
        };
        of(&within("t:i", "1"), None);
        of(&within("t:i", "x"), of_declared);
        of(&within("t:a", "x"), of_undeclared);
        of(&attribute("t:i"), of_declared);
        of(&attribute("t:a"), of_undeclared.map(|_| "cvc-assess-attr"));
        // Below what is not declared, declarations count again.
        let below = within("u:a", "<t:i>x</t:i>");
        of(
            &below,
            match process {
                "strict" => Some("cvc-assess-elt"),
                "lax" => Some(number),
                _ => None,
            },
        );
    }
}

#[test]
fn groups_and_references() {
    let group = "<xs:group name='g'><xs:sequence><xs:element ref='a'/><xs:element name='b' type='xs:int'/></xs:sequence></xs:group>
        <xs:element name='a' type='xs:boolean'/>
        <xs:element name='e'><xs:complexType><xs:sequence><xs:group ref='g' maxOccurs='2'/><xs:element ref='e' minOccurs='0'/>
        </xs:sequence></xs:complexType></xs:element>";
    check(
        group,
        &[
            valid("<e><a>1</a><b>2</b></e>"),
            valid("<e><a>1</a><b>2</b><a>0</a><b>3</b><e><a>1</a><b>2</b></e></e>"),
            invalid("<e><a>2</a><b>2</b></e>", "cvc-datatype-valid.1.2.1"),
            invalid("<e><a>1</a></e>", CONTENT),
            valid("<a>true</a>"),
            invalid("<b>1</b>", "cvc-elt.1"),
        ],
    );
}

#[test]
fn derivations() {
    let types = "<xs:complexType name='base'><xs:sequence><xs:element name='a' type='xs:string'/></xs:sequence>
        <xs:attribute name='x'/></xs:complexType>
        <xs:complexType name='more'><xs:complexContent><xs:extension base='base'><xs:sequence><xs:element name='b'/></xs:sequence>
        <xs:attribute name='y' use='required'/></xs:extension></xs:complexContent></xs:complexType>
        <xs:complexType name='less'><xs:complexContent><xs:restriction base='base'><xs:sequence>
        <xs:element name='a' type='xs:token'/></xs:sequence><xs:attribute name='x' use='prohibited'/></xs:restriction>
        </xs:complexContent></xs:complexType>
        <xs:complexType name='number'><xs:simpleContent><xs:extension base='xs:int'><xs:attribute name='u' use='required'/>
        </xs:extension></xs:simpleContent></xs:complexType>
        <xs:complexType name='small'><xs:simpleContent><xs:restriction base='number'><xs:maxInclusive value='9'/>
        <xs:attribute name='u' type='xs:int' use='required'/></xs:restriction></xs:simpleContent></xs:complexType>
        <xs:element name='base' type='base'/><xs:element name='more' type='more'/><xs:element name='less' type='less'/>
        <xs:element name='small' type='small'/>";
    check(
        types,
        &[
            valid("<base x=''><a/></base>"),
            valid("<more x='' y=''><a/><b/></more>"),
            invalid("<more x=''><a/><b/></more>", "cvc-complex-type.4"),
            invalid("<more y=''><a/></more>", CONTENT),
            invalid("<more y=''><b/><a/></more>", CONTENT),
            valid("<less><a/></less>"),
            invalid("<less x=''><a/></less>", "cvc-complex-type.3.2.1"),
            valid("<small u='1'>9</small>"),
            invalid("<small u='1'>10</small>", "cvc-maxInclusive-valid"),
            invalid("<small u='x'>1</small>", "cvc-datatype-valid.1.2.1"),
            invalid("<small u='1'>x</small>", "cvc-datatype-valid.1.2.1"),
        ],
    );
    // Extension of nothing, and by nothing; of mixed content.
    let empty = "<xs:complexType name='n'/><xs:element name='e'><xs:complexType><xs:complexContent><xs:extension base='n'>
        <xs:sequence><xs:element name='a'/></xs:sequence></xs:extension></xs:complexContent></xs:complexType></xs:element>
        <xs:element name='f'><xs:complexType><xs:complexContent><xs:extension base='m'/></xs:complexContent></xs:complexType></xs:element>
        <xs:complexType name='m' mixed='true'><xs:sequence><xs:element name='a'/></xs:sequence></xs:complexType>
        <xs:element name='g'><xs:complexType><xs:complexContent mixed='true'><xs:extension base='m'><xs:sequence>
        <xs:element name='b'/></xs:sequence></xs:extension></xs:complexContent></xs:complexType></xs:element>";
    check(
        empty,
        &[
            valid("<e><a/></e>"),
            invalid("<e/>", CONTENT),
            valid("<f>x<a/></f>"),
            valid("<g>x<a/>y<b/></g>"),
            invalid("<g>x<a/>y</g>", CONTENT),
        ],
    );
}

const INSTANCE: &str = "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xmlns:xs='http://www.w3.org/2001/XMLSchema'";

fn instance(document: &str) -> String {
    let name = document.find([' ', '>', '/']).unwrap();
    format!("{} {INSTANCE}{}", &document[..name], &document[name..])
}

/// Documents whose root declares the prefixes of schema instances.
fn check_instances(components: &str, cases: &[(&str, Option<&str>)]) {
    for (document, rule) in cases {
        let document = instance(document);
        check(components, &[rule.map_or(valid(&document), |rule| invalid(&document, rule))]);
    }
}

#[test]
fn types_of_instances() {
    let types = "<xs:complexType name='base'><xs:sequence><xs:element name='a' minOccurs='0'/></xs:sequence></xs:complexType>
        <xs:complexType name='more'><xs:complexContent><xs:extension base='base'><xs:sequence><xs:element name='b'/></xs:sequence>
        </xs:extension></xs:complexContent></xs:complexType>
        <xs:complexType name='less'><xs:complexContent><xs:restriction base='base'/></xs:complexContent></xs:complexType>
        <xs:complexType name='none' abstract='true'><xs:complexContent><xs:extension base='base'/></xs:complexContent></xs:complexType>
        <xs:element name='e' type='base'/><xs:element name='n' type='none'/>
        <xs:element name='x' type='base' block='extension'/><xs:element name='r' type='base' block='#all'/>
        <xs:element name='i' type='xs:integer'/><xs:element name='any'/>";
    check_instances(
        types,
        &[
            ("<e><a/></e>", None),
            ("<e xsi:type='more'><a/><b/></e>", None),
            ("<e xsi:type='more'><a/></e>", Some(CONTENT)),
            ("<e xsi:type='less'/>", None),
            ("<e xsi:type='less'><a/></e>", Some("cvc-complex-type.2.1")),
            ("<e xsi:type='nothing'/>", Some("cvc-elt.4.2")),
            ("<e xsi:type='p:more'/>", Some("cvc-elt.4.1")),
            ("<e xsi:type='xs:int'>1</e>", Some("cvc-elt.4.3")),
            ("<e xsi:type='none'/>", Some("cvc-type.2")),
            ("<n/>", Some("cvc-type.2")),
            ("<x xsi:type='more'><b/></x>", Some("cvc-elt.4.3")),
            ("<x xsi:type='less'/>", None),
            ("<r xsi:type='less'/>", Some("cvc-elt.4.3")),
            ("<i xsi:type='xs:byte'>127</i>", None),
            ("<i xsi:type='xs:byte'>128</i>", Some("cvc-maxInclusive-valid")),
            ("<i xsi:type='xs:string'>1</i>", Some("cvc-elt.4.3")),
            ("<any xsi:type='xs:int'>1</any>", None),
            ("<any xsi:type='xs:int'>x</any>", Some("cvc-datatype-valid.1.2.1")),
        ],
    );
    let undeclared = instance("<other xsi:type='more'><b/></other>");
    let why = "3.3.4, Schema-Validity Assessment (Element) 1.2: a type is enough";
    check(types, &[valid(&undeclared).differs(why)]);
}

#[test]
fn nil() {
    let types = "<xs:element name='e' type='xs:int' nillable='true'/><xs:element name='f' type='xs:int'/>
        <xs:element name='g' nillable='true'><xs:complexType><xs:sequence><xs:element name='a'/></xs:sequence>
        <xs:attribute name='r' use='required'/></xs:complexType></xs:element>
        <xs:element name='h' type='xs:int' nillable='true' fixed='1'/>";
    check_instances(
        types,
        &[
            ("<e xsi:nil='true'/>", None),
            ("<e xsi:nil='1'></e>", None),
            ("<e xsi:nil='false'>1</e>", None),
            ("<e xsi:nil='false'/>", Some("cvc-datatype-valid.1.2.1")),
            ("<e xsi:nil='true'>1</e>", Some("cvc-elt.3.2.1")),
            ("<e xsi:nil='x'>1</e>", Some("cvc-attribute.3")),
            ("<f xsi:nil='true'/>", Some("cvc-elt.3.1")),
            ("<g xsi:nil='true' r=''/>", None),
            ("<g xsi:nil='true'/>", Some("cvc-complex-type.4")),
            ("<g xsi:nil='true' r=''><a/></g>", Some("cvc-elt.3.2.1")),
            ("<g r=''/>", Some(CONTENT)),
            ("<h xsi:nil='true'/>", Some("cvc-elt.3.2.2")),
        ],
    );
}

#[test]
fn values_of_elements() {
    let types = "<xs:element name='d' type='xs:int' default='5'/><xs:element name='f' type='xs:decimal' fixed='1.0'/>
        <xs:element name='m' fixed='x'><xs:complexType mixed='true'><xs:sequence><xs:element name='a' minOccurs='0'/></xs:sequence>
        </xs:complexType></xs:element>";
    check(
        types,
        &[
            valid("<d/>"),
            valid("<d>7</d>"),
            invalid("<d>x</d>", "cvc-datatype-valid.1.2.1"),
            valid("<f/>"),
            valid("<f>1.00</f>")
                .differs("3.3.4, Element Locally Valid (Element) 5.2.2.2.2: values are compared"),
            invalid("<f>2</f>", "cvc-elt.5.2.2.2"),
            valid("<m>x</m>"),
            valid("<m/>"),
            invalid("<m>y</m>", "cvc-elt.5.2.2.2"),
            invalid("<m>x<a/></m>", "cvc-elt.5.2.2.1")
                .differs("3.3.4, Element Locally Valid (Element) 5.2.2.1"),
        ],
    );
    check_instances(
        "<xs:element name='d' type='xs:int' default='500'/>",
        &[("<d xsi:type='xs:short'/>", None), ("<d xsi:type='xs:byte'/>", Some("cvc-elt.5.1.1"))],
    );
}

#[test]
fn substitution_groups() {
    let types = "<xs:element name='head' type='xs:decimal'/><xs:element name='same' substitutionGroup='head'/>
        <xs:element name='int' type='xs:int' substitutionGroup='head'/>
        <xs:element name='far' type='xs:byte' substitutionGroup='int'/>
        <xs:element name='none' abstract='true'/><xs:element name='some' substitutionGroup='none' type='xs:int'/>
        <xs:element name='closed' type='xs:decimal' block='substitution'/>
        <xs:element name='late' substitutionGroup='closed'/>
        <xs:element name='exact' type='xs:decimal' block='restriction'/>
        <xs:element name='inexact' type='xs:int' substitutionGroup='exact'/><xs:element name='alike' substitutionGroup='exact'/>
        <xs:element name='e'><xs:complexType><xs:choice><xs:element ref='head' maxOccurs='2'/><xs:element ref='none'/>
        <xs:element ref='closed'/><xs:element ref='exact'/></xs:choice></xs:complexType></xs:element>";
    check(
        types,
        &[
            valid("<e><head>1.5</head></e>"),
            valid("<e><same>1.5</same><int>1</int></e>"),
            valid("<e><far>1</far></e>"),
            invalid("<e><int>1.5</int></e>", "cvc-datatype-valid.1.2.1"),
            invalid("<e><far>128</far></e>", "cvc-maxInclusive-valid"),
            valid("<e><some>1</some></e>"),
            invalid("<e><none/></e>", "cvc-elt.2"),
            invalid("<e><late>1</late></e>", CONTENT),
            valid("<e><alike>1</alike></e>"),
            invalid("<e><inexact>1</inexact></e>", CONTENT)
                .differs("3.3.6, Substitution Group OK (Transitive): the head blocks restriction"),
            invalid("<none/>", "cvc-elt.2"),
        ],
    );
}

#[test]
fn namespaces_of_declarations() {
    let schema = |form: &str| {
        format!(
            "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns='urn:t' targetNamespace='urn:t' {form}>
            <xs:element name='e'><xs:complexType><xs:sequence><xs:element name='a'/><xs:element name='q' form='qualified'/>
            <xs:element name='u' form='unqualified'/></xs:sequence><xs:attribute name='x'/><xs:attribute name='y' form='qualified'/>
            <xs:attribute ref='z'/></xs:complexType></xs:element><xs:attribute name='z'/></xs:schema>"
        )
    };
    check_whole(
        &schema(""),
        &[
            valid("<t:e xmlns:t='urn:t' x='' t:y='' t:z=''><a/><t:q/><u/></t:e>"),
            invalid("<t:e xmlns:t='urn:t'><t:a/><t:q/><u/></t:e>", CONTENT),
            invalid("<t:e xmlns:t='urn:t' y=''><a/><t:q/><u/></t:e>", "cvc-complex-type.3.2.1"),
            invalid("<t:e xmlns:t='urn:t' t:x=''><a/><t:q/><u/></t:e>", "cvc-complex-type.3.2.1"),
            invalid("<e><a/></e>", "cvc-elt.1"),
        ],
    );
    check_whole(
        &schema("elementFormDefault='qualified' attributeFormDefault='qualified'"),
        &[
            valid("<e xmlns='urn:t' xmlns:t='urn:t' t:x='' t:y=''><a/><q/><u xmlns=''/></e>"),
            invalid("<e xmlns='urn:t' x=''><a/><q/><u xmlns=''/></e>", "cvc-complex-type.3.2.1"),
            invalid("<e xmlns='urn:t'><a xmlns=''/><q/></e>", CONTENT),
        ],
    );
}

#[test]
fn ids_and_references() {
    let types = "<xs:element name='e'><xs:complexType><xs:sequence><xs:element name='i' minOccurs='0' maxOccurs='unbounded'>
        <xs:complexType><xs:attribute name='id' type='xs:ID'/><xs:attribute name='ref' type='xs:IDREF'/>
        <xs:attribute name='refs' type='xs:IDREFS'/></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element>";
    check(
        types,
        &[
            valid("<e><i id='a' refs='b a'/><i id='b' ref='a'/></e>"),
            invalid("<e><i id='a'/><i id='a'/></e>", "cvc-id.2"),
            invalid("<e><i ref='a'/></e>", "cvc-id.1")
                .differs("3.3.4, Validation Root Valid: it looks at no references"),
            invalid("<e><i id='a' refs='a c'/></e>", "cvc-id.1")
                .differs("3.3.4, Validation Root Valid: it looks at no references"),
        ],
    );
    let entity = "<xs:element name='e' type='xs:ENTITY'/>";
    let declared =
        "<!DOCTYPE e [<!NOTATION n SYSTEM 'n'><!ENTITY x SYSTEM 'x' NDATA n><!ENTITY y 'y'>]>";
    check(
        entity,
        &[
            valid(&format!("{declared}<e>x</e>"))
                .differs("3.14.4: the entity is declared, and unparsed"),
            invalid(&format!("{declared}<e>y</e>"), "cvc-simple-type.2"),
            invalid("<e>x</e>", "cvc-simple-type.2"),
        ],
    );
    let notation = "<xs:notation name='n' public='n'/><xs:element name='e'><xs:simpleType><xs:restriction base='xs:NOTATION'>
        <xs:enumeration value='n'/></xs:restriction></xs:simpleType></xs:element>";
    check(notation, &[valid("<e>n</e>"), invalid("<e>m</e>", "cvc-enumeration-valid")]);
}
