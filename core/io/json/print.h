/* JSON trees of millions of items: printed as cJSON_Print() would, piece by piece, as long as it is
 * wanted, and let go of without the caller waiting. Controls that JSON allows but a terminal obeys
 * (DEL, those of Latin-1) are escaped, too. */
#pragma once

#include "core/ir/stop.h"

#include <cjson/cJSON.h>

/* Takes the next part of the text; FALSE ends it. */
typedef gboolean (*IrJsonSink) (const char *text, gsize length, gpointer user_data);

gboolean ir_json_print (const cJSON *json, IrJsonSink sink, gpointer user_data, const IrStop *stop);
char *ir_json_print_text (const cJSON *json); /* (transfer full): all of it, by g_free() */
char *ir_json_print_line (const cJSON *json); /* (transfer full): in one line, by g_free() */
