/* Losses as nodes of ai.onnx, means over all elements as torch.nn takes them:
 *
 *   cross-entropy   SoftmaxCrossEntropyLoss (scores, labels)
 *   nll             NegativeLogLikelihoodLoss (log probabilities, labels)
 *   mse             mean of d d                       d = prediction - target
 *   l1              mean of |d|
 *   huber           mean of d d / 2 where |d| < delta, else delta (|d| - delta / 2)
 *   bce             mean of Softplus (z) - z t        of logits z: no exponential overflows
 *
 * Where the class axis is the last of three or more, scores become [N, C] and labels [N] first.
 * Source: torch.nn; ONNX SoftmaxCrossEntropyLoss 13. */
#include "config.h"

#include "core/grad/loss.h"

#include "core/grad/emit.h"
#include "core/op/op.h"

#include <string.h>

typedef IrValue *(*LossFunc) (const IrVjp *at, IrValue *prediction, IrValue *target, double delta);

struct _IrLossKind
{
  const char *name;
  const char *operator;   /* (nullable) of labels: ONNX's loss */
  const char *activation; /* (nullable) the form that is a part of the loss */
  LossFunc function;      /* of numbers */
};

static IrValue *
number (const IrVjp *at, const IrValue *like, double value)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (ir_value_dtype (like), value);

  return ir_edit_add_initializer (at->edit, at->graph, NULL, tensor);
}

static IrValue *
mean (const IrVjp *at, IrValue *value)
{
  IrNode *node = ir_emit_node (at, "ReduceMean", 1, &value, 1);

  ir_emit_attr_int (at, node, "keepdims", 0);
  return ir_emit_end (at, node);
}

static IrValue *
squared (const IrVjp *at, IrValue *prediction, IrValue *target, double delta)
{
  IrValue *d = ir_emit2 (at, "Sub", prediction, target);

  return mean (at, ir_emit2 (at, "Mul", d, d));
}

static IrValue *
absolute (const IrVjp *at, IrValue *prediction, IrValue *target, double delta)
{
  return mean (at, ir_emit1 (at, "Abs", ir_emit2 (at, "Sub", prediction, target)));
}

static IrValue *
huber (const IrVjp *at, IrValue *prediction, IrValue *target, double delta)
{
  IrValue *d = ir_emit2 (at, "Sub", prediction, target), *size = ir_emit1 (at, "Abs", d);
  IrValue *square = ir_emit2 (at, "Mul", number (at, d, 0.5), ir_emit2 (at, "Mul", d, d));
  IrValue *line = ir_emit2 (at, "Mul", number (at, d, delta),
                            ir_emit2 (at, "Sub", size, number (at, d, delta / 2)));

  return mean (
      at, ir_emit3 (at, "Where", ir_emit2 (at, "Less", size, number (at, d, delta)), square, line));
}

static IrValue *
binary (const IrVjp *at, IrValue *prediction, IrValue *target, double delta)
{
  return mean (at, ir_emit2 (at, "Sub", ir_emit1 (at, "Softplus", prediction),
                             ir_emit2 (at, "Mul", prediction, target)));
}

static const IrLossKind kinds[] = {
  { "cross-entropy", "SoftmaxCrossEntropyLoss", "Softmax", NULL },
  { "nll", "NegativeLogLikelihoodLoss", NULL, NULL },
  { "mse", NULL, NULL, squared },
  { "l1", NULL, NULL, absolute },
  { "huber", NULL, NULL, huber },
  { "bce", NULL, "Sigmoid", binary },
};

/**
 * ir_loss_find:
 * @name: "cross-entropy", "nll", "mse", "l1", "huber" or "bce"
 *
 * Returns: (nullable): the loss of that name
 */
const IrLossKind *
ir_loss_find (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kinds[i].name, name) == 0)
      return &kinds[i];
  return NULL;
}

/**
 * ir_loss_names:
 *
 * Returns: all of them, with commas between
 */
const char *
ir_loss_names (void)
{
  return "cross-entropy, nll, mse, l1, huber, bce";
}

/* -- what it reads -- */

static gint64
class_axis (const IrValue *prediction, gboolean last)
{
  return last ? ir_value_rank (prediction) - 1 : 1;
}

/**
 * ir_loss_activation:
 * @kind: a loss
 * @prediction: what it compares
 * @last: classes lie along the last axis, not along axis 1
 *
 * The loss of cross-entropy is that of scores, before a Softmax, and that of bce before a Sigmoid:
 * there it neither overflows nor loses small probabilities.
 *
 * Returns: (nullable): the node that gives @prediction, where its input is what the loss reads
 */
IrNode *
ir_loss_activation (const IrLossKind *kind, const IrValue *prediction, gboolean last)
{
  IrNode *node = prediction->producer;
  gboolean logs = node != NULL && ir_node_is (node, "LogSoftmax");
  gint64 axis;

  if (node == NULL || kind->activation == NULL || node->n_inputs == 0 || node->inputs[0] == NULL)
    return NULL;
  if (kind->function != NULL)
    return ir_node_is (node, kind->activation) ? node : NULL;
  if (!logs && !ir_node_is (node, kind->activation))
    return NULL;
  axis = ir_node_attr_int (node, "axis", -1);
  axis += axis < 0 ? ir_value_rank (prediction) : 0;
  return axis == class_axis (prediction, last) ? node : NULL;
}

/**
 * ir_loss_check:
 * @kind: a loss
 * @prediction: what it compares
 * @last: as above
 * @error: return location for an error
 *
 * Fails with %G_OPTION_ERROR_BAD_VALUE, saying what it needs.
 *
 * Returns: %TRUE if it can be added
 */
gboolean
ir_loss_check (const IrLossKind *kind, const IrValue *prediction, gboolean last, GError **error)
{
  int rank = ir_value_rank (prediction);

  if (rank == IR_RANK_UNKNOWN)
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "the number of axes of \"%s\" is not known; give the sizes of the inputs",
                   prediction->name);
      return FALSE;
    }
  if (kind->operator== NULL || rank >= 2)
    return TRUE;
  g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
               "%s needs scores [N, C, ...], and \"%s\" has %d ax%s", kind->name, prediction->name,
               rank, rank == 1 ? "is" : "es");
  return FALSE;
}

/* Labels have the sizes of the scores without the axis of classes. */
static const IrType *
label_type (const IrValue *scores, gboolean last)
{
  IrContext *context = scores->graph->model->context;
  gint64 axis = class_axis (scores, last);
  IrDim dims[IR_MAX_RANK];
  int rank = 0;

  for (int i = 0; i < scores->type->rank; i++)
    if (i != axis)
      dims[rank++] = scores->type->dims[i];
  return ir_type_tensor (context, IR_DTYPE_INT64, rank, dims);
}

static IrValue *
add_input (IrEdit *edit, IrGraph *graph, const char *name, const IrType *type)
{
  g_autoptr (GPtrArray) inputs = g_ptr_array_new ();
  const char *own = !ir_model_has_value (ir_edit_model (edit), name)
                        ? name
                        : ir_edit_unique_name (edit, name);
  IrValue *input = ir_edit_add_value (edit, graph, own, type);

  ir_edit_set_flags (edit, input, input->flags | IR_VALUE_NAMED_BY_USER | IR_VALUE_DECLARED);
  for (guint i = 0; i < ir_graph_n_inputs (graph); i++)
    g_ptr_array_add (inputs, ir_graph_input (graph, i));
  g_ptr_array_add (inputs, input);
  ir_edit_set_graph_inputs (edit, graph, (IrValue *const *) inputs->pdata, inputs->len);
  return input;
}

/* -- accuracy -- */

/* The share of classes with the highest score that are the labels. */
static IrValue *
right_classes (const IrVjp *at, IrValue *scores, IrValue *labels)
{
  IrNode *best = ir_emit_node (at, "ArgMax", 1, &scores, 1);

  ir_emit_attr_int (at, best, "axis", 1);
  ir_emit_attr_int (at, best, "keepdims", 0);
  IrValue *right = ir_emit2 (at, "Equal", ir_emit_end (at, best),
                             ir_emit_cast (at, labels, IR_DTYPE_INT64));
  return mean (at, ir_emit_cast (at, right, IR_DTYPE_FLOAT));
}

static IrValue *
right_signs (const IrVjp *at, IrValue *logits, IrValue *target)
{
  IrValue *yes = ir_emit2 (at, "Greater", logits, number (at, logits, 0));
  IrValue *wanted = ir_emit2 (at, "Greater", target, number (at, target, 0.5));

  return mean (at, ir_emit_cast (at, ir_emit2 (at, "Equal", yes, wanted), IR_DTYPE_FLOAT));
}

/* -- the loss -- */

static guint64
behind_all (const IrGraph *graph)
{
  guint64 rank = 0;
  guint n;
  IrNode *const *order = ir_graph_order (graph, &n);

  for (guint i = 0; i < n; i++)
    rank = MAX (rank, order[i]->rank);
  return rank + 1;
}

static IrVjp
at_end (IrEdit *edit, IrGraph *graph)
{
  return (IrVjp){ .edit = edit, .graph = graph, .rank = behind_all (graph) };
}

static void
name_it (IrEdit *edit, IrValue *value, const char *name)
{
  ir_edit_rename_value (
      edit, value,
      !ir_model_has_value (ir_edit_model (edit), name) ? name : ir_edit_unique_name (edit, name));
  ir_edit_set_flags (edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
}

static void
compare_labels (const IrVjp *at, const IrLossKind *kind, gboolean last, IrLossHead *head)
{
  IrValue *scores = head->prediction, *labels = head->target;

  if (last && ir_value_rank (scores) > 2)
    {
      IrValue *shape = ir_emit_shape (at, scores);
      const gint64 ends[] = { -1, G_MAXINT64 }, axis = 0;
      gint64 flat = -1;
      IrValue *classes = ir_emit_slice (at, shape, &ends[0], &ends[1], &axis, 1);
      IrValue *rest = ir_emit_ints (at, &flat, 1);
      IrValue *parts[] = { rest, classes };
      IrNode *both = ir_emit_node (at, "Concat", 2, parts, 1);
      ir_emit_attr_int (at, both, "axis", 0);
      scores = ir_emit2 (at, "Reshape", scores, ir_emit_end (at, both));
      labels = ir_emit2 (at, "Reshape", labels, rest);
    }
  head->loss = ir_emit2 (at, kind->operator, scores, labels);
  head->accuracy = right_classes (at, scores, labels);
}

/**
 * ir_loss_add:
 * @edit: an edit in a step
 * @kind: a loss
 * @target: name of the new input
 * @delta: of huber: up to where the loss is a square
 * @last: classes lie along the last axis
 * @head: (inout): its prediction is compared; gets the rest
 *
 * Adds the loss, and the share of right predictions where there is such a thing.
 */
void
ir_loss_add (IrEdit *edit,
             const IrLossKind *kind,
             const char *target,
             double delta,
             gboolean last,
             IrLossHead *head)
{
  IrGraph *graph = head->prediction->graph;
  IrVjp at = at_end (edit, graph);

  head->target = add_input (edit, graph, target,
                            kind->operator!= NULL ? label_type (head->prediction, last)
                                                  : head->prediction->type);
  head->accuracy = NULL;
  if (kind->operator!= NULL)
    compare_labels (&at, kind, last, head);
  else
    head->loss = kind->function (&at, head->prediction, head->target, delta);
  if (kind->function == binary)
    head->accuracy = right_signs (&at, head->prediction, head->target);
  name_it (edit, head->loss, "loss");
  if (head->accuracy != NULL)
    name_it (edit, head->accuracy, "accuracy");
}

/**
 * ir_loss_take_value:
 * @edit: an edit in a step
 * @value: what is minimized; of several elements the mean
 * @head: (out): gets loss and accuracy
 *
 * Takes a value of the graph as the loss.
 */
void
ir_loss_take_value (IrEdit *edit, IrValue *value, IrLossHead *head)
{
  IrVjp at = at_end (edit, value->graph);
  const IrNode *node = value->producer;

  *head = (IrLossHead){ .loss = value };
  if (ir_value_rank (value) != 0)
    head->loss = mean (&at, value);
  if (node != NULL && (ir_op_is (node, IR_OP_SOFTMAX_CROSS_ENTROPY_LOSS) ||
                       ir_op_is (node, IR_OP_NEGATIVE_LOG_LIKELIHOOD_LOSS)))
    {
      head->accuracy = right_classes (&at, node->inputs[0], node->inputs[1]);
      name_it (edit, head->accuracy, "accuracy");
    }
}
