/* Makes of a network that was exported to be used one that can be trained:
 *
 *   b2 = Identity (b1), both zeros      b1 and b2, initializers of their own       untie
 *   w, an initializer                   w, mutable: no constant for any pass       mutable
 *   BatchNormalization                  with the statistics of the batch           train-batch-norm
 *   Dropout                             that drops                                 train-dropout
 *   Softmax -> p                        its input is what is compared              softmax
 *   p                                   loss (p, target), and nothing else         loss
 *
 * Parameters are the floating-point initializers with an axis at least that some node computes
 * with; what an operator is told in that way (scales of Resize, the ratio of Dropout) is none.
 * Source: ONNX TrainingInfoProto; torch.onnx, training modes and deduplication of initializers. */
#include "config.h"

#include "core/grad/loss.h"
#include "core/op/op.h"
#include "passes/rewrites/gradient.h"
#include "passes/rewrites/raise.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_UNTIE   "untie"
#define RULE_MUTABLE "mutable"
#define RULE_NORM    "train-batch-norm"
#define RULE_DROPOUT "train-dropout"
#define RULE_SOFTMAX "softmax"
#define RULE_LOSS    "loss"

#define N_NAMED 4 /* parameters that a reason names */

#define fail(error, ...) ir_pass_refuse (error, "to-training", __VA_ARGS__)

static const char *
option (const IrPassContext *context, const char *name)
{
  return ir_pass_option (context->priv->pass, name);
}

/* -- untie -- */

/* An exporter merges initializers of equal contents; those that are not all alike were one before. */
static gboolean
is_uniform (const IrTensor *tensor)
{
  gsize size = ir_dtype_bits (ir_tensor_dtype (tensor)) / 8;
  const guint8 *data = ir_tensor_data (tensor);

  for (guint64 i = 1; data != NULL && i < ir_tensor_n_elements (tensor); i++)
    if (memcmp (data, data + i * size, size) != 0)
      return FALSE;
  return data != NULL;
}

static gboolean
is_merged (const IrNode *node)
{
  const IrValue *from = ir_node_is (node, "Identity") ? node->inputs[0] : NULL;

  return from != NULL && node->outputs[0] != NULL && from->initializer != NULL &&
         from->graph == node->graph && ir_value_constant (from) != NULL &&
         ir_dtype_is_float (ir_value_dtype (from)) && ir_value_rank (from) > 0 &&
         !ir_value_is_graph_output (node->outputs[0]) && is_uniform (from->initializer);
}

static void
untie (IrPassContext *context, IrNode *node)
{
  IrEdit *edit = context->edit;
  IrValue *from = node->inputs[0], *old = node->outputs[0];

  if (!ir_pass_begin (context, RULE_UNTIE, IR_CLASS_EXACT, node))
    return;
  g_autofree char *name = g_strdup (old->name);
  g_autoptr (IrTensor) copy = ir_tensor_copy (from->initializer, NULL);
  if (copy == NULL)
    {
      ir_pass_abort (context);
      return;
    }
  IrValue *own = ir_edit_add_initializer (edit, node->graph, NULL, copy);
  ir_edit_set_flags (edit, own, old->flags);
  ir_edit_replace_uses (edit, old, own);
  ir_edit_remove_node (edit, node);
  ir_edit_rename_value (edit, own, name);
  ir_edit_step_reason (
      edit,
      "%s had been merged with %s, whose elements are the same; each is trained by "
      "itself",
      name, from->name);
  ir_pass_end (context);
}

static void
untie_all (IrPassContext *context)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (context->model->main);

  for (guint i = 0; i < nodes->len && !context->stopped; i++)
    if (is_merged (nodes->pdata[i]))
      untie (context, nodes->pdata[i]);
}

/* -- mutable -- */

/* Operators that are told something by a floating-point input: all from that slot on. */
static const struct
{
  IrOpId op;
  guint first;
} told[] = {
  { IR_OP_RESIZE, 1 },
  { IR_OP_UPSAMPLE, 1 },
  { IR_OP_DROPOUT, 1 },
  { IR_OP_CLIP, 1 },
  { IR_OP_PAD, 1 },
  { IR_OP_QUANTIZE_LINEAR, 1 },
  { IR_OP_DEQUANTIZE_LINEAR, 1 },
};

static gboolean
is_told (IrUse use)
{
  for (guint i = 0; use.node != NULL && i < G_N_ELEMENTS (told); i++)
    if (ir_op_is (use.node, told[i].op) && use.slot >= told[i].first)
      return TRUE;
  return FALSE;
}

static gboolean
is_parameter (const IrValue *value)
{
  if (value->initializer == NULL || ir_value_is_mutable (value) ||
      !ir_dtype_is_float (ir_value_dtype (value)) || ir_value_rank (value) < 1 ||
      ir_value_constant (value) == NULL)
    return FALSE;
  for (guint i = 0; i < value->n_uses; i++)
    if (ir_value_use (value, i).node != NULL && !is_told (ir_value_use (value, i)))
      return TRUE;
  return FALSE;
}

static gboolean
is_frozen (const IrValue *value, char **patterns)
{
  for (guint i = 0; patterns[i] != NULL; i++)
    if (g_pattern_match_simple (patterns[i], value->name))
      return TRUE;
  return FALSE;
}

static void
say_which (IrPassContext *context, const GPtrArray *parameters)
{
  g_autoptr (GString) names = g_string_new (NULL);

  for (guint i = 0; i < MIN (parameters->len, N_NAMED); i++)
    g_string_append_printf (names, "%s%s", i > 0 ? ", " : "",
                            ((const IrValue *) parameters->pdata[i])->name);
  ir_edit_step_reason (context->edit, "%u initializers change in training: %s%s", parameters->len,
                       names->str, parameters->len > N_NAMED ? ", …" : "");
}

static gboolean
check_patterns (const IrModel *model, char **patterns, GError **error)
{
  guint n;
  IrValue *const *values = ir_graph_values (model->main, &n);

  for (guint k = 0; patterns[k] != NULL; k++)
    {
      gboolean some = *patterns[k] == '\0';
      char *const one[] = { patterns[k], NULL };
      for (guint i = 0; i < n && !some; i++)
        some = values[i]->initializer != NULL && is_frozen (values[i], (char **) one);
      if (!some)
        return fail (error, "freeze: no initializer is called \"%s\"; irscope info lists them",
                     patterns[k]);
    }
  return TRUE;
}

static gboolean
make_mutable (IrPassContext *context, GError **error)
{
  g_auto (GStrv) patterns = g_strsplit (option (context, "freeze"), ",", -1);
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  gboolean some = FALSE;
  guint n;
  IrValue *const *values = ir_graph_values (context->model->main, &n);

  if (!check_patterns (context->model, patterns, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      some |= ir_value_is_mutable (values[i]);
      if (is_parameter (values[i]) && !is_frozen (values[i], patterns))
        g_ptr_array_add (parameters, values[i]);
    }
  if (parameters->len == 0)
    return some || fail (error, "there are no floating-point initializers to train%s",
                         patterns[0] != NULL ? " beside those that are frozen" : "");
  if (!ir_pass_begin (context, RULE_MUTABLE, IR_CLASS_EXACT, NULL))
    return TRUE;
  for (guint i = 0; i < parameters->len; i++)
    {
      IrValue *value = parameters->pdata[i];
      ir_edit_set_flags (context->edit, value, value->flags | IR_VALUE_MUTABLE);
    }
  say_which (context, parameters);
  ir_pass_end (context);
  return TRUE;
}

/* -- modes -- */

static void
add_output (IrPassContext *context, IrValue *value)
{
  IrGraph *graph = context->model->main;
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (outputs, ir_graph_output (graph, i));
  g_ptr_array_add (outputs, value);
  ir_edit_set_graph_outputs (context->edit, graph, (IrValue *const *) outputs->pdata, outputs->len);
}

/* NAME.new, by which a training run knows what takes the place of a statistic */
static char *
name_of_new (const IrNode *node, guint slot)
{
  return g_strconcat (node->inputs[2 + slot]->name, ".new", NULL);
}

/* What the statistics become, as an output of node and graph. */
static void
give_statistic (IrPassContext *context, IrNode *node, guint slot)
{
  IrEdit *edit = context->edit;
  g_autofree char *name = name_of_new (node, slot);
  IrValue *value = ir_node_output (node, slot);

  const char *free_name = ir_model_has_value (ir_edit_model (edit), name)
                              ? ir_edit_unique_name (edit, name)
                              : name;

  if (value == NULL)
    ir_edit_set_output (edit, node, slot,
                        value = ir_edit_add_value (edit, node->graph, free_name, NULL));
  else if (strcmp (value->name, name) != 0)
    ir_edit_rename_value (edit, value, free_name);
  ir_edit_set_flags (edit, value, value->flags | IR_VALUE_NAMED_BY_USER);
}

/* Whether it is already as a training run wants it; exporters leave out that statistics change. */
static gboolean
gives_statistics (const IrNode *node)
{
  for (guint slot = 1; slot < 3; slot++)
    {
      g_autofree char *name = name_of_new (node, slot);
      const IrValue *value = ir_node_output (node, slot);
      if (value == NULL || !ir_value_is_graph_output (value) || strcmp (value->name, name) != 0)
        return FALSE;
    }
  return ir_node_attr_int (node, "training_mode", 0) != 0;
}

static gboolean
has_own_statistics (const IrNode *node)
{
  for (guint i = 3; i < 5; i++)
    if (!ir_value_is_mutable (node->inputs[i]) || node->inputs[i]->n_uses != 1)
      return FALSE;
  return TRUE;
}

static void
train_norm (IrPassContext *context, IrNode *node)
{
  g_autofree char *label = ir_node_label (node);
  gboolean trained = ir_node_attr_int (node, "training_mode", 0) != 0;

  if (node->n_inputs < 5 || gives_statistics (node))
    return;
  if (!has_own_statistics (node))
    {
      ir_edit_refuse (context->edit, RULE_NORM, node->id,
                      "its statistics are frozen, computed, or those of another node too");
      return;
    }
  if (!ir_pass_begin (context, RULE_NORM, trained ? IR_CLASS_EXACT : IR_CLASS_UNSAFE, node))
    return;
  ir_edit_set_attr (context->edit, node, ir_attr_int (context->model->context, "training_mode", 1));
  ir_edit_set_n_outputs (context->edit, node, 3);
  for (guint slot = 1; slot < 3; slot++)
    give_statistic (context, node, slot);
  ir_infer_node (context->edit, node, NULL);
  for (guint slot = 1; slot < 3; slot++)
    if (!ir_value_is_graph_output (node->outputs[slot]))
      add_output (context, node->outputs[slot]);
  ir_edit_step_reason (context->edit, "%s %s and hands out its running ones", label,
                       trained ? "was exported in training mode"
                               : "normalizes by the statistics of the batch");
  ir_pass_end (context);
}

static IrValue *
constant (IrPassContext *context, IrGraph *graph, const char *name, IrTensor *tensor)
{
  IrValue *value = ir_pass_add_constant (context, graph, name, tensor);

  ir_tensor_unref (tensor);
  return value;
}

static void
train_dropout (IrPassContext *context, IrNode *node)
{
  const guint8 yes = 1;
  g_autofree char *label = ir_node_label (node);

  if (ir_node_input (node, 2) != NULL ||
      !ir_pass_begin (context, RULE_DROPOUT, IR_CLASS_UNSAFE, node))
    return;
  IrValue *training = constant (context, node->graph, "training",
                                ir_tensor_new_copy (IR_DTYPE_BOOL, 0, NULL, &yes));
  ir_edit_set_n_inputs (context->edit, node, 3);
  ir_edit_set_input (context->edit, node, 2, training);
  ir_infer_node (context->edit, node, NULL);
  ir_edit_step_reason (context->edit, "%s drops elements at random", label);
  ir_pass_end (context);
}

/* Normalization that was folded into a convolution cannot be had back: that is said. */
static void
report_folded (IrPassContext *context, const IrNode *node)
{
  const IrValue *output = ir_node_output (node, 0);
  const IrNode *next = output != NULL ? ir_value_only_user (output) : NULL;

  if (ir_node_input (node, 2) == NULL ||
      (next != NULL && ir_op_is (next, IR_OP_BATCH_NORMALIZATION)))
    return;
  ir_edit_refuse (context->edit, RULE_NORM, node->id,
                  "a bias and no normalization behind it; one that was folded into it cannot be "
                  "trained");
}

static void
change_modes (IrPassContext *context)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (context->model->main);

  for (guint i = 0; i < nodes->len && !context->stopped; i++)
    {
      IrNode *node = nodes->pdata[i];
      if (ir_op_is (node, IR_OP_BATCH_NORMALIZATION))
        train_norm (context, node);
      else if (ir_op_is (node, IR_OP_DROPOUT))
        train_dropout (context, node);
      else if (ir_op_is (node, IR_OP_CONV))
        report_folded (context, node);
    }
}

/* -- loss -- */

static gboolean
parse_delta (const IrPassContext *context, double *delta, GError **error)
{
  const char *text = option (context, "delta");
  char *end;

  *delta = g_ascii_strtod (text, &end);
  return (*text != '\0' && *end == '\0' && *delta > 0) ||
         fail (error, "delta is \"%s\"; it needs a number above 0", text);
}

/* Loss, accuracy and new statistics are all that a step hands out. */
static void
set_outputs (IrPassContext *context, const IrLossHead *head)
{
  IrGraph *graph = context->model->main;
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  g_ptr_array_add (outputs, head->loss);
  if (head->accuracy != NULL)
    g_ptr_array_add (outputs, head->accuracy);
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    {
      IrValue *output = ir_graph_output (graph, i);
      if (output->producer != NULL && ir_op_is (output->producer, IR_OP_BATCH_NORMALIZATION) &&
          output->output_slot > 0)
        g_ptr_array_add (outputs, output);
    }
  ir_edit_set_graph_outputs (context->edit, graph, (IrValue *const *) outputs->pdata, outputs->len);
}

/* The prediction without the activation that is a part of the loss. */
static void
pass_activation (IrPassContext *context, const IrLossKind *kind, gboolean last, IrLossHead *head)
{
  IrNode *node = ir_loss_activation (kind, head->prediction, last);
  g_autofree char *label = node != NULL ? ir_node_label (node) : NULL;

  if (node == NULL || !ir_pass_begin (context, RULE_SOFTMAX, IR_CLASS_EXACT, node))
    return;
  IrGraph *graph = context->model->main;
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();
  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    g_ptr_array_add (outputs, ir_graph_output (graph, i) == head->prediction
                                  ? node->inputs[0]
                                  : ir_graph_output (graph, i));
  ir_edit_set_graph_outputs (context->edit, graph, (IrValue *const *) outputs->pdata, outputs->len);
  head->prediction = node->inputs[0];
  ir_edit_step_reason (context->edit, "%s is a part of the loss, which reads what goes into it",
                       label);
  ir_pass_end (context);
}

static gboolean
add_loss (IrPassContext *context, const IrLossKind *kind, IrValue *prediction, GError **error)
{
  gboolean last = strcmp (option (context, "class-axis"), "last") == 0;
  IrLossHead head = { .prediction = prediction };
  double delta;

  if (!parse_delta (context, &delta, error) || !ir_loss_check (kind, head.prediction, last, error))
    return FALSE;
  if (!last && strcmp (option (context, "class-axis"), "1") != 0)
    return fail (error, "class-axis is \"%s\"; it is 1 or last", option (context, "class-axis"));
  pass_activation (context, kind, last, &head);
  if (!ir_pass_begin (context, RULE_LOSS, IR_CLASS_UNSAFE, head.prediction->producer))
    return TRUE;
  ir_loss_add (context->edit, kind, option (context, "target"), delta, last, &head);
  set_outputs (context, &head);
  ir_edit_step_reason (context->edit, "%s compares %s with the new input %s",
                       option (context, "loss"), head.prediction->name, head.target->name);
  ir_pass_end (context);
  return TRUE;
}

static gboolean
take_loss (IrPassContext *context, const char *name, GError **error)
{
  IrValue *value = ir_graph_find_value (context->model->main, name);
  IrLossHead head;

  if (value == NULL || !ir_dtype_is_float (ir_value_dtype (value)))
    return fail (error,
                 "loss: \"%s\" is neither a loss (%s) nor a floating-point value of the graph",
                 name, ir_loss_names ());
  if (!ir_pass_begin (context, RULE_LOSS, IR_CLASS_UNSAFE, value->producer))
    return TRUE;
  ir_loss_take_value (context->edit, value, &head);
  set_outputs (context, &head);
  ir_edit_step_reason (context->edit, "%s is minimized", name);
  ir_pass_end (context);
  return TRUE;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  const char *loss = option (context, "loss");
  const IrLossKind *kind = ir_loss_find (loss);

  if (!ir_raise_control_flow (context, "to-training", error) || context->stopped)
    return context->stopped;
  /* before statistics are outputs too */
  IrValue *prediction = kind != NULL
                            ? ir_gradient_of (context->model, option (context, "of"), error)
                            : NULL;

  if (kind != NULL && prediction == NULL)
    return FALSE;
  untie_all (context);
  if (context->stopped || !make_mutable (context, error))
    return context->stopped;
  change_modes (context);
  if (*loss == '\0' || context->stopped)
    return TRUE;
  return kind != NULL ? add_loss (context, kind, prediction, error)
                      : take_loss (context, loss, error);
}

static const IrRule rules[] = {
  { RULE_UNTIE, "Identity of an initializer of equal elements", "an initializer of its own",
    IR_CLASS_EXACT,
    "Exporters merge equal initializers, such as zero biases; parameters that begin alike are apart "
    "again." },
  { RULE_MUTABLE, "floating-point initializers", "parameters", IR_CLASS_EXACT,
    "They are constants for no pass, planner or kernel any more; those that freeze names stay." },
  { RULE_NORM, "BatchNormalization", "in training mode", IR_CLASS_UNSAFE,
    "The statistics are those of the batch; what the running ones become is an output." },
  { RULE_DROPOUT, "Dropout", "in training mode", IR_CLASS_UNSAFE, "Elements become 0 at random." },
  { RULE_SOFTMAX, "Softmax, LogSoftmax or Sigmoid before the loss", "its input", IR_CLASS_EXACT,
    "The loss has it in a form that neither overflows nor loses small probabilities." },
  { RULE_LOSS, "a prediction", "loss and accuracy", IR_CLASS_UNSAFE,
    "A loss compares it with a new input; loss, accuracy and new statistics are the outputs." },
  { NULL },
};

static const IrPassOption options[] = {
  { "loss", IR_PASS_OPTION_TEXT, "",
    "cross-entropy, nll, mse, l1, huber, bce (of logits), or the name of a value that is minimized. "
    "Default: none is added." },
  { "of", IR_PASS_OPTION_TEXT, "",
    "The value that the loss compares. Default: the only floating-point output." },
  { "target", IR_PASS_OPTION_TEXT, "target", "Name of the input that it is compared with." },
  { "class-axis", IR_PASS_OPTION_TEXT, "1", "Where the classes of scores lie: 1, or last." },
  { "delta", IR_PASS_OPTION_TEXT, "1", "Up to which difference huber is a square." },
  { "freeze", IR_PASS_OPTION_TEXT, "",
    "Patterns of names, with commas between: initializers that stay constant (conv1.*)." },
  { NULL },
};

const IrPass ir_pass_to_training = {
  .name = "to-training",
  .title = "Make ready for training",
  .doc =
      "Makes of a network that was exported for use one that can be trained: parameters become "
      "mutable, merged ones apart again, BatchNormalization and Dropout go to training mode, and "
      "a loss is added.",
  .source = "ONNX TrainingInfoProto; torch.onnx",
  .step_class = IR_CLASS_UNSAFE,
  .before_after =
      "x, w -> Gemm -> Softmax -> p\nx, w -> Gemm -> SoftmaxCrossEntropyLoss (target) -> loss",
  .run = run,
  .documented_rules = rules,
  .options = options,
  .once = TRUE,
};
