/* Options of passes: rows of a descriptor, texts in pipelines. A pass with some options set is a
 * copy of its descriptor that carries them, so whoever takes a pass takes its options along. */
#include "config.h"

#include "passes/pass.h"

#include <string.h>

struct _IrPassSettings
{
  char *text;   /* "of=loss,wrt=params", in the order of the rows */
  char **texts; /* (nullable) elements: per row of the options */
  guint n;
};

/**
 * ir_pass_option_kind_name:
 * @kind: a kind of option
 *
 * Returns: "text", "int" or "bytes"
 */
const char *
ir_pass_option_kind_name (IrPassOptionKind kind)
{
  static const char *const names[] = {
    [IR_PASS_OPTION_TEXT] = "text",
    [IR_PASS_OPTION_INT] = "int",
    [IR_PASS_OPTION_BYTES] = "bytes",
  };

  return names[kind];
}

static guint
count_options (const IrPass *pass)
{
  guint n = 0;

  while (pass->options != NULL && pass->options[n].name != NULL)
    n++;
  return n;
}

static gboolean
find_option (const IrPass *pass, const char *name, guint *index)
{
  for (*index = 0; *index < count_options (pass); (*index)++)
    if (strcmp (pass->options[*index].name, name) == 0)
      return TRUE;
  return FALSE;
}

/* "64", with IR_PASS_OPTION_BYTES also "64M" */
static gboolean
parse_number (IrPassOptionKind kind, const char *text, guint64 *number)
{
  static const char units[] = "KMG";
  gsize length = strlen (text);
  const char *unit = kind == IR_PASS_OPTION_BYTES && length > 0 ? strchr (units, text[length - 1])
                                                                : NULL;
  g_autofree char *digits = g_strndup (text, unit != NULL ? length - 1 : length);
  guint shift = unit != NULL ? 10 * (guint) (unit - units + 1) : 0;

  if (!g_ascii_string_to_unsigned (digits, 10, 0, G_MAXINT64 >> shift, number, NULL))
    return FALSE;
  *number <<= shift;
  return TRUE;
}

static gboolean
check_value (const IrPass *pass, const IrPassOption *option, const char *value, GError **error)
{
  guint64 number;

  if (option->kind == IR_PASS_OPTION_TEXT || parse_number (option->kind, value, &number))
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "the option %s of the pass %s is \"%s\"; it needs a whole number, 0 or more%s",
               option->name, pass->name, value,
               option->kind == IR_PASS_OPTION_BYTES ? ", of bytes, or with K, M or G" : "");
  return FALSE;
}

static gboolean
fail_unknown (const IrPass *pass, const char *name, GError **error)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < count_options (pass); i++)
    g_string_append_printf (known, "%s%s", i > 0 ? ", " : "it has ", pass->options[i].name);
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "the pass %s has no option \"%s\"; %s", pass->name, name,
               known->len > 0 ? known->str : "it has none");
  return FALSE;
}

static char *
settings_text (const IrPass *pass, const struct _IrPassSettings *settings)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < settings->n; i++)
    if (settings->texts[i] != NULL)
      g_string_append_printf (text, "%s%s=%s", text->len > 0 ? "," : "", pass->options[i].name,
                              settings->texts[i]);
  return g_string_free (text, FALSE);
}

/**
 * ir_pass_set:
 * @pass: a pass, perhaps with options set
 * @option: name of one of its options
 * @value: the value, as text
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE if there is no such option, or it takes no such value.
 *
 * Returns: (transfer full) (nullable): a copy of @pass in which @option is @value
 */
IrPass *
ir_pass_set (const IrPass *pass, const char *option, const char *value, GError **error)
{
  struct _IrPassSettings *settings;
  guint index;
  IrPass *copy;

  if (!find_option (pass, option, &index))
    return fail_unknown (pass, option, error), NULL;
  if (!check_value (pass, &pass->options[index], value, error))
    return NULL;
  settings = g_new0 (struct _IrPassSettings, 1);
  settings->n = count_options (pass);
  settings->texts = g_new0 (char *, settings->n);
  for (guint i = 0; i < settings->n; i++)
    settings->texts[i] = g_strdup (i == index               ? value
                                   : pass->settings != NULL ? pass->settings->texts[i]
                                                            : NULL);
  settings->text = settings_text (pass, settings);
  copy = g_memdup2 (pass, sizeof *pass);
  copy->settings = settings;
  return copy;
}

/**
 * ir_pass_set_free:
 * @pass: (transfer full): what ir_pass_set() returned
 */
void
ir_pass_set_free (IrPass *pass)
{
  for (guint i = 0; i < pass->settings->n; i++)
    g_free (pass->settings->texts[i]);
  g_free (pass->settings->texts);
  g_free (pass->settings->text);
  g_free (pass->settings);
  g_free (pass);
}

/**
 * ir_pass_option_is_set:
 * @pass: a pass
 * @option: name of one of its options
 *
 * Returns: whether @option was given a value
 */
gboolean
ir_pass_option_is_set (const IrPass *pass, const char *option)
{
  guint index;

  g_return_val_if_fail (find_option (pass, option, &index), FALSE);
  return pass->settings != NULL && pass->settings->texts[index] != NULL;
}

/**
 * ir_pass_option:
 * @pass: a pass
 * @option: name of one of its options
 *
 * Returns: (transfer none): the value that was set, else the default
 */
const char *
ir_pass_option (const IrPass *pass, const char *option)
{
  guint index;

  g_return_val_if_fail (find_option (pass, option, &index), "");
  return ir_pass_option_is_set (pass, option) ? pass->settings->texts[index]
                                              : pass->options[index].fallback;
}

/**
 * ir_pass_option_number:
 * @pass: a pass
 * @option: name of one of its options that are numbers
 *
 * Returns: the value that was set, else the default
 */
guint64
ir_pass_option_number (const IrPass *pass, const char *option)
{
  guint64 number = 0;
  guint index;

  g_return_val_if_fail (find_option (pass, option, &index), 0);
  parse_number (pass->options[index].kind, ir_pass_option (pass, option), &number);
  return number;
}

/**
 * ir_pass_settings:
 * @pass: a pass
 *
 * Returns: (transfer none) (nullable): the options that were set, "of=loss,wrt=params"; %NULL: none
 */
const char *
ir_pass_settings (const IrPass *pass)
{
  return pass->settings != NULL ? pass->settings->text : NULL;
}

/**
 * ir_pass_refuse:
 * @error: return location for an error
 * @who: name of the pass
 * @format: which option, what was found, what is needed
 *
 * Says that options of a pass do not fit the model.
 *
 * Returns: %FALSE
 */
gboolean
ir_pass_refuse (GError **error, const char *who, const char *format, ...)
{
  va_list args;

  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s: %s", who, message);
  return FALSE;
}
