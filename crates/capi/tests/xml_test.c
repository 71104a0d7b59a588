/* XML by lookaside.h: documents whole and in pieces, names, errors. Run by tests/c.rs. Events are written as text, and the
 * texts compared with known ones, and with each other. The first failed check ends it with exit status 1. */
#include <lookaside.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(c) ((c) ? (void)0 : fail(__LINE__, #c))
static void fail(int line, const char *what)
{
    fprintf(stderr, "xml_test.c:%d: %s (%s)\n", line, what, la_last_error());
    exit(1);
}

static la_runtime *start(int engines)
{
    la_runtime_options o = LA_RUNTIME_OPTIONS_INIT;
    la_runtime *r;
    o.engines = engines;
    CHECK(la_runtime_start(&o, &r) == LA_OK);
    return r;
}

static la_stream *document(la_runtime *r, const la_xml *xml)
{
    la_session *s;
    la_stream *st;
    CHECK(la_xml_session(r, xml, &s) == LA_OK && s != NULL);
    CHECK(la_xml_stream(s, &st) == LA_OK && st != NULL);
    CHECK(la_session_free(s) == LA_OK);
    return st;
}

static la_request request(la_stream *st, const char *src, size_t n, la_event *to, size_t room, int last)
{
    la_request q = { 0 };
    q.op = LA_OP_PARSE, q.stream = st, q.src = src, q.src_len = n, q.dst = to, q.dst_len = room;
    q.flush = last ? LA_FLUSH_FINISH : LA_FLUSH_NONE;
    return q;
}

static la_response parse(la_runtime *r, la_request q)
{
    la_response a;
    CHECK(la_call(r, &q, &a) == LA_OK);
    return a;
}

/* What was read, one line for each event but texts, whose pieces are joined. */
typedef struct { char text[1 << 16]; size_t len; } Out;

static void add(Out *out, const char *text, size_t len)
{
    CHECK(out->len + len < sizeof out->text);
    memcpy(out->text + out->len, text, len);
    out->len += len, out->text[out->len] = 0;
}

static void add_string(Out *out, const la_stream *st, uint32_t number)
{
    char string[64];
    size_t len;
    CHECK(la_xml_string(st, number, string, sizeof string, &len) == LA_OK);
    add(out, string, len);
}

static void add_events(Out *out, const la_stream *st, la_response a, const la_event *events, const char *source)
{
    CHECK(a.produced >= a.checksum * sizeof *events && a.checksum_high == 0);
    for (uint32_t i = 0; i < a.checksum; i++) {
        const la_event *e = events + i;
        const char *text = (e->flags & LA_XML_IN_BYTES ? (const char *)(events + a.checksum) : source) + e->offset;
        la_name name;
        switch (e->kind) {
        case LA_XML_START_ELEMENT:
        case LA_XML_ATTRIBUTE:
            CHECK(la_xml_name(st, e->name, &name) == LA_OK);
            add(out, e->kind == LA_XML_ATTRIBUTE ? "\n@" : "\n<", 2);
            add(out, "{", 1), add_string(out, st, name.uri), add(out, "}", 1);
            add_string(out, st, name.local), add(out, " ", 1);
            add_string(out, st, name.qname);
            if (e->kind == LA_XML_ATTRIBUTE)
                add(out, "=", 1), add(out, text, e->len);
            if (e->flags & LA_XML_DEFAULTED)
                add(out, " default", 8);
            break;
        case LA_XML_NAMESPACE:
            add(out, "\n:", 2), add_string(out, st, e->name), add(out, "=", 1), add(out, text, e->len);
            break;
        case LA_XML_END_ELEMENT: add(out, "\n>", 2); break;
        case LA_XML_TEXT: add(out, text, e->len); break;
        case LA_XML_PI: add(out, "\n?", 2), add_string(out, st, e->name), add(out, text, e->len); break;
        case LA_XML_COMMENT: add(out, "\n!", 2), add(out, text, e->len); break;
        default: break;
        }
    }
}

static const char small[] =
    "<?xml version='1.0'?><!DOCTYPE o:orders [<!ATTLIST item unit CDATA 'kg'><!ENTITY co 'Smith &amp; Co'>]>\n"
    "<o:orders xmlns:o='urn:orders'><item o:id='7'>two &lt;kilos&gt;\r\nof &co;</item><?go on?><!--end--></o:orders>";
static const char small_events[] =
    "\n<{urn:orders}orders o:orders\n:o=urn:orders\n<{}item item\n@{urn:orders}id o:id=7\n@{}unit unit=kg default"
    "two <kilos>\nof Smith & Co\n>\n?goon\n!end\n>";

static Out one, other;
static la_event events[1 << 16];

static void known_events(int engines)
{
    la_runtime *r = start(engines);
    la_stream *st = document(r, NULL);
    for (int round = 0; round < 3; round++) {
        la_response a = parse(r, request(st, small, sizeof small - 1, events, sizeof events, 1));
        CHECK(a.status == LA_END && a.consumed == sizeof small - 1);
        one.len = 0;
        add_events(&one, st, a, events, small);
        CHECK(strcmp(one.text, small_events) == 0);
        /* It has ended; another one begins. */
        a = parse(r, request(st, small, 1, events, sizeof events, 1));
        CHECK(a.status == LA_E_STREAM_ENDED);
        CHECK(la_xml_error(st, &(la_bad_document){ 0 }) == 0);
        CHECK(la_xml_restart(st) == 1);
    }
    /* Who served it is counted. */
    static la_counters rows[64];
    int n = la_counters_read(r, rows, 64, NULL), found = 0;
    for (int i = 0; i < n && i < 64; i++)
        found |= strcmp(rows[i].op, "xml.parse") == 0 && rows[i].requests == 6 && rows[i].errors == 3;
    CHECK(found);
    CHECK(la_stream_free(st) == LA_OK && la_runtime_stop(r) == LA_OK);
    /* Without namespaces. */
    la_xml xml = LA_XML_INIT;
    r = start(engines), xml.namespaces = 0;
    st = document(r, &xml);
    la_response a = parse(r, request(st, small, sizeof small - 1, events, sizeof events, 1));
    CHECK(a.status == LA_END);
    one.len = 0;
    add_events(&one, st, a, events, small);
    CHECK(strstr(one.text, "\n@{}xmlns:o xmlns:o=urn:orders") != NULL);
    CHECK(la_stream_free(st) == LA_OK && la_runtime_stop(r) == LA_OK);
    /* The transport's encoding: 0xe4 is a letter. */
    r = start(engines), xml.encoding = "ISO-8859-1";
    st = document(r, &xml);
    a = parse(r, request(st, "<a>\xe4</a>", 8, events, sizeof events, 1));
    CHECK(a.status == LA_END);
    one.len = 0;
    add_events(&one, st, a, events, "");
    CHECK(strcmp(one.text, "\n<{}a a\xc3\xa4\n>") == 0);
    CHECK(la_stream_free(st) == LA_OK && la_runtime_stop(r) == LA_OK);
}

static uint32_t seed = 1;
static size_t random_below(size_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

static char large[20000];

static size_t make_large(void)
{
    size_t n = sprintf(large, "<!DOCTYPE list [<!ENTITY e 'an <b>entity</b>'>]><list xmlns='urn:l'>");
    for (int i = 0; n < sizeof large - 200; i++)
        n += sprintf(large + n, "<entry id='%d' name=\"a&#65;\tb\">text %d &amp; &e; \xc3\xa4\r\n<![CDATA[<%d>]]></entry>", i, i, i);
    return n + sprintf(large + n, "</list>");
}

/* Pieces of any size into destinations of any size. */
static void pieces(int engines)
{
    la_runtime *r = start(engines);
    la_stream *st = document(r, NULL);
    size_t n = make_large();
    la_response a = parse(r, request(st, large, n, events, sizeof events, 1));
    CHECK(a.status == LA_END);
    one.len = 0;
    add_events(&one, st, a, events, large);
    CHECK(one.len > 9000);
    for (int round = 0; round < 40; round++) {
        size_t most = 1 + random_below(round % 2 ? 5000 : 40), room = 64 + random_below(round % 3 ? 20000 : 100);
        size_t at = 0, end = 0;
        int over = 0;
        CHECK(la_xml_restart(st) >= 0);
        other.len = 0;
        do {
            if (at == end)
                end = n - at < most ? n : at + 1 + random_below(most);
            a = parse(r, request(st, large + at, end - at, events, room, end == n));
            add_events(&other, st, a, events, large + at);
            over = a.status == LA_OVERFLOW;
            CHECK(over || (a.status == (end == n ? LA_END : LA_OK) && a.consumed == end - at));
            if (over && a.produced == 0)
                room *= 2;
            at += a.consumed;
        } while (over || end < n);
        CHECK(one.len == other.len && memcmp(one.text, other.text, one.len) == 0);
    }
    CHECK(la_stream_free(st) == LA_OK && la_runtime_stop(r) == LA_OK);
}

/* Pieces of several documents submitted ahead, whose answers nobody waits for in between. */
static void ahead(int engines)
{
    enum { DOCUMENTS = 4, PIECES = 16, ROOM = 4000 };
    static la_event to[DOCUMENTS][PIECES][ROOM];
    static Out out[DOCUMENTS];
    la_response all[DOCUMENTS][PIECES];
    la_runtime *r = start(engines);
    la_stream *st[DOCUMENTS];
    la_instance *i;
    la_instance_options o = LA_INSTANCE_OPTIONS_INIT;
    size_t n = make_large(), piece = n / PIECES;
    o.depth = DOCUMENTS * PIECES;
    CHECK(la_instance_open(r, &o, &i) == LA_OK);
    for (int k = 0; k < DOCUMENTS; k++)
        st[k] = document(r, NULL);
    for (int p = 0; p < PIECES; p++)
        for (int k = 0; k < DOCUMENTS; k++) {
            size_t len = p == PIECES - 1 ? n - p * piece : piece;
            la_request q = request(st[k], large + p * piece, len, to[k][p], sizeof to[k][p], p == PIECES - 1);
            q.tag = k * PIECES + p;
            CHECK(la_instance_push(i, &q) == LA_OK);
        }
    CHECK(la_instance_doorbell(i) == DOCUMENTS * PIECES);
    for (size_t got = 0, next[DOCUMENTS] = { 0 }; got < DOCUMENTS * PIECES;) {
        la_response a;
        if (la_instance_poll(i, &a, 1) == 0) {
            la_instance_wait(i, 1, LA_FOREVER);
            continue;
        }
        size_t k = a.tag / PIECES, p = a.tag % PIECES;
        CHECK(p == next[k]++ && a.status == (p == PIECES - 1 ? LA_END : LA_OK));
        all[k][p] = a, got++;
    }
    for (int k = 0; k < DOCUMENTS; k++) {
        out[k].len = 0;
        for (int p = 0; p < PIECES; p++)
            add_events(&out[k], st[k], all[k][p], to[k][p], large + p * piece);
        CHECK(out[k].len == one.len && memcmp(out[k].text, one.text, one.len) == 0);
        CHECK(la_stream_free(st[k]) == LA_OK);
    }
    CHECK(la_instance_close(i) == LA_OK && la_runtime_stop(r) == LA_OK);
}

static void refused(void)
{
    la_runtime *r = start(0);
    la_session *s, *copy;
    la_stream *st, *deflate;
    la_xml xml = LA_XML_INIT;
    la_bad_document bad;
    la_name name;
    size_t len;
    char c;
    xml.namespaces = 2;
    CHECK(la_xml_session(r, &xml, &s) == LA_E_INVALID && s == NULL);
    xml.namespaces = 1, xml.attributes = 65536;
    CHECK(la_xml_session(r, &xml, &s) == LA_E_LIMIT && s == NULL);
    xml.attributes = 2, xml.depth = 3, xml.encoding = "\xff";
    CHECK(la_xml_session(r, &xml, &s) == LA_E_INVALID);
    xml.encoding = NULL;
    CHECK(la_xml_session(r, &xml, NULL) == LA_E_INVALID && la_xml_session(NULL, &xml, &s) == LA_E_INVALID);
    CHECK(la_xml_session(r, &xml, &s) == LA_OK && la_session_bound(s, 9) == 0);
    CHECK(la_copy_session(r, &copy) == LA_OK && la_compress_stream(r, NULL, NULL, 0, &deflate) == LA_OK);
    CHECK(la_xml_stream(copy, &st) == LA_E_INVALID && st == NULL && la_xml_stream(s, NULL) == LA_E_INVALID);
    CHECK(la_xml_restart(deflate) == LA_E_INVALID && la_xml_name(deflate, 1, &name) == LA_E_INVALID);
    CHECK(la_xml_string(deflate, 1, NULL, 0, &len) == LA_E_INVALID && la_xml_error(deflate, &bad) == LA_E_INVALID);
    CHECK(la_xml_stream(s, &st) == LA_OK);
    CHECK(la_xml_name(st, 12345, &name) == LA_E_INVALID && la_xml_name(st, 1, NULL) == LA_E_INVALID);
    CHECK(la_xml_error(st, NULL) == LA_E_INVALID && la_xml_error(st, &bad) == 0);
    CHECK(la_xml_string(st, 12345, NULL, 0, &len) == LA_OK && len == 0);
    CHECK(la_xml_string(st, 1, NULL, 0, NULL) == LA_E_INVALID && la_xml_string(st, 1, NULL, 3, &len) == LA_E_INVALID);
    /* Neither a session alone, nor another operation, nor another flush. */
    la_response a;
    la_request q = request(NULL, "<a/>", 4, events, sizeof events, 1);
    q.session = s;
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    q = request(st, "<a/>", 4, events, sizeof events, 1);
    q.op = LA_OP_SCAN;
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    q.op = LA_OP_PARSE, q.flush = LA_FLUSH_SYNC;
    CHECK(la_call(r, &q, &a) == LA_E_INVALID);
    /* Documents: each with where, and against which rule. */
    static const struct { const char *text; size_t offset, line, column; const char *rule; } all[] = {
        { "<a>\n</b>", 6, 2, 3, "WFC: Element Type Match" },
        { "<a b='1' b='2'/>", 9, 1, 10, "WFC: Unique Att Spec" },
        { "<a b='' c='' d=''/>", 0, 1, 1, "limit: attributes" },
        { "<a><a><a><a/></a></a></a>", 9, 1, 10, "limit: depth" },
        { "", 0, 1, 1, "[1] document" },
    };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        size_t n = strlen(all[k].text);
        CHECK(la_xml_restart(st) >= 0);
        a = parse(r, request(st, all[k].text, n, events, sizeof events, 1));
        CHECK(a.status == LA_E_BAD_DOCUMENT && a.produced == 0);
        CHECK(la_xml_error(st, &bad) == 1 && bad.offset == a.bad_offset);
        if (bad.offset != all[k].offset || bad.line != all[k].line || bad.column != all[k].column)
            fprintf(stderr, "%s: %d, %d:%d %s\n", all[k].text, (int)bad.offset, (int)bad.line, (int)bad.column, bad.rule);
        CHECK(bad.offset == all[k].offset && bad.line == all[k].line && bad.column == all[k].column);
        CHECK(strncmp(bad.rule, all[k].rule, strlen(all[k].rule)) == 0);
        /* The same again for what follows. */
        a = parse(r, request(st, "<a/>", 4, events, sizeof events, 1));
        CHECK(a.status == LA_E_BAD_DOCUMENT && a.bad_offset == bad.offset);
    }
    CHECK(la_xml_restart(st) >= 0);
    a = parse(r, request(st, "<a/>", 4, events, sizeof events, 1));
    CHECK(a.status == LA_END && la_xml_name(st, events[0].name, &name) == LA_OK);
    CHECK(la_xml_string(st, name.qname, NULL, 0, &len) == LA_E_DST_TOO_SMALL && len == 1);
    CHECK(la_xml_string(st, name.qname, &c, 1, &len) == LA_OK && len == 1 && c == 'a');
    CHECK(la_stream_free(st) == LA_OK && la_session_free(s) == LA_OK && la_stream_free(deflate) == LA_OK);
    CHECK(la_session_free(copy) == LA_OK && la_runtime_stop(r) == LA_OK);
}

/* Gives what lies outside of a document, and counts how often it was asked. */
static void resolve(void *context, const char *public_id, const char *system_id, const char *base,
                    la_resource *found)
{
    ++*(int *)context;
    CHECK(la_xml_give(NULL, "", 0, "") == LA_E_INVALID && la_xml_give(found, "", 0, NULL) == LA_E_INVALID);
    if (strcmp(system_id, "a.dtd") == 0) {
        static const char text[] = "<!ENTITY e SYSTEM 'e'><!ENTITY f SYSTEM 'f'><!ATTLIST a b CDATA 'c'>";
        CHECK(strcmp(public_id, "p") == 0 && base == NULL);
        CHECK(la_xml_give(found, text, sizeof text - 1, "urn:dtd") == LA_OK);
    } else if (strcmp(system_id, "e") == 0) {
        CHECK(public_id == NULL && strcmp(base, "urn:dtd") == 0);
        CHECK(la_xml_give(found, "overwritten", 11, "") == LA_OK);
        CHECK(la_xml_give(found, "text", 4, "urn:e") == LA_OK);
    }
}

static void external(int engines)
{
    static const char text[] = "<!DOCTYPE a PUBLIC 'p' 'a.dtd'><a>&e;&e;&f;</a>";
    static la_event events[64];
    int asked = 0, texts = 0, skipped = 0, attributes = 0;
    la_runtime *r = start(engines);
    la_xml xml = LA_XML_INIT;
    xml.resolve = resolve, xml.resolve_context = &asked;
    la_stream *st = document(r, &xml);
    la_response a = parse(r, request(st, text, sizeof text - 1, events, sizeof events, 1));
    CHECK(a.status == LA_END);
    for (uint32_t i = 0; i < a.checksum; i++) {
        texts += events[i].kind == LA_XML_TEXT && events[i].len == 4;
        skipped += events[i].kind == LA_XML_SKIPPED_ENTITY;
        attributes += events[i].kind == LA_XML_ATTRIBUTE;
    }
    CHECK(texts == 2 && skipped == 1 && attributes == 1 && asked == 3);
    CHECK(la_stream_free(st) == LA_OK && la_runtime_stop(r) == LA_OK);
}

int main(void)
{
    refused();
    for (int engines = 0; engines <= 2; engines++) {
        known_events(engines);
        pieces(engines);
        ahead(engines);
        external(engines);
    }
    puts("all of documents");
    return 0;
}
