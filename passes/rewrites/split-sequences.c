/* A sequence of pieces that is only read at constant positions is not needed:
 *
 *     x --SplitToSequence--> s --SequenceAt 0--> a
 *                            s --SequenceAt 2--> c          x --Split--> a, _, c
 *
 * One position alone is a Slice; pieces that lost their axis (keepdims 0) are a Gather each. How
 * many pieces there are must be known: by their sizes, or by one size and the axis. Positions that
 * do not exist stay, as they end a run. PyTorch's exporter writes torch.split so. O(uses). Source:
 * ONNX Runtime and onnxscript fold SplitToSequence with SequenceAt; ONNX opset 11. */
#include "config.h"

#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE "split-sequences"

#define MAX_PIECES 256

typedef struct
{
  IrPassContext *context;
  IrNode *cut;
  gint64 axis;
  gboolean drops_axis;
  guint n;                  /* pieces */
  gint64 sizes[MAX_PIECES]; /* of each along the axis */
  GArray *positions;        /* of guint: which piece each use reads */
} Site;

static gboolean
refuse (const Site *site, const char *reason)
{
  ir_edit_refuse (site->context->edit, RULE, site->cut->id, reason);
  return FALSE;
}

/* Equal pieces of @size, the last perhaps smaller. */
static gboolean
equal_pieces (Site *site, gint64 size, IrDim all)
{
  if (!ir_dim_is_known (all) || all < 1)
    return refuse (site, "the size of the axis is not known");
  if (size < 1 || (all - 1) / size >= MAX_PIECES)
    return refuse (site, "there are too many pieces");
  for (gint64 at = 0; at < all; at += size)
    site->sizes[site->n++] = MIN (size, all - at);
  return TRUE;
}

static gboolean
find_pieces (Site *site)
{
  const IrType *x = site->cut->inputs[0]->type;
  const IrValue *split = ir_node_input (site->cut, 1);
  const IrTensor *sizes = split != NULL ? ir_value_constant (split) : NULL;

  if (!ir_type_is_tensor (x) || x->rank < 1)
    return refuse (site, "the number of axes is not known");
  site->axis = ir_node_attr_int (site->cut, "axis", 0);
  site->axis += site->axis < 0 ? x->rank : 0;
  if (site->axis < 0 || site->axis >= x->rank)
    return refuse (site, "there is no such axis");
  site->drops_axis = split == NULL && ir_node_attr_int (site->cut, "keepdims", 1) == 0;
  if (split != NULL && sizes == NULL)
    return refuse (site, "the sizes of the pieces are not constant");
  if (sizes == NULL || ir_tensor_rank (sizes) == 0)
    return equal_pieces (site, sizes != NULL ? ir_tensor_get_int64 (sizes, 0) : 1,
                         x->dims[site->axis]);
  if (ir_tensor_n_elements (sizes) < 1 || ir_tensor_n_elements (sizes) > MAX_PIECES)
    return refuse (site, "there are no pieces, or too many");
  for (guint64 i = 0; i < ir_tensor_n_elements (sizes); i++)
    if ((site->sizes[site->n++] = ir_tensor_get_int64 (sizes, i)) < 0)
      return refuse (site, "a piece has a negative size");
  return TRUE;
}

/* Whether every use reads a constant position; which ones. A position that is an output of the
 * graph twice would need an Identity. */
static gboolean
find_positions (Site *site)
{
  const IrValue *sequence = site->cut->outputs[0];
  gboolean given[MAX_PIECES] = { FALSE };

  if (sequence->n_uses == 0)
    return refuse (site, "nothing reads the sequence");
  for (guint i = 0; i < sequence->n_uses; i++)
    {
      IrUse use = ir_value_use (sequence, i);
      const IrTensor *at = use.node != NULL && ir_op_is (use.node, IR_OP_SEQUENCE_AT) &&
                                   ir_node_input (use.node, 1) != NULL
                               ? ir_value_constant (use.node->inputs[1])
                               : NULL;

      if (at == NULL || ir_tensor_n_elements (at) != 1)
        return refuse (site, "the sequence is used otherwise than at a constant position");
      if (use.node->graph != site->cut->graph || use.node->device != site->cut->device ||
          ir_pass_has_control (site->context, use.node))
        return refuse (site, "the sequence is read in another graph or on another device");
      gint64 position = ir_tensor_get_int64 (at, 0);
      position += position < 0 ? site->n : 0;
      if (position < 0 || position >= site->n)
        return refuse (site, "there is no piece at some position");
      guint piece = (guint) position;
      if (ir_value_is_graph_output (use.node->outputs[0]) && given[piece])
        return refuse (site, "a piece is an output of the graph twice");
      given[piece] |= ir_value_is_graph_output (use.node->outputs[0]);
      g_array_append_val (site->positions, piece);
    }
  return TRUE;
}

/* -- what stands for the sequence -- */

static IrValue *
add_ints (Site *site, const char *name, gint64 value, gboolean scalar)
{
  g_autoptr (IrTensor) tensor = scalar ? ir_tensor_new_scalar (IR_DTYPE_INT64, (double) value)
                                       : ir_tensor_new_int64s (&value, 1);

  return ir_pass_add_constant (site->context, site->cut->graph, name, tensor);
}

static IrNode *
add_node (Site *site, const char *op, guint n_inputs, IrValue **inputs, guint n_outputs)
{
  return ir_edit_add_node (site->context->edit, site->cut->graph, op, NULL, NULL, n_inputs, inputs,
                           n_outputs);
}

static void
set_axis (Site *site, IrNode *node)
{
  ir_edit_set_attr (site->context->edit, node,
                    ir_attr_int (site->context->model->context, "axis", site->axis));
}

static IrNode *
add_gather (Site *site, guint piece)
{
  IrValue *inputs[] = { site->cut->inputs[0], add_ints (site, "index", piece, TRUE) };
  IrNode *node = add_node (site, "Gather", 2, inputs, 1);

  set_axis (site, node);
  return node;
}

static IrNode *
add_slice (Site *site, guint piece)
{
  gint64 start = 0;

  for (guint i = 0; i < piece; i++)
    start += site->sizes[i];
  IrValue *inputs[] = { site->cut->inputs[0], add_ints (site, "start", start, FALSE),
                        add_ints (site, "end", start + site->sizes[piece], FALSE),
                        add_ints (site, "axis", site->axis, FALSE) };
  return add_node (site, "Slice", 4, inputs, 1);
}

/* Sizes are an attribute before opset 13. */
static IrNode *
add_split (Site *site)
{
  IrContext *names = site->context->model->context;
  gboolean by_input = ir_node_opset (site->cut) >= 13;
  IrValue *inputs[2] = { site->cut->inputs[0], NULL };

  if (by_input)
    {
      g_autoptr (IrTensor) sizes = ir_tensor_new_int64s (site->sizes, site->n);
      inputs[1] = ir_pass_add_constant (site->context, site->cut->graph, "sizes", sizes);
    }
  IrNode *node = add_node (site, "Split", by_input ? 2 : 1, inputs, site->n);
  set_axis (site, node);
  if (!by_input)
    ir_edit_set_attr (site->context->edit, node,
                      ir_attr_ints (names, "split", site->sizes, site->n));
  return node;
}

/* Whether a Slice does: one piece is read, of known size, and it is not all. */
static gboolean
reads_one (const Site *site)
{
  for (guint i = 1; i < site->positions->len; i++)
    if (g_array_index (site->positions, guint, i) != g_array_index (site->positions, guint, 0))
      return FALSE;
  return TRUE;
}

static void
write_pieces (Site *site)
{
  const IrValue *sequence = site->cut->outputs[0];
  g_autoptr (GPtrArray) readers = g_ptr_array_new ();
  gboolean one = reads_one (site);
  IrNode *fresh = NULL;

  for (guint i = 0; i < sequence->n_uses; i++)
    g_ptr_array_add (readers, ir_value_use (sequence, i).node);
  for (guint i = 0; i < readers->len; i++)
    {
      guint piece = g_array_index (site->positions, guint, i);

      if (site->drops_axis)
        fresh = add_gather (site, piece);
      else if (fresh == NULL)
        fresh = one ? add_slice (site, piece) : add_split (site);
      if (fresh->outputs[0]->type == NULL)
        ir_infer_node (site->context->edit, fresh, NULL);
      ir_pass_replace_node (site->context, readers->pdata[i],
                            fresh->outputs[one || site->drops_axis ? 0 : piece]);
      ir_edit_step_map_node (site->context->edit, site->cut->id, fresh->id);
    }
  ir_pass_remove_node (site->context, site->cut);
}

static void
visit (IrPassContext *context, IrNode *node)
{
  g_autoptr (GArray) positions = g_array_new (FALSE, FALSE, sizeof (guint));
  Site site = { .context = context, .cut = node, .positions = positions };

  if (!ir_op_is (node, IR_OP_SPLIT_TO_SEQUENCE) || node->n_outputs != 1 || ir_pass_is_open (node) || ir_pass_has_control (context, node) ||
      !find_pieces (&site) || !find_positions (&site) ||
      !ir_pass_begin (context, RULE, IR_CLASS_EXACT, node))
    return;
  ir_edit_step_reason (context->edit, "%u pieces of %s, read at %u constant positions", site.n,
                       node->inputs[0]->name, positions->len);
  write_pieces (&site);
  ir_pass_end (context);
}

static gboolean
run (IrPassContext *context, GError **error)
{
  return ir_pass_visit_nodes (context, visit, error);
}

static const IrRule rules[] = {
  { RULE, "SplitToSequence that only SequenceAt with constant positions reads",
    "Split, a Slice, or Gathers", IR_CLASS_EXACT,
    "Pieces that are read at constant positions need no sequence." },
  { NULL },
};

const IrPass ir_pass_split_sequences = {
  .name = "split-sequences",
  .title = "Split without sequences",
  .doc = "A sequence of pieces of a value that is only read at constant positions becomes a Split, "
         "one Slice if one piece is read, or Gathers if the pieces have lost their axis.",
  .source = "onnxscript and ONNX Runtime, folding of SplitToSequence and SequenceAt",
  .step_class = IR_CLASS_EXACT,
  .before_after = "x -> SplitToSequence -> SequenceAt -> a, SequenceAt -> b\nx -> Split -> a, b",
  .run = run,
  .documented_rules = rules,
};
