/* Learning rates, as torch.optim.lr_scheduler's StepLR, CosineAnnealingLR and LinearLR, by steps.
 * Source: Loshchilov and Hutter 2017 (cosine); Goyal et al. 2017 (warm-up). */
#include "config.h"

#include "core/exec/train/rate.h"

#include <math.h>
#include <string.h>

static gboolean
fail (const char *text, GError **error)
{
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "the schedule \"%s\" is none: it is constant, cosine or step:EPOCHS:FACTOR, perhaps "
               "with warm-up:STEPS, before it",
               text);
  return FALSE;
}

static gboolean
parse_steps (const char *text, guint64 *steps, const char **rest)
{
  char *end;

  *steps = g_ascii_strtoull (text, &end, 10);
  *rest = end;
  return end != text && g_ascii_isdigit (*text) && *steps > 0;
}

static gboolean
parse_kind (const char *text, IrRate *rate)
{
  const char *rest;
  char *end;

  rate->kind = strcmp (text, "cosine") == 0 ? IR_RATE_COSINE : IR_RATE_CONSTANT;
  if (strcmp (text, "constant") == 0 || strcmp (text, "cosine") == 0)
    return TRUE;
  rate->kind = IR_RATE_STEP;
  if (!g_str_has_prefix (text, "step:") ||
      !parse_steps (text + strlen ("step:"), &rate->every, &rest) || *rest != ':')
    return FALSE;
  rate->factor = g_ascii_strtod (rest + 1, &end);
  return end != rest + 1 && *end == '\0' && rate->factor > 0 && isfinite (rate->factor);
}

/**
 * ir_rate_parse:
 * @text: "constant", "cosine" or "step:30:0.1", perhaps with "warm-up:100," before it
 * @rate: (inout): keeps its base
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE, saying what there is.
 *
 * Returns: %TRUE if it is a schedule
 */
gboolean
ir_rate_parse (const char *text, IrRate *rate, GError **error)
{
  const char *kind = text, *rest;

  *rate = (IrRate){ .base = rate->base };
  if (g_str_has_prefix (text, "warm-up:"))
    {
      if (!parse_steps (text + strlen ("warm-up:"), &rate->warm_up, &rest))
        return fail (text, error);
      if (*rest == '\0')
        return TRUE;
      if (*rest != ',')
        return fail (text, error);
      kind = rest + 1;
    }
  return parse_kind (kind, rate) || fail (text, error);
}

/**
 * ir_rate_at:
 * @rate: a schedule
 * @step: from 0 on
 * @n_steps: of the whole training
 * @per_epoch: of an epoch
 *
 * Returns: the learning rate of that step
 */
double
ir_rate_at (const IrRate *rate, guint64 step, guint64 n_steps, guint64 per_epoch)
{
  double value = rate->base;

  if (step < rate->warm_up)
    return value * (double) (step + 1) / (double) rate->warm_up;
  if (rate->kind == IR_RATE_STEP)
    value *= pow (rate->factor, (double) (step / MAX (per_epoch, 1) / rate->every));
  else if (rate->kind == IR_RATE_COSINE)
    {
      double part = (double) (step - rate->warm_up) /
                    (double) (n_steps > rate->warm_up ? n_steps - rate->warm_up : 1);
      value *= 0.5 * (1 + cos (G_PI * MIN (part, 1)));
    }
  return value;
}
