/* Reference kernels on each string by itself: StringConcat and StringSplit. Strings are bytes;
 * where letters count they must be UTF-8, as the standard says they are. */
#include "config.h"

#include "core/exec/ref/string-util.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <string.h>

static GPtrArray *
strings_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
}

/* Makes @bytes the element @i of an output; @kept holds them until the output does. */
static void
write_string (IrRefWriter *out, guint64 i, GPtrArray *kept, GBytes *bytes)
{
  g_ptr_array_add (kept, bytes);
  ((GBytes **) (gpointer) out->data)[i] = bytes;
}

/* -- StringConcat -- */

#define MOST_BYTES ((gsize) 1 << 28) /* of all results */

/* X and Y, strings that broadcast. Source: ONNX StringConcat 20. */
gboolean
ir_ref_string_concat (IrCall *call, GError **error)
{
  g_autoptr (GPtrArray) kept = strings_new ();
  g_auto (IrRefWriter) out = { 0 };
  IrRefLayout layouts[2];

  if (!ir_ref_prepare (call, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  for (guint slot = 0; slot < 2; slot++)
    ir_ref_layout_broadcast (&layouts[slot], ir_call_input (call, slot), (guint) type->rank,
                             type->dims);
  gsize total = 0,
        limit = call->max_output_bytes > 0 ? MIN (call->max_output_bytes, MOST_BYTES) : MOST_BYTES;
  for (guint64 i = 0; i < out.n; i++)
    {
      const char *parts[2];
      gsize lengths[2];
      for (guint slot = 0; slot < 2; slot++)
        {
          gint64 place;
          ir_ref_layout_offsets (&layouts[slot], i, 1, 0, &place);
          parts[slot] = ir_string_at (ir_call_input (call, slot), (guint64) place, &lengths[slot]);
          total += lengths[slot];
        }
      GBytes *text = total <= limit
                         ? ir_string_join (parts[0], lengths[0], parts[1], lengths[1])
                         : NULL;
      if (text == NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                             "the strings need more memory than the limit");
      write_string (&out, i, kept, text);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- StringSplit -- */

typedef struct
{
  guint64 element; /* of X */
  gsize start, length;
} Part;

typedef GArray Parts;

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Parts, g_array_unref)

typedef struct
{
  const char *delimiter;
  gsize delimiter_length; /* 0: whitespace */
  gint64 most;            /* splits; < 0: no limit */
  Parts *parts;           /* of Part, in the order of the elements */
} Splitter;

/* Bytes of the whitespace that stands at @at, 0 if none does. */
static gsize
space_length (const char *data, gsize at, gsize length)
{
  if (g_ascii_isspace (data[at]) || data[at] == '\v')
    return 1;
  if ((data[at] & 0x80) == 0)
    return 0;
  gunichar letter = g_utf8_get_char_validated (data + at, (gssize) (length - at));
  if (letter == (gunichar) -1 || letter == (gunichar) -2 ||
      (!g_unichar_isspace (letter) && letter != 0x85))
    return 0;
  return (gsize) g_unichar_to_utf8 (letter, NULL);
}

static gsize
skip_space (const Splitter *splitter, const char *data, gsize at, gsize length)
{
  gsize step;

  while (at < length && (step = space_length (data, at, length)) > 0)
    at += step;
  return at;
}

static void
add_part (const Splitter *splitter, guint64 element, gsize start, gsize end)
{
  Part part = { element, start, end - start };

  g_array_append_val (splitter->parts, part);
}

/* Words between runs of whitespace; what is left after the last split keeps the spaces inside and
 * behind it, as in numpy. */
static gint64
split_words (const Splitter *splitter, guint64 element, const char *data, gsize length)
{
  gsize at = skip_space (splitter, data, 0, length);
  gint64 n = 0;

  while (at < length)
    {
      gsize end = at;
      if (splitter->most >= 0 && n == splitter->most)
        end = length;
      while (end < length && space_length (data, end, length) == 0)
        end++;
      add_part (splitter, element, at, end);
      n++;
      at = skip_space (splitter, data, end, length);
    }
  return n;
}

/* Where the delimiter next stands; @length if nowhere. */
static gsize
find_delimiter (const Splitter *splitter, const char *data, gsize at, gsize length)
{
  gsize width = splitter->delimiter_length;

  for (; at + width <= length; at++)
    if (memcmp (data + at, splitter->delimiter, width) == 0)
      return at;
  return length;
}

static gint64
split_parts (const Splitter *splitter, guint64 element, const char *data, gsize length)
{
  gsize at = 0, found;
  gint64 n = 1;

  while ((splitter->most < 0 || n <= splitter->most) &&
         (found = find_delimiter (splitter, data, at, length)) < length)
    {
      add_part (splitter, element, at, found);
      at = found + splitter->delimiter_length;
      n++;
    }
  add_part (splitter, element, at, length);
  return n;
}

/* Output 0: the parts of each element in a row of @width. */
static gboolean
store_parts (IrCall *call, const Splitter *splitter, gint64 width, GError **error)
{
  g_autoptr (GPtrArray) kept = strings_new ();
  g_auto (IrRefWriter) out = { 0 };
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in);
  gint64 dims[IR_MAX_RANK];
  guint64 column = 0;

  memcpy (dims, ir_tensor_dims (in), rank * sizeof *dims);
  dims[rank] = width;
  if (!ir_ref_writer_init_dims (&out, call, 0, IR_DTYPE_STRING, rank + 1, dims, error))
    return FALSE;
  for (guint i = 0; i < splitter->parts->len; i++)
    {
      const Part *part = &g_array_index (splitter->parts, Part, i);
      column = i > 0 && part[-1].element == part->element ? column + 1 : 0;
      write_string (
          &out, part->element * (guint64) width + column, kept,
          ir_string_part (ir_tensor_string (in, part->element), part->start, part->length));
    }
  return ir_ref_writer_finish (&out, error);
}

/* X, strings. Source: ONNX StringSplit 20; numpy.char.split where the standard leaves something
 * open. */
gboolean
ir_ref_string_split (IrCall *call, GError **error)
{
  g_autoptr (Parts) parts = g_array_new (FALSE, FALSE, sizeof (Part));
  Splitter splitter = { .delimiter = ir_call_string (call, "delimiter", ""),
                        .most = ir_call_int (call, "maxsplit", -1),
                        .parts = parts };
  gint64 width = 0;

  if (!ir_call_check (call, error) || !call->op->infer (call, error))
    return FALSE;
  splitter.delimiter_length = strlen (splitter.delimiter);
  const IrTensor *in = ir_call_input (call, 0);
  IrTensor *counts = ir_call_has_output (call, 1) ? ir_block_new_output (call, 1, error) : NULL;
  if (counts == NULL && ir_call_has_output (call, 1))
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      gsize length;
      const char *data = ir_string_at (in, i, &length);
      gint64 n = splitter.delimiter_length == 0 ? split_words (&splitter, i, data, length)
                                                : split_parts (&splitter, i, data, length);
      width = MAX (width, n);
      if (counts != NULL)
        ir_ref_store_int (counts, i, 1, &n);
    }
  return !ir_call_has_output (call, 0) || store_parts (call, &splitter, width, error);
}
