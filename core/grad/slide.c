/* Windows that slide: see slide.h. */
#include "config.h"

#include "core/grad/slide.h"

#include "core/grad/emit.h"

#include <string.h>

static void
read_list (const IrNode *node, const char *name, guint n, gint64 *values, gint64 fallback)
{
  guint given = 0;
  const gint64 *list = ir_node_attr_ints (node, name, &given);

  for (guint i = 0; i < n; i++)
    values[i] = list != NULL && i < given ? list[i] : fallback;
}

static gboolean
read_kernel (const IrVjp *vjp, const IrValue *w, IrSlide *window, GError **error)
{
  read_list (vjp->node, "kernel_shape", window->n, window->kernel, -1);
  for (guint i = 0; i < window->n; i++)
    {
      if (window->kernel[i] < 0 && w != NULL && w->type != NULL &&
          ir_value_rank (w) == (int) window->n + 2)
        window->kernel[i] = w->type->dims[i + 2];
      if (window->kernel[i] <= 0)
        return ir_emit_fail (vjp, error, "the size of its kernel is not known");
    }
  return TRUE;
}

/* What auto_pad comes to, with both sizes. */
static void
resolve_padding (const IrVjp *vjp, IrSlide *window)
{
  const char *mode = ir_node_attr_string (vjp->node, "auto_pad", "NOTSET");

  for (guint i = 0; i < window->n; i++)
    {
      gint64 reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
      gint64 total = MAX ((window->out[i] - 1) * window->strides[i] + reach - window->in[i], 0);
      if (!g_str_has_prefix (mode, "SAME"))
        total = 0;
      window->pads[i] = strcmp (mode, "SAME_LOWER") == 0 ? total - total / 2 : total / 2;
      window->pads[i + window->n] = total - window->pads[i];
    }
}

gboolean
ir_slide_read (const IrVjp *vjp,
               const IrValue *in,
               const IrValue *out,
               const IrValue *w,
               IrSlide *window,
               GError **error)
{
  const IrNode *node = vjp->node;
  const char *mode = ir_node_attr_string (node, "auto_pad", "NOTSET");
  int rank = ir_value_rank (in);

  if (rank < 3 || rank > IR_MAX_RANK || ir_value_rank (out) != rank)
    return ir_emit_fail (vjp, error, "the rank of its input is not known");
  memset (window, 0, sizeof *window);
  window->n = (guint) rank - 2;
  window->group = ir_node_attr_int (node, "group", 1);
  read_list (node, "strides", window->n, window->strides, 1);
  read_list (node, "dilations", window->n, window->dilations, 1);
  read_list (node, "pads", 2 * window->n, window->pads, 0);
  if (!read_kernel (vjp, w, window, error))
    return FALSE;
  window->sizes_known = TRUE;
  for (guint i = 0; i < window->n; i++)
    {
      window->in[i] = in->type->dims[i + 2];
      window->out[i] = out->type->dims[i + 2];
      window->sizes_known &= window->in[i] >= 0 && window->out[i] >= 0;
    }
  if (strcmp (mode, "NOTSET") == 0 || *mode == '\0')
    return TRUE;
  if (!window->sizes_known && strcmp (mode, "VALID") != 0)
    return ir_emit_fail (vjp, error,
                         "its padding follows from sizes that are not known; give them (--dim)");
  resolve_padding (vjp, window);
  return TRUE;
}

/* @back: the padding after each axis is set by the caller. */
void
ir_slide_set_attrs (const IrVjp *vjp, const IrSlide *window, IrNode *node, gboolean back)
{
  ir_emit_attr_ints (vjp, node, "strides", window->strides, window->n);
  ir_emit_attr_ints (vjp, node, "dilations", window->dilations, window->n);
  ir_emit_attr_int (vjp, node, "group", window->group);
  if (!back)
    ir_emit_attr_ints (vjp, node, "pads", window->pads, 2 * window->n);
}

/* With as much padding behind, or as many more elements, as gives the size of the input. */
IrValue *
ir_slide_back (const IrVjp *vjp, const IrSlide *window, IrValue *dy, IrValue *w, GError **error)
{
  gint64 pads[2 * IR_MAX_RANK], more[IR_MAX_RANK];
  IrValue *inputs[] = { dy, w };

  for (guint i = 0; i < window->n; i++)
    {
      gint64 reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
      gint64 behind = window->pads[i + window->n];
      if (window->sizes_known)
        behind = (window->out[i] - 1) * window->strides[i] + reach - window->pads[i] -
                 window->in[i];
      else if (window->strides[i] != 1)
        return ir_emit_fail (vjp, error,
                             "its strides need sizes that are not known; give them (--dim)"),
               NULL;
      pads[i] = window->pads[i];
      pads[i + window->n] = MAX (behind, 0);
      more[i] = MAX (-behind, 0);
    }
  IrNode *node = ir_emit_node (vjp, "ConvTranspose", 2, inputs, 1);
  ir_slide_set_attrs (vjp, window, node, TRUE);
  ir_emit_attr_ints (vjp, node, "pads", pads, 2 * window->n);
  ir_emit_attr_ints (vjp, node, "output_padding", more, window->n);
  return ir_emit_end (vjp, node);
}
