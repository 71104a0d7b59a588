/* fork while another thread is in the process's first calls: whatever that thread has begun to set up,
   the child must not wait for it. midfork BYTES DELAY: the child compresses BYTES, DELAY loops after
   the other thread began; ends with 1 if the child does not end by itself. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"

static volatile int begun;
static unsigned char *text;
static size_t len;

static void *first_calls(void *nothing)
{
    uLong packed_len = compressBound(len);
    Bytef *packed = malloc(packed_len);

    begun = 1;
    CHECK(compress2(packed, &packed_len, text, len, 1) == Z_OK);
    free(packed);
    return nothing;
}

int main(int argc, char **argv)
{
    unsigned long delay = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    pthread_t thread;
    int status = 0;
    pid_t child;

    len = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 20;
    text = text_of(7, len);
    CHECK(pthread_create(&thread, NULL, first_calls, NULL) == 0);
    while (!begun)
        ;
    for (volatile unsigned long i = 0; i < delay; i++)
        ;
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        unsigned char *back = malloc(len);
        uLong packed_len = compressBound(len), used = len;
        Bytef *packed = malloc(packed_len);

        CHECK(compress2(packed, &packed_len, text, len, 1) == Z_OK);
        CHECK(uncompress(back, &used, packed, packed_len) == Z_OK && used == len && !memcmp(back, text, len));
        _exit(0);
    }
    /* A child that hangs has its signals blocked where threads are started: SIGALRM is of no use. */
    for (int tenths = 0; waitpid(child, &status, WNOHANG) == 0; tenths++) {
        if (tenths == 100) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            fprintf(stderr, "the child of a fork %lu loops into the first call hangs\n", delay);
            return 1;
        }
        usleep(tenths ? 100000 : 2000);
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
