/* ai.onnx.ml: ensembles of decision trees. The attributes of the three operators, which describe
 * the same thing in two ways, are turned into one array of nodes, checked once; then each sample
 * walks from the root of each tree to a leaf, whose weights are taken together.
 *
 * Complexity: O(nodes + weights) to build, O(samples * trees * depth + weights met) to run. */
#include "config.h"

#include "core/exec/ref/block.h"
#include "core/exec/ref/ml.h"
#include "core/exec/ref/ref-util.h"
#include "core/ir/hash.h"
#include "core/exec/ref/ref.h"
#include <math.h>
#include <string.h>

typedef enum
{
  TEST_LEQ,
  TEST_LT,
  TEST_GTE,
  TEST_GT,
  TEST_EQ,
  TEST_NEQ,
  TEST_MEMBER,
  TEST_LEAF,
  N_TESTS
} Test; /* the numbers are those of TreeEnsemble's nodes_modes */

typedef struct
{
  guint8 test;
  gboolean missing_is_true;
  guint64 feature;
  double split;
  guint32 if_true, if_false; /* places in nodes */
  guint32 first, n;          /* leaves: weights; membership: members */
} Node;

typedef struct
{
  guint32 target;
  double value;
} Weight;

typedef struct
{
  guint n_nodes, n_roots, n_weights, n_members;
  Node *nodes;
  guint32 *roots;
  Weight *weights;
  double *members;
  IrPlaces places; /* where (tree, node) stands, while building */
  const gint64 *trees, *ids;
  const IrCall *call;
} Forest;

static void
forest_clear (Forest *forest)
{
  g_clear_pointer (&forest->nodes, g_free);
  g_clear_pointer (&forest->roots, g_free);
  g_clear_pointer (&forest->weights, g_free);
  g_clear_pointer (&forest->members, g_free);
  ir_places_clear (&forest->places);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Forest, forest_clear)

/* -- building: what both ways share -- */

/* Room for the nodes, in the order of the attributes, and then the leaves of the new way. */
static gboolean
new_nodes (Forest *forest, const IrCall *call, guint64 n, guint64 n_leaves, GError **error)
{
  if (n + n_leaves < G_MAXINT32)
    forest->nodes = g_try_new0 (Node, (gsize) MAX (n + n_leaves, 1));
  forest->n_nodes = (guint) (n + n_leaves);
  return forest->nodes != NULL ||
         ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are too many nodes");
}

static gboolean
new_weights (Forest *forest, const IrCall *call, guint64 n, GError **error)
{
  if (n < G_MAXINT32)
    forest->weights = g_try_new0 (Weight, (gsize) MAX (n, 1));
  forest->n_weights = (guint) n;
  return forest->weights != NULL ||
         ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are too many weights");
}

/* A list of @n integers, one per node or leaf. */
static gboolean
read_ints (const IrCall *call, const char *name, guint64 n, const gint64 **values, GError **error)
{
  guint n_values = 0;

  *values = ir_call_ints (call, name, &n_values);
  return n_values == n ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "%s has %u integers, %" G_GUINT64_FORMAT " are needed", name, n_values, n);
}

static gboolean
check_feature (const IrCall *call, guint node, gint64 feature, guint64 n_features, GError **error)
{
  return (feature >= 0 && (guint64) feature < n_features) ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "node %u compares feature %" G_GINT64_FORMAT " of %" G_GUINT64_FORMAT, node,
                       feature, n_features);
}

static gboolean
read_missing (Forest *forest, const IrCall *call, guint n, GError **error)
{
  const gint64 *tracks;
  guint n_tracks = 0;

  ir_call_ints (call, "nodes_missing_value_tracks_true", &n_tracks);
  if (n_tracks == 0)
    return TRUE;
  if (!read_ints (call, "nodes_missing_value_tracks_true", n, &tracks, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    forest->nodes[i].missing_is_true = tracks[i] != 0;
  return TRUE;
}

typedef struct
{
  guint32 at;
  guint stage; /* branches that were followed */
} Frame;

static void
enter (GArray *path, guint8 *is_open, guint32 at)
{
  Frame frame = { at, 0 };

  is_open[at] = 1;
  g_array_append_val (path, frame);
}

/* Walks through all that a root reaches, depth first; FALSE at a node that is on its own path.
 * @state: 0: not met, 1: on the path, 2: done. */
static gboolean
walk_all (Forest *forest, guint32 root, guint8 *state, GArray *path, guint32 *cycle)
{
  enter (path, state, root);
  while (path->len > 0)
    {
      Frame *frame = &g_array_index (path, Frame, path->len - 1);
      const Node *node = &forest->nodes[frame->at];
      if (node->test == TEST_LEAF || frame->stage == 2)
        {
          state[frame->at] = 2;
          g_array_set_size (path, path->len - 1);
          continue;
        }
      guint32 next = frame->stage++ == 0 ? node->if_true : node->if_false;
      if (state[next] == 1)
        {
          *cycle = next;
          return FALSE;
        }
      if (state[next] == 0)
        enter (path, state, next);
    }
  return TRUE;
}

static gboolean
check_acyclic (Forest *forest, const IrCall *call, GError **error)
{
  g_autofree guint8 *state = g_new0 (guint8, MAX (forest->n_nodes, 1));
  g_autoptr (GArray) path = g_array_new (FALSE, FALSE, sizeof (Frame));
  guint32 cycle = 0;

  for (guint i = 0; i < forest->n_roots; i++)
    if (state[forest->roots[i]] == 0 && !walk_all (forest, forest->roots[i], state, path, &cycle))
      return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                           "the trees have a cycle: node %u is behind itself", cycle);
  return TRUE;
}

/* -- building, the old way: nodes and weights are named by (tree, node) -- */

static gboolean
has_name (gconstpointer list, guint32 place, gconstpointer key)
{
  const Forest *forest = list;
  const gint64 *pair = key;

  return forest->trees[place] == pair[0] && forest->ids[place] == pair[1];
}

static guint64
hash_of (const gint64 *pair)
{
  return ir_mix64 (ir_mix64 ((guint64) pair[0]) + (guint64) pair[1]);
}

static gboolean
find_place (
    Forest *forest, const IrCall *call, gint64 tree, gint64 node, guint32 *place, GError **error)
{
  const gint64 pair[2] = { tree, node };

  *place = ir_places_find (&forest->places, hash_of (pair), pair) - 1;
  return *place != G_MAXUINT32 ||
         ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                       "tree %" G_GINT64_FORMAT " has no node %" G_GINT64_FORMAT, tree, node);
}

static gboolean
has_tree (gconstpointer list, guint32 place, gconstpointer key)
{
  return ((const gint64 *) list)[place] == *(const gint64 *) key;
}

/* The first node of each tree is its root. */
static gboolean
name_nodes (
    Forest *forest, const IrCall *call, const gint64 *trees, const gint64 *ids, GError **error)
{
  g_auto (IrPlaces) seen = { 0 };

  forest->trees = trees;
  forest->ids = ids;
  if (!ir_places_init (&forest->places, call, forest->n_nodes, has_name, forest, error) ||
      !ir_places_init (&seen, call, forest->n_nodes, has_tree, trees, error))
    return FALSE;
  forest->roots = g_new (guint32, MAX (forest->n_nodes, 1));
  for (guint i = 0; i < forest->n_nodes; i++)
    {
      const gint64 pair[2] = { trees[i], ids[i] };
      guint32 before = ir_places_put (&forest->places, hash_of (pair), pair, i);
      if (before != 0)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "tree %" G_GINT64_FORMAT " has the node %" G_GINT64_FORMAT " twice",
                             trees[i], ids[i]);
      if (ir_places_put (&seen, ir_mix64 ((guint64) trees[i]), &trees[i], i) == 0)
        forest->roots[forest->n_roots++] = i;
    }
  return TRUE;
}

static guint
test_from_name (const IrString *name)
{
  static const char *const names[N_TESTS] = { "BRANCH_LEQ",    "BRANCH_LT", "BRANCH_GTE",
                                              "BRANCH_GT",     "BRANCH_EQ", "BRANCH_NEQ",
                                              "BRANCH_MEMBER", "LEAF" };
  guint test = 0;

  while (test < N_TESTS && strcmp (names[test], name->data) != 0)
    test++;
  return test == TEST_MEMBER ? N_TESTS : test;
}

/* Fills in what each node compares. */
static gboolean
read_tests (Forest *forest, const IrCall *call, guint64 n_features, GError **error)
{
  static const char *const value_names[] = { "nodes_values", "nodes_values_as_tensor", NULL };
  const IrAttr *modes = ir_call_attr (call, "nodes_modes");
  guint n_modes = modes != NULL && modes->kind == IR_ATTR_STRINGS ? modes->n : 0;
  const gint64 *features;
  IrMlList splits;

  if (!read_ints (call, "nodes_featureids", forest->n_nodes, &features, error) ||
      !ir_ml_list_choose (&splits, call, value_names, FALSE, error) ||
      !ir_ml_list_check (&splits, call, "nodes_values", forest->n_nodes, error))
    return FALSE;
  if (n_modes != forest->n_nodes)
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "nodes_modes has %u names, %u are needed", n_modes, forest->n_nodes);
  for (guint i = 0; i < forest->n_nodes; i++)
    {
      Node *node = &forest->nodes[i];
      guint test = test_from_name (&modes->strings[i]);
      if (test == N_TESTS)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "node %u has the mode \"%s\"", i,
                             modes->strings[i].data);
      node->test = (guint8) test;
      node->split = ir_ml_list_double (&splits, i);
      node->feature = test == TEST_LEAF ? 0 : (guint64) features[i];
      if (test != TEST_LEAF && !check_feature (call, i, features[i], n_features, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
build_named (Forest *forest, const IrCall *call, guint64 n_features, GError **error)
{
  guint n = 0;
  const gint64 *trees = ir_call_ints (call, "nodes_treeids", &n), *ids, *if_true, *if_false;

  if (!new_nodes (forest, call, n, 0, error) ||
      !read_ints (call, "nodes_nodeids", n, &ids, error) ||
      !read_ints (call, "nodes_truenodeids", n, &if_true, error) ||
      !read_ints (call, "nodes_falsenodeids", n, &if_false, error) ||
      !read_tests (forest, call, n_features, error) || !read_missing (forest, call, n, error) ||
      !name_nodes (forest, call, trees, ids, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      Node *node = &forest->nodes[i];
      if (node->test != TEST_LEAF &&
          (!find_place (forest, call, trees[i], if_true[i], &node->if_true, error) ||
           !find_place (forest, call, trees[i], if_false[i], &node->if_false, error)))
        return FALSE;
    }
  return check_acyclic (forest, call, error);
}

/* The names of the attributes with the weights. */
typedef struct
{
  const char *trees, *nodes, *ids, *const *weights;
} WeightNames;

/* Sorts the weights by their leaves, keeping the order of those of one leaf. */
static gboolean
name_weights (
    Forest *forest, const IrCall *call, const WeightNames *names, guint n_targets, GError **error)
{
  const gint64 *trees, *nodes, *ids;
  guint n = 0;
  guint32 place, next = 0;
  IrMlList values;

  ids = ir_call_ints (call, names->ids, &n);
  if (!read_ints (call, names->trees, n, &trees, error) ||
      !read_ints (call, names->nodes, n, &nodes, error) ||
      !ir_ml_list_choose (&values, call, names->weights, FALSE, error) ||
      !ir_ml_list_check (&values, call, names->weights[0], n, error) ||
      !new_weights (forest, call, n, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      if (!find_place (forest, call, trees[i], nodes[i], &place, error))
        return FALSE;
      if (ids[i] < 0 || ids[i] >= n_targets)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "%s has %" G_GINT64_FORMAT ", there are %u", names->ids, ids[i],
                             n_targets);
      forest->nodes[place].n++;
    }
  for (guint i = 0; i < forest->n_nodes; i++)
    {
      forest->nodes[i].first = next;
      next += forest->nodes[i].n;
      forest->nodes[i].n = 0;
    }
  for (guint i = 0; i < n; i++)
    {
      if (!find_place (forest, call, trees[i], nodes[i], &place, error))
        return FALSE;
      Node *node = &forest->nodes[place];
      forest->weights[node->first + node->n++] = (Weight){ (guint32) ids[i],
                                                           ir_ml_list_double (&values, i) };
    }
  return TRUE;
}

/* -- building, the new way: nodes and leaves are named by their places -- */

static gboolean
child (const IrCall *call,
       gint64 id,
       gboolean is_leaf,
       guint n_nodes,
       guint n_leaves,
       guint32 *place,
       GError **error)
{
  if (id < 0 || id >= (is_leaf ? n_leaves : n_nodes))
    return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                         "there is no %s %" G_GINT64_FORMAT ", there are %u",
                         is_leaf ? "leaf" : "node", id, is_leaf ? n_leaves : n_nodes);
  *place = (guint32) id + (is_leaf ? n_nodes : 0);
  return TRUE;
}

static gboolean
read_branches (Forest *forest, const IrCall *call, guint n, guint n_leaves, GError **error)
{
  const gint64 *if_true, *if_false, *true_is_leaf, *false_is_leaf;

  if (!read_ints (call, "nodes_truenodeids", n, &if_true, error) ||
      !read_ints (call, "nodes_falsenodeids", n, &if_false, error) ||
      !read_ints (call, "nodes_trueleafs", n, &true_is_leaf, error) ||
      !read_ints (call, "nodes_falseleafs", n, &false_is_leaf, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    if (!child (call, if_true[i], true_is_leaf[i] != 0, n, n_leaves, &forest->nodes[i].if_true,
                error) ||
        !child (call, if_false[i], false_is_leaf[i] != 0, n, n_leaves, &forest->nodes[i].if_false,
                error))
      return FALSE;
  return TRUE;
}

/* Cuts the values at their NaNs: a set for each node that tests membership, in their order. */
static gboolean
read_members (Forest *forest, const IrCall *call, GError **error)
{
  IrMlList values;
  guint64 at = 0;

  if (!ir_ml_list_init (&values, call, "membership_values", error) ||
      !ir_ml_list_check (&values, call, "membership_values", values.n, error))
    return FALSE;
  if (values.n >= G_MAXINT32 ||
      (forest->members = g_try_new (double, (gsize) MAX (values.n, 1))) == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "there are too many members");
  for (guint64 i = 0; i < values.n; i++)
    forest->members[i] = ir_ml_list_double (&values, i);
  for (guint i = 0; i < forest->n_nodes; i++)
    {
      Node *node = &forest->nodes[i];
      if (node->test != TEST_MEMBER)
        continue;
      if (at >= values.n)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "membership_values has no set for node %u", i);
      node->first = (guint32) at;
      while (at < values.n && !isnan (forest->members[at]))
        at++;
      node->n = (guint32) at - node->first;
      at++;
    }
  return at >= values.n || ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                                         "membership_values has more sets than there are nodes");
}

static gboolean
read_placed_tests (Forest *forest, const IrCall *call, guint n, guint64 n_features, GError **error)
{
  const gint64 *features;
  IrMlList splits, modes;

  if (!read_ints (call, "nodes_featureids", n, &features, error) ||
      !ir_ml_list_init (&splits, call, "nodes_splits", error) ||
      !ir_ml_list_check (&splits, call, "nodes_splits", n, error) ||
      !ir_ml_list_init (&modes, call, "nodes_modes", error) ||
      !ir_ml_list_check (&modes, call, "nodes_modes", n, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      double mode = ir_ml_list_double (&modes, i);
      if (!check_feature (call, i, features[i], n_features, error))
        return FALSE;
      if (!(mode >= 0 && mode <= TEST_MEMBER) || mode != trunc (mode))
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE, "node %u has the mode %g", i,
                             mode);
      forest->nodes[i].test = (guint8) mode;
      forest->nodes[i].feature = (guint64) features[i];
      forest->nodes[i].split = ir_ml_list_double (&splits, i);
    }
  return TRUE;
}

static gboolean
read_leaves (Forest *forest, const IrCall *call, guint n, guint n_targets, GError **error)
{
  guint n_leaves = forest->n_nodes - n;
  const gint64 *targets;
  IrMlList weights;

  if (!read_ints (call, "leaf_targetids", n_leaves, &targets, error) ||
      !ir_ml_list_init (&weights, call, "leaf_weights", error) ||
      !ir_ml_list_check (&weights, call, "leaf_weights", n_leaves, error) ||
      !new_weights (forest, call, n_leaves, error))
    return FALSE;
  for (guint i = 0; i < n_leaves; i++)
    {
      if (targets[i] < 0 || targets[i] >= n_targets)
        return ir_call_fail (call, error, IR_OP_ERROR_ATTRIBUTE,
                             "leaf %u is for target %" G_GINT64_FORMAT " of %u", i, targets[i],
                             n_targets);
      forest->weights[i] = (Weight){ (guint32) targets[i], ir_ml_list_double (&weights, i) };
      forest->nodes[n + i].test = TEST_LEAF;
      forest->nodes[n + i].first = i;
      forest->nodes[n + i].n = 1;
    }
  return TRUE;
}

static gboolean
build_placed (
    Forest *forest, const IrCall *call, guint64 n_features, guint n_targets, GError **error)
{
  guint n = 0, n_leaves = 0, n_roots = 0;
  const gint64 *roots = ir_call_ints (call, "tree_roots", &n_roots);

  ir_call_ints (call, "nodes_featureids", &n);
  ir_call_ints (call, "leaf_targetids", &n_leaves);
  if (!new_nodes (forest, call, n, n_leaves, error) ||
      !read_placed_tests (forest, call, n, n_features, error) ||
      !read_branches (forest, call, n, n_leaves, error) || !read_missing (forest, call, n, error) ||
      !read_members (forest, call, error) || !read_leaves (forest, call, n, n_targets, error))
    return FALSE;
  forest->roots = g_new (guint32, MAX (n_roots, 1));
  for (guint i = 0; i < n_roots; i++)
    if (!child (call, roots[i], FALSE, n, n_leaves, &forest->roots[i], error))
      return FALSE;
  forest->n_roots = n_roots;
  return check_acyclic (forest, call, error);
}

/* -- running -- */

static gboolean
holds (Forest *forest, const Node *node, double x)
{
  if (isnan (x))
    return node->missing_is_true;
  switch ((Test) node->test)
    {
    case TEST_LEQ:
      return x <= node->split;
    case TEST_LT:
      return x < node->split;
    case TEST_GTE:
      return x >= node->split;
    case TEST_GT:
      return x > node->split;
    case TEST_EQ:
      return x == node->split;
    case TEST_NEQ:
      return x != node->split;
    case TEST_MEMBER:
      for (guint i = 0; i < node->n; i++)
        if (x == forest->members[node->first + i])
          return TRUE;
      return FALSE;
    case TEST_LEAF:
    case N_TESTS:
    default:
      return FALSE;
    }
}

static const Node *
find_leaf (Forest *forest, guint32 root, const double *x)
{
  const Node *node = &forest->nodes[root];

  while (node->test != TEST_LEAF)
    node = &forest->nodes[holds (forest, node, x[node->feature]) ? node->if_true : node->if_false];
  return node;
}

typedef enum
{
  TAKE_AVERAGE,
  TAKE_SUM,
  TAKE_MIN,
  TAKE_MAX,
  N_TAKES
} Take; /* the numbers are those of TreeEnsemble's aggregate_function */

static gboolean
read_take (const IrCall *call, Take *take, GError **error)
{
  static const char *const names[N_TAKES] = { "AVERAGE", "SUM", "MIN", "MAX" };
  guint number = TAKE_SUM;
  gboolean known = ir_ml_choice (call, "aggregate_function", names, N_TAKES, &number, error);

  *take = (Take) number;
  return known;
}

/* Scores of one sample; a target that no leaf has a weight for gets 0. @met: scratch. */
static void
forest_run (Forest *forest, Take take, const double *x, guint n, double *scores, gboolean *met)
{
  memset (scores, 0, n * sizeof *scores);
  memset (met, 0, n * sizeof *met);
  for (guint i = 0; i < forest->n_roots; i++)
    {
      const Node *leaf = find_leaf (forest, forest->roots[i], x);
      for (guint k = 0; k < leaf->n; k++)
        {
          const Weight *weight = &forest->weights[leaf->first + k];
          double *score = &scores[weight->target];
          if (take == TAKE_AVERAGE || take == TAKE_SUM)
            *score += weight->value;
          else if (!met[weight->target] ||
                   (take == TAKE_MIN ? weight->value < *score : weight->value > *score))
            *score = weight->value;
          met[weight->target] = TRUE;
        }
    }
  for (guint i = 0;
       i < n && take == TAKE_AVERAGE && forest->n_roots > 0;
       i++)
    scores[i] /= forest->n_roots;
}

static gboolean
read_base (IrMlList *base, const IrCall *call, guint64 n, gboolean one_will_do, GError **error)
{
  static const char *const names[] = { "base_values", "base_values_as_tensor", NULL };

  return ir_ml_list_choose (base, call, names, FALSE, error) &&
         (base->n == 0 ||
          ir_ml_list_check (base, call, "base_values", one_will_do && base->n == 1 ? 1 : n, error));
}

static gboolean
run_regression (IrCall *call, Forest *forest, IrMlSamples *samples, GError **error)
{
  guint n = (guint) call->outputs[0].type->dims[1];
  IrMlTransform transform;
  IrMlList base;
  Take take;

  if (!read_take (call, &take, error) || !ir_ml_transform_init (&transform, call, error) ||
      !read_base (&base, call, n, FALSE, error))
    return FALSE;
  IrTensor *out = ir_block_new_output (call, 0, error);
  g_autofree double *scores = ir_block_new (call, n, error);
  g_autofree gboolean *met = g_try_new (gboolean, MAX (n, 1));
  if (out == NULL || scores == NULL)
    return FALSE;
  if (met == NULL)
    return ir_call_fail (call, error, IR_OP_ERROR_LIMIT, "no memory for a row");
  for (guint64 row = 0; row < samples->n; row++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      forest_run (forest, take, ir_ml_samples_read (samples, row), n, scores, met);
      for (guint i = 0; i < base.n; i++)
        scores[i] += ir_ml_list_double (&base, i);
      ir_ml_transform_run (transform, n, scores);
      ir_block_store (out, row * n, n, scores);
    }
  return TRUE;
}

/* X [N, F]. Source: ONNX-ML TreeEnsemble 5. */
gboolean
ir_ref_ml_tree_ensemble (IrCall *call, GError **error)
{
  g_auto (IrMlSamples) samples = { 0 };
  g_auto (Forest) forest = { .call = call };

  return ir_ref_prepare (call, error) && ir_ml_samples_init (&samples, call, error) &&
         build_placed (&forest, call, samples.n_features, (guint) call->outputs[0].type->dims[1],
                       error) &&
         run_regression (call, &forest, &samples, error);
}

/* X [N, F]. Source: ONNX-ML TreeEnsembleRegressor 3. */
gboolean
ir_ref_ml_tree_regressor (IrCall *call, GError **error)
{
  static const char *const weights[] = { "target_weights", "target_weights_as_tensor", NULL };
  static const WeightNames names = { "target_treeids", "target_nodeids", "target_ids", weights };
  g_auto (IrMlSamples) samples = { 0 };
  g_auto (Forest) forest = { .call = call };

  return ir_ref_prepare (call, error) && ir_ml_samples_init (&samples, call, error) &&
         build_named (&forest, call, samples.n_features, error) &&
         name_weights (&forest, call, &names, (guint) call->outputs[0].type->dims[1], error) &&
         run_regression (call, &forest, &samples, error);
}

/* -- classification -- */

typedef struct
{
  guint n;              /* classes */
  gboolean one_score;   /* all votes are for the first of two: their sum speaks for the second */
  gboolean probability; /* no vote is negative */
  IrMlTransform transform;
  IrMlList base;
  double *scores;
  gboolean *met;
} Votes;

static void
votes_clear (Votes *votes)
{
  g_clear_pointer (&votes->scores, g_free);
  g_clear_pointer (&votes->met, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Votes, votes_clear)

static gboolean
votes_init (Votes *votes, const Forest *forest, const IrCall *call, GError **error)
{
  votes->one_score = votes->n == 2;
  votes->probability = TRUE;
  for (guint i = 0; i < forest->n_weights; i++)
    {
      votes->one_score = votes->one_score && forest->weights[i].target == 0;
      votes->probability = votes->probability && forest->weights[i].value >= 0;
    }
  votes->scores = ir_block_new (call, votes->n, error);
  votes->met = g_new (gboolean, votes->n);
  return votes->scores != NULL && ir_ml_transform_init (&votes->transform, call, error) &&
         read_base (&votes->base, call, votes->n, votes->one_score, error);
}

/* The label goes by the scores before the transform, which keeps their order. */
static void
vote (Votes *votes, Forest *forest, IrMlClasses *classes, guint64 row, const double *x)
{
  double *scores = votes->scores;

  forest_run (forest, TAKE_SUM, x, votes->n, scores, votes->met);
  for (guint i = 0; i < votes->base.n; i++)
    scores[i] += ir_ml_list_double (&votes->base, i);
  if (votes->one_score)
    ir_ml_complement (votes->transform, votes->probability, scores[0], scores);
  guint top = votes->n == 1 && scores[0] <= 0 ? 1 : ir_ml_top (votes->n, scores);
  ir_ml_transform_run (votes->transform, votes->n, scores);
  ir_ml_classes_write (classes, row, top, scores);
}

/* X [N, F]. The standard does not say what one score makes of two classes. Here they become 1 -
 * s and s if no vote is negative and nothing is done to the scores, else -s and s; the highest
 * wins. Source: ONNX-ML TreeEnsembleClassifier 3. */
gboolean
ir_ref_ml_tree_classifier (IrCall *call, GError **error)
{
  static const char *const weights[] = { "class_weights", "class_weights_as_tensor", NULL };
  static const WeightNames names = { "class_treeids", "class_nodeids", "class_ids", weights };
  g_auto (IrMlSamples) samples = { 0 };
  g_auto (IrMlClasses) classes = { 0 };
  g_auto (Forest) forest = { .call = call };
  g_auto (Votes) votes = { 0 };

  if (!ir_ref_prepare (call, error) || !ir_ml_samples_init (&samples, call, error) ||
      !ir_ml_classes_init (&classes, call, "classlabels_int64s", error) ||
      !build_named (&forest, call, samples.n_features, error))
    return FALSE;
  votes.n = (guint) classes.labels.n;
  if (!name_weights (&forest, call, &names, votes.n, error) ||
      !votes_init (&votes, &forest, call, error))
    return FALSE;
  for (guint64 row = 0; row < samples.n; row++)
    {
      if (ir_block_cancelled (call, error))
        return FALSE;
      vote (&votes, &forest, &classes, row, ir_ml_samples_read (&samples, row));
    }
  return ir_ml_classes_finish (&classes, error);
}
