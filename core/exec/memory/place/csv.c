/* Instances of the allocation problem as text, in the format of MiniMalloc: a line of column names,
 * then one line per buffer.
 *
 *   | column | also called       | contents                                          |
 *   |--------|-------------------|---------------------------------------------------|
 *   | id     | buffer, buffer_id | any text                                          |
 *   | lower  | start, begin      | time from which it lives                          |
 *   | upper  |                   | first time at which it no longer lives            |
 *   | end    |                   | in place of upper: last time at which it lives    |
 *   | size   |                   | bytes                                             |
 *   | offset |                   | written: bytes from the start; ignored when read  |
 */
#include "config.h"

#include <errno.h>

#include "core/exec/memory/place/place.h"
#include "core/io/io.h"

#define MAX_BLOCKS    1000000
#define MAX_TIME      (G_MAXINT64 / 4)
#define EXCERPT_CHARS 40

typedef enum
{
  COLUMN_ID,
  COLUMN_LOWER,
  COLUMN_UPPER,
  COLUMN_END,
  COLUMN_SIZE,
  COLUMN_OFFSET,
  N_COLUMNS
} Column;

static const struct
{
  const char *name;
  Column column;
} column_names[] = {
  { "id", COLUMN_ID },         { "buffer", COLUMN_ID },   { "buffer_id", COLUMN_ID },
  { "lower", COLUMN_LOWER },   { "start", COLUMN_LOWER }, { "begin", COLUMN_LOWER },
  { "upper", COLUMN_UPPER },   { "end", COLUMN_END },     { "size", COLUMN_SIZE },
  { "offset", COLUMN_OFFSET },
};

typedef struct
{
  int at[N_COLUMNS]; /* index of each column in a line, -1: not there */
  guint n_cells;
  guint line;  /* from 1 */
  guint64 sum; /* of sizes */
  IrMemInstance *instance;
} Reader;

static gboolean fail (const Reader *reader, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const Reader *reader, GError **error, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *found = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, IR_IO_ERROR, IR_IO_ERROR_FORMAT, "line %u: %s", reader->line, found);
  return FALSE;
}

/* Found text in a message: its beginning, with nothing in it that a terminal would obey. */
static char *
excerpt (const char *text)
{
  g_autofree char *valid = g_utf8_make_valid (text, (gssize) strnlen (text, EXCERPT_CHARS));

  for (char *byte = valid; *byte != '\0'; byte++)
    if (g_ascii_iscntrl (*byte))
      *byte = '?';
  return g_steal_pointer (&valid);
}

static gboolean
read_header (Reader *reader, char **cells, GError **error)
{
  for (guint i = 0; i < N_COLUMNS; i++)
    reader->at[i] = -1;
  for (guint i = 0; cells[i] != NULL; i++)
    {
      guint k = 0;
      while (k < G_N_ELEMENTS (column_names) && strcmp (cells[i], column_names[k].name) != 0)
        k++;
      g_autofree char *found = excerpt (cells[i]);
      if (k == G_N_ELEMENTS (column_names))
        return fail (reader, error,
                     "found the column “%s”, needed are id, lower, upper (or end) and size, and "
                     "offset is allowed",
                     found);
      if (reader->at[column_names[k].column] >= 0)
        return fail (reader, error, "found the column “%s” twice, needed is each once", found);
      reader->at[column_names[k].column] = (int) i;
      reader->n_cells++;
    }
  for (guint i = 0; i < G_N_ELEMENTS (column_names); i++)
    {
      Column column = column_names[i].column;
      gboolean other = (column == COLUMN_UPPER && reader->at[COLUMN_END] >= 0) ||
                       (column == COLUMN_END && reader->at[COLUMN_UPPER] >= 0);
      if (column != COLUMN_OFFSET && reader->at[column] < 0 && !other)
        return fail (reader, error,
                     "found no column “%s”, needed is a first line like id,lower,upper,size",
                     column_names[i].name);
    }
  if (reader->at[COLUMN_UPPER] >= 0 && reader->at[COLUMN_END] >= 0)
    return fail (reader, error, "found both columns upper and end, needed is one of them");
  return TRUE;
}

static gboolean
read_number (const Reader *reader,
             char **cells,
             Column column,
             const char *name,
             gint64 min,
             gint64 max,
             gint64 *number,
             GError **error)
{
  const char *text = cells[reader->at[column]];
  char *end;

  errno = 0;
  *number = g_ascii_strtoll (text, &end, 10);
  if (end != text && *end == '\0' && errno == 0 && *number >= min && *number <= max &&
      !g_ascii_isspace (*text))
    return TRUE;
  g_autofree char *found = excerpt (text);
  return fail (reader, error,
               "found “%s” for %s, needed is a whole number from %" G_GINT64_FORMAT
               " to %" G_GINT64_FORMAT,
               found, name, min, max);
}

static gboolean
read_row (Reader *reader, char **cells, GError **error)
{
  Column last = reader->at[COLUMN_END] >= 0 ? COLUMN_END : COLUMN_UPPER;
  IrMemBlock block = { 0 };
  IrMemRow row = { 0 };
  gint64 size;

  if (g_strv_length (cells) != reader->n_cells)
    return fail (reader, error, "found %u cells, needed are %u as in the first line",
                 g_strv_length (cells), reader->n_cells);
  if (reader->instance->rows->len >= MAX_BLOCKS)
    return fail (reader, error, "found more than %u buffers, needed are fewer", MAX_BLOCKS);
  if (!read_number (reader, cells, COLUMN_LOWER, "lower", -MAX_TIME, MAX_TIME, &row.lower, error) ||
      !read_number (reader, cells, last, last == COLUMN_END ? "end" : "upper", -MAX_TIME, MAX_TIME,
                    &row.upper, error) ||
      !read_number (reader, cells, COLUMN_SIZE, "size", 0, (gint64) IR_MEM_MAX_BYTES, &size, error))
    return FALSE;
  row.upper += last == COLUMN_END;
  if (row.upper <= row.lower)
    return fail (reader, error,
                 "found a life from %" G_GINT64_FORMAT " to before %" G_GINT64_FORMAT
                 ", needed is one that ends after it begins",
                 row.lower, row.upper);
  reader->sum += (guint64) size;
  if (reader->sum > IR_MEM_MAX_SUM)
    return fail (reader, error,
                 "found sizes that add up to more than %" G_GUINT64_FORMAT
                 " bytes, needed are no more",
                 IR_MEM_MAX_SUM);
  row.id = g_strdup (cells[reader->at[COLUMN_ID]]);
  block.size = (guint64) size;
  block.life = (guint64) (row.upper - row.lower);
  g_array_append_val (reader->instance->rows, row);
  g_array_append_val (reader->instance->blocks, block);
  return TRUE;
}

static int
compare_times (gconstpointer a, gconstpointer b)
{
  gint64 x = *(const gint64 *) a, y = *(const gint64 *) b;

  return x < y ? -1 : x > y;
}

static guint
index_of (const gint64 *times, guint n, gint64 time)
{
  const gint64 *found = bsearch (&time, times, n, sizeof *times, compare_times);

  return (guint) (found - times);
}

/* Steps count the distinct times, so that a clock of any unit gives tables of the same length. */
static void
count_steps (IrMemInstance *instance)
{
  guint n = instance->rows->len, n_times = 0;
  g_autofree gint64 *times = g_new (gint64, 2 * (gsize) n + 1);

  for (guint i = 0; i < n; i++)
    {
      times[2 * i] = g_array_index (instance->rows, IrMemRow, i).lower;
      times[2 * i + 1] = g_array_index (instance->rows, IrMemRow, i).upper;
    }
  qsort (times, 2 * (gsize) n, sizeof *times, compare_times);
  for (guint i = 0; i < 2 * n; i++)
    if (n_times == 0 || times[n_times - 1] != times[i])
      times[n_times++] = times[i];
  for (guint i = 0; i < n; i++)
    {
      const IrMemRow *row = &g_array_index (instance->rows, IrMemRow, i);
      IrMemBlock *block = &g_array_index (instance->blocks, IrMemBlock, i);
      block->first = index_of (times, n_times, row->lower);
      block->last = index_of (times, n_times, row->upper) - 1;
    }
}

static void
row_clear (gpointer data)
{
  IrMemRow *row = data;

  g_free (row->id);
}

/**
 * ir_mem_instance_parse:
 * @text: (array length=length): the file; need not end in a zero
 * @length: bytes
 * @error: return location for an error
 *
 * Reads a list of buffers; the format stands at the top of this file.
 *
 * Fails with %IR_IO_ERROR_FORMAT; the message says which line, what was found and what is needed.
 *
 * Returns: (transfer full) (nullable): the instance, offsets 0
 */
IrMemInstance *
ir_mem_instance_parse (const char *text, gsize length, GError **error)
{
  g_autoptr (IrMemInstance) instance = g_new0 (IrMemInstance, 1);
  Reader reader = { .instance = instance };
  const char *end = text + length;

  instance->rows = g_array_new (FALSE, FALSE, sizeof (IrMemRow));
  g_array_set_clear_func (instance->rows, row_clear);
  instance->blocks = g_array_new (FALSE, FALSE, sizeof (IrMemBlock));
  while (text < end)
    {
      const char *newline = memchr (text, '\n', (gsize) (end - text));
      g_autofree char *line = g_strndup (text, (gsize) ((newline != NULL ? newline : end) - text));
      text = newline != NULL ? newline + 1 : end;
      reader.line++;
      if (*g_strchomp (line) == '\0')
        continue;
      g_auto (GStrv) cells = g_strsplit (line, ",", -1);
      if (!(reader.n_cells == 0 ? read_header : read_row) (&reader, cells, error))
        return NULL;
    }
  if (reader.n_cells == 0)
    {
      reader.line = 1;
      fail (&reader, error,
            "found no text, needed is a first line of column names: id,lower,upper,size");
      return NULL;
    }
  count_steps (instance);
  return g_steal_pointer (&instance);
}

/**
 * ir_mem_instance_to_csv:
 * @instance: an instance whose blocks have been placed
 *
 * Returns: (transfer full): its lines with the offsets in a last column
 */
char *
ir_mem_instance_to_csv (const IrMemInstance *instance)
{
  GString *text = g_string_new ("id,lower,upper,size,offset\n");

  for (guint i = 0; i < instance->rows->len; i++)
    {
      const IrMemRow *row = &g_array_index (instance->rows, IrMemRow, i);
      const IrMemBlock *block = &g_array_index (instance->blocks, IrMemBlock, i);
      g_string_append_printf (text,
                              "%s,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT ",%" G_GUINT64_FORMAT
                              ",%" G_GUINT64_FORMAT "\n",
                              row->id, row->lower, row->upper, block->size, block->offset);
    }
  return g_string_free (text, FALSE);
}

/**
 * ir_mem_instance_free:
 * @instance: (transfer full) (nullable): an instance
 */
void
ir_mem_instance_free (IrMemInstance *instance)
{
  if (instance == NULL)
    return;
  g_array_unref (instance->rows);
  g_array_unref (instance->blocks);
  g_free (instance);
}
