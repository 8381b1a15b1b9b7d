/* JSON trees of millions of items: printed as cJSON_Print() would, piece by piece, as long as they
 * are wanted. Controls that JSON allows but a terminal obeys
 * (DEL, those of Latin-1) are escaped, too. */
#pragma once

#include <cjson/cJSON.h>
#include <glib.h>

/* Takes the next part of the text; FALSE ends it. */
typedef gboolean (*IrJsonSink) (const char *text, gsize length, gpointer user_data);

gboolean ir_json_print (const cJSON *json, IrJsonSink sink, gpointer user_data);
char *ir_json_print_text (const cJSON *json); /* (transfer full): all of it, by g_free() */
char *ir_json_print_line (const cJSON *json); /* (transfer full): in one line, by g_free() */
