/* Compresses a file, or standard input, to gzip members on standard output. 8 requests are in
 * flight at any time; the members are written in order.
 *     cc compress.c $(pkg-config --cflags --libs lookaside) -o compress && ./compress F > F.gz */
#include <lookaside.h>
#include <stdio.h>
#include <stdlib.h>

enum { IN_FLIGHT = 8, CHUNK = 65536, DST = CHUNK + 64 };
static struct slot {
    char src[CHUNK], dst[DST];
    la_response response;
    int answered;
} slots[IN_FLIGHT];

static void check(int status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s. %s\n", what, la_strerror(status), la_last_error());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : stdin;
    la_compression gzip = LA_COMPRESSION_INIT;
    la_runtime *runtime;
    la_session *session;
    la_instance *instance;
    la_response answers[IN_FLIGHT];
    la_counters rows[16];
    if (in == NULL)
        return perror(argv[1]), 1;
    gzip.format = LA_GZIP;
    check(la_runtime_start(NULL, &runtime), "runtime");
    check(la_compression_session(runtime, &gzip, &session), "session");
    check(la_instance_open(runtime, NULL, &instance), "instance");

    uint64_t pushed = 0, written = 0;
    for (int at_end = 0; !at_end || written < pushed;) {
        while (!at_end && pushed - written < IN_FLIGHT) {
            struct slot *s = &slots[pushed % IN_FLIGHT];
            la_request r = { .op = LA_OP_COMPRESS, .session = session, .tag = pushed };
            r.src = s->src, r.dst = s->dst, r.dst_len = DST;
            r.src_len = fread(s->src, 1, CHUNK, in);
            at_end = r.src_len < CHUNK;
            if (r.src_len == 0 && pushed > 0)
                break; /* but an empty file is one empty member */
            check(la_instance_push(instance, &r), "push");
            pushed++;
        }
        la_instance_wait(instance, 1, LA_FOREVER); /* rings the doorbell, once for all of them */
        for (int n = la_instance_poll(instance, answers, IN_FLIGHT); n-- > 0;) {
            struct slot *s = &slots[answers[n].tag % IN_FLIGHT];
            s->response = answers[n], s->answered = 1;
        }
        for (struct slot *s; (s = &slots[written % IN_FLIGHT])->answered; written++) {
            check(s->response.status, "compress");
            if (fwrite(s->dst, 1, s->response.produced, stdout) != s->response.produced)
                return perror("write"), 1;
            s->answered = 0;
        }
    }
    for (int n = la_counters_read(runtime, rows, 16, NULL), i = 0; i < n && i < 16; i++)
        if (rows[i].requests > 0)
            fprintf(stderr, "%s %s: %.0f requests, %.0f -> %.0f bytes, %.0f batches\n",
                    rows[i].device, rows[i].op, (double)rows[i].requests,
                    (double)rows[i].src_bytes, (double)rows[i].dst_bytes, (double)rows[i].batches);
    la_instance_close(instance), la_session_free(session), la_runtime_stop(runtime);
    return ferror(in) || fflush(stdout) != 0;
}
