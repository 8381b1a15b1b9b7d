/* Reference kernels on each string by itself: StringConcat, StringSplit, RegexFullMatch. Strings
 * are bytes; where letters count they must be UTF-8, as the standard says they are. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/ir/release.h"
#include "core/op/rows.h"
#include <string.h>

static const char *
string_at (const IrTensor *tensor, guint64 i, gsize *length)
{
  const char *data = g_bytes_get_data (ir_tensor_string (tensor, i), length);

  return data != NULL ? data : "";
}

static IrLongArray *
strings_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
}

/* Makes a copy of @data the element @i of an output; @kept holds it until the output does. */
static void
write_string (IrRefWriter *out, guint64 i, GPtrArray *kept, const char *data, gsize length)
{
  GBytes *bytes = g_bytes_new (data, length);

  g_ptr_array_add (kept, bytes);
  ((GBytes **) (gpointer) out->data)[i] = bytes;
}

/* -- StringConcat -- */

#define MOST_BYTES                                                                                 \
  ((gsize) 1 << 28) /* of strings that grow: GLib ends the program without memory */

/**
 * ir_ref_string_concat:
 * @call: X and Y, strings that broadcast
 * @error: return location for an error
 *
 * Source: ONNX StringConcat 20.
 *
 * Returns: %TRUE if the output was computed
 */
gboolean
ir_ref_string_concat (IrCall *call, GError **error)
{
  g_autoptr (IrLongArray) kept = strings_new ();
  g_autoptr (GString) text = g_string_new (NULL);
  g_auto (IrRefWriter) out = { 0 };
  IrRefLayout layouts[2];
  gint64 place;

  if (!ir_ref_prepare (call, error) || !ir_ref_writer_init (&out, call, 0, error))
    return FALSE;
  const IrType *type = call->outputs[0].type;
  for (guint slot = 0; slot < 2; slot++)
    ir_ref_layout_broadcast (&layouts[slot], ir_call_input (call, slot), (guint) type->rank,
                             type->dims);
  gsize total = 0;
  for (guint64 i = 0; i < out.n && !ir_block_stopped (call, i); i++)
    {
      g_string_truncate (text, 0);
      for (guint slot = 0; slot < 2; slot++)
        {
          gsize length;
          ir_ref_layout_offsets (&layouts[slot], i, 1, 0, &place);
          const char *part = string_at (ir_call_input (call, slot), (guint64) place, &length);
          total += length;
          if (total > MOST_BYTES || (call->max_output_bytes > 0 && total > call->max_output_bytes))
            return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                                 "the strings need more memory than the limit");
          g_string_append_len (text, part, (gssize) length);
        }
      write_string (&out, i, kept, text->str, text->len);
    }
  return ir_ref_writer_finish (&out, error);
}

/* -- StringSplit -- */

typedef struct
{
  guint64 element; /* of X */
  gsize start, length;
} Part;

typedef struct
{
  const char *delimiter;
  gsize delimiter_length; /* 0: whitespace */
  gint64 most;            /* splits; < 0: no limit */
  GArray *parts;          /* of Part, in the order of the elements */
  IrBlockWatch *watch;
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
skip_space (const char *data, gsize at, gsize length)
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
  gsize at = skip_space (data, 0, length);
  gint64 n = 0;

  while (at < length && !ir_block_worked (splitter->watch, 1))
    {
      gsize end = at;
      if (splitter->most >= 0 && n == splitter->most)
        end = length;
      while (end < length && space_length (data, end, length) == 0 &&
             !ir_block_worked (splitter->watch, 1))
        end++;
      add_part (splitter, element, at, end);
      n++;
      at = skip_space (data, end, length);
    }
  return n;
}

/* Where the delimiter next stands; @length if nowhere. */
static gsize
find_delimiter (const Splitter *splitter, const char *data, gsize at, gsize length)
{
  gsize width = splitter->delimiter_length;

  for (; at + width <= length && !ir_block_worked (splitter->watch, 1); at++)
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
  g_autoptr (IrLongArray) kept = strings_new ();
  g_auto (IrRefWriter) out = { 0 };
  const IrTensor *in = ir_call_input (call, 0);
  guint rank = ir_tensor_rank (in);
  gint64 dims[IR_MAX_RANK];
  guint64 column = 0;

  memcpy (dims, ir_tensor_dims (in), rank * sizeof *dims);
  dims[rank] = width;
  if (!ir_ref_writer_init_dims (&out, call, 0, IR_DTYPE_STRING, rank + 1, dims, error))
    return FALSE;
  for (guint i = 0; i < splitter->parts->len && !ir_block_stopped (call, i); i++)
    {
      const Part *part = &g_array_index (splitter->parts, Part, i);
      gsize length;
      const char *data = string_at (in, part->element, &length);
      column = i > 0 && part[-1].element == part->element ? column + 1 : 0;
      write_string (&out, part->element * (guint64) width + column, kept, data + part->start,
                    part->length);
    }
  return ir_ref_writer_finish (&out, error);
}

/**
 * ir_ref_string_split:
 * @call: X, strings
 * @error: return location for an error
 *
 * Source: ONNX StringSplit 20; numpy.char.split where the standard leaves something open.
 *
 * Returns: %TRUE if the outputs were computed
 */
gboolean
ir_ref_string_split (IrCall *call, GError **error)
{
  g_autoptr (GArray) parts = g_array_new (FALSE, FALSE, sizeof (Part));
  IrBlockWatch watch = { .call = call };
  Splitter splitter = { .delimiter = ir_call_string (call, "delimiter", ""),
                        .most = ir_call_int (call, "maxsplit", -1),
                        .parts = parts,
                        .watch = &watch };
  gint64 width = 0;

  if (!ir_call_check (call, error) || !call->op->infer (call, error))
    return FALSE;
  splitter.delimiter_length = strlen (splitter.delimiter);
  const IrTensor *in = ir_call_input (call, 0);
  IrTensor *counts = ir_call_has_output (call, 1) ? ir_block_new_output (call, 1, error) : NULL;
  if (counts == NULL && ir_call_has_output (call, 1))
    return FALSE;
  for (guint64 i = 0; i < ir_tensor_n_elements (in) && !ir_block_worked (&watch, 16); i++)
    {
      gsize length;
      const char *data = string_at (in, i, &length);
      gint64 n = splitter.delimiter_length == 0 ? split_words (&splitter, i, data, length)
                                                : split_parts (&splitter, i, data, length);
      width = MAX (width, n);
      if (counts != NULL)
        ir_ref_store_int (counts, i, 1, &n);
    }
  return !ir_call_has_output (call, 0) || store_parts (call, &splitter, width, error);
}

/* -- RegexFullMatch -- */

static GRegex *
compile (const IrCall *call, GError **error)
{
  g_autoptr (GError) local = NULL;
  const char *pattern = ir_call_string (call, "pattern", "");
  /* $ means the very end, and only a line feed ends a line, as in RE2. */
  GRegexCompileFlags flags = G_REGEX_DOLLAR_ENDONLY | G_REGEX_NEWLINE_LF | G_REGEX_OPTIMIZE;

  if (!g_utf8_validate (pattern, -1, NULL))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "pattern is not UTF-8"), NULL;
  /* By itself first, so that no parenthesis of ours closes one that it leaves open. */
  g_autoptr (GRegex) alone = g_regex_new (pattern, flags, 0, &local);
  g_autofree char *whole = g_strdup_printf ("\\A(?:%s)\\z", pattern);
  GRegex *regex = alone != NULL ? g_regex_new (whole, flags, 0, &local) : NULL;
  if (regex == NULL)
    ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "pattern cannot be read: %s", local->message);
  return regex;
}

/**
 * ir_ref_regex_full_match:
 * @call: X, strings
 * @error: return location for an error
 *
 * PCRE2 stands in for RE2: what RE2 refuses (back references, assertions) it takes, its classes \w,
 * \d, \s and \b know all of Unicode, and it gives up, with %IR_OP_ERROR_LIMIT, on patterns that
 * need too many trials.
 *
 * Source: ONNX RegexFullMatch 20.
 *
 * Returns: %TRUE if the output was computed
 */
gboolean
ir_ref_regex_full_match (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  g_autoptr (GRegex) regex = compile (call, error);
  IrTensor *out = regex != NULL ? ir_block_new_output (call, 0, error) : NULL;
  if (out == NULL)
    return FALSE;
  const IrTensor *in = ir_call_input (call, 0);
  for (guint64 i = 0; i < ir_tensor_n_elements (in); i++)
    {
      g_autoptr (GError) local = NULL;
      gsize length;
      const char *data = string_at (in, i, &length);
      if (ir_block_cancelled (call, error))
        return FALSE;
      if (length > G_MAXINT || !g_utf8_validate_len (data, length, NULL))
        return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                             "element %" G_GUINT64_FORMAT " is not UTF-8, or has a zero byte", i);
      gint64 matches = g_regex_match_full (regex, data, (gssize) length, 0, 0, NULL, &local);
      if (local != NULL)
        return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                             "element %" G_GUINT64_FORMAT ": %s; simplify the pattern", i,
                             local->message);
      ir_ref_store_int (out, i, 1, &matches);
    }
  return TRUE;
}
