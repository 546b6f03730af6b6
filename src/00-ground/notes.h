/* Notes: what a user should know although the work succeeded, such as "copy 1 was bad, copy 2 was
 * used". They gather here, since the library does not print; main.c prints them as warnings. The
 * same text is kept once: a bad block may be met on many ways.
 */
#ifndef NOTES_H
#define NOTES_H

enum { NOTES_KEPT = 16, NOTE_SIZE = 320 };

struct notes {
    unsigned count; /* how many came, but for repetitions of those that are kept */
    char text[NOTES_KEPT][NOTE_SIZE];
};

__attribute__((format(printf, 2, 3))) void note(struct notes *notes, const char *format, ...);

#endif
