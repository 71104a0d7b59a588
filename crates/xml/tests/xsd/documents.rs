//! Whole documents: GPX 1.1 and orders; paths, places and limits; what hostile schemas and documents cost.

use lookaside_simd::Cpu;
use lookaside_xml::Session;
use lookaside_xml::xsd::{Limits, Rule, Schema, SchemaRule, Stream};

use crate::{check_whole, compile, invalid, schema_text, valid, validate};

const GPX: &str = include_str!("../data/gpx11.xsd");

fn track(points: &str) -> String {
    format!(
        "<?xml version='1.0'?>\n<gpx xmlns='http://www.topografix.com/GPX/1/1' version='1.1' creator='x'>\n<metadata><time>2010-10-04T05:13:19Z</time>
        <bounds minlat='45.3' minlon='14.0' maxlat='45.4' maxlon='14.2'/></metadata>\n<trk><name>n</name><trkseg>\n{points}\n</trkseg></trk></gpx>"
    )
}

#[test]
fn gpx() {
    let point = "<trkpt lat='45.380600095' lon='14.144491442'><ele>733.6</ele><time>2010-10-03T12:35:25.5Z</time><fix>3d</fix>
        <extensions><a xmlns='urn:a'><b/></a></extensions></trkpt>";
    check_whole(
        GPX,
        &[
            valid(&track(point)),
            valid(&track("")),
            invalid(&track("<trkpt lat='90.1' lon='0'/>"), "cvc-maxInclusive-valid"),
            invalid(&track("<trkpt lat='90' lon='180'/>"), "cvc-maxExclusive-valid"),
            invalid(&track("<trkpt lat='90'/>"), "cvc-complex-type.4"),
            invalid(
                &track("<trkpt lat='1' lon='2'><time>x</time></trkpt>"),
                "cvc-datatype-valid.1.2.1",
            ),
            invalid(
                &track(
                    "<trkpt lat='1' lon='2'><time>2010-10-03T12:35:25Z</time><ele>1</ele></trkpt>",
                ),
                "cvc-complex-type.2.4",
            ),
            invalid(
                &track("<trkpt lat='1' lon='2'><fix>4d</fix></trkpt>"),
                "cvc-enumeration-valid",
            ),
            invalid(
                &track("<trkpt lat='1' lon='2'><extensions><ele>1</ele></extensions></trkpt>"),
                "cvc-complex-type.2.4",
            ),
            invalid(&track(point).replace("version='1.1'", "version='1.0'"), "cvc-au"),
        ],
    );
}

#[test]
fn paths_and_places() {
    let schema = compile(GPX);
    let document = track(
        "<trkpt lat='1' lon='2'/>\n<trkpt lat='x' lon='2'/>\n<trkpt lat='1' lon='2'><ele/></trkpt>\n<trkpt lon='1'/>",
    );
    let errors = validate(&schema, &document);
    let found: Vec<(Rule, &str)> = errors.iter().map(|it| (it.rule, &*it.path)).collect();
    assert_eq!(
        found,
        [
            (Rule::CvcDatatypeValid121, "/gpx/trk[1]/trkseg[1]/trkpt[2]/@lat"),
            (Rule::CvcDatatypeValid121, "/gpx/trk[1]/trkseg[1]/trkpt[3]/ele[1]"),
            (Rule::CvcComplexType4, "/gpx/trk[1]/trkseg[1]/trkpt[4]"),
        ]
    );
    assert!(document[errors[0].offset as usize..].starts_with("<trkpt lat='x'"));
    assert!(document[errors[1].offset as usize..].starts_with("<ele/>"));
    // Many names of siblings: positions among all.
    let any = schema_text("<xs:element name='e'><xs:complexType><xs:sequence><xs:any processContents='lax' maxOccurs='unbounded'/>
        </xs:sequence></xs:complexType></xs:element><xs:element name='i' type='xs:int'/>");
    let names: String = (0..40).map(|n| format!("<n{n}/>")).collect();
    let errors = validate(&compile(&any), &format!("<e>{names}<i>x</i></e>"));
    assert_eq!(errors[0].path, "/e/*[41]");
}

#[test]
fn one_error_does_not_hide_others() {
    let text = schema_text(
        "<xs:element name='e'><xs:complexType><xs:sequence><xs:element name='a' type='xs:int'/>
        <xs:element name='b' type='xs:int'/></xs:sequence></xs:complexType></xs:element>",
    );
    let errors = validate(&compile(&text), "<e><b>x</b><a>y</a><c>z</c></e>");
    let rules: Vec<&str> = errors.iter().map(|it| it.rule.name()).collect();
    assert_eq!(
        rules,
        ["cvc-complex-type.2.4", "cvc-datatype-valid.1.2.1", "cvc-datatype-valid.1.2.1"]
    );
}

#[test]
fn limits_are_named() {
    let schema = compile(&schema_text(
        "<xs:element name='e'><xs:complexType><xs:sequence><xs:element name='i' type='xs:ID'
        maxOccurs='unbounded'/></xs:sequence></xs:complexType></xs:element>",
    ));
    let stream = |limits| Stream::new(&Session::new(Cpu::host()), &schema).limits(limits);
    let wrong = format!("<e>{}</e>", "<i>1</i>".repeat(50));
    let mut few = stream(Limits { errors: 10, ..Limits::default() });
    few.feed(wrong.as_bytes(), true).unwrap();
    assert_eq!((few.errors().len(), few.errors()[9].rule), (10, Rule::LimitErrors));
    let ids: String = (0..50).map(|n| format!("<i>n{n}</i>")).collect();
    let mut small = stream(Limits { memory: 1000, ..Limits::default() });
    small.feed(format!("<e>{ids}</e>").as_bytes(), true).unwrap();
    assert_eq!(small.errors()[0].rule, Rule::LimitMemory);
    let mut long = stream(Limits { memory: 1000, ..Limits::default() });
    long.feed(format!("<e><i>{}</i></e>", "a".repeat(2000)).as_bytes(), true).unwrap();
    assert_eq!(long.errors()[0].rule, Rule::LimitMemory);
}

#[test]
fn hostile_schemas_end_soon() {
    let refused =
        |text: &str| Schema::compile(text.as_bytes(), |_, _| None).map(|_| ()).unwrap_err()[0].rule;
    // Groups that refer twice to the next one.
    let mut groups = String::new();
    for n in 0..60 {
        groups += &format!(
            "<xs:group name='g{n}'><xs:sequence><xs:group ref='g{0}'/><xs:group ref='g{0}'/></xs:sequence></xs:group>",
            n + 1
        );
    }
    let root =
        "<xs:element name='e'><xs:complexType><xs:group ref='g0'/></xs:complexType></xs:element>";
    for last in ["<xs:element name='a'/>", ""] {
        let text = schema_text(&format!(
            "{groups}<xs:group name='g60'><xs:sequence>{last}</xs:sequence></xs:group>{root}"
        ));
        assert_eq!(refused(&text), SchemaRule::LimitAutomaton);
    }
    // A chain of derivations.
    let mut chain =
        "<xs:simpleType name='t0'><xs:restriction base='xs:int'/></xs:simpleType>".to_owned();
    for n in 1..5000 {
        chain.insert_str(
            0,
            &format!(
                "<xs:simpleType name='t{n}'><xs:restriction base='t{}'/></xs:simpleType>",
                n - 1
            ),
        );
    }
    assert_eq!(refused(&schema_text(&chain)), SchemaRule::LimitComponents);
    // Elements within each other.
    let deep = "<xs:sequence>".repeat(5000) + &"</xs:sequence>".repeat(5000);
    assert_eq!(
        refused(&schema_text(&format!("<xs:complexType name='t'>{deep}</xs:complexType>"))),
        SchemaRule::S4sDocument
    );
    // Bounds of bounds of nothing, and of something.
    let bounds = |inner: &str| {
        let (mut text, many) = (inner.to_owned(), "minOccurs='0' maxOccurs='4000000000'");
        for _ in 0..20 {
            text = format!("<xs:sequence {many}>{text}</xs:sequence>");
        }
        schema_text(&format!(
            "<xs:element name='e'><xs:complexType>{text}</xs:complexType></xs:element>"
        ))
    };
    let nothing = compile(&bounds("<xs:sequence/>"));
    assert!(validate(&nothing, "<e/>").is_empty());
    assert_eq!(refused(&bounds("<xs:element name='a'/>")), SchemaRule::LimitAutomaton);
    let empty_choice = compile(&bounds("<xs:choice/>"));
    assert!(validate(&empty_choice, "<e/>").is_empty());
    // Substitution groups, unions and lists without end.
    let union = "<xs:simpleType name='t'><xs:union memberTypes='t'/></xs:simpleType>";
    assert_eq!(refused(&schema_text(union)), SchemaRule::StPropsCorrect2);
    // Documents that include each other.
    let text = schema_text("<xs:include schemaLocation='a/x.xsd'/>");
    let errors = Schema::compile(text.as_bytes(), |_, location| {
        Some(format!("{text}<!-- {location} -->").into_bytes())
    });
    assert_eq!(errors.unwrap_err()[0].rule, SchemaRule::LimitComponents);
}

#[test]
fn a_document_may_be_deep_and_wide() {
    let text = schema_text("<xs:element name='e'><xs:complexType><xs:sequence><xs:any processContents='lax' minOccurs='0'
        maxOccurs='unbounded'/></xs:sequence></xs:complexType><xs:unique name='u'><xs:selector xpath='.//*'/><xs:field xpath='@a'/>
        </xs:unique></xs:element>");
    let schema = compile(&text);
    let deep = "<e>".repeat(1000) + &"</e>".repeat(1000);
    assert!(validate(&schema, &deep).is_empty());
    let wide: String = (0..20_000).map(|n| format!("<n{n} a='{n}'/>")).collect();
    assert!(validate(&schema, &format!("<e>{wide}</e>")).is_empty());
}
