/* What parsers written by hand share: each holds a place in a text that ends with 0, and moves on. */
#pragma once

#include <glib.h>
#include <string.h>

static inline void
ir_skip_space (const char **at)
{
  while (g_ascii_isspace (**at))
    (*at)++;
}

/* Steps over @token, and space before it, if it stands there; else over the space alone. */
static inline gboolean
ir_accept (const char **at, const char *token)
{
  ir_skip_space (at);
  if (!g_str_has_prefix (*at, token))
    return FALSE;
  *at += strlen (token);
  return TRUE;
}
