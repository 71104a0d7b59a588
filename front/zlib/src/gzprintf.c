/* gzprintf and gzvprintf: variadic functions, which stable Rust cannot define. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct gzFile_s;
int gzwrite(struct gzFile_s *file, const void *buf, unsigned len);

int gzvprintf(struct gzFile_s *file, const char *format, va_list arguments);
int gzprintf(struct gzFile_s *file, const char *format, ...);

/* What zlib's own buffer holds by default; longer texts are formatted into memory of their own. */
enum { SHORT = 8192 };

int gzvprintf(struct gzFile_s *file, const char *format, va_list arguments)
{
    char text[SHORT];
    char *long_text = NULL;
    va_list again;
    int length, written;

    if (file == NULL)
        return -2; /* Z_STREAM_ERROR */
    va_copy(again, arguments);
    length = vsnprintf(text, sizeof text, format, arguments);
    if (length >= (int)sizeof text) {
        long_text = malloc((size_t)length + 1);
        if (long_text == NULL) {
            va_end(again);
            return -4; /* Z_MEM_ERROR */
        }
        vsnprintf(long_text, (size_t)length + 1, format, again);
    }
    va_end(again);
    written = length <= 0 ? 0 : gzwrite(file, long_text ? long_text : text, (unsigned)length);
    free(long_text);
    return written;
}

int gzprintf(struct gzFile_s *file, const char *format, ...)
{
    va_list arguments;
    int written;

    va_start(arguments, format);
    written = gzvprintf(file, format, arguments);
    va_end(arguments);
    return written;
}
