/* What a window remembers between runs: a small key file in the user's configuration folder. */
#pragma once

#include <glib.h>

char *ir_state_get_string (const char *key, const char *fallback); /* (transfer full) */
int ir_state_get_int (const char *key, int fallback);
gboolean ir_state_get_boolean (const char *key, gboolean fallback);
void ir_state_set_string (const char *key, const char *value);
void ir_state_set_int (const char *key, int value);
void ir_state_set_boolean (const char *key, gboolean value);
void ir_state_save (void);
