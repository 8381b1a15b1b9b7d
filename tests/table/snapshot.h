/* What is said of many things, kept as a line with a hash each in a file beside the test:
 *
 *   PROGRAM --show NAME   what is hashed, to compare with another build's
 *   PROGRAM --bless       writes the file anew; read why before committing it
 *
 * What has no line is new, and is not judged. */
#pragma once

#include <glib.h>

/* (transfer full): lines that say what becomes of each case; how many there are, and how many of them are taken */
typedef char *(*SnapshotSay) (gconstpointer data, guint *n_tried, guint *n_taken);

void snapshot_add (const char *name, SnapshotSay say, gconstpointer data);
int snapshot_run (int argc, char **argv, const char *file);
