//! Cases for productions and constraints, named by the specifications' numbers, each in every way of feeding.

mod events;

use events::{WHOLE, every_way, ours, session};
use lookaside_xml::Rule::{self, *};
use lookaside_xml::{Limits, Session};

fn accepts(documents: &[&str]) {
    for document in documents {
        let (_, result) = every_way(&session(), document.as_bytes());
        assert_eq!(result, Ok(()), "{document}");
    }
}

/// Each with the rule and the byte.
fn refuses(documents: &[(&str, Rule, u64)]) {
    for (document, rule, offset) in documents {
        let (_, result) = every_way(&session(), document.as_bytes());
        let error = result.expect_err(document);
        assert_eq!((error.rule, error.offset), (*rule, *offset), "{document}");
    }
}

fn events_are(document: &str, expected: &str) {
    let (_, result) = every_way(&session(), document.as_bytes());
    assert_eq!(result, Ok(()), "{document}");
    let (lines, _) = ours(&session(), document.as_bytes(), WHOLE, false);
    assert_eq!(lines, expected, "{document}");
}

#[test]
fn production_1_document() {
    accepts(&["<a/>", "<a></a>", " \n<a/>\t", "<!--c--><a/><?p?>", "<?xml version='1.0'?><a/>"]);
    refuses(&[
        ("", UnexpectedEnd, 0),
        ("  ", UnexpectedEnd, 2),
        ("<a>", UnexpectedEnd, 3),
        ("<a/><b/>", Document, 4),
        ("<a/>x", Document, 4),
        ("x<a/>", Document, 0),
        ("</a>", Document, 0),
        ("<a/>&amp;", Document, 4),
        ("<a/><![CDATA[]]>", Document, 4),
    ]);
}

#[test]
fn production_2_char() {
    accepts(&["<a>\u{9}\u{d7ff}\u{e000}\u{fffd}\u{10000}\u{10ffff}\u{7f}\u{80}</a>"]);
    refuses(&[
        ("<a>\u{1}</a>", Char, 3),
        ("<a>\u{fffe}</a>", Char, 3),
        ("<a>\u{ffff}</a>", Char, 3),
        ("<a b='\u{1f}'/>", Char, 6),
        ("<!--\u{b}--><a/>", Char, 4),
        ("<a\u{0}/>", Char, 2),
    ]);
    for bytes in [
        &b"<a>\xff</a>"[..],
        b"<a>\xc0\x80</a>",
        b"<a>\xed\xa0\x80</a>",
        b"<a>\xf4\x90\x80\x80</a>",
        b"<a>\xe2\x82</a>",
    ] {
        let (_, result) = every_way(&session(), bytes);
        let error = result.unwrap_err();
        assert_eq!((error.rule, error.offset), (MalformedEncoding, 3), "{bytes:x?}");
    }
}

#[test]
fn productions_4_and_5_name() {
    accepts(&["<_/>", "<é/>", "<a-.1·/>", "<\u{10000}/>", "<a\u{300}/>"]);
    refuses(&[
        ("<1/>", Name, 1),
        ("<-a/>", Name, 1),
        ("<·/>", Name, 1),
        ("<\u{300}/>", Name, 1),
        ("<a×/>", Name, 2),
        ("<a\u{37e}/>", Name, 2),
        ("< a/>", Content, 1),
        ("<a><></a>", Content, 4),
    ]);
}

#[test]
fn production_10_att_value() {
    events_are("<a b='x\"y' c=\"x'y\"/>", "S a \"b=x\\\"y\" \"c=x'y\"\nE a\n");
    events_are(
        "<a b='1\t2\r\n3\r4\n5&#9;&#xD;&amp;&lt;&quot;'/>",
        "S a \"b=1 2 3 4 5\\t\\r&<\\\"\"\nE a\n",
    );
    refuses(&[
        ("<a b=x/>", AttValue, 5),
        ("<a b='<'/>", NoLessThanInAttributes, 6),
        ("<a b='x></a>", NoLessThanInAttributes, 8),
        ("<a b='&'/>", EntityRef, 7),
        ("<a b='x", UnexpectedEnd, 7),
    ]);
}

#[test]
fn production_14_char_data() {
    events_are("<a>]] > ]>]&gt;</a>", "S a\nT ]] > ]>]>\nE a\n");
    events_are("<a>1\r\n2\r3&#13;4</a>", "S a\nT 1\\n2\\n3\r4\nE a\n");
    refuses(&[("<a>x]]></a>", CharData, 4), ("<a>]]]></a>", CharData, 4)]);
}

#[test]
fn production_15_comment() {
    events_are("<a><!-- x - y\r\n--><!----></a>", "S a\nC  x - y\\n\nC \nE a\n");
    refuses(&[
        ("<a><!-- -- --></a>", Comment, 8),
        ("<a><!-- ---></a>", Comment, 8),
        ("<a><!-></a>", Comment, 6),
        ("<a/><!--", UnexpectedEnd, 8),
    ]);
}

#[test]
fn production_16_pi() {
    events_are("<?p?><a><?q  x?y ? ?></a>", "P p \nS a\nP q x?y ? \nE a\n");
    refuses(&[
        ("<a><?xml version='1.0'?></a>", PiTarget, 5),
        ("<a><?XmL?></a>", PiTarget, 5),
        ("<a><? p?></a>", Pi, 5),
        ("<a><?p!?></a>", Pi, 6),
        (" <?xml version='1.0'?><a/>", PiTarget, 3),
        ("<a/><?p", UnexpectedEnd, 7),
    ]);
}

#[test]
fn production_18_cdata() {
    events_are("<a>x<![CDATA[<&]]]>]]&gt;<![CDATA[]]></a>", "S a\nT x<&]]]>\nE a\n");
    events_are("<a><![CDATA[1\r\n2\r]]></a>", "S a\nT 1\\n2\\n\nE a\n");
    refuses(&[
        ("<a><![CDATA x]]></a>", CdSect, 3),
        ("<a><![cdata[x]]></a>", CdSect, 3),
        ("<a><![CDATA[x]]", UnexpectedEnd, 15),
        ("<a><!ELEMENT a ANY></a>", Content, 3),
    ]);
}

#[test]
fn productions_23_to_32_xml_declaration() {
    accepts(&[
        "<?xml version=\"1.0\"?><a/>",
        "<?xml version = '1.7' encoding = 'UTF-8' standalone = 'no' ?><a/>",
        "<?xml version='1.0' standalone='yes'?><a/>",
        "<?xmlx?><a/>",
    ]);
    refuses(&[
        ("<?xml?><a/>", PiTarget, 2),
        ("<?xml encoding='UTF-8'?><a/>", XmlDecl, 6),
        ("<?xml version='2.0'?><a/>", Version, 15),
        ("<?xml version='1.0' standalone='maybe'?><a/>", Standalone, 32),
        ("<?xml version='1.0' standalone='yes' encoding='UTF-8'?><a/>", XmlDecl, 37),
        ("<?xml version='1.0'encoding='UTF-8'?><a/>", XmlDecl, 19),
        ("<?xml version='1.0' encoding='-'?><a/>", EncodingDecl, 30),
        ("<?xml version='1.0' encoding='none'?><a/>", UnknownEncoding, 37),
        ("<?xml version='1.0' encoding='UTF-16'?><a/>", EncodingMismatch, 39),
    ]);
}

#[test]
fn production_28_doctype() {
    accepts(&[
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a SYSTEM 'x'><a/>",
        "<!DOCTYPE a PUBLIC \"-//X\" 'x' [ ] ><a/>",
        "<!DOCTYPE a[]><a/>",
    ]);
    refuses(&[
        ("<!DOCTYPE><a/>", Space, 9),
        ("<!DOCTYPE a 'x'><a/>", Doctype, 12),
        ("<!DOCTYPE a PUBLIC 'x'><a/>", Space, 22),
        ("<!DOCTYPE a PUBLIC '{' 'x'><a/>", PubidLiteral, 20),
        ("<!DOCTYPE a><!DOCTYPE a><a/>", Document, 12),
        ("<a/><!DOCTYPE a>", Document, 4),
        ("<!DOCTYPE a [ x ]><a/>", MarkupDecl, 14),
        ("<!DOCTYPE a [", UnexpectedEnd, 13),
        ("<!DOCTYPE a [<![INCLUDE[]]>]><a/>", MarkupDecl, 13),
        ("<!doctype a><a/>", Document, 0),
    ]);
}

#[test]
fn productions_39_to_44_elements() {
    events_are("<a ><b\n/></a\t>", "S a\nS b\nE b\nE a\n");
    refuses(&[
        ("<a></b>", ElementTypeMatch, 5),
        ("<a><b></a></b>", ElementTypeMatch, 8),
        ("<a></ab>", ElementTypeMatch, 5),
        ("<ab></a>", ElementTypeMatch, 6),
        ("<a></a b>", EndTag, 7),
        ("<a></a/>", EndTag, 6),
        ("<a/ >", StartTag, 3),
        ("<a b='1'c='2'/>", StartTag, 8),
        ("<a b/>", Attribute, 4),
        ("<a b ='1' b='2'/>", UniqueAttSpec, 10),
        ("<a 'x'/>", StartTag, 3),
    ]);
}

#[test]
fn productions_45_to_51_element_declarations() {
    let wrap = |text: &str| format!("<!DOCTYPE a [<!ELEMENT {text}>]><a/>");
    for fine in [
        "a EMPTY",
        "a ANY",
        "a (#PCDATA)",
        "a (#PCDATA)*",
        "a ( #PCDATA | b |c )*",
        "a (b)",
        "a (b,c?,(d|e+)*)+",
        "a ((b))",
        "a (b|c) ",
    ] {
        accepts(&[&wrap(fine)]);
    }
    for wrong in [
        "a",
        "a empty",
        "a ()",
        "a (b,c|d)",
        "a (#PCDATA|b)",
        "a (#PCDATA,b)*",
        "a (b",
        "a (b,)",
        "a (b) c",
        "a b",
        "a (b ?)",
        "a (b)**",
        "a (#PCDATA)+",
        "a (b|#PCDATA)",
        "1 ANY",
    ] {
        let (_, result) = every_way(&session(), wrap(wrong).as_bytes());
        assert!(result.is_err(), "{wrong}");
    }
}

#[test]
fn productions_52_to_60_attribute_lists() {
    let wrap = |text: &str| format!("<!DOCTYPE a [<!ATTLIST {text}>]><a/>");
    for fine in [
        "a",
        "a b CDATA #IMPLIED",
        "a b ID #REQUIRED c IDREFS #IMPLIED",
        "a b (x|y) 'x'",
        "a b NOTATION (n | m) #IMPLIED",
        "a b NMTOKENS #FIXED ' x  y '",
        "a b ENTITIES #IMPLIED",
        "a b (1|-) '1' ",
    ] {
        accepts(&[&wrap(fine)]);
    }
    for wrong in [
        "",
        "a b",
        "a b CDATA",
        "a b cdata #IMPLIED",
        "a b () 'x'",
        "a b (x,y) 'x'",
        "a b NOTATION(n) #IMPLIED",
        "a b CDATA #FIXED",
        "a b CDATA #FIXED'x'",
        "a b CDATA '<'",
        "a b CDATA #implied",
        "a b CDATA 'x'c CDATA 'y'",
        "a b CDATA '&x;'",
        "a b (x y) 'x'",
    ] {
        let (_, result) = every_way(&session(), wrap(wrong).as_bytes());
        assert!(result.is_err(), "{wrong}");
    }
    events_are(
        "<!DOCTYPE a [<!ATTLIST a b CDATA ' 1  2 ' c NMTOKENS ' 1  2 ' b CDATA 'no'>]><a c='  3   4 '/>",
        "S a \"b= 1  2 \" \"c=3 4\"\nE a\n",
    );
}

#[test]
fn productions_66_to_74_references_and_entities() {
    events_are("<a>&#65;&#x42;&lt;&gt;&amp;&apos;&quot;</a>", "S a\nT AB<>&'\"\nE a\n");
    events_are(
        "<!DOCTYPE a [<!ENTITY e '<b>x&#38;lt;</b>y'>]><a>&e;&e;</a>",
        "S a\nS b\nT x<\nE b\nT y\nS b\nT x<\nE b\nT y\nE a\n",
    );
    // Appendix D.
    events_are(
        "<!DOCTYPE test [<!ELEMENT test (#PCDATA) ><!ENTITY % xx '&#37;zz;'>\
        <!ENTITY % zz '&#60;!ENTITY tricky \"error-prone\" >' >%xx;]><test>This sample shows a &tricky; method.</test>",
        "S test\nT This sample shows a error-prone method.\nE test\n",
    );
    accepts(&[
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'x' NDATA n><!NOTATION n PUBLIC 'p'><!NOTATION m SYSTEM 's'>]><a/>",
        "<!DOCTYPE a SYSTEM 'x'><a>&e;</a>",
        "<!DOCTYPE a [%p;]><a>&e;</a>",
        "<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>]><a>&e;</a>",
    ]);
    refuses(&[
        ("<a>&#0;</a>", LegalCharacter, 3),
        ("<a>&#xd800;</a>", LegalCharacter, 3),
        ("<a>&#99999999999;</a>", LegalCharacter, 3),
        ("<a>&#;</a>", CharRef, 5),
        ("<a>&#X41;</a>", CharRef, 5),
        ("<a>&lt</a>", EntityRef, 6),
        ("<a>& </a>", EntityRef, 4),
        ("<a>&e;</a>", EntityDeclared, 3),
        ("<a b='&e;'/>", EntityDeclared, 6),
        (
            "<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'x'><a>&e;</a>",
            EntityDeclared,
            64,
        ),
        ("<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>", NoRecursion, 38),
        ("<!DOCTYPE a [<!ENTITY e '&f;'><!ENTITY f '&e;'>]><a b='&e;'/>", NoRecursion, 55),
        ("<!DOCTYPE a [<!ENTITY e SYSTEM 'x' NDATA n>]><a>&e;</a>", ParsedEntity, 48),
        ("<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>]><a b='&e;'/>", NoExternalEntityReferences, 43),
        ("<!DOCTYPE a [<!ENTITY e '&#60;'>]><a b='&e;'/>", NoLessThanInAttributes, 40),
        ("<!DOCTYPE a [<!ENTITY e '</a><a>'>]><a>&e;</a>", EntityBalance, 42),
        ("<!DOCTYPE a [<!ENTITY e '<b>'>]><a>&e;</b></a>", EntityBalance, 38),
        ("<!DOCTYPE a [<!ENTITY e '&#38;'>]><a>&e;</a>", EntityBalance, 40),
        ("<!DOCTYPE a [<!ENTITY % p 'x'><!ENTITY e '%p;'>]><a/>", PesInInternalSubset, 42),
        ("<!DOCTYPE a [<!ENTITY % p 'x'><!ELEMENT %p; ANY>]><a/>", PesInInternalSubset, 40),
        ("<!DOCTYPE a [<!ENTITY % p '<!ELEMENT a '>%p; ANY>]><a/>", PeBetweenDeclarations, 41),
        ("<!DOCTYPE a [<!ENTITY e '%'>]><a/>", EntityValue, 25),
        ("<!DOCTYPE a [<!ENTITY e 'x' NDATA n>]><a/>", EntityDecl, 28),
        ("<!DOCTYPE a [<!ENTITY % p SYSTEM 'x' NDATA n>]><a/>", EntityDecl, 37),
        ("<!DOCTYPE a [<!NOTATION n>]><a/>", Space, 25),
        ("<!DOCTYPE a [<!NOTATION n 'x'>]><a/>", NotationDecl, 26),
        ("<!DOCTYPE a [<!ENTITY % p '&#37;p;'>%p;]><a/>", NoRecursion, 36),
    ]);
}

#[test]
fn namespaces() {
    events_are(
        "<a xmlns='u' b='1'><p:c xmlns:p='v' p:d='2'/><e xmlns=''/></a>",
        "S {u}a \"b=1\"\nS {v}c \"{v}d=2\"\nE {v}c\nS e\nE e\nE {u}a\n",
    );
    accepts(&[
        "<a xml:lang='x'/>",
        "<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
        "<a xmlns:p='u' xmlns:q='u' p:x='1' x='2'/>",
        "<a xmlns:p='u' xmlns='u' p:x='1' x='2'/>",
    ]);
    let tag = 0;
    refuses(&[
        ("<p:a/>", NsPrefixDeclared, tag),
        ("<a p:b='1'/>", NsPrefixDeclared, tag),
        ("<a xmlns:p=''/>", NsNoPrefixUndeclaring, tag),
        ("<a xmlns:p='u' xmlns:q='u' p:x='1' q:x='2'/>", NsAttributesUnique, tag),
        ("<a xml:x='1' xml:x='2'/>", UniqueAttSpec, 13),
        ("<a xml:x='1'><b xml:x='1' c='' xml:x='2'/></a>", UniqueAttSpec, 31),
        ("<a xmlns:xml='u'/>", NsReserved, tag),
        ("<a xmlns:xmlns='u'/>", NsReserved, tag),
        ("<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>", NsReserved, tag),
        ("<a xmlns='http://www.w3.org/2000/xmlns/'/>", NsReserved, tag),
        ("<xmlns:a/>", NsReserved, tag),
        ("<a><xmlns:b/></a>", NsReserved, 3),
        ("<a><xmlns:b></xmlns:b></a>", NsReserved, 3),
        ("<a><p:b/></a>", NsPrefixDeclared, 3),
        ("<a><b p:c='1'/></a>", NsPrefixDeclared, 3),
        ("<a><b c='1' c='2'/></a>", UniqueAttSpec, 12),
        ("<a:b:c/>", NsQName, 1),
        ("<:a/>", NsQName, 1),
        ("<a:/>", NsQName, 1),
        ("<a:1/>", NsQName, 1),
        ("<?a:b?><a/>", NsColon, 2),
        ("<!DOCTYPE a [<!ENTITY a:b 'x'>]><a/>", NsColon, 22),
        ("<!DOCTYPE a [<!NOTATION a:b SYSTEM 'x'>]><a/>", NsColon, 24),
    ]);
    for document in ["<p:a/>", "<a:b:c xmlns:p='' p:q='1'/>", "<?a:b?><a/>", "<:/>"] {
        let session = session().namespaces(false);
        let (_, result) = ours(&session, document.as_bytes(), WHOLE, true);
        assert_eq!(result, Ok(()), "{document}");
    }
}

#[test]
fn encodings() {
    let text = "<?xml version='1.0' encoding='X'?><a é='ü'>\r\nß€\u{10000}</a>";
    let expected = "S a \"é=ü\"\nT \\nß€\u{10000}\nE a\n";
    let utf16 = |big: bool, mark: bool, name: &str| -> Vec<u8> {
        let text = text.replace("'X'", name);
        let units =
            text.encode_utf16().flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() });
        let mark: &[u8] = match (mark, big) {
            (false, _) => &[],
            (_, true) => &[0xfe, 0xff],
            (_, false) => &[0xff, 0xfe],
        };
        mark.iter().copied().chain(units).collect()
    };
    for document in [
        utf16(true, true, "'UTF-16'"),
        utf16(false, true, "'utf-16'"),
        utf16(true, false, "'UTF-16BE'"),
        utf16(false, false, "'UTF-16LE'"),
        [b"\xef\xbb\xbf", text.replace("'X'", "'UTF-8'").as_bytes()].concat(),
    ] {
        assert_eq!(every_way(&session(), &document).1, Ok(()));
        assert_eq!(ours(&session(), &document, WHOLE, false), (expected.into(), Ok(())));
    }
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><\xe9 a='\x80'>\xdf</\xe9>";
    assert_eq!(every_way(&session(), latin).1, Ok(()));
    assert_eq!(ours(&session(), latin, WHOLE, false).0, "S é \"a=\\u{80}\"\nT ß\nE é\n");
    let cp1252 = b"<?xml version='1.0' encoding='windows-1252'?><a>\x80</a>";
    assert_eq!(every_way(&session(), cp1252).1, Ok(()));
    assert_eq!(ours(&session(), cp1252, WHOLE, false).0, "S a\nT €\nE a\n");
    let japanese = b"<?xml version='1.0' encoding='Shift_JIS'?><a>\x93\xfa]]</a>x";
    let error = every_way(&session(), japanese).1.unwrap_err();
    assert_eq!((error.rule, error.offset), (Document, japanese.len() as u64 - 1));
    let ascii = b"<?xml version='1.0' encoding='US-ASCII'?><a>\xc3\xa9</a>";
    let error = every_way(&session(), ascii).1.unwrap_err();
    assert_eq!((error.rule, error.offset), (MalformedEncoding, 44));
    // Positions are those of the document.
    let mut wrong = utf16(true, true, "'UTF-16'");
    let at = wrong.len() as u64;
    wrong.extend([0, b'x']);
    let error = every_way(&session(), &wrong).1.unwrap_err();
    assert_eq!((error.rule, error.offset), (Document, at));
    let mut half = utf16(true, true, "'UTF-16'");
    let at = half.len() as u64;
    half.extend([0xd8, 0, 0, b'x']);
    let error = every_way(&session(), &half).1.unwrap_err();
    assert_eq!((error.rule, error.offset), (MalformedEncoding, at));
    let forced = session().encoding("ISO-8859-1");
    assert_eq!(ours(&forced, b"<a>\xe9</a>", WHOLE, false).0, "S a\nT é\nE a\n");
}

#[test]
fn lines_and_columns() {
    for (document, line, column) in
        [("<a>\n é&x;</a>", 2, 3), ("<a>\r\n\r&x;</a>", 3, 1), ("<a\n\n  b=x/>", 3, 5), ("&", 1, 1)]
    {
        let error = every_way(&session(), document.as_bytes()).1.unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{document:?}");
    }
}

#[test]
fn limits() {
    let usual = Limits::default();
    let with = |limits: Limits| Session::new(lookaside_simd::Cpu::host()).limits(limits);
    let bomb = {
        let mut text = String::from("<!DOCTYPE a [<!ENTITY e0 'lolololololololol'>");
        for n in 1..12 {
            let before = format!("&e{};", n - 1).repeat(10);
            text += &format!("<!ENTITY e{n} '{before}'>");
        }
        text
    };
    let square = format!(
        "<!DOCTYPE a [<!ENTITY e '{}'>]><a>{}</a>",
        "x".repeat(60_000),
        "&e;".repeat(20_000)
    );
    let cases = [
        (usual, format!("{bomb}]><a>&e11;</a>"), LimitAmplification),
        (usual, format!("{bomb}]><a b='&e11;'/>"), LimitAmplification),
        (Limits { amplification: u64::MAX, ..usual }, square.clone(), LimitExpansion),
        (usual, square, LimitAmplification),
        (usual, "<a>".repeat(10_000), LimitDepth),
        (
            Limits { memory: 100_000, ..usual },
            format!("<a b='{}'/>", "x".repeat(200_000)),
            LimitMemory,
        ),
        (Limits { memory: 100_000, ..usual }, format!("<!--{}", "x".repeat(200_000)), LimitMemory),
        (usual, format!("<{}/>", "x".repeat(60_000)), LimitName),
        (
            usual,
            format!(
                "<a {}/>",
                (0..11_000).map(|n| format!("a{n}=''")).collect::<Vec<_>>().join(" ")
            ),
            LimitAttributes,
        ),
        (
            usual,
            format!("<!DOCTYPE a [<!ELEMENT a {}b{}>]><a/>", "(".repeat(9000), ")".repeat(9000)),
            LimitDepth,
        ),
    ];
    for (limits, document, rule) in cases {
        let document = document.as_bytes();
        let cuts: Vec<usize> = (0..document.len()).step_by(1000).collect();
        let feeding = events::Feeding { cuts: &cuts, records: 100 };
        let (_, result) = ours(&with(limits), document, feeding, false);
        assert_eq!(result.map_err(|error| error.rule), Err(rule));
    }
    // Entities within each other, each level of the stack's depth.
    let mut nested = String::from("<!DOCTYPE a [<!ENTITY e0 'x'>");
    for n in 1..3000 {
        nested += &format!("<!ENTITY e{n} '&e{};'>", n - 1);
    }
    let (_, result) =
        ours(&session(), format!("{nested}]><a b='&e2999;'/>").as_bytes(), WHOLE, false);
    assert_eq!(result.map_err(|error| error.rule), Err(LimitDepth));
    let (_, result) =
        ours(&session(), format!("{nested}]><a>&e2999;</a>").as_bytes(), WHOLE, false);
    assert_eq!(result, Ok(()));
}

/// A token that arrives byte by byte is looked at once: 8 MB of `>` in a value take no quadratic time.
#[test]
fn long_tokens_in_small_chunks() {
    for (before, byte, after) in
        [("<a b='", ">", "'/>"), ("<!--", "-", ""), ("<a><![CDATA[", "]", "]]></a>")]
    {
        let text = format!("{before}{}{after}", byte.repeat(2_000_000));
        let cuts: Vec<usize> = (0..text.len()).step_by(7).collect();
        let feeding = events::Feeding { cuts: &cuts, records: 16 };
        let (_, result) = ours(&session(), text.as_bytes(), feeding, false);
        assert_eq!(result.is_ok(), byte != "-", "{before}");
    }
}

#[test]
fn a_parser_is_used_again() {
    let session = session();
    let mut parser = lookaside_xml::Parser::new(&session);
    let documents = [
        "<!DOCTYPE a [<!ENTITY e 'x'><!ATTLIST a b CDATA 'd'>]><a xmlns='u'>&e;</a>",
        "<a/>",
        "<a>&e;</a>",
        "<p:a/>",
        "<a xmlns:p='v'><p:b>",
        "<p:a/>",
    ];
    for document in documents {
        parser.reset();
        let again = events::ours_with(&mut parser, document.as_bytes(), WHOLE, true);
        assert_eq!(again, ours(&session, document.as_bytes(), WHOLE, true), "{document}");
    }
}
