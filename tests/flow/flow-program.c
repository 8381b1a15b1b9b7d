/* Random structured programs: see flow-program.h. */
#include "config.h"

#include "tests/flow/flow-program.h"

#include <string.h>

#define MAX_DEPTH 4

/* Kinds of values. */
typedef enum
{
  INT,    /* int64 scalar */
  FLOAT,  /* float[3] */
  BOOL,   /* bool scalar */
  VECTOR, /* int64 of rank 1, of any length */
  N_KINDS
} Kind;

/* In heads of graphs; of a vector nothing is said. */
static const char *const types[N_KINDS] = { "int64 ", "float[3] ", "bool ", "" };

typedef struct
{
  GRand *rand;
  GString *text;
  GPtrArray *scope[N_KINDS]; /* of char *: what can be read, the last ones the nearest */
  guint n_names, n_nodes, n_constructs, depth;
  guint growth; /* of loops around: vectors grow in few */
} Program;

static guint
pick (Program *p, guint n)
{
  return (guint) g_rand_int_range (p->rand, 0, (gint32) n);
}

static const char *
some (Program *p, Kind kind)
{
  const GPtrArray *names = p->scope[kind];
  guint near = MIN (names->len, 6);

  return names->pdata[pick (p, 3) > 0 ? names->len - 1 - pick (p, near) : pick (p, names->len)];
}

/* The float[3] that all of it is given */
static const char *
given_float (const Program *p)
{
  return p->scope[FLOAT]->pdata[0];
}

static const char *
fresh (Program *p, Kind kind)
{
  char *name = g_strdup_printf ("%c%u", "ifbv"[kind], ++p->n_names);

  g_ptr_array_add (p->scope[kind], name);
  return name;
}

/* Takes its name out of the scope for a moment: a node does not read itself. */
static char *
fresh_later (Program *p, Kind kind)
{
  return g_strdup_printf ("%c%u", "ifbv"[kind], ++p->n_names);
}

static void
declare (Program *p, Kind kind, char *name)
{
  g_ptr_array_add (p->scope[kind], name);
}

static void
add_compute (Program *p)
{
  static const char *const int_ops[] = { "Add", "Sub", "Mul", "Max", "Min" };
  static const char *const float_ops[] = { "Add", "Mul", "Sub", "Max" };
  static const char *const unary_ops[] = { "Tanh", "Neg", "Relu", "Abs" };
  static const char *const compare_ops[] = { "Less", "Equal", "Greater" };
  static const char *const logic_ops[] = { "And", "Or", "Xor" };
  Kind kind = (Kind) pick (p, N_KINDS);
  char *name = fresh_later (p, kind);
  GString *out = p->text;

  p->n_nodes++;
  if (pick (p, 6) == 0 && kind != VECTOR)
    g_string_append_printf (out,
                            kind == INT     ? "%s = Constant <value_int = %d> ()\n"
                            : kind == FLOAT ? "%s = Constant <value = float[3] {%d, 0.5, -2}> ()\n"
                                            : "%s = Constant <value = bool {%d}> ()\n",
                            name, kind == BOOL ? (int) pick (p, 2) : (int) pick (p, 7) - 3);
  else if (kind == INT)
    g_string_append_printf (out, "%s = %s (%s, %s)\n", name, int_ops[pick (p, 5)], some (p, INT),
                            some (p, INT));
  else if (kind == FLOAT && pick (p, 2) == 0)
    g_string_append_printf (out, "%s = %s (%s)\n", name, unary_ops[pick (p, 4)], some (p, FLOAT));
  else if (kind == FLOAT)
    g_string_append_printf (out, "%s = %s (%s, %s)\n", name, float_ops[pick (p, 4)],
                            some (p, FLOAT), some (p, FLOAT));
  else if (kind == BOOL && pick (p, 3) > 0)
    g_string_append_printf (out, "%s = %s (%s, %s)\n", name, compare_ops[pick (p, 3)],
                            some (p, INT), some (p, INT));
  else if (kind == BOOL)
    g_string_append_printf (out, "%s = %s (%s, %s)\n", name, logic_ops[pick (p, 3)], some (p, BOOL),
                            some (p, BOOL));
  else if (p->growth < 2)
    g_string_append_printf (out, "%s_ = Unsqueeze (%s, axis0)\n%s = Concat <axis = 0> (%s, %s_)\n",
                            name, some (p, INT), name, some (p, VECTOR), name);
  else
    g_string_append_printf (out, "%s = Neg (%s)\n", name, some (p, VECTOR));
  declare (p, kind, name);
}

static void add_block (Program *p, guint n);

static void
forget (Program *p, const guint *marks)
{
  for (guint k = 0; k < N_KINDS; k++)
    g_ptr_array_set_size (p->scope[k], (gint) marks[k]);
}

static void
take_marks (const Program *p, guint *marks)
{
  for (guint k = 0; k < N_KINDS; k++)
    marks[k] = p->scope[k]->len;
}

/* "(int64 a, float[3] b)" for values of @kinds */
static void
add_branch (Program *p, const char *attr, const Kind *kinds, guint n)
{
  guint marks[N_KINDS];
  g_autoptr (GString) outputs = g_string_new (NULL);
  GString *outer = p->text, *inner = g_string_new (NULL);

  take_marks (p, marks);
  p->text = inner;
  add_block (p, pick (p, 4));
  for (guint i = 0; i < n; i++)
    {
      /* What is captured, or a constant, may be handed out as it is; a name once, by Identity else. */
      const char *result = some (p, kinds[i]);
      g_autofree char *name = g_strdup_printf ("r%u", ++p->n_names);
      g_string_append_printf (inner, "%s = Identity (%s)\n", name, result);
      g_string_append_printf (outputs, "%s%s%s", i > 0 ? ", " : "", types[kinds[i]], name);
    }
  p->text = outer;
  g_string_append_printf (outer, "%s = g%u () => (%s) {\n%s}", attr, ++p->n_names, outputs->str,
                          inner->str);
  g_string_free (inner, TRUE);
  forget (p, marks);
}

static void
add_if (Program *p)
{
  Kind kinds[3];
  guint n = 1 + pick (p, 3);
  char *names[3];
  g_autofree char *condition = g_strdup (some (p, BOOL));

  p->n_constructs++;
  for (guint i = 0; i < n; i++)
    {
      kinds[i] = (Kind) pick (p, N_KINDS);
      names[i] = fresh_later (p, kinds[i]);
      g_string_append_printf (p->text, "%s%s", i > 0 ? ", " : "", names[i]);
    }
  g_string_append_printf (p->text, " = If (%s) <", condition);
  p->depth++;
  add_branch (p, "then_branch", kinds, n);
  g_string_append (p->text, ", ");
  add_branch (p, "else_branch", kinds, n);
  p->depth--;
  g_string_append (p->text, ">\n");
  for (guint i = 0; i < n; i++)
    declare (p, kinds[i], names[i]);
}

/* "r = Identity (..)" for each, and "int64 r" behind @outputs */
static void
add_results (Program *p, const Kind *kinds, guint n, GString *outputs)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = g_strdup_printf ("r%u", ++p->n_names);
      g_string_append_printf (p->text, "%s = Identity (%s)\n", name, some (p, kinds[i]));
      g_string_append_printf (outputs, "%s%s%s", outputs->len > 0 ? ", " : "", types[kinds[i]],
                              name);
    }
}

static void
add_loop_body (Program *p, const Kind *kinds, guint n, const Kind *stacked, guint n_stacked)
{
  guint marks[N_KINDS];
  g_autoptr (GString) outputs = g_string_new (NULL);
  GString *outer = p->text, *inner = g_string_new (NULL);

  take_marks (p, marks);
  g_string_append_printf (outer, "body = g%u (", ++p->n_names);
  g_string_append_printf (outer, "int64 %s, ", fresh (p, INT));
  g_autofree char *go_on = g_strdup (fresh (p, BOOL));
  g_string_append_printf (outer, "bool %s", go_on);
  for (guint i = 0; i < n; i++)
    g_string_append_printf (outer, ", %s%s", types[kinds[i]], fresh (p, kinds[i]));
  p->text = inner;
  add_block (p, 1 + pick (p, 4));
  g_autofree char *next = g_strdup_printf ("c%u", ++p->n_names);
  g_string_append_printf (inner, "%s = Identity (%s)\n", next,
                          pick (p, 2) ? go_on : some (p, BOOL));
  g_string_append_printf (outputs, "bool %s", next);
  add_results (p, kinds, n, outputs);
  add_results (p, stacked, n_stacked, outputs);
  p->text = outer;
  g_string_append_printf (outer, ") => (%s) {\n%s}", outputs->str, inner->str);
  g_string_free (inner, TRUE);
  forget (p, marks);
}

/* What was stacked as a value of some kind: numbers are a vector, vectors are added. */
static void
declare_stacked (Program *p, char *name, Kind kind, const char *axis)
{
  if (kind == INT)
    {
      declare (p, VECTOR, name);
      return;
    }
  g_string_append_printf (p->text, "%s_ = ReduceSum <keepdims = 0> (%s, %s)\n", name, name, axis);
  declare (p, FLOAT, g_strdup_printf ("%s_", name));
  g_free (name);
}

#define MAX_RESULTS 4

/* What a construct gives: values that are carried, then what is collected. */
typedef struct
{
  Kind kinds[2 * MAX_RESULTS];
  char *names[2 * MAX_RESULTS];
  guint n, n_collected;
} Results;

/* "a, b = " */
static void
pick_results (Program *p, Results *results, guint n, guint n_collected)
{
  results->n = n;
  results->n_collected = n_collected;
  for (guint i = 0; i < n + n_collected; i++)
    {
      Kind *kind = &results->kinds[i];
      *kind = (Kind) pick (p, i < n ? N_KINDS : 2);
      results->names[i] = fresh_later (p, *kind);
    }
}

static void
add_heads (Program *p, const Results *results)
{
  for (guint i = 0; i < results->n + results->n_collected; i++)
    g_string_append_printf (p->text, "%s%s", i > 0 ? ", " : "", results->names[i]);
}

static void
add_loop (Program *p)
{
  Results results;
  g_autoptr (GString) first = g_string_new (NULL);
  g_autofree char *limit = g_strdup_printf ("m%u", ++p->n_names);

  p->n_constructs++;
  if (pick (p, 2) == 0)
    g_string_append_printf (p->text, "%s = Constant <value_int = %u> ()\n", limit, pick (p, 4));
  else
    g_string_append_printf (p->text, "%s = Mod (%s, four)\n", limit, some (p, INT));
  pick_results (p, &results, 1 + pick (p, 4), pick (p, 3) == 0 ? 1 + pick (p, 2) : 0);
  for (guint i = 0; i < results.n; i++)
    g_string_append_printf (first, ", %s", some (p, results.kinds[i]));
  g_autofree char *condition = g_strdup (pick (p, 3) == 0 ? ""
                                         : pick (p, 2)    ? "yes"
                                                          : some (p, BOOL));
  add_heads (p, &results);
  g_string_append_printf (p->text, " = Loop (%s, %s%s) <", limit, *condition ? condition : "\"\"",
                          first->str);
  p->depth++;
  p->growth++;
  add_loop_body (p, results.kinds, results.n, results.kinds + results.n, results.n_collected);
  p->growth--;
  p->depth--;
  g_string_append (p->text, ">\n");
  for (guint i = 0; i < results.n; i++)
    declare (p, results.kinds[i], results.names[i]);
  for (guint i = results.n; i < results.n + results.n_collected; i++)
    declare_stacked (p, results.names[i], results.kinds[i], "axis0");
}

/* The body of a Scan or a SequenceMap. @item: "i7 = Identity (slice)", or other nodes that give what can be
 * read of it; "" declares nothing */
static void
add_item_body (Program *p, const Results *results, const char *heads, const char *item)
{
  guint marks[N_KINDS];
  g_autoptr (GString) outputs = g_string_new (NULL);
  GString *outer = p->text, *inner = g_string_new (item);

  take_marks (p, marks);
  g_string_append_printf (outer, "body = g%u (", ++p->n_names);
  for (guint i = 0; i < results->n; i++)
    g_string_append_printf (outer, "%s%s, ", types[results->kinds[i]],
                            fresh (p, results->kinds[i]));
  g_string_append_printf (outer, "%s", heads);
  p->text = inner;
  if (*item != '\0')
    declare (p, *item == 'i' ? INT : FLOAT, g_strndup (item, (gsize) (strchr (item, ' ') - item)));
  p->depth++;
  p->growth++;
  add_block (p, 1 + pick (p, 3));
  p->growth--;
  p->depth--;
  add_results (p, results->kinds, results->n + results->n_collected, outputs);
  p->text = outer;
  g_string_append_printf (outer, ") => (%s) {\n%s}", outputs->str, inner->str);
  g_string_free (inner, TRUE);
  forget (p, marks);
}

/* Over a vector, or over another value once or twice. */
static void
add_scan (Program *p)
{
  const gboolean of_vector = pick (p, 2) == 0;
  const guint n_scanned = of_vector ? 1 : 1 + pick (p, 2);
  g_autofree char *slice = g_strdup_printf ("t%u", ++p->n_names);
  g_autofree char *item = fresh_later (p, of_vector ? INT : FLOAT);
  g_autoptr (GString) inputs = g_string_new (NULL), item_text = g_string_new (NULL);
  g_autoptr (GString) heads = g_string_new (NULL);
  const guint backward = pick (p, 4), axis = pick (p, 2);
  Results results;

  p->n_constructs++;
  pick_results (p, &results, pick (p, 3), 1 + pick (p, 2));
  for (guint i = 0; i < results.n; i++)
    g_string_append_printf (inputs, "%s, ", some (p, results.kinds[i]));
  if (of_vector)
    g_string_append_printf (p->text, "%s_w = Reshape (%s, any)\n", slice, some (p, VECTOR));
  g_autofree char *whole = of_vector ? g_strdup_printf ("%s_w", slice) : g_strdup (some (p, FLOAT));
  for (guint i = 0; i < n_scanned; i++)
    {
      g_string_append_printf (inputs, "%s%s", i > 0 ? ", " : "", whole);
      g_string_append_printf (heads, "%s%s %s_%u", i > 0 ? ", " : "", of_vector ? "int64" : "float",
                              slice, i);
    }
  if (of_vector)
    g_string_append_printf (item_text, "%s = Identity (%s_0)\n", item, slice);
  else
    g_string_append_printf (item_text, "%s = Mul (%s, %s_0)\n", item, given_float (p), slice);
  if (n_scanned == 2)
    g_string_append_printf (item_text, "%s_2 = Add (%s, %s_1)\n", item, item, slice);
  add_heads (p, &results);
  g_string_append_printf (p->text,
                          " = Scan (%s) <num_scan_inputs = %u, scan_input_directions = [%u%s]",
                          inputs->str, n_scanned, backward & 1,
                          n_scanned < 2         ? ""
                          : (backward & 2) != 0 ? ", 1"
                                                : ", 0");
  g_string_append (p->text, ", scan_output_axes = [");
  for (guint i = 0; i < results.n_collected; i++)
    g_string_append_printf (p->text, "%s%u", i > 0 ? ", " : "",
                            results.kinds[results.n + i] == FLOAT ? axis : 0);
  g_string_append_printf (p->text, "], scan_output_directions = [%u%s], ", backward >> 1,
                          results.n_collected > 1 ? ", 1" : "");
  add_item_body (p, &results, heads->str, item_text->str);
  g_string_append (p->text, ">\n");
  for (guint i = 0; i < results.n; i++)
    declare (p, results.kinds[i], results.names[i]);
  for (guint i = results.n; i < results.n + results.n_collected; i++)
    declare_stacked (p, results.names[i], results.kinds[i], axis == 0 ? "axis0" : "axis1");
}

static void
add_map (Program *p)
{
  const guint id = ++p->n_names;
  const gboolean with_tensor = pick (p, 2) == 0;
  g_autofree char *item = fresh_later (p, INT);
  g_autofree char *heads = g_strdup_printf (with_tensor ? "int64 t%u, float[3] u%u" : "int64 t%u",
                                            id, id);
  g_autofree char *text = g_strdup_printf ("%s = Identity (t%u)\n", item, id);
  Results results;

  p->n_constructs++;
  pick_results (p, &results, 0, 1 + pick (p, 2));
  g_string_append_printf (
      p->text, "q%u_w = Reshape (%s, any)\nq%u = SplitToSequence <keepdims = 0> (q%u_w)\n", id,
      some (p, VECTOR), id, id);
  add_heads (p, &results);
  g_string_append_printf (p->text, " = SequenceMap (q%u%s%s) <", id, with_tensor ? ", " : "",
                          with_tensor ? some (p, FLOAT) : "");
  add_item_body (p, &results, heads, text);
  g_string_append (p->text, ">\n");
  for (guint i = 0; i < results.n_collected; i++)
    {
      char *name = results.names[i];
      g_string_append_printf (
          p->text,
          "%s_q = SequenceInsert (%s, %s)\n%s_s = ConcatFromSequence <axis = 0, new_axis = 1> (%s_q)\n",
          name, name, results.kinds[i] == INT ? "four" : given_float (p), name, name);
      declare_stacked (p, g_strdup_printf ("%s_s", name), results.kinds[i], "axis0");
      g_free (name);
    }
}

static void
add_block (Program *p, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      guint kind = pick (p, 12);
      if (p->depth < MAX_DEPTH && kind < 2)
        add_if (p);
      else if (p->depth < MAX_DEPTH && kind < 4)
        add_loop (p);
      else if (p->depth < MAX_DEPTH && kind == 4)
        pick (p, 3) > 0 ? add_scan (p) : add_map (p);
      else
        add_compute (p);
    }
}

char *
flow_program (guint64 seed, guint *n_constructs)
{
  const guint32 seeds[] = { (guint32) seed, (guint32) (seed >> 32) };
  Program p = { .rand = g_rand_new_with_seed_array (seeds, 2), .text = g_string_new (NULL) };
  g_autoptr (GString) all = g_string_new (NULL), outputs = g_string_new (NULL);

  for (guint k = 0; k < N_KINDS; k++)
    p.scope[k] = g_ptr_array_new_with_free_func (g_free);
  declare (&p, INT, g_strdup ("x"));
  declare (&p, INT, g_strdup ("four"));
  declare (&p, FLOAT, g_strdup ("y"));
  declare (&p, BOOL, g_strdup ("z"));
  declare (&p, BOOL, g_strdup ("yes"));
  declare (&p, VECTOR, g_strdup ("v"));
  add_block (&p, 4 + pick (&p, 6));
  for (guint k = 0; k < N_KINDS; k++)
    {
      g_string_append_printf (outputs, "%s%sout%u", k > 0 ? ", " : "", types[k], k);
      g_string_append_printf (p.text, "out%u = Identity (%s)\n", k, some (&p, (Kind) k));
    }
  g_string_append_printf (
      all,
      "<ir_version: 10, opset_import: [\"\" : 21]>\n"
      "g (int64 x, float[3] y, bool z, int64[2] v) => (%s)\n"
      "<int64 four = {4}, bool yes = {1}, int64[1] axis0 = {0}, int64[1] axis1 = {1}, int64[1] any = {-1}> {\n%s}\n",
      outputs->str, p.text->str);
  *n_constructs = p.n_constructs;
  for (guint k = 0; k < N_KINDS; k++)
    g_ptr_array_unref (p.scope[k]);
  g_string_free (p.text, TRUE);
  g_rand_free (p.rand);
  return g_strdup (all->str);
}

/* -- the same by functions, and without any -- */

/* Some nodes of an int64 and a float[3], which give such a pair. */
typedef struct
{
  char *text, *heads; /* "int64 r5, float[3] r6" */
  char *names[2];     /* of what it reads */
  char *results[2];
} Body;

static void
body_clear (Body *body)
{
  g_free (body->text);
  g_free (body->heads);
  for (guint i = 0; i < 2; i++)
    {
      g_free (body->names[i]);
      g_free (body->results[i]);
    }
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Body, body_clear)

static Body
make_body (Program *p)
{
  static const Kind kinds[] = { INT, FLOAT };
  guint marks[N_KINDS];
  g_autoptr (GString) outputs = g_string_new (NULL);
  Body body = { NULL };

  take_marks (p, marks);
  g_string_set_size (p->text, 0);
  for (guint i = 0; i < 2; i++)
    body.names[i] = g_strdup (fresh (p, kinds[i]));
  p->depth = p->growth = 1;
  add_block (p, 2 + pick (p, 4));
  /* How often it ran is to be seen in what it gives. */
  for (guint i = 0; i < 2; i++)
    {
      body.results[i] = g_strdup_printf ("r%u", ++p->n_names);
      g_string_append_printf (p->text, "%s = %s (%s, %s)\n", body.results[i],
                              kinds[i] == INT ? "Add" : "Sub", some (p, kinds[i]), body.names[i]);
      g_string_append_printf (outputs, "%s%s%s", i > 0 ? ", " : "", types[kinds[i]],
                              body.results[i]);
    }
  body.text = g_strdup (p->text->str);
  body.heads = g_strdup (outputs->str);
  forget (p, marks);
  return body;
}

/* Names with a suffix, so that a body can stand in several places */
static char *
renamed (const char *text, const char *suffix)
{
  g_autoptr (GRegex) names = g_regex_new ("\\b[a-z][0-9]+\\w*\\b", 0, 0, NULL);
  g_autofree char *with = g_strconcat ("\\g<0>", suffix, NULL);

  return g_regex_replace (names, text, -1, 0, with, 0, NULL);
}

/* Its nodes, reading @a and @b. (transfer full) @heads: (out) (transfer full): what it gives */
static char *
written_out (const Body *body, const char *suffix, const char *a, const char *b, char **heads)
{
  g_autofree char *text = renamed (body->text, suffix);

  *heads = renamed (body->heads, suffix);
  return g_strdup_printf ("%s%s = Identity (%s)\n%s%s = Identity (%s)\n%s", body->names[0], suffix,
                          a, body->names[1], suffix, b, text);
}

#define CLOSURE "irscope.closure."
/* What is an initializer of the main graph is a constant in a function. */
#define KNOWN                                                                                      \
  "four = Constant <value_int = 4> ()\nyes = Constant <value = bool {1}> ()\n"                     \
  "axis0 = Constant <value_ints = [0]> ()\naxis1 = Constant <value_ints = [1]> ()\n"               \
  "any = Constant <value_ints = [-1]> ()\nw = Constant <value_ints = [1, 2]> ()\n"

static void
add_function (GString *text, const char *name, const Body *body)
{
  g_string_append_printf (text,
                          "<domain: \"local\", opset_import: [\"\" : 21]>\n"
                          "%s (int64 %s, float[3] %s) => (%s) {\n" KNOWN "%s}\n",
                          name, body->names[0], body->names[1], body->heads, body->text);
}

/* One of two closures is called, then a function that calls itself, then a closure that goes round in a loop. */
static char *
by_functions (const Body *bodies)
{
  const Body *own = &bodies[2];
  GString *text = g_string_new (
      "<ir_version: 10, opset_import: [\"\" : 21, \"irscope.closure\" : 1, \"local\" : 1]>\n"
      "g (int64 x, float[3] y, bool z) => (int64 out0, float[3] out1) {\n"
      "four = Constant <value_int = 4> ()\none = Constant <value_int = 1> ()\n"
      "ax = Abs (x)\nrest = Mod (ax, four)\nn = Add (rest, one)\n"
      "cf = " CLOSURE "Partial <domain = \"local\", function = \"first\"> ()\n"
      "ch = " CLOSURE "Partial <domain = \"local\", function = \"second\"> ()\n"
      "c = " CLOSURE "Switch (z, cf, ch)\na, b = " CLOSURE "Call (c, x, y)\n"
      "self = " CLOSURE "Partial <domain = \"local\", function = \"again\"> ()\n"
      "ra, rb = " CLOSURE "Call (self, n, a, b)\n"
      "ce, out0, out1 = Loop (n, \"\", c, ra, rb) <body = l (int64 it, bool go, cc, int64 la, float[3] lb) => "
      "(bool gone, cd, int64 lc, float[3] ld) {\ngone = Identity (go)\nlc, ld = " CLOSURE
      "Call (cc, la, lb)\n"
      "less = Less (it, one)\ncd = If (less) <then_branch = t () => (ct) { ct = Identity (cf) }, "
      "else_branch = e () => (cg) { cg = Identity (ch) }> }>\n}\n");

  add_function (text, "first", &bodies[0]);
  add_function (text, "second", &bodies[1]);
  g_string_append_printf (
      text,
      "<domain: \"local\", opset_import: [\"\" : 21, \"irscope.closure\" : 1]>\n"
      "again (int64 m, int64 %s, float[3] %s) => (int64 o, float[3] u) {\n" KNOWN
      "one = Constant <value_int = 1> ()\nmore = GreaterOrEqual (m, one)\n"
      "o, u = If (more) <then_branch = t () => (int64 ot, float[3] ut) {\n%sless = Sub (m, one)\n"
      "self = " CLOSURE "Partial <domain = \"local\", function = \"again\"> ()\n"
      "ot, ut = " CLOSURE
      "Call (self, less, %s, %s) }, else_branch = e () => (int64 oe, float[3] ue) {\n"
      "oe = Identity (%s)\nue = Identity (%s) }>\n}\n",
      own->names[0], own->names[1], own->text, own->results[0], own->results[1], own->names[0],
      own->names[1]);
  return g_string_free (text, FALSE);
}

static char *
without_functions (const Body *bodies)
{
  char *heads[4] = { NULL };
  g_autofree char *
      first = written_out (&bodies[0], "_a", "x", "y", &heads[0]),
     *second = written_out (&bodies[1], "_a", "x", "y", &heads[1]),
     *third = written_out (&bodies[0], "_l", "la", "lb", &heads[2]),
     *fourth = written_out (&bodies[1], "_l", "la", "lb", &heads[3]),
     *text = g_strdup_printf (
         "<ir_version: 10, opset_import: [\"\" : 21]>\n"
         "g (int64 x, float[3] y, bool z) => (int64 out0, float[3] out1)\n"
         "<int64 four = {4}, int64 one = {1}, bool yes = {1}, int64[1] axis0 = {0}, int64[1] axis1 = {1}, "
         "int64[1] any = {-1}, int64[2] w = {1, 2}> {\nax = Abs (x)\nrest = Mod (ax, four)\nn = Add (rest, one)\n"
         "a, b = If (z) <then_branch = t () => (%s) {\n%s}, else_branch = e () => (%s) {\n%s}>\n"
         "ra, rb = Loop (n, \"\", a, b) <body = k (int64 turn, bool on, int64 %s, float[3] %s) => (bool still, %s) "
         "{\nstill = Identity (on)\n%s}>\n"
         "fl, out0, out1 = Loop (n, \"\", z, ra, rb) <body = l (int64 it, bool go, bool flag, int64 la, float[3] lb) => "
         "(bool gone, bool flags, int64 lc, float[3] ld) {\ngone = Identity (go)\nflags = Less (it, one)\n"
         "lc, ld = If (flag) <then_branch = t2 () => (%s) {\n%s}, else_branch = e2 () => (%s) {\n%s}> }>\n}\n",
         heads[0], first, heads[1], second, bodies[2].names[0], bodies[2].names[1], bodies[2].heads,
         bodies[2].text, heads[2], third, heads[3], fourth);

  for (guint i = 0; i < G_N_ELEMENTS (heads); i++)
    g_free (heads[i]);
  return g_steal_pointer (&text);
}

void
flow_function_programs (guint64 seed, char **functions, char **without)
{
  const guint32 seeds[] = { (guint32) seed, (guint32) (seed >> 32), 1 };
  Program p = { .rand = g_rand_new_with_seed_array (seeds, 3), .text = g_string_new (NULL) };
  g_auto (Body) first = { NULL }, second = { NULL }, again = { NULL };

  for (guint k = 0; k < N_KINDS; k++)
    p.scope[k] = g_ptr_array_new_with_free_func (g_free);
  declare (&p, INT, g_strdup ("four"));
  declare (&p, BOOL, g_strdup ("yes"));
  declare (&p, VECTOR, g_strdup ("w"));
  first = make_body (&p);
  second = make_body (&p);
  again = make_body (&p);
  const Body bodies[] = { first, second, again };
  *functions = by_functions (bodies);
  *without = without_functions (bodies);
  for (guint k = 0; k < N_KINDS; k++)
    g_ptr_array_unref (p.scope[k]);
  g_string_free (p.text, TRUE);
  g_rand_free (p.rand);
}
