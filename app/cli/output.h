/* What commands print: JSON by cJSON with the rules of the schemas (integers beyond 2^53 and
 * non-finite numbers as strings), text tables, problems, progress on a terminal. */
#pragma once

#include "app/cli/command.h"
#include "app/cli/print.h"
#include "core/ir/history.h"
#include "core/exec/exec.h"

void cli_json_add_int (cJSON *object, const char *key, gint64 value);
void cli_json_add_uint (cJSON *object, const char *key, guint64 value);
void cli_json_add_double (cJSON *object, const char *key, double value);
void cli_json_add_shape (cJSON *object, const char *key, IrContext *context, const IrType *type);
void cli_json_add_value (cJSON *array, const IrValue *value); /* {name, dtype, shape} */
void cli_json_add_stats (cJSON *object, const IrTensorStats *stats);
/* dtype, shape, items */
void cli_json_add_contents (Cli *cli, cJSON *object, const IrTensor *tensor);
cJSON *cli_json_problems (const GPtrArray *problems, const IrModel *model);
void cli_json_print (cJSON *json); /* (transfer full) to stdout, indented, with a newline */
/* The same for what may be millions, as long as it is wanted. */
void cli_json_print_long (Cli *cli, cJSON *json);
/* To be asked for each of what may be millions: whether nobody wants it any more. The command then
 * need not say so, cli_main() does. */
gboolean cli_cut (Cli *cli);

/* "NAME  TYPE  VALUES", and a line for each item of a sequence, an optional or a map. */
void cli_print_contents (Cli *cli,
                         const char *name,
                         IrContext *context,
                         const IrTensor *tensor,
                         guint max_elements,
                         const char *path);
void cli_print_problems (const GPtrArray *problems, IrSeverity at_least); /* to stderr */
CliStatus cli_fail (CliStatus status, const GError *error);               /* prints it to stderr */
CliStatus cli_cancelled (const Cli *cli);                                 /* says that it was */
CliStatus cli_status_of (const GError *error); /* bad input or could not, by domain and code */
/* Whether both are there and one; nullable */
gboolean cli_same_file (const char *path, const char *other);
/* FALSE: what @option writes would replace the model */
gboolean cli_spares_model (const char *option, const char *path, const char *model, GError **error);
/* A name for the file of value @of, which no other in @taken (a set of names, which it joins) has: .npy, or .pb where NumPy
 * has no such type */
char *cli_file_of_value (const char *of, guint id, const IrTensor *tensor, GHashTable *taken);
char *cli_format_count (guint64 n); /* "25.6 M" */
char *cli_format_bytes (guint64 n); /* "97.7 MiB" */

/* A line on stderr that overwrites itself; nothing if stderr is no terminal. */
void cli_progress (const Cli *cli, const char *what, guint done, guint total);
void cli_progress_end (const Cli *cli);
