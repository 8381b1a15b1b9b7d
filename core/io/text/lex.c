#include "config.h"

#include "core/io/text/text.h"
#include "core/ir/scanner.h"

#include <math.h>
#include <string.h>

/* A text with more mistakes than this is not worth more messages. */
#define MAX_ERRORS 100

/**
 * ir_text_lexer_init:
 * @lexer: a lexer on the caller's stack
 * @draft: gets the mistakes
 * @text: what is read; must outlive @lexer
 * @length: its bytes
 *
 * Starts reading a text.
 */
void
ir_text_lexer_init (IrTextLexer *lexer, IrDraft *draft, const char *text, gsize length)
{
  memset (lexer, 0, sizeof *lexer);
  lexer->start = lexer->next = lexer->line_start = lexer->counted = text;
  lexer->end = text + length;
  lexer->line = 1;
  lexer->note = g_string_new (NULL);
  lexer->draft = draft;
}

/**
 * ir_text_lexer_clear:
 * @lexer: a lexer
 *
 * Frees what the lexer holds.
 */
void
ir_text_lexer_clear (IrTextLexer *lexer)
{
  g_string_free (lexer->note, TRUE);
}

static void
skip_comment (IrTextLexer *lexer)
{
  const char *end = memchr (lexer->next, '\n', (gsize) (lexer->end - lexer->next));

  if (end == NULL)
    end = lexer->end;
  if (end - lexer->next >= 2 && lexer->next[1] == '!')
    {
      g_string_append_len (lexer->note, lexer->next + 2, end - lexer->next - 2);
      g_string_append_c (lexer->note, ' ');
    }
  lexer->next = end;
}

static void
skip_space (IrTextLexer *lexer)
{
  while (lexer->next < lexer->end)
    {
      if (g_ascii_isspace (*lexer->next))
        lexer->next++;
      else if (*lexer->next == '#')
        skip_comment (lexer);
      else
        return;
    }
}

/**
 * ir_text_place:
 * @lexer: a lexer
 *
 * Returns: line and column of the next token, counted in characters from 1
 */
IrDraftPlace
ir_text_place (IrTextLexer *lexer)
{
  IrDraftPlace place;

  skip_space (lexer);
  for (; lexer->counted < lexer->next; lexer->counted++)
    if (*lexer->counted == '\n')
      {
        lexer->line++;
        lexer->line_start = lexer->counted + 1;
      }
  place.line = lexer->line;
  place.column = 1 + (guint) g_utf8_strlen (lexer->line_start, lexer->next - lexer->line_start);
  return place;
}

/**
 * ir_text_fail:
 * @lexer: stands where the mistake is
 * @format: printf-style message: what was needed
 *
 * Returns: %FALSE
 */
gboolean
ir_text_fail (IrTextLexer *lexer, const char *format, ...)
{
  IrDraftPlace place = ir_text_place (lexer);
  const char *line_end = lexer->next;
  g_autofree char *needed = NULL;
  g_autofree char *found = NULL;
  va_list args;

  if (++lexer->n_errors > MAX_ERRORS)
    return FALSE;
  while (line_end < lexer->end && *line_end != '\n' && line_end - lexer->next < 20)
    line_end = g_utf8_next_char (line_end);
  line_end = MIN (line_end, lexer->end);
  found = lexer->next == lexer->end
              ? g_strdup ("the end of the text")
              : g_strdup_printf ("\"%.*s\"", (int) (line_end - lexer->next), lexer->next);
  va_start (args, format);
  needed = g_strdup_vprintf (format, args);
  va_end (args);
  ir_draft_problem (lexer->draft, IR_SEVERITY_ERROR, IR_PROBLEM_SYNTAX, place,
                    "Line %u, column %u: %s, found %s.", place.line, place.column, needed, found);
  return FALSE;
}

/**
 * ir_text_peek:
 * @lexer: a lexer
 *
 * Returns: the first character of the next token; NUL at the end
 */
char
ir_text_peek (IrTextLexer *lexer)
{
  skip_space (lexer);
  return lexer->next < lexer->end ? *lexer->next : '\0';
}

/**
 * ir_text_match:
 * @lexer: a lexer
 * @c: a character
 *
 * Takes @c if it comes next.
 *
 * Returns: %TRUE if it did
 */
gboolean
ir_text_match (IrTextLexer *lexer, char c)
{
  if (ir_text_peek (lexer) != c || lexer->next == lexer->end)
    return FALSE;
  lexer->next++;
  return TRUE;
}

/**
 * ir_text_expect:
 * @lexer: a lexer
 * @c: a character
 * @where: what needs it, for the message
 *
 * Takes @c, or reports that it is missing.
 *
 * Returns: %TRUE if it was there
 */
gboolean
ir_text_expect (IrTextLexer *lexer, char c, const char *where)
{
  return ir_text_match (lexer, c) || ir_text_fail (lexer, "%s needs \"%c\" here", where, c);
}

/**
 * ir_text_peek_identifier:
 * @lexer: a lexer
 * @length: (out): its length, 0 if the next token is none
 *
 * Returns: (transfer none): the start of the next token
 */
const char *
ir_text_peek_identifier (IrTextLexer *lexer, gsize *length)
{
  const char *p;

  skip_space (lexer);
  p = lexer->next;
  if (p < lexer->end && (g_ascii_isalpha (*p) || *p == '_'))
    while (p < lexer->end && (g_ascii_isalnum (*p) || *p == '_'))
      p++;
  *length = (gsize) (p - lexer->next);
  return lexer->next;
}

/**
 * ir_text_at_word:
 * @lexer: a lexer
 * @word: an identifier
 *
 * Returns: %TRUE if @word comes next
 */
gboolean
ir_text_at_word (IrTextLexer *lexer, const char *word)
{
  gsize length;
  const char *text = ir_text_peek_identifier (lexer, &length);

  return length == strlen (word) && memcmp (text, word, length) == 0;
}

/**
 * ir_text_at_prefixed_string:
 * @lexer: a lexer
 * @prefix: a word
 *
 * Returns: %TRUE if @prefix comes next, with a quote right behind it, as in base64"…"
 */
gboolean
ir_text_at_prefixed_string (IrTextLexer *lexer, const char *prefix)
{
  return ir_text_at_word (lexer, prefix) && (gsize) (lexer->end - lexer->next) > strlen (prefix) &&
         lexer->next[strlen (prefix)] == '"';
}

/**
 * ir_text_at_name:
 * @lexer: a lexer
 *
 * Returns: %TRUE if an identifier or a quoted name comes next
 */
gboolean
ir_text_at_name (IrTextLexer *lexer)
{
  gsize length;

  ir_text_peek_identifier (lexer, &length);
  return length > 0 || ir_text_peek (lexer) == '"';
}

/**
 * ir_text_string:
 * @lexer: a lexer
 * @string: set to the contents
 *
 * A quoted string: a backslash takes the next character as it is; line ends may stand in it.
 */
gboolean
ir_text_string (IrTextLexer *lexer, GString *string)
{
  const char *p;

  g_string_truncate (string, 0);
  if (ir_text_peek (lexer) != '"')
    return ir_text_fail (lexer, "a string in double quotes is needed");
  for (p = lexer->next + 1; p < lexer->end && *p != '"'; p++)
    {
      if (*p == '\\' && ++p == lexer->end)
        break;
      g_string_append_c (string, *p);
    }
  if (p >= lexer->end)
    return ir_text_fail (lexer, "a string has no closing quote");
  lexer->next = p + 1;
  return TRUE;
}

/**
 * ir_text_name:
 * @lexer: a lexer
 * @what: what it names, for the message
 * @name: (out): interned
 *
 * An identifier, or any text in quotes.
 */
gboolean
ir_text_name (IrTextLexer *lexer, const char *what, const char **name)
{
  gsize length;
  const char *text = ir_text_peek_identifier (lexer, &length);
  g_autoptr (GString) string = NULL;

  if (length > 0)
    {
      *name = ir_context_intern_len (lexer->draft->context, text, (gssize) length);
      lexer->next += length;
      return TRUE;
    }
  if (ir_text_peek (lexer) != '"')
    return ir_text_fail (lexer, "%s is needed", what);
  string = g_string_new (NULL);
  if (!ir_text_string (lexer, string))
    return FALSE;
  if (strlen (string->str) != string->len)
    return ir_text_fail (lexer, "a name without NUL is needed");
  *name = ir_context_intern (lexer->draft->context, string->str);
  return TRUE;
}

static gboolean
special_number (IrTextLexer *lexer, IrTextLiteral *literal)
{
  static const char *const names[] = { "inf", "infinity", "nan" };
  gsize length;
  const char *text = ir_text_peek_identifier (lexer, &length);

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (length == strlen (names[i]) && g_ascii_strncasecmp (text, names[i], length) == 0)
      {
        literal->kind = IR_TEXT_FLOAT;
        literal->is_nan = i == 2;
        literal->number = i == 2 ? (double) NAN : (double) INFINITY;
        if (literal->negative)
          literal->number = -literal->number;
        lexer->next += length;
        return TRUE;
      }
  return ir_text_fail (lexer, "a number is needed");
}

static gsize
scan_number (const IrTextLexer *lexer, gboolean *is_float)
{
  const char *p = lexer->next;

  while (p < lexer->end && (g_ascii_isdigit (*p) || (*p == '.' && !*is_float)))
    *is_float |= *p++ == '.';
  if (p < lexer->end && (*p == 'e' || *p == 'E'))
    {
      const char *exponent = p + 1;

      if (exponent < lexer->end && (*exponent == '+' || *exponent == '-'))
        exponent++;
      if (exponent < lexer->end && g_ascii_isdigit (*exponent))
        {
          *is_float = TRUE;
          for (p = exponent; p < lexer->end && g_ascii_isdigit (*p);)
            p++;
        }
    }
  return (gsize) (p - lexer->next);
}

static gboolean
parse_magnitude (const char *text, gsize length, guint64 *magnitude)
{
  *magnitude = 0;
  for (gsize i = 0; i < length; i++)
    if (!g_uint64_checked_mul (magnitude, *magnitude, 10) ||
        !g_uint64_checked_add (magnitude, *magnitude, (guint64) (text[i] - '0')))
      return FALSE;
  return TRUE;
}

/**
 * ir_text_literal:
 * @lexer: a lexer
 * @literal: (out): a number or a string; its string must be made by the caller
 */
gboolean
ir_text_literal (IrTextLexer *lexer, IrTextLiteral *literal)
{
  gboolean is_float = FALSE;
  char buffer[512];
  gsize length;

  literal->negative = literal->is_nan = FALSE;
  if (ir_text_peek (lexer) == '"')
    {
      literal->kind = IR_TEXT_STRING;
      return ir_text_string (lexer, literal->string);
    }
  literal->negative = ir_text_match (lexer, '-');
  if (!literal->negative)
    ir_text_match (lexer, '+');
  if (g_ascii_isalpha (ir_text_peek (lexer)))
    return special_number (lexer, literal);
  length = scan_number (lexer, &is_float);
  if (length == 0 || length >= sizeof buffer)
    return ir_text_fail (lexer, "a number or a string is needed");
  memcpy (buffer, lexer->next, length);
  buffer[length] = '\0';
  literal->kind = is_float ? IR_TEXT_FLOAT : IR_TEXT_INT;
  literal->number = g_ascii_strtod (buffer, NULL);
  if (literal->negative)
    literal->number = -literal->number;
  if (!is_float && !parse_magnitude (buffer, length, &literal->magnitude))
    return ir_text_fail (lexer, "an integer of at most 64 bits is needed");
  lexer->next += length;
  return TRUE;
}

/**
 * ir_text_literal_int64:
 * @literal: a literal
 * @number: (out): its value
 *
 * Returns: %FALSE if it is no integer of 64 bits
 */
gboolean
ir_text_literal_int64 (const IrTextLiteral *literal, gint64 *number)
{
  guint64 limit = (guint64) G_MAXINT64 + (literal->negative ? 1 : 0);

  if (literal->kind != IR_TEXT_INT || literal->magnitude > limit)
    return FALSE;
  *number = (gint64) (literal->negative ? 0 - literal->magnitude : literal->magnitude);
  return TRUE;
}

/**
 * ir_text_int64:
 * @lexer: a lexer
 * @number: (out): its value
 *
 * Takes an integer of 64 bits, or reports that it is missing.
 *
 * Returns: %TRUE if it was there
 */
gboolean
ir_text_int64 (IrTextLexer *lexer, gint64 *number)
{
  IrTextLiteral literal = { 0 };
  IrDraftPlace place = ir_text_place (lexer);

  if (ir_text_peek (lexer) == '"')
    return ir_text_fail (lexer, "an integer is needed");
  if (!ir_text_literal (lexer, &literal))
    return FALSE;
  if (ir_text_literal_int64 (&literal, number))
    return TRUE;
  ir_draft_problem (lexer->draft, IR_SEVERITY_ERROR, IR_PROBLEM_SYNTAX, place,
                    "Line %u, column %u: an integer of 64 bits is needed.", place.line,
                    place.column);
  lexer->n_errors++;
  return FALSE;
}

/* -- notes: #! doc "…" metadata ["k":"v", …] unknown "base64" -- */

/* Strings in notes write line ends as \n, since a comment ends with its line. */
static gboolean
note_string (const char **p, GString *string)
{
  g_string_truncate (string, 0);
  ir_skip_space (p);
  if (**p != '"')
    return FALSE;
  for ((*p)++; **p != '"'; (*p)++)
    {
      char c = **p;

      if (c == '\0')
        return FALSE;
      if (c == '\\')
        {
          c = *++(*p);
          if (c == '\0')
            return FALSE;
          c = c == 'n' ? '\n' : c == 'r' ? '\r' : c;
        }
      g_string_append_c (string, c);
    }
  (*p)++;
  return TRUE;
}

static gboolean
note_metadata (const char **p, GPtrArray *keys, GPtrArray *values)
{
  g_autoptr (GString) key = g_string_new (NULL);
  g_autoptr (GString) value = g_string_new (NULL);

  if (!ir_accept (p, "["))
    return FALSE;
  do
    {
      if (!note_string (p, key) || !ir_accept (p, ":") || !note_string (p, value))
        return FALSE;
      g_ptr_array_add (keys, g_strdup (key->str));
      g_ptr_array_add (values, g_strdup (value->str));
    }
  while (ir_accept (p, ","));
  return ir_accept (p, "]");
}

/**
 * ir_text_take_note:
 * @lexer: a lexer
 *
 * Returns: (transfer none) (nullable): what the comments before the next token say about it
 */
const IrExtra *
ir_text_take_note (IrTextLexer *lexer)
{
  g_autoptr (GPtrArray) keys = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) doc = g_string_new (NULL);
  g_autoptr (GString) base64 = g_string_new (NULL);
  g_autoptr (GBytes) unknown = NULL;
  const char *p;

  skip_space (lexer);
  if (lexer->note->len == 0)
    return NULL;
  for (p = lexer->note->str; *p != '\0';)
    if (ir_accept (&p, "doc"))
      note_string (&p, doc);
    else if (ir_accept (&p, "metadata"))
      note_metadata (&p, keys, values);
    else if (ir_accept (&p, "unknown"))
      note_string (&p, base64);
    else if (*p != '\0')
      p++;
  if (base64->len > 0)
    {
      gsize length;
      guint8 *data = g_base64_decode (base64->str, &length);

      unknown = g_bytes_new_take (data, length);
    }
  g_string_truncate (lexer->note, 0);
  return ir_extra_new (lexer->draft->context, doc->str,
                       ir_props_new (lexer->draft->context, keys->len,
                                     (const char *const *) keys->pdata,
                                     (const char *const *) values->pdata),
                       unknown);
}

/**
 * ir_text_skip_statement:
 * @lexer: a lexer
 *
 * Goes on behind a mistake: to the end of the line, or of the brackets that are opened on it, but
 * not over the "}" that ends the graph.
 */
void
ir_text_skip_statement (IrTextLexer *lexer)
{
  guint depth = 0;

  for (; lexer->next < lexer->end; lexer->next++)
    {
      char c = *lexer->next;

      if (c == '{')
        depth++;
      else if (c == '}' && depth-- == 0)
        return;
      else if (c == '\n' && depth == 0)
        return;
    }
}
