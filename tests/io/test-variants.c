/* What the readers say of files with one thing changed: a token of ONNX text left out, doubled or another; a key or a value
 * of JSON another; a byte or a field of ONNX, a byte of an array or of an archive of arrays another. Whether it is read, with
 * which problems, and as what, is in variants.txt (tests/table/snapshot.h). What is read is written as text, and that is read
 * as the same; and as DOT. */
#include "config.h"

#include "tests/io/models.h"
#include "tests/support/folder.h"
#include "tests/table/snapshot.h"

#include <string.h>

typedef struct
{
  const char *name, *text;
  IrModel *(*read) (const char *bytes, gsize size, GPtrArray *problems, GError **error);
  GBytes *(*write) (IrModel *model);
  void (*vary) (GBytes *whole, GFunc try_one, gpointer data);
} Form;

typedef struct
{
  const Form *form;
  GString *said;
  guint n_tried, n_taken;
} Trial;

/* -- forms -- */

static char *beside; /* where files lie that ONNX may name */

static IrModel *
read_text (const char *bytes, gsize size, GPtrArray *problems, GError **error)
{
  return ir_text_read (bytes, (gssize) size, problems, error);
}

static IrModel *
read_json (const char *bytes, gsize size, GPtrArray *problems, GError **error)
{
  return ir_json_read (bytes, (gssize) size, problems, error);
}

static IrModel *
read_onnx (const char *bytes, gsize size, GPtrArray *problems, GError **error)
{
  g_autoptr (GBytes) whole = g_bytes_new (bytes, size);

  return ir_onnx_read_bytes (whole, beside, problems, error);
}

static const char outside_text[] =
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"
    "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }\n";

static const char closures_text[] =
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"
    "g (closure(float[2], ? -> int64[], seq(closure(->))) a, closure(-> float[2]) b) => (closure(?) y) "
    "{ y = Identity (b) }\n";

static GBytes *
write_text (IrModel *model)
{
  char *text = ir_text_write (model);

  return g_bytes_new_take (text, strlen (text));
}

static GBytes *
write_json (IrModel *model)
{
  char *text = ir_json_write (model);

  return g_bytes_new_take (text, strlen (text));
}

static GBytes *
write_onnx (IrModel *model)
{
  return ir_onnx_write_bytes (model, NULL);
}

/* -- changes -- */

/* The length of a word, a number or a string, which all begin at @at, or 1. */
static gsize
token_length (const char *text, gsize at, gsize size)
{
  gsize end = at + 1;

  if (text[at] == '"')
    {
      while (end < size && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      return MIN (end + 1, size) - at;
    }
  while (g_ascii_isalnum (text[at]) && end < size &&
         (g_ascii_isalnum (text[end]) || strchr ("_.+-", text[end]) != NULL))
    end++;
  return end - at;
}

static void
try_spliced (GBytes *whole,
             gsize at,
             gsize length,
             const char *with,
             gssize with_length,
             GFunc try_one,
             gpointer data)
{
  gsize size;
  const char *text = g_bytes_get_data (whole, &size);
  g_autoptr (GString) other = g_string_new_len (text, (gssize) at);

  g_string_append_len (other, with, with_length);
  g_string_append_len (other, text + at + length, (gssize) (size - at - length));
  try_one (other, data);
}

static void
vary_tokens (GBytes *whole, GFunc try_one, gpointer data)
{
  static const char *const others[] = { "", "7", "x", "\"x\"", ",", "<", "}", "=", "." };
  gsize size, length;
  const char *text = g_bytes_get_data (whole, &size);

  for (gsize at = 0; at < size; at += length)
    {
      length = token_length (text, at, size);
      if (g_ascii_isspace (text[at]))
        continue;
      for (guint i = 0; i < G_N_ELEMENTS (others); i++)
        try_spliced (whole, at, length, others[i], -1, try_one, data);
      try_spliced (whole, at, 0, text + at, (gssize) length, try_one, data);
    }
}

/* A key that is not known is as good as one that is missing. */
static void
vary_values (GBytes *whole, GFunc try_one, gpointer data)
{
  static const char *const others[] = { "7",    "-1",   "2.5", "\"x\"", "\"\"",
                                        "null", "true", "[]",  "{}" };
  gsize size, length;
  const char *text = g_bytes_get_data (whole, &size);

  for (gsize at = 0; at < size; at += length)
    {
      length = token_length (text, at, size);
      if (text[at] != '"' && text[at] != '-' && !g_ascii_isalnum (text[at]))
        continue;
      if (at + length < size && text[at + length] == ':')
        try_spliced (whole, at + 1, 0, "no ", -1, try_one, data);
      else
        for (guint i = 0; i < G_N_ELEMENTS (others); i++)
          try_spliced (whole, at, length, others[i], -1, try_one, data);
    }
}

static void
vary_bytes (GBytes *whole, GFunc try_one, gpointer data)
{
  gsize size;
  const char *bytes = g_bytes_get_data (whole, &size);

  for (gsize at = 0; at < size; at++)
    {
      const char others[] = { bytes[at] ^ 1, bytes[at] ^ 8, (char) 0xff };
      for (guint i = 0; i < G_N_ELEMENTS (others); i++)
        try_spliced (whole, at, 1, &others[i], 1, try_one, data);
      try_spliced (whole, at, 1, "", 0, try_one, data);
    }
}

/* -- fields of the wire -- */

enum /* numbers of fields in ONNX */
{
  GRAPH = 7,
  INITIALIZER = 5,
  RAW_DATA = 9,
  EXTERNAL_DATA = 13,
  DATA_LOCATION = 14
};

/* One of a message: a number, bytes, or a message, for which bytes are taken that can be read as one. */
typedef struct
{
  guint64 id, type, number; /* type: 0 a number, 1 and 5 as many words of 4 bytes, 2 bytes */
  const guint8 *bytes;
  gsize size;
  GPtrArray *fields; /* (nullable) of Field */
} Field;

static void
field_free (gpointer data)
{
  Field *field = data;

  if (field == NULL)
    return;
  g_clear_pointer (&field->fields, g_ptr_array_unref);
  g_free (field);
}

static gboolean
read_varint (const guint8 **at, const guint8 *end, guint64 *number)
{
  *number = 0;
  for (guint shift = 0; *at < end && shift < 64; shift += 7)
    {
      guint8 byte = *(*at)++;
      *number |= (guint64) (byte & 127) << shift;
      if (byte < 128)
        return TRUE;
    }
  return FALSE;
}

static GPtrArray *read_fields (const guint8 *at, gsize size);

static gboolean
read_field (const guint8 **at, const guint8 *end, Field *field)
{
  guint64 tag, size;

  if (!read_varint (at, end, &tag) || tag >> 3 == 0 || tag >> 3 > 4000)
    return FALSE;
  field->id = tag >> 3;
  field->type = tag & 7;
  if (field->type == 0)
    return read_varint (at, end, &field->number);
  size = field->type == 1 ? 8 : field->type == 5 ? 4 : 0;
  if ((field->type == 2 && !read_varint (at, end, &size)) || (field->type != 2 && size == 0) ||
      size > (gsize) (end - *at))
    return FALSE;
  field->bytes = *at;
  field->size = size;
  *at += size;
  field->fields = field->type == 2 && size > 1 ? read_fields (field->bytes, size) : NULL;
  return TRUE;
}

/* (transfer full) (nullable) */
static GPtrArray *
read_fields (const guint8 *at, gsize size)
{
  g_autoptr (GPtrArray) fields = g_ptr_array_new_with_free_func (field_free);
  const guint8 *end = at + size;

  while (at < end)
    {
      Field *field = g_new0 (Field, 1);
      g_ptr_array_add (fields, field);
      if (!read_field (&at, end, field))
        return NULL;
    }
  return g_steal_pointer (&fields);
}

static void
put_varint (GString *out, guint64 number)
{
  for (; number >= 128; number >>= 7)
    g_string_append_c (out, (char) (number | 128));
  g_string_append_c (out, (char) number);
}

static void
put_fields (GString *out, const GPtrArray *fields)
{
  for (guint i = 0; i < fields->len; i++)
    {
      const Field *field = fields->pdata[i];
      g_autoptr (GString) inside = g_string_new (NULL);

      if (field == NULL)
        continue;
      put_varint (out, field->id << 3 | field->type);
      if (field->fields != NULL)
        put_fields (inside, field->fields);
      else
        g_string_append_len (inside, (const char *) field->bytes, (gssize) field->size);
      if (field->type == 0)
        put_varint (out, field->number);
      if (field->type == 2)
        put_varint (out, inside->len);
      g_string_append_len (out, inside->str, (gssize) inside->len);
    }
}

typedef struct
{
  GPtrArray *whole;
  GFunc try_one;
  gpointer data;
} Fields;

static void
try_fields (const Fields *f)
{
  g_autoptr (GString) out = g_string_new (NULL);

  put_fields (out, f->whole);
  f->try_one (out, f->data);
}

/* Each field is left out, doubled, behind the next, unknown, of the next number, of another type, or empty; numbers are
 * below 0 or large. */
static void
vary_field (const Fields *f, GPtrArray *fields, guint at)
{
  static const guint64 numbers[] = { G_MAXUINT64, G_GUINT64_CONSTANT (1) << 31,
                                     G_GUINT64_CONSTANT (1) << 62 };
  static const char *const packed[] = { "\377\377\377\377\377\377\377\377\377\001",
                                        "\200\200\200\200\200\200\200\200@" }; /* -1 and 2^62 */
  Field *field = fields->pdata[at], kept = *field;

  fields->pdata[at] = NULL;
  try_fields (f);
  fields->pdata[at] = field;
  g_ptr_array_set_free_func (fields, NULL);
  g_ptr_array_insert (fields, (gint) at, field);
  try_fields (f);
  g_ptr_array_remove_index (fields, at);
  g_ptr_array_set_free_func (fields, field_free);
  if (at + 1 < fields->len)
    {
      fields->pdata[at] = fields->pdata[at + 1];
      fields->pdata[at + 1] = field;
      try_fields (f);
      fields->pdata[at + 1] = fields->pdata[at];
      fields->pdata[at] = field;
    }
  field->id = 4000;
  try_fields (f);
  field->id = kept.id + 1;
  try_fields (f);
  *field = (Field){ .id = kept.id, .type = kept.type == 0 ? 2 : 0, .number = 1 };
  try_fields (f);
  *field = (Field){ .id = kept.id, .type = 5, .bytes = (const guint8 *) "\3\0\0\0", .size = 4 };
  try_fields (f);
  for (guint i = 0; kept.type == 0 && i < G_N_ELEMENTS (numbers); i++)
    {
      *field = (Field){ .id = kept.id, .number = numbers[i] };
      try_fields (f);
    }
  if (kept.type == 2)
    {
      *field = (Field){ .id = kept.id, .type = 2 };
      try_fields (f);
    }
  for (guint i = 0; kept.type == 2 && kept.fields == NULL && i < G_N_ELEMENTS (packed); i++)
    {
      *field = (Field){
        .id = kept.id, .type = 2, .bytes = (const guint8 *) packed[i], .size = strlen (packed[i])
      };
      try_fields (f);
    }
  *field = kept;
}

static void
vary_message (const Fields *f, GPtrArray *fields)
{
  for (guint i = 0; i < fields->len; i++)
    {
      Field *field = fields->pdata[i];
      vary_field (f, fields, i);
      if (field->fields != NULL)
        vary_message (f, field->fields);
    }
}

/* The weights lie in the file "w" behind 8 bytes. */
static void
move_outside (Field *tensor)
{
  static const char *const entries[] = { "\n\010location\022\001w", "\n\006offset\022\0018",
                                         "\n\006length\022\0018" };

  for (guint i = 0; i < tensor->fields->len; i++)
    {
      Field *field = tensor->fields->pdata[i];
      if (field->id == RAW_DATA)
        *field = (Field){ .id = DATA_LOCATION, .number = 1 };
    }
  for (guint i = 0; i < G_N_ELEMENTS (entries); i++)
    {
      Field *field = g_new0 (Field, 1);
      *field = (Field){ .id = EXTERNAL_DATA,
                        .type = 2,
                        .fields = read_fields ((const guint8 *) entries[i], strlen (entries[i])) };
      g_ptr_array_add (tensor->fields, field);
    }
}

static void
vary_outside (GBytes *whole, GFunc try_one, gpointer data)
{
  gsize size;
  const guint8 *bytes = g_bytes_get_data (whole, &size);
  g_autoptr (GPtrArray) fields = read_fields (bytes, size);
  const Fields f = { fields, try_one, data };

  for (guint i = 0; i < fields->len; i++)
    {
      const Field *graph = fields->pdata[i];
      for (guint k = 0; graph->id == GRAPH && k < graph->fields->len; k++)
        if (((const Field *) graph->fields->pdata[k])->id == INITIALIZER)
          move_outside (graph->fields->pdata[k]);
    }
  try_fields (&f);
  vary_message (&f, fields);
}

static void
vary_fields (GBytes *whole, GFunc try_one, gpointer data)
{
  gsize size;
  const guint8 *bytes = g_bytes_get_data (whole, &size);
  g_autoptr (GPtrArray) fields = read_fields (bytes, size);
  const Fields f = { fields, try_one, data };

  g_assert_nonnull (fields);
  vary_message (&f, fields);
}

/* -- trying them -- */

static void
check_again (IrModel *model, const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) again = ir_text_read (text, -1, NULL, &error);

  g_assert_no_error (error);
  g_autofree char *second = ir_text_write (again);
  g_assert_cmpstr (second, ==, text);
}

static void
try_one (gpointer item, gpointer data)
{
  const GString *bytes = item;
  Trial *t = data;
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = t->form->read (bytes->str, bytes->len, problems, &error);

  g_assert_true ((model == NULL) == (error != NULL));
  t->n_tried++;
  g_string_append_printf (t->said, "%u:", t->n_tried);
  for (guint i = 0; i < problems->len; i++)
    {
      const IrProblem *problem = problems->pdata[i];
      g_string_append_printf (t->said, " %s %u:%u", ir_problem_code_name (problem->code),
                              problem->line, problem->column);
    }
  if (model != NULL)
    {
      g_autofree char *text = ir_text_write (model);
      g_autofree char *dot = ir_dot_write (model);
      g_string_append_printf (t->said, " read as %x, drawn as %x", g_str_hash (text),
                              g_str_hash (dot));
      if (ir_problems_count (problems, IR_SEVERITY_ERROR) == 0)
        {
          if (t->n_taken++ % 8 == 0)
            {
              g_autoptr (GBytes) json = write_json (model), onnx = write_onnx (model);
              check_again (model, text);
              g_string_append_printf (t->said, ", written as %x, %x", g_bytes_hash (json),
                                      onnx != NULL ? g_bytes_hash (onnx) : 0);
            }
        }
    }
  g_string_append_c (t->said, '\n');
}

static char *
say (gconstpointer data, guint *n_tried, guint *n_taken)
{
  const Form *form = data;
  g_autoptr (IrModel) model = test_read_text (form->text);
  g_autoptr (GBytes) whole = form->write (model);
  Trial t = { form, g_string_new (NULL), 0, 0 };

  form->vary (whole, try_one, &t);
  *n_tried = t.n_tried;
  *n_taken = t.n_taken;
  return g_string_free (t.said, FALSE);
}

/* -- arrays -- */

static void
say_array (GString *said, const char *name, const IrTensor *tensor)
{
  g_autoptr (GBytes)
      bytes = g_bytes_new_static (ir_tensor_data (tensor), ir_tensor_n_bytes (tensor));

  g_string_append_printf (said, " %s %s", name, ir_dtype_name (ir_tensor_dtype (tensor)));
  for (guint i = 0; i < ir_tensor_rank (tensor); i++)
    g_string_append_printf (said, ",%" G_GINT64_FORMAT, ir_tensor_dims (tensor)[i]);
  g_string_append_printf (said, " %x", g_bytes_hash (bytes));
}

static void
try_array (gpointer item, gpointer data)
{
  const GString *bytes = item;
  Trial *t = data;
  g_autoptr (GBytes) whole = g_bytes_new (bytes->str, bytes->len);
  g_autoptr (GError) error = NULL, no_archive = NULL;
  g_autoptr (IrTensor) tensor = ir_npy_read (whole, &error);
  g_autoptr (GPtrArray) arrays = ir_npz_read (whole, &no_archive);

  g_assert_true ((tensor == NULL) == (error != NULL));
  g_assert_true ((arrays == NULL) == (no_archive != NULL));
  t->n_tried++;
  t->n_taken += tensor != NULL || arrays != NULL;
  g_string_append_printf (t->said, "%u:", t->n_tried);
  if (tensor != NULL)
    say_array (t->said, "", tensor);
  for (guint i = 0; arrays != NULL && i < arrays->len; i++)
    {
      const IrNamedTensor *named = arrays->pdata[i];
      say_array (t->said, named->name, named->tensor);
    }
  if (tensor == NULL && arrays == NULL)
    g_string_append_printf (t->said, " %d %d", error->code, no_archive->code);
  g_string_append_c (t->said, '\n');
}

static char *
say_arrays (gconstpointer data, guint *n_tried, guint *n_taken)
{
  g_autoptr (GPtrArray) files = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr (IrModel) model = test_read_text (test_dtypes_text);
  Trial t = { NULL, g_string_new (NULL), 0, 0 };

  g_ptr_array_add (files, test_npz ());
  for (guint i = 1; i < model->values->len && files->len < 6; i++)
    {
      const IrValue *value = model->values->pdata[i];
      GBytes *bytes = value->initializer != NULL ? ir_npy_write (value->initializer, NULL) : NULL;
      if (bytes != NULL)
        g_ptr_array_add (files, bytes);
    }
  for (guint i = 0; i < files->len; i++)
    vary_bytes (files->pdata[i], try_array, &t);
  *n_tried = t.n_tried;
  *n_taken = t.n_taken;
  return g_string_free (t.said, FALSE);
}

int
main (int argc, char **argv)
{
  static const Form forms[] = {
    { "text", test_rich_text, read_text, write_text, vary_tokens },
    { "text-dtypes", test_dtypes_text, read_text, write_text, vary_tokens },
    { "text-closures", closures_text, read_text, write_text, vary_tokens },
    { "json", test_rich_text, read_json, write_json, vary_values },
    { "json-dtypes", test_dtypes_text, read_json, write_json, vary_values },
    { "onnx", test_rich_text, read_onnx, write_onnx, vary_bytes },
    { "onnx-dtypes", test_dtypes_text, read_onnx, write_onnx, vary_bytes },
    { "onnx-fields", test_rich_text, read_onnx, write_onnx, vary_fields },
    { "onnx-fields-dtypes", test_dtypes_text, read_onnx, write_onnx, vary_fields },
    { "onnx-fields-outside", outside_text, read_onnx, write_onnx, vary_outside },
  };

  g_autofree char *folder = test_folder (), *weights = g_build_filename (folder, "w", NULL);

  beside = g_build_filename (folder, "model.onnx", NULL);
  g_file_set_contents (weights, "12345678\0\0\200?\0\0\0@1234", 20, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (forms); i++)
    snapshot_add (forms[i].name, say, &forms[i]);
  snapshot_add ("arrays", say_arrays, NULL);
  int status = snapshot_run (argc, argv, "variants.txt");
  g_free (beside);
  test_remove_folder (folder);
  return status;
}
