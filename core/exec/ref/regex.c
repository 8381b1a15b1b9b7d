/* RegexFullMatch. A short string can take ten million trials. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ref-util.h"
#include "core/exec/ref/ref.h"
#include <string.h>

typedef enum
{
  MATCH_DONE,
  MATCH_PATTERN_TEXT, /* not UTF-8 */
  MATCH_PATTERN,
  MATCH_TEXT, /* an element is not UTF-8 */
  MATCH_LIMIT /* an element takes too long */
} MatchStatus;

typedef struct
{
  const IrCall *call;
  const char *pattern;
  const IrTensor *strings;
  MatchStatus status;
  guint64 element; /* that was the last */
  GError *error;
} Match;

static GRegex *
compile (Match *match)
{
  /* $ means the very end, and only a line feed ends a line, as in RE2. */
  GRegexCompileFlags flags = G_REGEX_DOLLAR_ENDONLY | G_REGEX_NEWLINE_LF | G_REGEX_OPTIMIZE;

  match->status = MATCH_PATTERN_TEXT;
  if (!g_utf8_validate (match->pattern, -1, NULL))
    return NULL;
  match->status = MATCH_PATTERN;
  /* By itself first, so that no parenthesis of ours closes one that it leaves open. */
  g_autoptr (GRegex) alone = g_regex_new (match->pattern, flags, 0, &match->error);
  g_autofree char *whole = g_strdup_printf ("\\A(?:%s)\\z", match->pattern);
  return alone != NULL ? g_regex_new (whole, flags, 0, &match->error) : NULL;
}

/* @matches: of each element */
static void
run (Match *match, guint8 *matches)
{
  g_autoptr (GRegex) regex = compile (match);

  if (regex == NULL)
    return;
  for (guint64 i = 0; i < ir_tensor_n_elements (match->strings) && !ir_call_stopped (match->call); i++)
    {
      gsize length;
      const char *text = g_bytes_get_data (ir_tensor_string (match->strings, i), &length);
      match->element = i;
      match->status = MATCH_TEXT;
      if (length > G_MAXINT || (length > 0 && !g_utf8_validate_len (text, length, NULL)))
        return;
      match->status = MATCH_LIMIT;
      matches[i] = g_regex_match_full (regex, length > 0 ? text : "", (gssize) length, 0, 0, NULL,
                                       &match->error);
      if (match->error != NULL)
        return;
    }
  match->status = MATCH_DONE;
}

static gboolean
fail (const IrCall *call, const Match *match, GError **error)
{
  const char *message = match->error != NULL ? match->error->message : NULL;

  if (match->status == MATCH_PATTERN_TEXT)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "pattern is not UTF-8");
  if (match->status == MATCH_PATTERN)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "pattern cannot be read: %s", message);
  if (match->status == MATCH_TEXT)
    return ir_call_fail (call, error, IR_OP_ERROR_VALUE,
                         "element %" G_GUINT64_FORMAT " is not UTF-8, or has a zero byte",
                         match->element);
  return ir_call_fail (call, error, IR_OP_ERROR_LIMIT,
                       "element %" G_GUINT64_FORMAT ": %s; simplify the pattern", match->element,
                       message);
}

/* X, strings. PCRE2 stands in for RE2: what RE2 refuses (back references, assertions) it takes,
 * its classes \w, \d, \s and \b know all of Unicode, and it gives up, with %IR_OP_ERROR_LIMIT,
 * on patterns that need too many trials. Source: ONNX RegexFullMatch 20. */
gboolean
ir_ref_regex_full_match (IrCall *call, GError **error)
{
  if (!ir_ref_prepare (call, error))
    return FALSE;
  Match match = { .call = call,
                  .pattern = ir_call_string (call, "pattern", ""),
                  .strings = ir_call_input (call, 0) };
  IrTensor *out = ir_block_new_output (call, 0, error);
  if (out == NULL)
    return FALSE;
  run (&match, ir_tensor_data_writable (out));
  gboolean done = match.status == MATCH_DONE || fail (call, &match, error);
  g_clear_error (&match.error);
  return done;
}
