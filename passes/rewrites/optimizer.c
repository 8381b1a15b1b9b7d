/* The step of an optimizer as nodes: derivatives that are outputs become new parameters.
 *
 *   w, mutable; w.grad, an output    w.new = w - rate * w.grad, an output       sgd
 *
 * Learning rate and number of steps are an input and a state of their own, optimizer.rate and
 * optimizer.count; what an optimizer keeps from step to step are further mutable initializers
 * (w.mean, w.square, w.momentum ..), each with what it becomes as an output. core/grad/optimizer.c
 * has the arithmetic. Source: torch.optim; ONNX TrainingInfoProto. */
#include "config.h"

#include "core/grad/optimizer.h"
#include "core/ir/edit.h"
#include "passes/rule/rule.h"
#include "passes/rule/step.h"

#include <string.h>

#define RULE_BEGIN  "learning-rate"
#define RULE_CLIP   "clip"
#define RULE_UPDATE "update"
#define RULE_HAND   "hand-out"

#define GRADIENT_SUFFIX ".grad"

#define fail(error, ...) ir_pass_refuse (error, "optimizer", __VA_ARGS__)

/* -- options -- */

static gboolean
parse_number (const IrPass *pass, const char *name, double *number, GError **error)
{
  const char *text = ir_pass_option (pass, name);
  char *end;

  if (!ir_pass_option_is_set (pass, name))
    return TRUE;
  *number = g_ascii_strtod (text, &end);
  return (*text != '\0' && *end == '\0') ||
         fail (error, "%s is \"%s\"; it needs a number", name, text);
}

static gboolean
parse_betas (const IrPass *pass, double *betas, GError **error)
{
  const char *text = ir_pass_option (pass, "betas");
  char *end;

  if (!ir_pass_option_is_set (pass, "betas"))
    return TRUE;
  betas[0] = g_ascii_strtod (text, &end);
  if (end != text && *end == ',')
    {
      const char *second = end + 1;
      betas[1] = g_ascii_strtod (second, &end);
      if (end != second && *end == '\0')
        return TRUE;
    }
  return fail (error, "betas are \"%s\"; two numbers are needed, with a comma between", text);
}

static gboolean
parse_choice (const IrPass *pass,
              const char *name,
              const char *yes,
              const char *no,
              gboolean *chosen,
              GError **error)
{
  const char *text = ir_pass_option (pass, name);

  *chosen |= strcmp (text, yes) == 0;
  return strcmp (text, yes) == 0 || strcmp (text, no) == 0 ||
         fail (error, "%s is \"%s\"; it is %s or %s", name, text, yes, no);
}

static gboolean
parse (const IrPass *pass, IrOptimizer *o, GError **error)
{
  g_autoptr (GError) local = NULL;

  if (!ir_optimizer_find (ir_pass_option (pass, "algorithm"), o, &local))
    return fail (error, "%s", local->message);
  if (!parse_number (pass, "momentum", &o->momentum, error) ||
      !parse_number (pass, "epsilon", &o->epsilon, error) ||
      !parse_number (pass, "weight-decay", &o->weight_decay, error) ||
      !parse_number (pass, "clip", &o->clip, error) ||
      !parse_number (pass, "loss-scale", &o->loss_scale, error) ||
      !parse_betas (pass, o->betas, error) ||
      !parse_choice (pass, "nesterov", "yes", "no", &o->nesterov, error) ||
      !parse_choice (pass, "form", "onnx", "graph", &o->preview, error))
    return FALSE;
  return ir_optimizer_check (o, &local) || fail (error, "%s", local->message);
}

/* -- what is updated -- */

typedef struct
{
  IrPassContext *context;
  GPtrArray *parameters, *gradients; /* of IrValue */
} Found;

static IrValue *
find_output (const IrGraph *graph, const char *name)
{
  IrValue *value = ir_graph_find_value (graph, name);

  for (guint i = 0; value != NULL && i < ir_graph_n_outputs (graph); i++)
    if (ir_graph_output (graph, i) == value)
      return value;
  return NULL;
}

static void
find (Found *found)
{
  const IrGraph *graph = found->context->model->main;
  IrContext *context = found->context->model->context;
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);

  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strconcat (values[i]->name, GRADIENT_SUFFIX, NULL);
      IrValue *gradient = ir_value_is_mutable (values[i]) ? find_output (graph, name) : NULL;
      if (gradient == NULL || gradient->type == NULL || values[i]->type == NULL ||
          !ir_dtype_is_float (ir_value_dtype (gradient)) ||
          ir_type_merge (context, gradient->type, values[i]->type) == NULL)
        continue;
      g_ptr_array_add (found->parameters, values[i]);
      g_ptr_array_add (found->gradients, gradient);
    }
}

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

/* In place of the derivatives, what they lead to. */
static void
hand_out (Found *found, const GPtrArray *derivatives, const IrUpdates *updates)
{
  IrPassContext *context = found->context;
  IrGraph *graph = context->model->main;
  const GPtrArray *values = ir_updates_values (updates);
  g_autoptr (GPtrArray) outputs = g_ptr_array_new ();

  for (guint i = 0; i < ir_graph_n_outputs (graph); i++)
    if (!g_ptr_array_find ((GPtrArray *) derivatives, ir_graph_output (graph, i), NULL))
      g_ptr_array_add (outputs, ir_graph_output (graph, i));
  for (guint i = 0; i < values->len; i++)
    g_ptr_array_add (outputs, values->pdata[i]);
  ir_edit_set_graph_outputs (context->edit, graph, (IrValue *const *) outputs->pdata, outputs->len);
  ir_edit_step_reason (context->edit, "what %u parameters and states become, as NAME.new",
                       values->len);
}

static gboolean
update_all (Found *found, IrUpdates *updates)
{
  IrPassContext *context = found->context;
  g_autoptr (GPtrArray) derivatives = g_ptr_array_copy (found->gradients, NULL, NULL);

  if (!ir_pass_begin (context, RULE_BEGIN, IR_CLASS_EXACT, NULL))
    return TRUE;
  ir_updates_begin (updates);
  ir_edit_step_reason (context->edit, "the learning rate is an input, the number of steps a state");
  ir_pass_end (context);
  if (!ir_pass_begin (context, RULE_CLIP, IR_CLASS_EXACT, NULL))
    return TRUE;
  ir_updates_clip (updates, (IrValue **) found->gradients->pdata, found->gradients->len);
  ir_edit_step_reason (context->edit,
                       "derivatives without the scale of the loss, and no longer than they may be");
  ir_pass_end (context);
  for (guint i = 0; i < found->parameters->len; i++)
    {
      IrValue *parameter = found->parameters->pdata[i];
      if (!ir_pass_begin (context, RULE_UPDATE, IR_CLASS_EXACT, NULL))
        continue;
      ir_updates_add (updates, parameter, found->gradients->pdata[i]);
      ir_edit_step_reason (context->edit, "%s follows its derivative", parameter->name);
      ir_pass_end (context);
    }
  if (!ir_pass_begin (context, RULE_HAND, IR_CLASS_EXACT, NULL))
    return TRUE;
  hand_out (found, derivatives, updates);
  ir_pass_end (context);
  return TRUE;
}

static gboolean
run (IrPassContext *context, GError **error)
{
  g_autoptr (GPtrArray) parameters = g_ptr_array_new (), gradients = g_ptr_array_new ();
  Found found = { context, parameters, gradients };
  IrOptimizer optimizer;

  if (!parse (context->priv->pass, &optimizer, error))
    return FALSE;
  find (&found);
  if (parameters->len == 0)
    return fail (error,
                 "no mutable initializer has its derivative among the outputs; run the passes "
                 "to-training and gradient before");
  g_autoptr (IrUpdates) updates = ir_updates_new (context->edit, context->model->main, &optimizer,
                                                  behind_all (context->model->main));
  return update_all (&found, updates);
}

static const IrRule rules[] = {
  { RULE_BEGIN, "mutable parameters with derivatives", "optimizer.rate, optimizer.count",
    IR_CLASS_EXACT,
    "What all parameters share: the learning rate, and corrections by the number of steps." },
  { RULE_CLIP, "derivatives", "their directions, no longer than they may be", IR_CLASS_EXACT,
    "Where all derivatives together are longer than clip, they are shortened alike." },
  { RULE_UPDATE, "a parameter and its derivative", "what it becomes", IR_CLASS_EXACT,
    "The arithmetic of torch.optim, operation by operation." },
  { RULE_HAND, "derivatives as outputs", "new parameters and states as outputs", IR_CLASS_EXACT,
    "They are called NAME.new." },
  { NULL },
};

static const IrPassOption options[] = {
  { "algorithm", IR_PASS_OPTION_TEXT, "sgd", "sgd, momentum, nesterov, adam, adamw or adagrad." },
  { "momentum", IR_PASS_OPTION_TEXT, "0",
    "Of sgd: what stays of the velocity; 0.9 with momentum and nesterov." },
  { "nesterov", IR_PASS_OPTION_TEXT, "no", "yes: sgd looks ahead along its momentum." },
  { "betas", IR_PASS_OPTION_TEXT, "0.9,0.999",
    "Of adam and adamw: what stays of mean and mean square." },
  { "epsilon", IR_PASS_OPTION_TEXT, "1e-8",
    "Added to the root that is divided by; adagrad: 1e-10." },
  { "weight-decay", IR_PASS_OPTION_TEXT, "0",
    "Part of the parameter that is added to its derivative; adamw: that it shrinks by, 0.01." },
  { "clip", IR_PASS_OPTION_TEXT, "0", "Longest norm of all derivatives together; 0: any." },
  { "loss-scale", IR_PASS_OPTION_TEXT, "1", "What the derivatives have been multiplied by." },
  { "form", IR_PASS_OPTION_TEXT, "graph",
    "graph: nodes of ai.onnx; onnx: the operators of ai.onnx.preview.training, where these compute the same." },
  { NULL },
};

const IrPass ir_pass_optimizer = {
  .name = "optimizer",
  .title = "Add the step of an optimizer",
  .doc =
      "Adds what parameters become when they follow their derivatives: stochastic gradient "
      "descent, with momentum or Nesterov's, Adam, AdamW or Adagrad, as torch.optim computes them.",
  .source = "torch.optim; Kingma and Ba 2015; Loshchilov and Hutter 2019; Duchi et al. 2011",
  .step_class = IR_CLASS_EXACT,
  .before_after = "w, w.grad\nw, w.grad, rate -> Mul, Sub -> w.new",
  .run = run,
  .documented_rules = rules,
  .options = options,
  .once = TRUE,
};
