//! Identity constraints.

use crate::{check, check_whole, invalid, valid};

const UNIQUE: &str = "cvc-identity-constraint.4.1";
const MISSING: &str = "cvc-identity-constraint.4.2.1";
const SAME_KEY: &str = "cvc-identity-constraint.4.2.2";
const REFERENCE: &str = "cvc-identity-constraint.4.3";

/// `e` has `i` and `r`, which have attributes, and `i` a child `n`, an integer, and further `i`.
fn schema(constraints: &str) -> String {
    format!(
        "<xs:element name='e'><xs:complexType><xs:choice minOccurs='0' maxOccurs='unbounded'><xs:element ref='i'/>
        <xs:element name='r'><xs:complexType><xs:attribute name='x'/><xs:attribute name='y'/></xs:complexType></xs:element>
        </xs:choice></xs:complexType>{constraints}</xs:element>
        <xs:element name='i'><xs:complexType><xs:sequence><xs:element name='n' type='xs:decimal' minOccurs='0' maxOccurs='2'/>
        <xs:element ref='i' minOccurs='0' maxOccurs='unbounded'/></xs:sequence><xs:attribute name='a'/><xs:attribute name='b'/>
        <xs:attribute name='d' default='0'/></xs:complexType></xs:element>"
    )
}

#[test]
fn unique() {
    let one =
        schema("<xs:unique name='u'><xs:selector xpath='i'/><xs:field xpath='@a'/></xs:unique>");
    check(
        &one,
        &[
            valid("<e><i a='1'/><i a='2'/><i/><i/></e>"),
            invalid("<e><i a='1'/><i/><i a='1'/></e>", UNIQUE),
            valid("<e><i a='1'><i a='1'/></i></e>"),
            valid("<e><i a='1'/><r x='1'/></e>"),
        ],
    );
    let two = schema(
        "<xs:unique name='u'><xs:selector xpath='.//i'/><xs:field xpath='@a'/><xs:field xpath='n'/></xs:unique>",
    );
    check(
        &two,
        &[
            valid("<e><i a='1'><n>1</n></i><i a='1'><n>2</n></i><i a='2'><n>1</n></i></e>"),
            invalid("<e><i a='1'><n>1</n><i a='1'><n>1.0</n></i></i></e>", UNIQUE),
            valid("<e><i a='1'/><i a='1'/></e>"),
            invalid("<e><i a='1'><n>1</n><n>2</n></i></e>", "cvc-identity-constraint.3"),
        ],
    );
    let of_default =
        schema("<xs:unique name='u'><xs:selector xpath='i'/><xs:field xpath='@d'/></xs:unique>");
    check(
        &of_default,
        &[
            valid("<e><i/><i d='1'/></e>"),
            invalid("<e><i/><i d='0'/></e>", UNIQUE),
            invalid("<e><i/><i/></e>", UNIQUE),
        ],
    );
    let alternatives = schema(
        "<xs:unique name='u'><xs:selector xpath='i | r'/><xs:field xpath='@a|@x'/></xs:unique>",
    );
    check(
        &alternatives,
        &[valid("<e><i a='1'/><r x='2'/></e>"), invalid("<e><i a='1'/><r x='1'/></e>", UNIQUE)],
    );
    let of_itself =
        schema("<xs:unique name='u'><xs:selector xpath='i/n'/><xs:field xpath='.'/></xs:unique>");
    check(
        &of_itself,
        &[
            valid("<e><i><n>1</n><n>2</n></i></e>"),
            invalid("<e><i><n>1</n></i><i><n>1.00</n></i></e>", UNIQUE),
        ],
    );
    let deep =
        schema("<xs:unique name='u'><xs:selector xpath='i'/><xs:field xpath='.//n'/></xs:unique>");
    check(
        &deep,
        &[
            valid("<e><i><i><n>1</n></i></i><i><n>2</n></i></e>"),
            invalid("<e><i><i><n>1</n></i></i><i><n>1</n></i></e>", UNIQUE),
            invalid("<e><i><n>1</n><i><n>2</n></i></i></e>", "cvc-identity-constraint.3"),
        ],
    );
    let any = schema(
        "<xs:unique name='u'><xs:selector xpath='*/child::*'/><xs:field xpath='attribute::x'/></xs:unique>",
    );
    check(&any, &[valid("<e><i><i a='1'/><i a='1'/></i></e>")]);
}

#[test]
fn keys() {
    let key = schema("<xs:key name='k'><xs:selector xpath='i'/><xs:field xpath='@a'/></xs:key>");
    check(
        &key,
        &[
            valid("<e><i a='1'/><i a='2'/></e>"),
            valid("<e/>"),
            invalid("<e><i/></e>", MISSING),
            invalid("<e><i a='1'/><i a='1'/></e>", SAME_KEY),
        ],
    );
    let nillable = "<xs:element name='e'><xs:complexType><xs:sequence><xs:element name='i' maxOccurs='2'><xs:complexType><xs:sequence>
        <xs:element name='n' type='xs:int' nillable='true'/></xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType>
        <xs:key name='k'><xs:selector xpath='i'/><xs:field xpath='n'/></xs:key></xs:element>";
    let nil =
        "<e xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><i><n xsi:nil='true'/></i></e>";
    check(nillable, &[invalid(nil, "cvc-identity-constraint.4.2.3")]);
    let complex = schema("<xs:key name='k'><xs:selector xpath='.'/><xs:field xpath='i'/></xs:key>");
    check(&complex, &[invalid("<e><i/></e>", "cvc-identity-constraint.3")]);
}

#[test]
fn references() {
    let both = schema(
        "<xs:key name='k'><xs:selector xpath='i'/><xs:field xpath='@a'/></xs:key>
        <xs:keyref name='f' refer='k'><xs:selector xpath='r'/><xs:field xpath='@x'/></xs:keyref>",
    );
    check(
        &both,
        &[
            valid("<e><r x='2'/><i a='1'/><i a='2'/><r x='1'/><r/></e>"),
            invalid("<e><i a='1'/><r x='3'/></e>", REFERENCE),
        ],
    );
    let schema = crate::compile(&crate::schema_text(&both));
    let errors = crate::validate(&schema, "<e><i a='1'/><r x='1'/><r x='3'/></e>");
    assert_eq!(errors[0].path, "/e/r[2]");
    // Values of different primitive types are never equal.
    let typed = "<xs:element name='e'><xs:complexType><xs:choice maxOccurs='unbounded'>
        <xs:element name='i'><xs:complexType><xs:attribute name='a' type='xs:decimal'/></xs:complexType></xs:element>
        <xs:element name='r'><xs:complexType><xs:attribute name='x' type='xs:string'/><xs:attribute name='y' type='xs:int'/>
        </xs:complexType></xs:element></xs:choice></xs:complexType>
        <xs:key name='k'><xs:selector xpath='i'/><xs:field xpath='@a'/></xs:key>
        <xs:keyref name='f' refer='k'><xs:selector xpath='r'/><xs:field xpath='@x'/></xs:keyref>
        <xs:keyref name='g' refer='k'><xs:selector xpath='r'/><xs:field xpath='@y'/></xs:keyref></xs:element>";
    check(
        typed,
        &[
            valid("<e><i a='1.0'/><r y='1'/></e>"),
            invalid("<e><i a='1'/><r x='1'/></e>", REFERENCE),
        ],
    );
    // The tables of keys of children, up to the element of the keyref.
    let below = "<xs:element name='e'><xs:complexType><xs:sequence><xs:element ref='s' maxOccurs='unbounded'/>
        <xs:element name='r' minOccurs='0' maxOccurs='unbounded'><xs:complexType><xs:attribute name='x'/></xs:complexType></xs:element>
        </xs:sequence></xs:complexType>
        <xs:keyref name='f' refer='k'><xs:selector xpath='r'/><xs:field xpath='@x'/></xs:keyref></xs:element>
        <xs:element name='s'><xs:complexType><xs:sequence>
        <xs:element name='i' minOccurs='0' maxOccurs='unbounded'><xs:complexType><xs:attribute name='a'/></xs:complexType></xs:element>
        </xs:sequence></xs:complexType><xs:key name='k'><xs:selector xpath='i'/><xs:field xpath='@a'/></xs:key></xs:element>";
    check(
        below,
        &[
            valid("<e><s><i a='1'/></s><s><i a='2'/></s><r x='1'/><r x='2'/></e>"),
            invalid("<e><s><i a='1'/></s><s/><r x='2'/></e>", REFERENCE),
            invalid("<e><s><i a='1'/></s><s><i a='1'/></s><r x='1'/></e>", REFERENCE),
        ],
    );
}

#[test]
fn names_with_namespaces() {
    let text = "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema' xmlns:t='urn:t' targetNamespace='urn:t' elementFormDefault='qualified'>
        <xs:element name='e'><xs:complexType><xs:sequence><xs:element name='i' maxOccurs='unbounded'><xs:complexType>
        <xs:attribute name='a'/><xs:attribute name='b' form='qualified'/></xs:complexType></xs:element></xs:sequence></xs:complexType>
        <xs:unique name='u'><xs:selector xpath='t:i'/><xs:field xpath='@a'/></xs:unique>
        <xs:unique name='v'><xs:selector xpath='t:*'/><xs:field xpath='@t:b'/></xs:unique>
        <xs:unique name='w'><xs:selector xpath='i'/><xs:field xpath='@t:*'/></xs:unique></xs:element></xs:schema>";
    check_whole(
        text,
        &[
            valid("<e xmlns='urn:t' xmlns:t='urn:t'><i a='1' t:b='1'/><i a='2' t:b='2'/></e>"),
            invalid("<e xmlns='urn:t'><i a='1'/><i a='1'/></e>", UNIQUE),
            invalid("<e xmlns='urn:t' xmlns:t='urn:t'><i t:b='1'/><i t:b='1'/></e>", UNIQUE),
        ],
    );
}
