/* Tokenizer of com.microsoft: strings cut at what regular expressions match, or into what they match,
 * or into letters. PCRE2 stands in for RE2, as in RegexFullMatch; ONNX Runtime takes the longest of
 * several matches that begin at one place, PCRE2 the first that an expression offers. */
#include "config.h"

#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include "core/exec/ref/string-util.h"
#include <string.h>

/* A piece of a string; strings have them one behind the other. */
typedef struct
{
  gsize start, length;
} Piece;

typedef struct
{
  IrCall *call;
  gint64 fewest; /* letters of a token */
  gboolean marks;
  GPtrArray *separators; /* of GRegex */
  GRegex *token;         /* (nullable) */
  GPtrArray *rows;       /* of GArray of Piece, one for each string */
  const char *text;      /* of the string in hand */
  gsize length;
  gboolean by_letters;
} Tokens;

static void
tokens_clear (Tokens *t)
{
  g_clear_pointer (&t->separators, g_ptr_array_unref);
  g_clear_pointer (&t->token, g_regex_unref);
  g_clear_pointer (&t->rows, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Tokens, tokens_clear)

/* -- expressions -- */

static GRegex *
compile (const Tokens *t, const char *text, GError **error)
{
  g_autoptr (GError) local = NULL;
  GRegex *regex = NULL;

  if (g_utf8_validate (text, -1, NULL))
    regex = g_regex_new (text, G_REGEX_DOLLAR_ENDONLY | G_REGEX_NEWLINE_LF | G_REGEX_OPTIMIZE, 0,
                         &local);
  if (regex == NULL)
    ir_call_fail (t->call, error, IR_OP_ERROR_ATTRIBUTE, "\"%s\" cannot be read: %s", text,
                  local != NULL ? local->message : "it is not UTF-8");
  return regex;
}

static gboolean
read_expressions (Tokens *t, GError **error)
{
  const IrAttr *separators = ir_call_attr (t->call, "separators");
  const char *token = ir_call_string (t->call, "tokenexp", "");
  guint n = separators != NULL && separators->kind == IR_ATTR_STRINGS ? separators->n : 0;

  t->by_letters = n > 0 ? n == 1 && *separators->strings[0].data == '\0' : strcmp (token, ".") == 0;
  if (n == 0 && *token == '\0')
    return ir_call_fail (t->call, error, IR_OP_ERROR_ATTRIBUTE,
                         "needed are separators, or tokenexp");
  if (t->by_letters && t->fewest > 1)
    return ir_call_fail (t->call, error, IR_OP_ERROR_ATTRIBUTE,
                         "mincharnum is %" G_GINT64_FORMAT ", and tokens are letters", t->fewest);
  for (guint i = 0; !t->by_letters && i < n; i++)
    {
      GRegex *regex = compile (t, separators->strings[i].data, error);
      if (regex == NULL)
        return FALSE;
      g_ptr_array_add (t->separators, regex);
    }
  if (n == 0 && !t->by_letters)
    t->token = compile (t, token, error);
  return n > 0 || t->by_letters || t->token != NULL;
}

/* -- one string -- */

static gsize
letter_length (const Tokens *t, gsize at)
{
  return (gsize) (g_utf8_next_char (t->text + at) - (t->text + at));
}

static void
add_piece (const Tokens *t, GArray *pieces, gsize start, gsize end)
{
  Piece piece = { start, end - start };

  if (g_utf8_strlen (t->text + start, (gssize) piece.length) >= t->fewest)
    g_array_append_val (pieces, piece);
}

/* The next match from @at on, before @end. FALSE: there is none, or @error. */
static gboolean
find (const Tokens *t, GRegex *regex, Piece whole, gsize at, Piece *found, GError **error)
{
  g_autoptr (GMatchInfo) info = NULL;
  g_autoptr (GError) local = NULL;
  int start, end;

  if (!g_regex_match_full (regex, t->text + whole.start, (gssize) whole.length, (int) at, 0, &info,
                           &local) ||
      !g_match_info_fetch_pos (info, 0, &start, &end))
    {
      if (local != NULL)
        ir_call_fail (t->call, error, IR_OP_ERROR_LIMIT, "%s; simplify the expression",
                      local->message);
      return FALSE;
    }
  *found = (Piece){ (gsize) start, (gsize) (end - start) };
  return TRUE;
}

/* Cuts a piece at what @regex matches; an empty match takes the letter behind it. */
static gboolean
cut (const Tokens *t, GRegex *regex, Piece whole, GArray *pieces, GError **error)
{
  g_autoptr (GError) local = NULL;
  gsize at = 0;
  Piece found;

  while (at <= whole.length && find (t, regex, whole, at, &found, &local))
    {
      add_piece (t, pieces, whole.start + at, whole.start + found.start);
      if (found.start == whole.length && found.length == 0)
        return TRUE;
      at = found.start +
           (found.length > 0 ? found.length : letter_length (t, whole.start + found.start));
    }
  if (local != NULL)
    {
      g_propagate_error (error, g_steal_pointer (&local));
      return FALSE;
    }
  if (at <= whole.length)
    add_piece (t, pieces, whole.start + at, whole.start + whole.length);
  return TRUE;
}

static GArray *
pieces_new (void)
{
  return g_array_new (FALSE, FALSE, sizeof (Piece));
}

/* By each separator in turn, what is left of the one before. */
static GArray *
cut_by_all (const Tokens *t, GError **error)
{
  GArray *row = pieces_new ();
  Piece all = { 0, t->length };

  g_array_append_val (row, all);
  for (guint i = 0; i < t->separators->len && row->len > 0; i++)
    {
      g_autoptr (GArray) before = row;

      row = pieces_new ();
      for (guint j = 0; j < before->len; j++)
        if (!cut (t, t->separators->pdata[i], g_array_index (before, Piece, j), row, error))
          {
            g_array_unref (row);
            return NULL;
          }
    }
  return row;
}

/* What the expression of tokens matches. */
static GArray *
matches_of (const Tokens *t, GError **error)
{
  g_autoptr (GError) local = NULL;
  GArray *row = pieces_new ();
  Piece all = { 0, t->length }, found;
  gsize at = 0;

  while (at < t->length && find (t, t->token, all, at, &found, &local))
    {
      if (found.start == t->length)
        break;
      if (found.length > 0)
        add_piece (t, row, found.start, found.start + found.length);
      at = found.start + (found.length > 0 ? found.length : letter_length (t, found.start));
    }
  if (local == NULL)
    return row;
  g_propagate_error (error, g_steal_pointer (&local));
  g_array_unref (row);
  return NULL;
}

static GArray *
tokens_of (const Tokens *t, GError **error)
{
  GArray *row;

  if (!t->by_letters)
    return t->token != NULL ? matches_of (t, error) : cut_by_all (t, error);
  row = pieces_new ();
  for (gsize at = 0; at < t->length; at += letter_length (t, at))
    add_piece (t, row, at, at + letter_length (t, at));
  return row;
}

/* -- all of them -- */

static gboolean
read_strings (Tokens *t, guint *most, GError **error)
{
  const IrTensor *x = ir_call_input (t->call, 0);

  *most = 0;
  for (guint64 i = 0; i < ir_tensor_n_elements (x); i++)
    {
      t->text = ir_string_at (x, i, &t->length);
      if (ir_block_cancelled (t->call, error))
        return FALSE;
      if (t->length == 0)
        t->text = "";
      if (t->length > G_MAXINT ||
          (t->length > 0 && !g_utf8_validate_len (t->text, t->length, NULL)))
        return ir_call_fail (t->call, error, IR_OP_ERROR_VALUE,
                             "element %" G_GUINT64_FORMAT " is not UTF-8, or has a zero byte", i);
      GArray *row = tokens_of (t, error);
      if (row == NULL)
        return FALSE;
      g_ptr_array_add (t->rows, row);
      *most = MAX (*most, row->len);
    }
  return TRUE;
}

/* The strings of the output, which are kept there. */
static void
write_row (const Tokens *t, guint i, GBytes **to, guint64 width, GPtrArray *kept, GBytes *pad)
{
  static const char marks[] = { 2, 3 };
  const GArray *row = t->rows->pdata[i];
  guint64 n = 0;

  if (t->marks)
    to[n++] = g_bytes_new_static (marks, 1);
  for (guint j = 0; j < row->len; j++)
    {
      Piece piece = g_array_index (row, Piece, j);
      to[n++] = ir_string_part (ir_tensor_string (ir_call_input (t->call, 0), i), piece.start,
                                piece.length);
    }
  if (t->marks)
    to[n++] = g_bytes_new_static (marks + 1, 1);
  while (n < width)
    to[n++] = g_bytes_ref (pad);
  for (n = 0; n < width; n++)
    g_ptr_array_add (kept, to[n]);
}

static gboolean
write_strings (const Tokens *t, guint most, GError **error)
{
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  const char *value = ir_call_string (t->call, "pad_value", "");
  g_autoptr (GBytes) pad = g_bytes_new (value, strlen (value));
  g_auto (IrRefWriter) out = { 0 };
  const IrTensor *x = ir_call_input (t->call, 0);
  guint rank = ir_tensor_rank (x);
  gint64 dims[3], width = most > 0 && t->marks ? most + 2 : most;

  memcpy (dims, ir_tensor_dims (x), rank * sizeof *dims);
  dims[rank] = width;
  if (!ir_ref_writer_init_dims (&out, t->call, 0, IR_DTYPE_STRING, rank + 1, dims, error))
    return FALSE;
  for (guint i = 0; width > 0 && i < t->rows->len; i++)
    write_row (t, i, (GBytes **) (gpointer) out.data + i * (guint64) width, (guint64) width, kept,
               pad);
  return ir_ref_writer_finish (&out, error);
}

/* X [C] or [N, C], strings. Source: com.microsoft Tokenizer 1. */
gboolean
ir_ref_tokenizer (IrCall *call, GError **error)
{
  g_auto (Tokens) t = { .call = call,
                        .fewest = ir_call_int (call, "mincharnum", 1),
                        .marks = ir_call_int (call, "mark", 0) != 0 };
  guint most;

  if (!ir_call_check (call, error) || !call->op->infer (call, error))
    return FALSE;
  t.separators = g_ptr_array_new_with_free_func ((GDestroyNotify) g_regex_unref);
  t.rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  return read_expressions (&t, error) && read_strings (&t, &most, error) &&
         write_strings (&t, most, error);
}
