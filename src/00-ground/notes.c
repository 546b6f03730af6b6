#include "notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void note(struct notes *notes, const char *format, ...)
{
    char text[NOTE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);

    unsigned kept = notes->count < NOTES_KEPT ? notes->count : NOTES_KEPT;
    for (unsigned i = 0; i < kept; i++)
        if (strcmp(notes->text[i], text) == 0)
            return;
    if (kept < NOTES_KEPT)
        memcpy(notes->text[kept], text, sizeof text);
    notes->count++;
}
