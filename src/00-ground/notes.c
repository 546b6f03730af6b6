#include "notes.h"

#include <stdarg.h>
#include <stdio.h>

void note(struct notes *notes, const char *format, ...)
{
    if (notes->count < NOTES_KEPT) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(notes->text[notes->count], NOTE_SIZE, format, arguments);
        va_end(arguments);
    }
    notes->count++;
}
