/* Loop, Scan and SequenceMap as data flow. One frame each:
 *
 *     Loop (M, c, v) { f }     i, c and v go round while i < M and c
 *     Scan (v, x) { f }        i and v go round while i < the size of x; f reads Gather (x, i)
 *     SequenceMap (s) { f }    i goes round while i < SequenceLength (s); f reads SequenceAt (s, i)
 *
 * What iterations give goes round too: SequenceEmpty at first, SequenceInsert in each. Its only owner appends in
 * place. Stack makes one tensor of it behind the loop.
 *
 * Source: Yu et al., Dynamic control flow in large-scale machine learning, EuroSys 2018; TensorFlow's
 * lower_while_op, and its TensorArrays, which are such sequences. */
#include "config.h"

#include "passes/rewrites/lower-private.h"
#include "passes/rewrites/trips.h"

/* What goes round. */
typedef struct
{
  IrNode *merge, *exit_switch; /* @exit_switch: its Switch */
} Variable;

/* What the three have in common. */
typedef struct
{
  IrGraph *body;
  guint n_states;      /* that are carried as they are */
  guint input;         /* of the node: the first of them */
  guint inner, result; /* input and output of the body that it is */
  guint n_items;       /* inputs behind them, of which each iteration gets a part */
  gboolean is_loop;    /* the body gets the iteration and a condition, and says the next one */
  gboolean is_map;     /* parts are items of sequences, and so are results */
} Form;

typedef struct
{
  IrLowerConstruct *c;
  const Form *form;
  const char *frame;
  GArray *variables;  /* of Variable: counter, condition, states, then what is collected */
  GPtrArray *results; /* of IrValue: of the body */
  IrValue *next;      /* (nullable) the number of the next iteration */
} Loop;

static const IrType *
scalar_type (const IrLowerConstruct *c, IrDtype dtype)
{
  return ir_type_tensor (c->l->context->model->context, dtype, 0, NULL);
}

static IrValue *
add_scalar (Loop *loop, const char *name, IrDtype dtype, gint64 number)
{
  g_autoptr (IrTensor) tensor = ir_tensor_new_scalar (dtype, (double) number);

  return ir_pass_add_constant (loop->c->l->context, loop->c->graph, name, tensor);
}

static IrValue *
add_enter (Loop *loop, IrValue *value, gboolean is_constant)
{
  IrLowerConstruct *c = loop->c;
  IrContext *context = c->l->context->model->context;
  IrNode *node = ir_lower_add_node (c, "Enter", IR_LOWER_DOMAIN, 1, &value, 1, value->type);

  ir_edit_set_attr (c->l->edit, node, ir_attr_string (context, "frame_name", loop->frame, -1));
  if (is_constant)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "is_constant", 1));
  ir_lower_guard (c, node);
  return node->outputs[0];
}

/* What all iterations see of @value */
static IrValue *
bring (Loop *loop, IrValue *value)
{
  return ir_value_is_token (value, loop->c->graph) ? add_enter (loop, value, TRUE) : value;
}

/* A node in front of the loop; it runs where the loop does. */
static IrValue *
add_before (Loop *loop, const char *op, guint n_inputs, IrValue *const *inputs, const IrType *type)
{
  IrLowerConstruct *c = loop->c;
  IrNode *node = ir_lower_add_node (c, op, NULL, n_inputs, inputs, 1, type);
  gboolean conditional = FALSE;

  ir_lower_guard (c, node);
  for (guint i = 0; i < n_inputs; i++)
    conditional = conditional || g_hash_table_contains (c->l->conditional, inputs[i]);
  if (conditional || node->controls != NULL)
    g_hash_table_add (c->l->conditional, node->outputs[0]);
  return node->outputs[0];
}

/* -- what goes round -- */

static Variable *
variable_at (const Loop *loop, guint i)
{
  return &g_array_index (loop->variables, Variable, i);
}

static void
add_variable (Loop *loop, IrValue *first, const IrType *type)
{
  IrValue *inputs[] = { add_enter (loop, first, FALSE), NULL };
  const Variable variable = { .merge = ir_lower_add_node (loop->c, "Merge", IR_LOWER_DOMAIN, 2,
                                                          inputs, 1, type) };

  g_array_append_val (loop->variables, variable);
}

static void
close_variable (Loop *loop, guint i, IrValue *next)
{
  IrNode *node = ir_lower_add_node (loop->c, "NextIteration", IR_LOWER_DOMAIN, 1, &next, 1,
                                    next->type);

  ir_edit_set_input (loop->c->l->edit, variable_at (loop, i)->merge, 1, node->outputs[0]);
}

/* The variable in the body */
static IrValue *
inside (const Loop *loop, guint i)
{
  return variable_at (loop, i)->exit_switch->outputs[1];
}

static guint
n_own (const Form *form)
{
  return form->is_loop ? 2 : 1; /* the counter, and the condition */
}

static gboolean
is_output_read (const IrNode *node, guint i)
{
  return node->outputs[i] != NULL && node->outputs[i]->n_uses > 0;
}

/* Whether what the body gives as output @i of the node is collected: for somebody, or as it gives nothing else */
static gboolean
is_collected (const Form *form, const IrNode *node, guint i)
{
  gboolean some = form->n_states > 0;

  for (guint k = 0; k < node->n_outputs; k++)
    some = some || is_output_read (node, k);
  return i >= form->n_states && (is_output_read (node, i) || (!some && i == 0));
}

static const IrValue *
result_of (const Form *form, guint output)
{
  return ir_graph_output (form->body, form->result + output);
}

static void
add_collected (Loop *loop, const IrValue *result)
{
  IrLowerConstruct *c = loop->c;
  IrContext *context = c->l->context->model->context;
  const IrType *element = ir_type_tensor (context, result->type->dtype, IR_RANK_UNKNOWN, NULL);
  const IrType *type = ir_type_sequence (context, element);
  IrValue *first = add_before (loop, "SequenceEmpty", 0, NULL, type);

  ir_edit_set_attr (c->l->edit, first->producer,
                    ir_attr_int (context, "dtype", (gint64) result->type->dtype));
  add_variable (loop, first, type);
}

static void
add_variables (Loop *loop)
{
  const Form *form = loop->form;
  const IrNode *node = loop->c->node;
  IrValue *condition = form->is_loop ? ir_node_input (node, 1) : NULL;

  add_variable (loop, add_scalar (loop, "first", IR_DTYPE_INT64, 0),
                scalar_type (loop->c, IR_DTYPE_INT64));
  if (form->is_loop)
    add_variable (loop, condition != NULL ? condition : add_scalar (loop, "true", IR_DTYPE_BOOL, 1),
                  ir_graph_input (form->body, 1)->type);
  for (guint i = 0; i < form->n_states; i++)
    add_variable (loop, node->inputs[form->input + i],
                  ir_graph_input (form->body, form->inner + i)->type);
  for (guint i = form->n_states; i < node->n_outputs; i++)
    if (is_collected (form, node, i))
      add_collected (loop, loop->results->pdata[form->result + i]);
}

/* Reads the variables of the body from their Switches. */
static void
add_switches (Loop *loop, IrValue *predicate)
{
  const Form *form = loop->form;

  for (guint i = 0; i < loop->variables->len; i++)
    {
      IrValue *value = variable_at (loop, i)->merge->outputs[0];
      IrValue *inputs[] = { value, predicate };
      variable_at (loop, i)->exit_switch = ir_lower_add_node (loop->c, "Switch", IR_LOWER_DOMAIN, 2,
                                                              inputs, 2, value->type);
      ir_lower_mark (loop->c, inside (loop, i));
      guint slot = form->is_loop ? i : i - 1 + form->inner;
      if ((i == 0 && !form->is_loop) || i >= n_own (form) + form->n_states)
        continue;
      IrValue *input = ir_graph_input (form->body, slot);
      ir_edit_replace_uses (loop->c->l->edit, input, inside (loop, i));
      ir_lower_swap_result (loop->results, input, inside (loop, i));
    }
}

/* -- how often -- */

static gint64
list_entry (const IrNode *node, const char *attr, guint i)
{
  guint n = 0;
  const gint64 *numbers = ir_node_attr_ints (node, attr, &n);

  return numbers != NULL && i < n ? numbers[i] : 0;
}

/* Axis that scanned input @i is cut along; negative where that is not known */
static gint64
scan_axis (const Form *form, const IrNode *node, guint i)
{
  const gint64 axis = list_entry (node, "scan_input_axes", i);
  const IrType *type = node->inputs[form->n_states + i]->type;

  return axis < 0 && ir_type_is_tensor (type) && ir_type_has_rank (type) ? axis + type->rank : axis;
}

/* (nullable) The most iterations */
static IrValue *
add_limit (Loop *loop)
{
  const Form *form = loop->form;
  const IrNode *node = loop->c->node;
  const IrType *count = scalar_type (loop->c, IR_DTYPE_INT64);
  IrContext *context = loop->c->l->context->model->context;

  if (form->is_loop)
    return ir_node_input (node, 0);
  IrValue *first = node->inputs[form->input + form->n_states];
  const IrType *type = first->type;
  const IrDim rank = ir_type_is_tensor (type) && ir_type_has_rank (type) ? type->rank
                                                                         : IR_DIM_UNKNOWN;
  if (form->is_map)
    return add_before (loop, "SequenceLength", 1, &first, count);
  IrValue *inputs[] = { add_before (loop, "Shape", 1, &first,
                                    ir_type_tensor (context, IR_DTYPE_INT64, 1, &rank)),
                        add_scalar (loop, "axis", IR_DTYPE_INT64, scan_axis (form, node, 0)) };
  return add_before (loop, "Gather", 2, inputs, count);
}

/* What says whether the body runs once more: i < M, and the condition. */
static IrValue *
add_condition (Loop *loop, IrValue *limit)
{
  IrContext *context = loop->c->l->context->model->context;
  const IrType *type = ir_type_tensor (context, IR_DTYPE_BOOL, IR_RANK_UNKNOWN, NULL);
  IrValue *both = loop->form->is_loop ? variable_at (loop, 1)->merge->outputs[0] : NULL;

  if (limit != NULL)
    {
      IrValue *less_inputs[] = { variable_at (loop, 0)->merge->outputs[0], bring (loop, limit) };
      IrNode *less = ir_lower_add_node (loop->c, "Less", NULL, 2, less_inputs, 1, type);
      IrValue *and_inputs[] = { less->outputs[0], both };
      both = both == NULL
                 ? less->outputs[0]
                 : ir_lower_add_node (loop->c, "And", NULL, 2, and_inputs, 1, type)->outputs[0];
    }
  return ir_lower_add_node (loop->c, "LoopCond", IR_LOWER_DOMAIN, 1, &both, 1, type)->outputs[0];
}

/* -- what the body reads -- */

/* Values that the body reads of around come in for all iterations. */
static void
bring_invariants (Loop *loop, const GPtrArray *captures)
{
  for (guint i = 0; i < captures->len; i++)
    {
      IrValue *value = captures->pdata[i], *with = bring (loop, value);
      if (with == value)
        continue;
      ir_lower_read_instead (loop->c->l, loop->form->body, value, with);
      ir_lower_swap_result (loop->results, value, with);
    }
}

static IrValue *
next_number (Loop *loop)
{
  const IrType *count = scalar_type (loop->c, IR_DTYPE_INT64);

  if (loop->next == NULL)
    {
      IrValue *sum[] = { inside (loop, 0), add_scalar (loop, "one", IR_DTYPE_INT64, 1) };
      loop->next = ir_lower_add_node (loop->c, "Add", NULL, 2, sum, 1, count)->outputs[0];
      ir_lower_mark (loop->c, loop->next);
    }
  return loop->next;
}

/* What the iteration gets of @whole; from the end -1 is the first. */
static IrValue *
add_part (Loop *loop, guint i, IrValue *whole, const IrType *type)
{
  IrLowerConstruct *c = loop->c;
  const IrNode *owner = c->node;
  IrValue *inputs[] = { whole, inside (loop, 0) };

  if (loop->form->is_map && whole->type->kind != IR_TYPE_SEQUENCE)
    return whole;
  if (!loop->form->is_map && list_entry (owner, "scan_input_directions", i) == 1)
    {
      IrValue *next = next_number (loop);
      inputs[1] = ir_lower_add_node (c, "Neg", NULL, 1, &next, 1, next->type)->outputs[0];
    }
  IrNode *node = ir_lower_add_node (c, loop->form->is_map ? "SequenceAt" : "Gather", NULL, 2,
                                    inputs, 1, type);
  if (!loop->form->is_map && scan_axis (loop->form, owner, i) != 0)
    ir_edit_set_attr (
        c->l->edit, node,
        ir_attr_int (c->l->context->model->context, "axis", scan_axis (loop->form, owner, i)));
  ir_lower_mark (c, node->outputs[0]);
  return node->outputs[0];
}

static void
bring_items (Loop *loop)
{
  const Form *form = loop->form;

  for (guint i = 0; i < form->n_items; i++)
    {
      IrValue *input = ir_graph_input (form->body, form->inner + form->n_states + i);
      IrValue *whole = bring (loop, loop->c->node->inputs[form->input + form->n_states + i]);
      IrValue *part = add_part (loop, i, whole, input->type);
      ir_edit_replace_uses (loop->c->l->edit, input, part);
      ir_lower_swap_result (loop->results, input, part);
    }
}

/* -- what the loop gives -- */

static void
close_variables (Loop *loop, IrNode *pivot)
{
  const Form *form = loop->form;
  const IrNode *node = loop->c->node;
  guint at = 0;

  close_variable (loop, at++, next_number (loop));
  for (guint i = 0; i < form->n_states + (form->is_loop ? 1 : 0); i++)
    close_variable (loop, at++, ir_lower_hold_back (loop->c, loop->results->pdata[i], pivot));
  for (guint i = form->n_states; i < node->n_outputs; i++)
    {
      if (!is_collected (form, node, i))
        continue;
      IrValue *inputs[] = { inside (loop, at), loop->results->pdata[form->result + i] };
      IrNode *insert = ir_lower_add_node (loop->c, "SequenceInsert", NULL, 2, inputs, 1,
                                          inputs[0]->type);
      ir_lower_mark (loop->c, insert->outputs[0]);
      close_variable (loop, at++, insert->outputs[0]);
    }
}

static IrValue *
add_stack (Loop *loop, IrValue *sequence, guint i, const IrValue *result)
{
  IrLowerConstruct *c = loop->c;
  IrContext *context = c->l->context->model->context;
  const gboolean is_loop = loop->form->is_loop;
  const gint64 axis = is_loop ? 0 : list_entry (c->node, "scan_output_axes", i);
  const gint64 direction = is_loop ? 0 : list_entry (c->node, "scan_output_directions", i);
  IrNode *node = ir_lower_add_node (c, "Stack", IR_LOWER_DOMAIN, 1, &sequence, 1, NULL);

  if (axis != 0)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "axis", axis));
  if (direction != 0)
    ir_edit_set_attr (c->l->edit, node, ir_attr_int (context, "direction", direction));
  const IrType *type = ir_pass_stacked_type (context, ir_value_shown_type (result), axis);
  if (type != NULL)
    {
      ir_edit_set_claim (c->l->edit, node->outputs[0], type);
      ir_edit_set_flags (c->l->edit, node->outputs[0], node->outputs[0]->flags | IR_VALUE_DECLARED);
    }
  return node->outputs[0];
}

/* @collected: of IrValue: results of the body by output of the node, as they were called there */
static gboolean
give_out (Loop *loop, const GPtrArray *collected)
{
  IrLowerConstruct *c = loop->c;
  const Form *form = loop->form;
  IrNode *node = c->node;
  g_autofree IrValue **out = g_new0 (IrValue *, node->n_outputs + 1);
  guint at = n_own (form);

  for (guint i = 0; i < node->n_outputs; i++)
    {
      gboolean is_state = i < form->n_states;
      if (!is_state && !is_collected (form, node, i))
        continue;
      const Variable *variable = variable_at (loop, at++);
      if (is_state && !is_output_read (node, i))
        continue;
      out[i] = ir_lower_add_node (c, "Exit", IR_LOWER_DOMAIN, 1, &variable->exit_switch->outputs[0],
                                  1,
                                  is_state || form->is_map ? node->outputs[i]->type
                                                           : variable->merge->outputs[0]->type)
                   ->outputs[0];
      if (!is_state && !form->is_map)
        out[i] = add_stack (loop, out[i], i - form->n_states, collected->pdata[form->result + i]);
    }
  return ir_lower_hand_over (c, out);
}

static gboolean
lower_into (IrLowerConstruct *c, const Form *form)
{
  IrLowering *l = c->l;
  IrNode *node = c->node;
  g_autofree char *frame = g_strdup (ir_node_output (node, 0) != NULL ? node->outputs[0]->name
                                                                      : "loop");
  g_autoptr (GPtrArray) captures = g_ptr_array_new (), collected = g_ptr_array_new ();
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  g_autoptr (GArray) variables = g_array_new (FALSE, TRUE, sizeof (Variable));
  Loop loop = { .c = c, .form = form, .frame = frame, .variables = variables };

  ir_lower_find_captures (l, form->body, c->graph, captures, seen);
  g_autoptr (GPtrArray) results = loop.results = ir_lower_take_outputs (l, form->body);
  for (guint i = 0; i < results->len; i++)
    g_ptr_array_add (collected, results->pdata[i]);
  IrValue *limit = add_limit (&loop);
  add_variables (&loop);
  IrValue *predicate = add_condition (&loop, limit);
  bring_invariants (&loop, captures);
  add_switches (&loop, predicate);
  bring_items (&loop);
  IrValue *number = inside (&loop, 0);
  IrNode *pivot = ir_lower_add_node (c, "Identity", NULL, 1, &number, 1, number->type);
  ir_lower_move_in (c, form->body, pivot);
  close_variables (&loop, pivot);
  ir_lower_drop_unread (c, pivot);
  return give_out (&loop, collected);
}

/* -- what stays -- */

static gboolean
is_scalar_for_sure (const IrValue *value)
{
  return value == NULL || (value->type != NULL && value->type->rank == 0);
}

/* (nullable) */
static const char *
why_not_loop (const IrNode *node, const Form *form)
{
  /* A body is given a scalar, whatever the condition's shape is. */
  if (ir_graph_input (form->body, 1)->n_uses > 0 &&
      (!is_scalar_for_sure (ir_node_input (node, 1)) ||
       !is_scalar_for_sure (ir_graph_output (form->body, 0))))
    return "the body reads a condition that may not be a scalar";
  return NULL;
}

/* Whether it is the first one along the same axis */
static gboolean
is_measured_alike (const Form *form, const IrNode *node, guint i)
{
  return node->inputs[form->n_states + i] == node->inputs[form->n_states] &&
         scan_axis (form, node, i) == scan_axis (form, node, 0);
}

/* (nullable) Parts are cut where all are equally long: a Scan of others fails. */
static const char *
why_not_scan (const IrNode *node, const Form *form)
{
  IrDim length = IR_DIM_UNKNOWN;

  for (guint i = 0; i < form->n_items; i++)
    {
      const IrType *type = node->inputs[form->n_states + i]->type;
      const gint64 axis = scan_axis (form, node, i);
      const gboolean is_known = ir_type_is_tensor (type) && ir_type_has_rank (type);
      if (axis < 0 || (is_known && axis >= type->rank))
        return "an axis of scan_input_axes is out of range, or the rank is not known";
      if (list_entry (node, "scan_input_directions", i) == 1 &&
          ir_graph_opset (node->graph, "") < 11)
        return "Gather counts from the end from opset 11 on";
      if (i > 0 && !is_measured_alike (form, node, i) &&
          (!is_known || type->dims[axis] == IR_DIM_UNKNOWN || type->dims[axis] != length))
        return "what is scanned is not known to be equally long";
      if (i == 0)
        length = is_known ? type->dims[axis] : IR_DIM_UNKNOWN;
    }
  return NULL;
}

/* (nullable) */
static const char *
why_not_map (const IrNode *node, const Form *form)
{
  for (guint i = 0; i < form->n_items; i++)
    {
      const IrType *type = node->inputs[i]->type;
      if (type == NULL || (i == 0 && type->kind != IR_TYPE_SEQUENCE))
        return "it is not known which inputs are sequences";
      if (i > 0 && type->kind == IR_TYPE_SEQUENCE && node->inputs[i] != node->inputs[0])
        return "its sequences are not known to be equally long";
    }
  return NULL;
}

/* (nullable) */
static const char *
why_not_collected (const IrNode *node, const Form *form)
{
  for (guint i = form->n_states; i < node->n_outputs; i++)
    {
      if (!is_collected (form, node, i))
        continue;
      const IrValue *result = result_of (form, i);
      if (!ir_type_is_tensor (result->type) || result->type->dtype == IR_DTYPE_UNDEFINED)
        return "what is stacked is not known to be a tensor of one element type";
      if (ir_graph_opset (node->graph, "") < 11)
        return "sequences are there from opset 11 on";
    }
  return NULL;
}

static gboolean
find_form (const IrNode *node, Form *form)
{
  const gint64 n_scanned = ir_node_attr_int (node, "num_scan_inputs", 0);

  *form = (Form){ .body = ir_node_attr_graph (node, "body") };
  if (ir_op_is (node, IR_OP_LOOP))
    {
      form->is_loop = TRUE;
      form->n_states = MAX (node->n_inputs, 2) - 2;
      form->input = form->inner = 2;
      form->result = 1;
      return TRUE;
    }
  form->is_map = ir_op_is (node, IR_OP_SEQUENCE_MAP);
  if (!form->is_map && (n_scanned < 1 || n_scanned > node->n_inputs))
    return FALSE;
  form->n_items = form->is_map ? node->n_inputs : (guint) n_scanned;
  form->n_states = node->n_inputs - form->n_items;
  return form->n_items > 0;
}

/* Whether the body has what the form says */
static gboolean
fits (const IrNode *node, const Form *form)
{
  const guint n = form->n_states + form->n_items;

  if (ir_graph_n_inputs (form->body) != form->inner + n || node->n_outputs < form->n_states ||
      ir_graph_n_outputs (form->body) < form->result + node->n_outputs)
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (ir_node_input (node, form->input + i) == NULL)
      return FALSE;
  return TRUE;
}

/* (nullable) Why a loop stays as it is */
static const char *
why_not_lowered (const IrLowering *l, const IrNode *node, Form *form)
{
  const gboolean found = find_form (node, form);
  const char *why = ir_lower_why_not_moved (l, form->body);

  if (why != NULL)
    return why;
  if (!found || !fits (node, form))
    return "its body does not fit it";
  if (ir_graph_opset (node->graph, "") < 9)
    return "Less takes integers, and a Scan is one, from opset 9 on";
  why = form->is_loop  ? why_not_loop (node, form)
        : form->is_map ? why_not_map (node, form)
                       : why_not_scan (node, form);
  return why != NULL ? why : why_not_collected (node, form);
}

void
ir_lower_loop (IrLowering *l, IrNode *node, const char *rule)
{
  Form form;
  const char *why = why_not_lowered (l, node, &form);
  IrLowerConstruct c;

  if (why != NULL)
    ir_edit_refuse (l->edit, rule, node->id, why);
  else if (ir_lower_begin (&c, l, rule, node))
    ir_lower_end (&c, rule, lower_into (&c, &form));
}
