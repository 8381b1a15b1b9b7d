/* The rule engine.
 *
 * A rule is a row (rule.h): a pattern, a replacement, conditions, a class, a document, an example.
 *
 *     (Mul ?x 1)                              ->  ?x
 *     (Relu (Conv@conv ?x ?w:const ?b?))      ->  (irscope.ConvRelu{@conv} ?x ?w ?b)
 *     (Transpose{perm=?p} (Transpose{perm=?q}:shared ?x))  ->  (Transpose{perm=?r} ?x)
 *
 * The grammar is at the top of parse.c. A pattern is a tree whose root is the node that goes;
 * its leaves are values: ?x any, ?b? one that may be left out, ?*xs all that are left, 1 a constant
 * of that number, and conditions after a colon (?w:const). Operands of commutative operators match
 * in either order; which operators commute is a flag of the op table. The replacement has one
 * expression per output of the root: a variable, or new nodes. What a pattern cannot say, when()
 * says in C, and what a replacement cannot name, prepare() computes; both may stand in one row with
 * the text, so that the text always shows what the rule does.
 *
 * What the engine guarantees, so that no rule has to check it:
 *   - Matching never writes. The first condition that failed, of the attempt that got furthest, is
 *     kept if refusals are recorded.
 *   - Every node of the match but the root, unless marked :shared, is seen by the match alone: no
 *     other use (edges are counted, those from inside subgraphs too), no graph output, no control
 *     dependency, same graph, same device as the root.
 *   - ?c:const is never an initializer that a caller may override.
 *   - In graphs that tokens move through, the nodes of a match are of one frame and one condition, and so is what
 *     takes their place (places.c).
 *   - The types of new nodes are inferred anew, and the replacement of an output must be at least
 *     as specific as the output was. Otherwise the step is taken back and recorded as a refusal.
 *   - Of a pass that asks for profit, an application is taken back where the table of rates says that the
 *     nodes it makes are slower than those it removes, for shapes that are known (profit.c).
 *   - Names of graph outputs stay. A rule that would need an Identity for that does not apply.
 *   - Constants that nothing uses afterwards go in the same step; others that share them keep them,
 *     as a rule makes new constants and never changes old ones.
 *
 * What a rule has to promise: to remove its root, and to make the graph smaller or bring it nearer
 * to the canonical form (fewer nodes; or as many, with fewer of the operators that patterns of its
 * pass begin with). Then a run ends: each application lowers (nodes, roots) in lexical order. As a
 * promise may be broken, the number of applications is limited to ten per node of the start plus a
 * thousand; running into the limit ends the pass and is reported (reached_limit, and a refusal that
 * names the rule), never silent.
 *
 * How it gets to the fixpoint in nearly linear time: a work list holds nodes to look at, all nodes
 * in topological order at first. An application adds the nodes that it made, those that read what
 * it made as far down as the deepest pattern reaches, and those that read a value which lost a use.
 * Rules are indexed by the operator of the root, rows that name an operator which no graph has are
 * not even read, and operands are compared first, so most nodes are looked up and left. Values with
 * very many readers add none of them (each would be added again for every rewrite of a hub); the
 * pipeline's next iteration looks at all nodes again. */
#include "config.h"

#include "passes/rule/profit.h"
#include "passes/rule/pattern.h"
#include "passes/rule/step.h"

#include <string.h>
#include <time.h>

#define HUB_USES 64

/* A row, read when some node may be its root. */
typedef struct
{
  const IrRule *rule;
  IrCompiledRule *compiled; /* (nullable) */
} Entry;

struct _IrRuleTable
{
  GArray *entries;     /* of Entry, in the order of the rows */
  GHashTable *by_root; /* (nullable) interned op_type -> GPtrArray of Entry */
  GHashTable *present; /* (unowned) interned operators that the graphs have, or had */
  guint n_present;     /* when the index was made */
  IrContext *context;  /* (nullable) whose strings these are */
  guint depth;         /* of the deepest pattern */
  gboolean all;        /* whoever wants to know why not needs every rule */
};

static void
entry_clear (gpointer data)
{
  g_clear_pointer (&((Entry *) data)->compiled, ir_compiled_rule_free);
}

/* How deep the nodes of a pattern are nested, by its brackets. */
static guint
depth_of (const char *pattern)
{
  guint depth = 0, deepest = 0;

  for (const char *at = pattern; *at != '\0'; at++)
    if (*at == '(')
      deepest = MAX (deepest, ++depth);
    else if (*at == ')' && depth > 0)
      depth--;
  return deepest > 0 ? deepest - 1 : 0;
}

/**
 * ir_rule_table_new_lazy:
 * @rules: rows of the program, ending with one without a name; must outlive the table
 *
 * For runs: a row is read when the graphs have the operators that it names.
 *
 * Returns: (transfer full): the table
 */
IrRuleTable *
ir_rule_table_new_lazy (const IrRule *rules)
{
  IrRuleTable *table = g_new0 (IrRuleTable, 1);

  table->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  g_array_set_clear_func (table->entries, entry_clear);
  for (const IrRule *rule = rules; rule->name != NULL; rule++)
    {
      Entry entry = { rule, NULL };

      g_array_append_val (table->entries, entry);
      table->depth = MAX (table->depth, depth_of (rule->pattern));
    }
  return table;
}

/**
 * ir_rule_table_new:
 * @rules: rows, ending with one without a name; must outlive the table
 * @error: return location for an error
 *
 * Reads all patterns. Fails with a message that names the rule and the place in its text; rows of
 * the program never do, which a test holds.
 *
 * Returns: (transfer full): the table, indexed by the operator of the root
 */
IrRuleTable *
ir_rule_table_new (const IrRule *rules, GError **error)
{
  g_autoptr (IrRuleTable) table = ir_rule_table_new_lazy (rules);

  for (guint i = 0; i < table->entries->len; i++)
    {
      Entry *entry = &g_array_index (table->entries, Entry, i);

      entry->compiled = ir_rule_compile (entry->rule, error);
      if (entry->compiled == NULL)
        return NULL;
    }
  return g_steal_pointer (&table);
}

/* The operators that stand behind the bracket at @at, one after the other; NULL at their end. */
static const char *
next_operator (const char **at, IrContext *context)
{
  const char *start = *at, *end;

  if (!g_ascii_isalnum (*start))
    return NULL;
  for (end = start; g_ascii_isalnum (*end) || *end == '_' || *end == '-' || *end == '.'; end++)
    if (*end == '.')
      start = end + 1;
  *at = *end == '|' ? end + 1 : end;
  return ir_context_intern_len (context, start, end - start);
}

/* Whether the graphs have, for every node of the pattern, one of the operators that it may be. */
static gboolean
has_operators (const IrRuleTable *table, const char *pattern)
{
  for (const char *at = strchr (pattern, '('); at != NULL; at = strchr (at, '('))
    {
      gboolean found = FALSE;
      const char *op;

      for (at++; (op = next_operator (&at, table->context)) != NULL;)
        found |= g_hash_table_contains (table->present, op);
      if (!found)
        return FALSE;
    }
  return TRUE;
}

static void
index_entry (IrRuleTable *table, Entry *entry)
{
  const char *at = entry->rule->pattern + 1, *op;

  while ((op = next_operator (&at, table->context)) != NULL)
    {
      GPtrArray *list = g_hash_table_lookup (table->by_root, op);

      if (list == NULL)
        {
          list = g_ptr_array_new ();
          g_hash_table_insert (table->by_root, (gpointer) op, list);
        }
      g_ptr_array_add (list, entry);
    }
}

/* The operators of nodes are interned in the context of their model: rules are looked up, and
 * compared, by pointer. Rules that name an operator which is nowhere are left out. */
static void
index_rules (IrRuleTable *table)
{
  g_clear_pointer (&table->by_root, g_hash_table_unref);
  table->n_present = g_hash_table_size (table->present);
  table->by_root = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_ptr_array_unref);
  for (guint i = 0; i < table->entries->len; i++)
    {
      Entry *entry = &g_array_index (table->entries, Entry, i);

      if (table->all || has_operators (table, entry->rule->pattern))
        index_entry (table, entry);
    }
}

/**
 * ir_rule_table_free:
 * @table: (transfer full): a table
 */
void
ir_rule_table_free (IrRuleTable *table)
{
  g_array_unref (table->entries);
  g_clear_pointer (&table->by_root, g_hash_table_unref);
  g_free (table);
}

/**
 * ir_rule_table_stats:
 * @table: a table that has run
 * @rule: name of one of its rules
 *
 * Returns: (transfer none) (nullable): how often it was tried, matched and applied, and the time
 */
const IrRuleStats *
ir_rule_table_stats (const IrRuleTable *table, const char *rule)
{
  for (guint i = 0; i < table->entries->len; i++)
    {
      const Entry *entry = &g_array_index (table->entries, Entry, i);
      if (strcmp (entry->rule->name, rule) == 0)
        return entry->compiled != NULL ? &entry->compiled->stats : NULL;
    }
  return NULL;
}

/**
 * ir_rule_table_add_totals:
 * @table: a table that has run
 * @pass: name of its pass
 * @totals: of IrRuleTotal: one is appended for each rule that was looked at
 */
void
ir_rule_table_add_totals (const IrRuleTable *table, const char *pass, GArray *totals)
{
  for (guint i = 0; i < table->entries->len; i++)
    {
      const Entry *entry = &g_array_index (table->entries, Entry, i);
      IrRuleTotal total = { pass, entry->rule->name, { 0 } };

      if (entry->compiled == NULL || entry->compiled->stats.looked == 0)
        continue;
      total.stats = entry->compiled->stats;
      g_array_append_val (totals, total);
    }
}

/* -- the work list -- */

typedef struct
{
  IrRuleTable *table;
  IrPassContext *context;
  GArray *queue;      /* of node ids */
  guint head;         /* the first that waits */
  GByteArray *queued; /* node id -> 1 if in the queue */
  gint64 now_ns;      /* when the last attempt ended */
} Work;

/* Only what some rule begins with. */
static void
work_add (Work *work, const IrNode *node)
{
  if (!g_hash_table_contains (work->table->by_root, node->op_type))
    return;
  if (node->id >= work->queued->len)
    {
      guint old = work->queued->len;
      g_byte_array_set_size (work->queued, MAX (node->id + 1, old * 2));
      memset (work->queued->data + old, 0, work->queued->len - old);
    }
  if (work->queued->data[node->id])
    return;
  work->queued->data[node->id] = 1;
  g_array_append_val (work->queue, node->id);
}

static void
work_add_readers (Work *work, const IrValue *value, guint depth)
{
  if (value == NULL || value->state != IR_STATE_LIVE || value->n_uses > HUB_USES)
    return;
  for (guint i = 0; i < value->n_uses; i++)
    {
      IrUse use = ir_value_use (value, i);

      if (use.node == NULL)
        continue;
      work_add (work, use.node);
      for (guint k = 0; depth > 0 && k < use.node->n_outputs; k++)
        work_add_readers (work, use.node->outputs[k], depth - 1);
    }
}

/* -- one application -- */

static gboolean
check_type (IrMatch *match, const IrValue *old, IrValue *with, gboolean is_new)
{
  IrContext *context = match->context->model->context;
  const IrType *merged;

  if (old->type == NULL || (with->type != NULL && ir_type_at_least (with->type, old->type)))
    return TRUE;
  /* What was known of the output holds for the new node's too, unless the two contradict. */
  merged = is_new && with->type != NULL ? ir_type_merge (context, with->type, old->type) : NULL;
  if (merged != NULL)
    {
      ir_edit_set_type (match->context->edit, with, merged);
      return TRUE;
    }
  if (match->wants_why)
    {
      g_autofree char *before = ir_type_to_string (context, old->type);
      g_autofree char *after = with->type != NULL ? ir_type_to_string (context, with->type)
                                                  : g_strdup ("unknown");
      ir_match_fail (match, "the type would change from %s to %s", before, after);
    }
  return FALSE;
}

static void
map_lineage (IrMatch *match, const GPtrArray *made)
{
  IrEdit *edit = match->context->edit;

  for (guint i = 0; i < match->rule->n_nodes; i++)
    {
      if (match->shared[i])
        continue;
      for (guint k = 0; k < made->len; k++)
        ir_edit_step_map_node (edit, match->nodes[i]->id, ((IrNode *) made->pdata[k])->id);
      if (made->len == 0)
        ir_edit_step_map_node (edit, match->nodes[i]->id, 0);
    }
}

static gboolean
is_used (const IrNode *node)
{
  for (guint i = 0; i < node->n_outputs; i++)
    if (node->outputs[i] != NULL && node->outputs[i]->n_uses > 0)
      return TRUE;
  return FALSE;
}

/* The root first, then what fed it alone; a node with two readers goes after both. */
static void
remove_matched (IrMatch *match)
{
  gboolean removed;

  do
    {
      removed = FALSE;
      for (guint i = 0; i < match->rule->n_nodes; i++)
        {
          IrNode *node = match->nodes[i];

          if (match->shared[i] || node->state != IR_STATE_LIVE || is_used (node))
            continue;
          ir_pass_remove_node (match->context, node);
          removed = TRUE;
        }
    }
  while (removed);
}

static void
write_reason (IrMatch *match, const char *bindings)
{
  ir_edit_step_reason (match->context->edit, "%s%s%s", bindings, match->notes != NULL ? ": " : "",
                       match->notes != NULL ? match->notes->str : "");
}

static gboolean
is_made (const GPtrArray *made, const IrNode *node)
{
  for (guint i = 0; i < made->len; i++)
    if (made->pdata[i] == node)
      return TRUE;
  return FALSE;
}

/* Inside the step: new nodes, types, uses, removals. FALSE: nothing may stay. */
static gboolean
rewrite (IrMatch *match, GPtrArray *made, GPtrArray *fresh)
{
  IrNode *root = match->nodes[0];
  guint n = MIN (root->n_outputs, match->rule->results->len);
  const IrNodeId first_new = match->context->model->nodes->len;
  /* Before prepare(): what was found, not what is made. */
  g_autofree char *bindings = ir_match_bindings (match);

  if (match->rule->rule->prepare != NULL && !match->rule->rule->prepare (match))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      IrValue *old = root->outputs[i], *with;

      g_ptr_array_add (fresh, NULL);
      if (old == NULL || (i > 0 && old->n_uses == 0))
        continue;
      with = ir_rule_build (match, i, made);
      if (with == NULL || with == old ||
          !check_type (match, old, with, is_made (made, with->producer)))
        return FALSE;
      fresh->pdata[i] = with;
    }
  if (!ir_match_keeps_place (match, fresh, first_new))
    return FALSE;
  map_lineage (match, made);
  for (guint i = 0; i < n; i++)
    if (fresh->pdata[i] != NULL)
      ir_edit_replace_uses (match->context->edit, root->outputs[i], fresh->pdata[i]);
  write_reason (match, bindings);
  g_autofree IrValue **old = g_memdup2 (root->outputs, root->n_outputs * sizeof (IrValue *));
  remove_matched (match);
  for (guint i = 0; i < n; i++)
    if (fresh->pdata[i] != NULL)
      ir_pass_take_name (match->context, old[i], fresh->pdata[i]);
  return TRUE;
}

/* Values that the match reads: they may have lost a use. */
static GPtrArray *
values_read (const IrMatch *match)
{
  GPtrArray *values = g_ptr_array_new ();

  for (guint i = 0; i < match->rule->n_nodes; i++)
    for (guint k = 0; k < match->nodes[i]->n_inputs; k++)
      if (match->nodes[i]->inputs[k] != NULL)
        g_ptr_array_add (values, match->nodes[i]->inputs[k]);
  return values;
}

/* Of the nodes that go. */
static IrProfit
profit_of (const IrMatch *match)
{
  IrProfit profit = { .known = TRUE };

  for (guint i = 0; i < match->rule->n_nodes; i++)
    if (!match->shared[i])
      ir_profit_removed (&profit, match->nodes[i]);
  return profit;
}

/* With those that came. */
static gboolean
is_worth_it (IrMatch *match, IrProfit *profit, const GPtrArray *made)
{
  g_autofree char *refusal = NULL;

  for (guint i = 0; i < made->len && profit->known; i++)
    ir_profit_made (profit, made->pdata[i]);
  refusal = ir_profit_refusal (profit);
  return refusal == NULL || ir_match_fail (match, "%s", refusal);
}

static gboolean
apply (Work *work, IrMatch *match)
{
  const IrRule *rule = match->rule->rule;
  IrProfit profit = { 0 };
  g_autoptr (GPtrArray) made = g_ptr_array_new ();
  g_autoptr (GPtrArray) fresh = g_ptr_array_new ();
  g_autoptr (GPtrArray) read = values_read (match);

  if (!ir_pass_begin (work->context, rule->name, rule->step_class, match->nodes[0]))
    return FALSE;
  if (work->context->priv->pass->profit)
    profit = profit_of (match);
  if (!rewrite (match, made, fresh) || !is_worth_it (match, &profit, made))
    {
      ir_pass_abort (work->context);
      return FALSE;
    }
  ir_pass_end (work->context);
  ir_pass_keep_frames (work->context);
  /* An operator that was nowhere brings its rules in. */
  if (g_hash_table_size (work->table->present) != work->table->n_present)
    index_rules (work->table);
  for (guint i = 0; i < made->len; i++)
    work_add (work, made->pdata[i]);
  for (guint i = 0; i < fresh->len; i++)
    if (fresh->pdata[i] != NULL)
      work_add_readers (work, fresh->pdata[i], work->table->depth);
  for (guint i = 0; i < read->len; i++)
    work_add_readers (work, read->pdata[i], work->table->depth);
  return TRUE;
}

static gint64
now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec * G_GINT64_CONSTANT (1000000000) + now.tv_nsec;
}

/* Time since the last call, which was the end of the attempt before. */
static gint64
lap_ns (Work *work)
{
  gint64 before = work->now_ns;

  work->now_ns = now_ns ();
  return work->now_ns - before;
}

static gboolean
try_rule (Work *work, Entry *entry, IrNode *node)
{
  IrMatch match;
  IrCompiledRule *rule;
  gboolean applied = FALSE, holds;

  if (!ir_pass_rule_enabled (work->context, entry->rule->name, entry->rule->step_class))
    return FALSE;
  if (entry->compiled == NULL)
    entry->compiled = ir_rule_compile (entry->rule, NULL);
  rule = entry->compiled;
  g_return_val_if_fail (rule != NULL, FALSE);
  ir_rule_intern (rule, work->context->model->context);
  rule->stats.looked++;
  /* Whoever wants to know why not gets the whole comparison. */
  if (!work->context->record_refusals && !ir_rule_may_match (rule, node))
    return FALSE;
  rule->stats.tried++;
  holds = ir_rule_match (rule, work->context, node, &match);
  rule->stats.match_ns += lap_ns (work);
  if (holds)
    {
      g_clear_pointer (&match.why, g_free); /* of orders that did not fit */
      rule->stats.matched++;
      applied = apply (work, &match);
      rule->stats.applied += applied;
      rule->stats.apply_ns += lap_ns (work);
    }
  /* A root alone is in nearly every graph; what failed at the first operand explains nothing. */
  if (!applied && match.why != NULL && match.progress > 1)
    ir_edit_refuse (work->context->edit, rule->rule->name, node->id, match.why);
  ir_match_clear (&match);
  return applied;
}

static gboolean
look_at (Work *work, IrNode *node)
{
  GPtrArray *rules = g_hash_table_lookup (work->table->by_root, node->op_type);

  for (guint i = 0; rules != NULL && i < rules->len; i++)
    if (!work->context->stopped && try_rule (work, rules->pdata[i], node))
      return TRUE;
  return FALSE;
}

/* What the index depends on: whose strings, which operators are there. */
static void
begin_run (IrRuleTable *table, IrPassContext *context)
{
  gboolean same = table->by_root != NULL && table->context == context->model->context &&
                  table->all == context->record_refusals &&
                  table->n_present == g_hash_table_size (context->priv->present);

  table->context = context->model->context;
  table->all = context->record_refusals;
  table->present = context->priv->present;
  if (!same)
    index_rules (table);
}

static void
fill (Work *work)
{
  g_autoptr (GPtrArray) graphs = ir_pass_graphs (work->context);

  for (guint i = 0; i < graphs->len; i++)
    {
      guint n;
      IrNode *const *order = ir_graph_order (graphs->pdata[i], &n);

      for (guint k = 0; k < n; k++)
        work_add (work, order[k]);
    }
}

static void
report_limit (Work *work, const IrNode *node, guint limit)
{
  g_autofree char *text = g_strdup_printf (
      "the pass was ended after %u applications: its rules do not come to an end", limit);

  work->context->priv->reached_limit = TRUE;
  ir_edit_record_refusals (work->context->edit, TRUE);
  ir_edit_refuse (work->context->edit, work->context->priv->pass->name, node->id, text);
  ir_edit_record_refusals (work->context->edit, work->context->record_refusals);
}

/**
 * ir_rule_table_run:
 * @table: a table; its counts grow
 * @context: the runner's context, a pass open
 * @error: return location for an error
 *
 * Applies the rules until none applies any more, the policy says stop, or the limit is reached
 * (which is reported). Where several rules match a node the first row wins.
 *
 * Returns: %FALSE if cancelled; what was applied so far stays
 */
gboolean
ir_rule_table_run (IrRuleTable *table, IrPassContext *context, GError **error)
{
  Work work = { .table = table, .context = context, .queued = g_byte_array_new () };
  guint applied = 0, limit = 10 * ir_model_n_nodes (context->model) + 1000;
  gboolean cancelled = FALSE;

  begin_run (table, context);
  if (g_hash_table_size (table->by_root) == 0)
    {
      g_byte_array_unref (work.queued);
      return !ir_pass_cancelled (context, error);
    }
  work.queue = g_array_new (FALSE, FALSE, sizeof (IrNodeId));
  fill (&work);
  work.now_ns = now_ns ();
  while (work.head < work.queue->len && !context->stopped)
    {
      IrNodeId id = g_array_index (work.queue, IrNodeId, work.head++);
      IrNode *node = ir_model_live_node (context->model, id);

      work.queued->data[id] = 0;
      if ((cancelled = ir_pass_cancelled (context, error)))
        break;
      if (node == NULL || !look_at (&work, node))
        continue;
      if (node->state == IR_STATE_LIVE)
        work_add (&work, node);
      if (++applied >= limit)
        {
          report_limit (&work, node, limit);
          break;
        }
    }
  g_array_unref (work.queue);
  g_byte_array_unref (work.queued);
  return !cancelled;
}
