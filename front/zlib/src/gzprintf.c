/* gzprintf and gzvprintf: variadic functions, which stable Rust cannot define. */
#include <stdarg.h>
#include <stdio.h>

struct gzFile_s;

/* Of gz/write.rs: room for a text (or NULL, and the result), and the news of its length. */
char *lookaside_gz_room(struct gzFile_s *file, unsigned *room, int *error);
int lookaside_gz_printed(struct gzFile_s *file, unsigned length);

int gzvprintf(struct gzFile_s *file, const char *format, va_list arguments);
int gzprintf(struct gzFile_s *file, const char *format, ...);

/* As in zlib, a text that the buffer's size (see gzbuffer) does not hold is not written: 0. */
int gzvprintf(struct gzFile_s *file, const char *format, va_list arguments)
{
    unsigned room;
    int error, length;
    char *text = lookaside_gz_room(file, &room, &error);

    if (text == NULL)
        return error;
    length = vsnprintf(text, room, format, arguments);
    if (length <= 0 || (unsigned)length >= room)
        return 0;
    return lookaside_gz_printed(file, (unsigned)length);
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
