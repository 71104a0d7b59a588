/* What a program's start costs with and without our provider: `starts N WITHOUT.CNF WITH.CNF PROGRAM ARGS...`.
 *
 * Runs the program N times with either configuration, in turn. Prints the medians of user and system time and
 * of the largest resident set, for both, and the differences. A program of its own, since a child's largest
 * resident set counts that of who starts it: this one is small.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MOST = 10000 };
static double ms[2][MOST], kb[2][MOST];
extern char **environ;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double milliseconds(struct timeval t)
{
    return t.tv_sec * 1e3 + t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
    int n = argc > 4 ? atoi(argv[1]) : 0;
    posix_spawn_file_actions_t actions;
    if (n < 1 || n > MOST) {
        fprintf(stderr, "starts N WITHOUT.CNF WITH.CNF PROGRAM ARGS...\n");
        return 2;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            struct rusage used;
            pid_t child;
            int status;
            setenv("OPENSSL_CONF", argv[2 + k], 1);
            if (posix_spawnp(&child, argv[4], &actions, NULL, argv + 4, environ)) {
                perror(argv[4]);
                return 1;
            }
            if (wait4(child, &status, 0, &used) != child || status != 0) {
                fprintf(stderr, "%s fails\n", argv[4]);
                return 1;
            }
            ms[k][i] = milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
            kb[k][i] = used.ru_maxrss;
        }
    for (int k = 0; k < 2; k++) {
        qsort(ms[k], n, sizeof **ms, by_value);
        qsort(kb[k], n, sizeof **kb, by_value);
        printf("%s %6.2f ms %6.0f KB\n", k ? "with:   " : "without:", ms[k][n / 2], kb[k][n / 2]);
    }
    printf("more:    %6.2f ms %6.0f KB\n", ms[1][n / 2] - ms[0][n / 2], kb[1][n / 2] - kb[0][n / 2]);
    return 0;
}
