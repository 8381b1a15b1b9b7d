/* The driver of inference. It walks nodes in order, lays out a call for each, and lets the row's
 * function fill in the types of the outputs.
 *
 * What follows from the inputs of the main graph and from constants is a fact and becomes the type of a
 * value; rewrites and plans rely on it. What the file declares of other values is a claim. It is
 * forgotten where facts say as much or contradict it; what is left is inferred beside the facts, at
 * the nodes that read or make such values alone, and is there for display and for the checks of a
 * run.
 *
 * A frame is where types are looked up and put: the model itself, or a table. A model-local
 * function is inferred once per application, in a frame of its own, so that its body gets the types
 * of that application and nothing is written into the body, which all applications share.
 *
 * Contents of shapes are kept in the frame while it lives. ir_infer_node() has no walk behind it,
 * so contents are made on demand there, from producer to producer. */
#include "config.h"

#include "core/op/infer.h"

#include "core/ir/inline.h"
#include "core/op/infer-private.h"
#include "core/op/infer-util.h"

/* Functions may apply functions; a file can make that exponential. */
#define MAX_DEPTH       32
#define MAX_VISITS      4000000
#define MAX_BODY_VISITS 100000 /* of nodes in bodies, a tenth of a second */
/* Producers to walk back for the contents of a shape. */
#define MAX_DEMAND 256
/* How often ir_infer_node() may come back to a node. */
#define MAX_TIMES 64
/* Whether a body gives values back as it got them is tried: so often, so deep, for so many nodes. */
#define MAX_TRIALS       4
#define MAX_TRIAL_DEPTH  3
#define MAX_TRIAL_VISITS 100000

typedef struct
{
  IrModel *model;
  IrEdit *edit;        /* (nullable) NULL: nothing is written to the model */
  GPtrArray *problems; /* (nullable) */
  IrSeverity severity; /* of contradictions with declared types */
  guint visits, body_visits, trial_visits;
  guint trial_depth;
  gboolean facts_only; /* claims are left as they are */
  IrVisitFunc visit;   /* (nullable) */
  gpointer visit_data;
  GArray *equations;    /* (nullable) of IrDimEquation: what nodes need of dims is put there */
  guint subgraph_depth; /* of nodes that may not run at all, or see other sizes in each turn */
} Driver;

typedef enum
{
  VIEW_FACTS,
  VIEW_CLAIMS /* and facts, where nothing more is claimed */
} View;

typedef struct _Frame Frame;
struct _Frame
{
  Driver *driver;
  View view;
  Frame *outer;  /* (nullable) has what is not here */
  Frame *claims; /* (nullable) the claims of the same model, made when there is one */
  gboolean with_claims;
  GHashTable *types;    /* (nullable) IrValue -> IrType: NULL: those of the values themselves */
  GHashTable *data;     /* IrValue -> IrShapeData, NULL entries: known to be unknown */
  GHashTable *tensors;  /* (nullable) IrValue -> IrTensor: constants given to a function */
  const IrCall *caller; /* (nullable) application of the function: resolves attribute references */
  const IrFunctionInfo *function;
  guint depth;
};

static void infer_graph (Frame *frame, const IrGraph *graph);
static gboolean infer_function (Frame *frame, IrCall *call, const IrGraph *function);

/* -- frames -- */

static Frame
frame_new (Driver *driver, gboolean own_types, guint depth)
{
  Frame frame = { .driver = driver, .depth = depth };
  frame.data = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  if (own_types)
    frame.types = g_hash_table_new (NULL, NULL);
  return frame;
}

static void
frame_clear (Frame *frame)
{
  if (frame->claims != NULL)
    frame_clear (frame->claims);
  g_clear_pointer (&frame->claims, g_free);
  g_clear_pointer (&frame->types, g_hash_table_unref);
  g_clear_pointer (&frame->data, g_hash_table_unref);
  g_clear_pointer (&frame->tensors, g_hash_table_unref);
}

static const IrType *
frame_type (gpointer data, const IrValue *value)
{
  Frame *frame = data;
  gpointer type = NULL;
  for (Frame *at = frame; at != NULL; at = at->outer)
    if (at->types != NULL && g_hash_table_lookup_extended (at->types, value, NULL, &type))
      return type;
  if (frame->function == NULL || value->initializer != NULL)
    return frame->view == VIEW_CLAIMS ? ir_value_shown_type (value) : value->type;
  /* In an application what a pass knows of all of them is not needed, and may be out of date. */
  return frame->view == VIEW_CLAIMS && (value->flags & IR_VALUE_DECLARED) != 0 ? value->claim
                                                                               : NULL;
}

static void
frame_set_type (Frame *frame, IrValue *value, const IrType *type)
{
  if (frame->types != NULL)
    g_hash_table_insert (frame->types, value, (gpointer) type);
  else
    ir_edit_set_type (frame->driver->edit, value, type);
}

static const IrTensor *
frame_tensor (const Frame *frame, const IrValue *value)
{
  const IrTensor *tensor = ir_value_constant (value);
  for (; tensor == NULL && frame != NULL; frame = frame->outer)
    if (frame->tensors != NULL)
      tensor = g_hash_table_lookup (frame->tensors, value);
  return tensor;
}

/* Contents that were inferred before: claims follow from facts where nothing is claimed. */
static gboolean
frame_data (const Frame *frame, const IrValue *value, const IrShapeData **data)
{
  gpointer found = NULL;
  for (; frame != NULL; frame = frame->outer)
    if (g_hash_table_lookup_extended (frame->data, value, NULL, &found))
      {
        *data = found;
        return TRUE;
      }
  return FALSE;
}

static IrShapeData *
shape_data_copy (const IrShapeData *data)
{
  return data != NULL ? g_memdup2 (data, sizeof *data + data->n * sizeof data->numbers[0]) : NULL;
}

/* -- calls -- */

/* Attributes that refer to one of the enclosing function take its value, or its default. */
static void
resolve_references (const Frame *frame, IrCall *call)
{
  for (guint i = 0; i < call->n_attrs; i++)
    {
      const IrAttr *attr = call->attrs[i], *found = NULL;
      if (attr->ref_name == NULL || frame->caller == NULL)
        continue;
      found = ir_call_attr (frame->caller, attr->ref_name);
      for (guint k = 0; found == NULL && k < frame->function->n_attr_defaults; k++)
        if (g_strcmp0 (frame->function->attr_defaults[k]->name, attr->ref_name) == 0)
          found = frame->function->attr_defaults[k];
      if (found != NULL)
        call->attrs[i] = ir_attr_renamed (call->context, found, attr->name);
    }
}

/* Whether what @node does is up to the call, which is not known here: defaults would be wrong. */
static gboolean
is_left_open (const Frame *frame, const IrNode *node)
{
  for (guint i = 0; frame->caller == NULL && i < node->n_attrs; i++)
    if (node->attrs[i]->ref_name != NULL)
      return TRUE;
  return FALSE;
}

static const IrShapeData *demand_data (Frame *frame, const IrValue *value, guint depth);

/* Lays out a call with types and contents of the frame, in canonical form; outputs are blank. */
static void
call_init (Frame *frame, IrCall *call, const IrNode *node, guint demand)
{
  ir_call_layout (call, node);
  call->type_of = frame_type;
  call->type_of_data = frame;
  for (guint i = 0; i < node->n_inputs; i++)
    {
      const IrValue *value = node->inputs[i];
      if (value == NULL)
        continue;
      const IrType *type = frame_type (frame, value);
      if (type != NULL && type->kind != IR_TYPE_SPARSE_TENSOR) /* ir_call_layout() made it dense */
        call->inputs[i].type = type;
      call->inputs[i].tensor = frame_tensor (frame, value);
      if (call->inputs[i].tensor == NULL)
        call->inputs[i].data = demand_data (frame, value, demand);
    }
  for (guint i = 0; i < call->n_outputs; i++)
    call->outputs[i].type = NULL;
  resolve_references (frame, call);
  ir_call_adapt (call);
}

static gboolean
may_hold_shape (const IrType *type)
{
  if (type == NULL)
    return TRUE;
  return ir_type_is_tensor (type) && type->rank <= 1 &&
         (ir_dtype_is_integer (type->dtype) || type->dtype == IR_DTYPE_BOOL ||
          type->dtype == IR_DTYPE_UNDEFINED);
}

/* That nothing is known is written down only where somebody would look for it. */
static void
keep_data (Frame *frame, const IrNode *node, const IrCall *call)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL &&
        (call->outputs[i].data != NULL || may_hold_shape (frame_type (frame, node->outputs[i])) ||
         g_hash_table_contains (frame->data, node->outputs[i])))
      g_hash_table_insert (frame->data, node->outputs[i], shape_data_copy (call->outputs[i].data));
}

/* Contents of @value, from what was inferred before or by asking its producer now. */
static const IrShapeData *
demand_data (Frame *frame, const IrValue *value, guint depth)
{
  const IrShapeData *data = NULL;
  if (frame_data (frame, value, &data))
    return data;
  const IrNode *node = value->producer;
  if (node == NULL || node->op == NULL || node->op->infer == NULL || depth >= MAX_DEMAND ||
      (node->op->flags & IR_OP_SUBGRAPHS) != 0 || is_left_open (frame, node) ||
      !may_hold_shape (frame_type (frame, value)))
    return NULL;
  for (guint i = 0; i < node->n_outputs; i++) /* a mark against cycles, too */
    if (node->outputs[i] != NULL)
      g_hash_table_insert (frame->data, node->outputs[i], NULL);
  IrCall call;
  call_init (frame, &call, node, depth + 1);
  if (ir_call_check (&call, NULL) && node->op->infer (&call, NULL))
    keep_data (frame, node, &call);
  ir_call_clear (&call);
  return g_hash_table_lookup (frame->data, value);
}

/* -- problems -- */

/**
 * ir_infer_problem_code:
 * @error: what an operator's check or inference has said
 *
 * Returns: the kind of problem that it is
 */
IrProblemCode
ir_infer_problem_code (const GError *error)
{
  static const IrProblemCode codes[] = {
    [IR_OP_ERROR_SHAPE] = IR_PROBLEM_SHAPE_MISMATCH,
    [IR_OP_ERROR_DTYPE] = IR_PROBLEM_TYPE_MISMATCH,
    [IR_OP_ERROR_ATTRIBUTE] = IR_PROBLEM_BAD_ATTRIBUTE,
    [IR_OP_ERROR_ARITY] = IR_PROBLEM_INPUT_COUNT,
    [IR_OP_ERROR_VALUE] = IR_PROBLEM_SHAPE_MISMATCH,
    [IR_OP_ERROR_UNSUPPORTED] = IR_PROBLEM_UNSUPPORTED,
    [IR_OP_ERROR_LIMIT] = IR_PROBLEM_LIMIT,
    [IR_OP_ERROR_CANCELLED] = IR_PROBLEM_LIMIT,
  };
  return error->domain == IR_OP_ERROR && (guint) error->code < G_N_ELEMENTS (codes)
             ? codes[error->code]
             : IR_PROBLEM_SHAPE_MISMATCH;
}

static void
report_error (const Frame *frame, const IrNode *node, const GError *error)
{
  /* In a body whose facts were inferred before, that has been said. */
  if (frame->driver->problems != NULL && frame->view == VIEW_FACTS)
    ir_problems_add (frame->driver->problems, IR_SEVERITY_ERROR, ir_infer_problem_code (error),
                     node, NULL, "%s", error->message);
}

static void
report_contradiction (const Frame *frame,
                      const IrNode *node,
                      const IrValue *value,
                      const IrType *declared,
                      const IrType *inferred)
{
  Driver *driver = frame->driver;
  if (driver->problems == NULL || (value->flags & IR_VALUE_DECLARED) == 0)
    return;
  g_autofree char *label = ir_node_label (node);
  g_autofree char *found = ir_type_to_string (driver->model->context, inferred);
  g_autofree char *wanted = ir_type_to_string (driver->model->context, declared);
  gboolean dtype = declared->kind != inferred->kind || declared->dtype != inferred->dtype;
  IrProblem *problem = ir_problems_add (
      driver->problems, driver->severity,
      dtype ? IR_PROBLEM_TYPE_MISMATCH : IR_PROBLEM_SHAPE_MISMATCH, node, value,
      "%s: output %s is %s, the file declares %s", label, value->name, found, wanted);
  ir_problem_set_hint (problem, "The inferred type is used; correct the declaration in the file.");
}

/* -- nodes -- */

/* Puts what was inferred for @value together with what is known of it. Whether that is news. */
static gboolean
merge_type (Frame *frame, const IrNode *node, IrValue *value, const IrType *inferred)
{
  const IrType *known = frame_type (frame, value);
  if (inferred == NULL || inferred == known)
    return FALSE;
  const IrType *merged = known != NULL
                             ? ir_type_merge (frame->driver->model->context, known, inferred)
                             : inferred;
  if (merged == NULL)
    {
      report_contradiction (frame, node, value, known, inferred);
      merged = inferred;
    }
  if (merged == known)
    return FALSE;
  frame_set_type (frame, value, merged);
  return TRUE;
}

/* -- claims -- */

static const IrGraph *
root_of (const IrGraph *graph)
{
  while (graph != NULL && graph->kind == IR_GRAPH_SUBGRAPH)
    graph = ir_graph_outer (graph);
  return graph;
}

/* What is claimed in bodies of functions is left as it is: every application has its own types. */
static gboolean
keeps_claims (const Frame *frame, const IrNode *node)
{
  const IrGraph *root = frame->with_claims ? root_of (node->graph) : NULL;
  return root != NULL && root->kind == IR_GRAPH_MAIN;
}

static gboolean
some_claimed (IrValue *const *values, guint n)
{
  for (guint i = 0; i < n; i++)
    if (values[i] != NULL && values[i]->claim != NULL)
      return TRUE;
  return FALSE;
}

static gboolean
graph_has_claims (const IrGraph *graph)
{
  guint n;
  IrValue *const *values = ir_graph_values (graph, &n);
  return some_claimed (values, n);
}

static const IrGraph *
applied_function (const Frame *frame, const IrNode *node)
{
  return node->op == NULL || node->op->infer == NULL
             ? ir_model_find_function (frame->driver->model, node->domain, node->op_type,
                                       node->overload)
             : NULL;
}

/* Whether more is claimed of what @node reads or makes than is known. */
static gboolean
has_claims (const Frame *frame, const IrNode *node)
{
  if (some_claimed (node->inputs, node->n_inputs) || some_claimed (node->outputs, node->n_outputs))
    return TRUE;
  if (node->op != NULL && (node->op->flags & IR_OP_SUBGRAPHS) == 0)
    return FALSE;
  const IrGraph *function = applied_function (frame, node);
  if (function != NULL && graph_has_claims (function))
    return TRUE;
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (node);
  for (guint i = 0; i < graphs->len; i++)
    if (graph_has_claims (graphs->pdata[i]))
      return TRUE;
  return FALSE;
}

static Frame *
claims_frame (Frame *frame)
{
  if (frame->claims == NULL)
    {
      frame->claims = g_new (Frame, 1);
      *frame->claims = frame_new (frame->driver, FALSE, frame->depth);
      frame->claims->view = VIEW_CLAIMS;
      frame->claims->outer = frame;
    }
  return frame->claims;
}

/* Holds what the file declares of @value against what is known and what follows from the claims of
 * others. Nothing is added to it, and a declaration that is wrong stays, for runs to say so. */
static const IrType *
hold_declared (Frame *frame, const IrNode *node, IrValue *value, const IrType *inferred)
{
  IrContext *context = frame->driver->model->context;
  const IrType *claim = value->claim, *known = value->type;
  const IrType *both = ir_type_merge (context, claim, known);
  if (both == NULL)
    {
      report_contradiction (frame, node, value, claim, known);
      return claim;
    }
  if (inferred != NULL && ir_type_merge (context, both, inferred) == NULL &&
      ir_type_merge (context, known, inferred) != NULL)
    report_contradiction (frame, node, value, claim, inferred);
  if (!ir_type_at_least (known, claim))
    return claim;
  /* As known, with the denotations that the file has. */
  if (both != known)
    ir_edit_set_type (frame->driver->edit, value, both);
  return NULL;
}

/* What follows of @value from the claims of others; (nullable) no more than is known. */
static const IrType *
derived_claim (Frame *frame, const IrValue *value, const IrType *inferred)
{
  IrContext *context = frame->driver->model->context;
  const IrType *claim = inferred != NULL ? ir_type_merge (context, inferred, value->type) : NULL;
  return ir_type_at_least (value->type, claim) ? NULL : claim;
}

/* Whether what is claimed of @value has changed; @inferred (nullable): what follows from the claims
 * of others. */
static gboolean
merge_claim (Frame *frame, const IrNode *node, IrValue *value, const IrType *inferred)
{
  const IrType *claim = NULL;
  if ((value->flags & IR_VALUE_DECLARED) == 0)
    claim = derived_claim (frame, value, inferred);
  else if (value->claim != NULL)
    claim = hold_declared (frame, node, value, inferred);
  if (claim == value->claim)
    return FALSE;
  ir_edit_set_claim (frame->driver->edit, value, claim);
  return TRUE;
}

/* -- bodies -- */

/* The element type and the dims that @a and @b have in common; (nullable) nothing. */
static const IrType *
common_shape (IrContext *context, const IrType *a, const IrType *b)
{
  IrDim dims[IR_MAX_RANK];
  if (a == b)
    return a;
  if (!ir_type_is_tensor (a) || !ir_type_is_tensor (b) || a->rank != b->rank || a->rank < 0 ||
      a->dtype != b->dtype)
    return NULL;
  for (int i = 0; i < a->rank; i++)
    dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : IR_DIM_UNKNOWN;
  return ir_type_tensor (context, a->dtype, a->rank, dims);
}

/* Infers @body with inputs of the types @assumed. Whether the outputs that become these inputs in
 * the next turn have them; if not, what they have in common is left in @assumed. */
static gboolean
assumption_holds (Frame *frame, const IrCall *call, const IrGraph *body, const IrType **assumed)
{
  Driver *driver = frame->driver;
  Frame trial = frame_new (driver, TRUE, frame->depth);
  GPtrArray *problems = g_steal_pointer (&driver->problems);
  IrVisitFunc visit = driver->visit;
  gboolean holds = TRUE;
  trial.outer = frame;
  trial.view = frame->view;
  trial.caller = frame->caller;
  trial.function = frame->function;
  for (guint k = 0; k < ir_graph_n_inputs (body); k++)
    if (assumed[k] != NULL)
      frame_set_type (&trial, ir_graph_input (body, k), assumed[k]);
  driver->visit = NULL;
  driver->trial_depth++;
  infer_graph (&trial, body);
  driver->trial_depth--;
  driver->visit = visit;
  driver->problems = problems;
  for (guint k = 0; k < ir_graph_n_inputs (body); k++)
    {
      if (assumed[k] == NULL)
        continue;
      guint output;
      call->op->carried (call, k, &output);
      const IrValue *next = ir_graph_output (body, output);
      const IrType *common = common_shape (call->context, assumed[k],
                                           next != NULL ? frame_type (&trial, next) : NULL);
      holds &= common == assumed[k];
      assumed[k] = common;
    }
  frame_clear (&trial);
  return holds;
}

/* Inputs of @body that are its outputs of the turn before have the types that they begin with, as
 * far as the body gives these back. */
static void
infer_carried (Frame *frame, const IrCall *call, const IrGraph *body)
{
  guint n = ir_graph_n_inputs (body);
  g_autofree const IrType **assumed = g_new0 (const IrType *, n + 1);
  gboolean some = FALSE;
  for (guint k = 0; k < n; k++)
    {
      const IrValue *input = ir_graph_input (body, k);
      guint output;
      const IrType *first = call->op->carried (call, k, &output);
      if (input == NULL || output >= ir_graph_n_outputs (body) || first == NULL ||
          !ir_type_is_tensor (first) || first->rank < 0 ||
          ir_type_at_least (frame_type (frame, input), first))
        continue;
      assumed[k] = first;
      some = TRUE;
    }
  if (!some || frame->driver->trial_depth >= MAX_TRIAL_DEPTH || ir_graph_is_cyclic (body))
    return;
  for (guint trial = 0; trial < MAX_TRIALS; trial++)
    if (assumption_holds (frame, call, body, assumed))
      {
        for (guint k = 0; k < n; k++)
          if (assumed[k] != NULL)
            merge_type (frame, call->node, ir_graph_input (body, k), assumed[k]);
        return;
      }
}

/* Inputs of a subgraph get types and claims, by what @claims (nullable) says of the call. */
static void
infer_inputs (Frame *frame, const IrCall *call, const IrCall *claims, const IrGraph *graph)
{
  const IrOp *op = call->op;
  guint n = op != NULL && op->subgraph_input != NULL ? ir_graph_n_inputs (graph) : 0;
  for (guint k = 0; k < n; k++)
    if (ir_graph_input (graph, k) != NULL)
      merge_type (frame, call->node, ir_graph_input (graph, k),
                  op->subgraph_input (call, graph, k));
  if (n > 0 && op->carried != NULL && frame->view == VIEW_FACTS)
    infer_carried (frame, call, graph);
  for (guint k = 0; claims != NULL && k < n; k++)
    if (ir_graph_input (graph, k) != NULL)
      merge_claim (frame, call->node, ir_graph_input (graph, k),
                   op->subgraph_input (claims, graph, k));
}

static void
infer_subgraphs (Frame *frame, const IrCall *call, const IrCall *claims)
{
  if (call->op != NULL && (call->op->flags & IR_OP_SUBGRAPHS) == 0)
    return;
  g_autoptr (GPtrArray) graphs = ir_node_subgraphs (call->node);
  frame->driver->subgraph_depth++;
  for (guint i = 0; i < graphs->len; i++)
    {
      infer_inputs (frame, call, claims, graphs->pdata[i]);
      infer_graph (frame, graphs->pdata[i]);
    }
  frame->driver->subgraph_depth--;
}

/* -- nodes -- */

/* The row's function, or the body of a model-local function. FALSE + @error: it does not fit. */
static gboolean
infer_call (Frame *frame, IrCall *call, GError **error)
{
  const IrNode *node = call->node;
  if (node->op != NULL && node->op->infer != NULL)
    return ir_call_check (call, error) && node->op->infer (call, error);
  const IrGraph *function = applied_function (frame, node);
  return function == NULL || infer_function (frame, call, function);
}

static void
tell_visitor (Frame *frame, IrCall *call)
{
  Driver *driver = frame->driver;
  const IrNode *node = call->node;
  if (driver->visit == NULL || node->op == NULL)
    return;
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      call->outputs[i].type = frame_type (frame, node->outputs[i]);
  driver->visit (call, driver->visit_data);
}

/* Whether @node is to be inferred now. */
static gboolean
may_visit (Frame *frame, const IrNode *node)
{
  Driver *driver = frame->driver;
  if (is_left_open (frame, node) || driver->visits >= MAX_VISITS ||
      (frame->depth > 0 && driver->body_visits >= MAX_BODY_VISITS) ||
      (driver->trial_depth > 0 && driver->trial_visits >= MAX_TRIAL_VISITS))
    return FALSE;
  driver->visits++;
  driver->body_visits += frame->depth > 0 ? 1 : 0;
  driver->trial_visits += driver->trial_depth > 0 ? 1 : 0;
  return TRUE;
}

/* What follows from claims, where nothing is known to be wrong. Whether a claim has changed. */
static gboolean
infer_claims (Frame *frame, IrCall *call, gboolean fits)
{
  const IrNode *node = call->node;
  g_autoptr (GError) error = NULL;
  gboolean news = FALSE, done = fits && infer_call (frame->claims, call, &error);
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL)
      news |= merge_claim (frame, node, node->outputs[i], done ? call->outputs[i].type : NULL);
  if (done)
    keep_data (frame->claims, node, call);
  if (error != NULL && frame->driver->problems != NULL)
    {
      IrProblem *problem = ir_problems_add (frame->driver->problems, frame->driver->severity,
                                            ir_infer_problem_code (error), node, NULL, "%s",
                                            error->message);
      ir_problem_set_hint (problem, "It follows from types that the file declares and that nothing "
                                    "confirms.");
    }
  return news;
}

static void
note_equation (const IrCall *call, IrDim a, IrDim b, gboolean or_one, gpointer data)
{
  const IrDimEquation equation = { a, b, or_one, call->node->id };

  g_array_append_val ((GArray *) data, equation);
}

/* Whether some output's type got more specific, or its claim changed. */
static gboolean
infer_one (Frame *frame, const IrNode *node)
{
  g_autoptr (GError) error = NULL;
  IrCall call, claims;
  gboolean news = FALSE;
  if (!may_visit (frame, node))
    return FALSE;
  gboolean claimed = keeps_claims (frame, node) && has_claims (frame, node);
  if (claimed)
    call_init (claims_frame (frame), &claims, node, 0);
  call_init (frame, &call, node, 0);
  infer_subgraphs (frame, &call, claimed ? &claims : NULL);
  if (frame->driver->equations != NULL && frame->driver->subgraph_depth == 0)
    {
      call.equal = note_equation;
      call.equal_data = frame->driver->equations;
    }
  if (!infer_call (frame, &call, &error))
    report_error (frame, node, error);
  else
    for (guint i = 0; i < node->n_outputs; i++)
      if (node->outputs[i] != NULL)
        news |= merge_type (frame, node, node->outputs[i], call.outputs[i].type);
  if (error == NULL)
    keep_data (frame, node, &call);
  if (claimed)
    {
      news |= infer_claims (frame, &claims, error == NULL);
      ir_call_clear (&claims);
    }
  tell_visitor (frame, &call);
  ir_call_clear (&call);
  return news;
}

static void
infer_graph (Frame *frame, const IrGraph *graph)
{
  g_autoptr (GPtrArray) nodes = ir_graph_nodes (graph);
  for (guint i = 0; i < nodes->len; i++)
    infer_one (frame, g_ptr_array_index (nodes, i));
}

/* -- functions -- */

static void
bind_parameters (Frame *frame, const IrCall *call, const IrGraph *function)
{
  frame->tensors = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < ir_graph_n_inputs (function); i++)
    {
      IrValue *parameter = ir_graph_input (function, i);
      if (parameter == NULL)
        continue;
      const IrCallInput *input = i < call->n_inputs ? &call->inputs[i] : NULL;
      frame_set_type (frame, parameter, input != NULL ? input->type : NULL);
      g_hash_table_insert (frame->data, parameter,
                           shape_data_copy (input != NULL ? input->data : NULL));
      if (input != NULL && input->tensor != NULL)
        g_hash_table_insert (frame->tensors, parameter, (gpointer) input->tensor);
    }
}

/* Infers the body of @function with the inputs of @call; never fails: what the body cannot do is
 * reported at its nodes. */
static gboolean
infer_function (Frame *frame, IrCall *call, const IrGraph *function)
{
  if (frame->depth >= MAX_DEPTH || function->function == NULL ||
      frame->driver->body_visits >= MAX_BODY_VISITS)
    return TRUE;
  Frame inner = frame_new (frame->driver, TRUE, frame->depth + 1);
  inner.view = frame->view;
  inner.caller = call;
  inner.function = function->function;
  bind_parameters (&inner, call, function);
  infer_graph (&inner, function);
  for (guint i = 0; i < MIN (call->n_outputs, ir_graph_n_outputs (function)); i++)
    {
      const IrValue *result = ir_graph_output (function, i);
      if (result == NULL)
        continue;
      ir_call_set_output_type (call, i, frame_type (&inner, result));
      const IrShapeData *data = demand_data (&inner, result, 0);
      if (data != NULL)
        ir_call_set_output_data (call, i, data->numbers, data->n, data->scalar);
    }
  frame_clear (&inner);
  return TRUE;
}

gboolean
ir_infer_visit_function (const IrNode *node, IrVisitFunc visit, gpointer data)
{
  IrModel *model = node->graph->model;
  const IrGraph *function = ir_model_find_function (model, node->domain, node->op_type,
                                                    node->overload);
  if (function == NULL)
    return FALSE;
  Driver driver = { .model = model, .visit = visit, .visit_data = data };
  Frame frame = frame_new (&driver, TRUE, 0);
  IrCall call;
  call_init (&frame, &call, node, 0);
  infer_function (&frame, &call, function);
  ir_call_clear (&call);
  frame_clear (&frame);
  return TRUE;
}

/* -- models -- */

/* Functions that closures name, once each, by what they declare: whoever calls them has to fit that. */
static void
infer_named_functions (Driver *driver)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 1; i < driver->model->nodes->len; i++)
    {
      const IrNode *node = ir_model_live_node (driver->model, i);
      const IrGraph *function = node != NULL ? ir_node_named_function (node) : NULL;
      if (function == NULL || function->function == NULL ||
          !g_hash_table_add (seen, (gpointer) function))
        continue;
      Frame frame = frame_new (driver, TRUE, 1);
      frame.function = function->function;
      frame.tensors = g_hash_table_new (NULL, NULL);
      for (guint k = 0; k < ir_graph_n_inputs (function); k++)
        if (ir_graph_input (function, k) != NULL)
          frame_set_type (&frame, ir_graph_input (function, k),
                          ir_function_declared_type (ir_graph_input (function, k)));
      infer_graph (&frame, function);
      frame_clear (&frame);
    }
}

static void
infer_model (Driver *driver, gboolean own_types)
{
  Frame frame = frame_new (driver, own_types, 0);
  frame.with_claims = !own_types && !driver->facts_only;
  infer_graph (&frame, driver->model->main);
  frame_clear (&frame);
  if (driver->problems != NULL)
    infer_named_functions (driver);
}

/**
 * ir_infer_model:
 * @edit: an edit of the model, within a step unless it imports
 * @flags: what to do about contradictions
 * @problems: (nullable): list that findings are added to
 *
 * Sets the type of every value that can be known: nodes in topological order, subgraphs inside
 * their owners, model-local functions by their bodies. Inferred and declared types are merged;
 * where they contradict each other the inferred one is taken and the contradiction reported.
 * Values inside function bodies are left alone.
 *
 * Complexity: O(nodes + edges), plus the bodies of functions once per application.
 */
void
ir_infer_model (IrEdit *edit, IrInferFlags flags, GPtrArray *problems)
{
  Driver driver = { .model = ir_edit_model (edit),
                    .edit = edit,
                    .problems = problems,
                    .severity = (flags & IR_INFER_STRICT) != 0 ? IR_SEVERITY_ERROR
                                                               : IR_SEVERITY_WARNING,
                    .facts_only = (flags & IR_INFER_FACTS) != 0 };

  infer_model (&driver, FALSE);
}

/**
 * ir_infer_check:
 * @model: a model, may be frozen
 * @problems: list that findings are added to
 *
 * Infers all types anew without writing any, to find what contradicts the types in the model.
 */
void
ir_infer_check (IrModel *model, GPtrArray *problems)
{
  Driver driver = { .model = model, .problems = problems, .severity = IR_SEVERITY_WARNING };
  infer_model (&driver, TRUE);
}

/* Drops what a caller cannot use: values whose contents are not known. */
static gboolean
is_unknown (gpointer key, gpointer value, gpointer data)
{
  return value == NULL;
}

/**
 * ir_infer_contents:
 * @model: a model with types, may be frozen
 *
 * What inference knows of the contents of small integer values, element by element and with
 * symbols: how the dimensions of inputs reach a Reshape through Shape, Gather, Concat and
 * arithmetic. Values of subgraphs are there too, and those of functions as far as
 * ir_infer_functions() wrote types into them.
 *
 * Returns: (transfer full): IrValue -> IrShapeData; valid until the model changes
 */
GHashTable *
ir_infer_contents (IrModel *model)
{
  Driver driver = { .model = model };
  Frame frame = frame_new (&driver, TRUE, 0);

  infer_graph (&frame, model->main);
  for (guint i = 1; i < model->graphs->len; i++)
    {
      const IrGraph *graph = ir_model_graph (model, i);
      if (graph->state == IR_STATE_LIVE && graph->kind == IR_GRAPH_FUNCTION)
        infer_graph (&frame, graph);
    }
  g_hash_table_foreach_remove (frame.data, is_unknown, NULL);
  GHashTable *contents = g_steal_pointer (&frame.data);
  frame_clear (&frame);
  return contents;
}

/* Dims of inputs that have no name get one, so that equations can be about them. */
static void
name_dims (Frame *frame, IrValue *input)
{
  IrContext *context = frame->driver->model->context;
  const IrType *type = input->type;
  IrDim dims[IR_MAX_RANK];
  gboolean some = FALSE;

  if (input->initializer != NULL || type == NULL || !ir_type_is_tensor (type) ||
      !ir_type_has_rank (type))
    return;
  for (int i = 0; i < type->rank; i++)
    {
      g_autofree char *name = ir_infer_dim_name (input, (guint) i);

      dims[i] = type->dims[i] == IR_DIM_UNKNOWN ? ir_dim_symbol (context, name) : type->dims[i];
      some |= type->dims[i] == IR_DIM_UNKNOWN;
    }
  if (some)
    frame_set_type (frame, input, ir_type_tensor (context, type->dtype, type->rank, dims));
}

/**
 * ir_infer_equations:
 * @model: a model with types, may be frozen
 *
 * What nodes need of dims that are not known, by the functions that infer their outputs: a Reshape
 * keeps the number of elements, operands of a MatMul or a Concat share dims. Dims of inputs without
 * a name stand for themselves as ir_infer_dim_name() calls them. Nodes of branches and of bodies of
 * loops are left out: they may not run, or on other sizes in each turn.
 *
 * Returns: (transfer full) (element-type IrDimEquation): in the order of the nodes; @node may lie in
 *   the body of a function
 */
GArray *
ir_infer_equations (IrModel *model)
{
  GArray *equations = g_array_new (FALSE, FALSE, sizeof (IrDimEquation));
  Driver driver = { .model = model, .equations = equations };
  Frame frame = frame_new (&driver, TRUE, 0);

  for (guint i = 0; i < ir_graph_n_inputs (model->main); i++)
    if (ir_graph_input (model->main, i) != NULL)
      name_dims (&frame, ir_graph_input (model->main, i));
  infer_graph (&frame, model->main);
  frame_clear (&frame);
  return equations;
}

/* Nodes still to be inferred. */
typedef struct
{
  GQueue nodes;
  GHashTable *waiting; /* set of the nodes in the queue */
  GHashTable *times;   /* node -> how often it was queued */
} Worklist;

static void
worklist_push (Worklist *list, IrNode *node)
{
  guint times = GPOINTER_TO_UINT (g_hash_table_lookup (list->times, node));
  /* Types get more specific a few times at most; on a cycle of the graph they may grow for ever. */
  if (times >= MAX_TIMES || !g_hash_table_add (list->waiting, node))
    return;
  g_hash_table_insert (list->times, node, GUINT_TO_POINTER (times + 1));
  g_queue_push_tail (&list->nodes, node);
}

/* What has to be inferred again after @value's type got more specific. */
static void
push_users (Worklist *list, const IrValue *value)
{
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);
      IrNode *node = use.node;
      if (node == NULL && use.graph->kind == IR_GRAPH_SUBGRAPH && use.graph->owner != 0)
        node = ir_model_live_node (use.graph->model, use.graph->owner);
      if (node != NULL)
        worklist_push (list, node);
    }
}

/**
 * ir_infer_node:
 * @edit: an edit of the model, within a step
 * @node: a node that was added or changed
 * @problems: (nullable): list that findings are added to
 *
 * Infers @node alone, then, while types get more specific, what uses its outputs. Types never get
 * less specific here, so this ends.
 */
void
ir_infer_node (IrEdit *edit, IrNode *node, GPtrArray *problems)
{
  Driver driver = { .model = ir_edit_model (edit),
                    .edit = edit,
                    .problems = problems,
                    .severity = IR_SEVERITY_WARNING };
  g_autoptr (GHashTable) waiting = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) times = g_hash_table_new (NULL, NULL);
  Worklist list = { G_QUEUE_INIT, waiting, times };
  worklist_push (&list, node);
  while (!g_queue_is_empty (&list.nodes))
    {
      IrNode *next = g_queue_pop_head (&list.nodes);
      g_hash_table_remove (waiting, next);
      /* Contents may follow from the new types: none are kept from one node to the next. */
      Frame frame = frame_new (&driver, FALSE, 0);
      frame.with_claims = TRUE;
      gboolean news = infer_one (&frame, next);
      frame_clear (&frame);
      for (guint i = 0; news && i < next->n_outputs; i++)
        if (next->outputs[i] != NULL)
          push_users (&list, next->outputs[i]);
    }
}
