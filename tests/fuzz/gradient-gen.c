#include "config.h"

#include "tests/fuzz/gradient-gen.h"

#define MAX_DEPTH  2
#define MAX_BLOCKS 2
#define N_PICKS    3

typedef enum
{
  PLAIN, /* a line of lines[] */
  BRANCH,
  LOOP,
  GROWING_LOOP,
  SEQUENCE_LOOP,
  SCAN,
  MAP,
  LAYER,
  N_KINDS
} Kind;

typedef struct
{
  Kind kind;
  const char *line;
  guint32 picks[N_PICKS]; /* which values it reads, of those that there are */
  guint number;           /* iterations, and other choices */
  gboolean flag;
  gboolean dropped;
  GPtrArray *blocks[MAX_BLOCKS]; /* (nullable) of Statement */
} Statement;

struct _GradientProgram
{
  GRand *rand;
  GPtrArray *main;
  GPtrArray *all; /* of Statement, not owned */
};

/* $y is made, of $a, $b and $c; %u: the number of the statement, so that names differ. Most keep numbers
 * small, so that differences can be told from rounding. */
static const char *const lines[] = {
  "$y = Sin ($a)",
  "$y = Tanh ($a)",
  "$y = Sigmoid ($a)",
  "$y = Erf ($a)",
  "$y = Neg ($a)",
  "$y = Relu ($a)",
  "$y = Abs ($a)",
  "$y = Softplus ($a)",
  "$y = Softmax <axis = 1> ($a)",
  "$y = LogSoftmax <axis = 0> ($a)",
  "$t = Tanh ($a)\n $y = Exp ($t)",
  "$y = Add ($a, $b)",
  "$y = Sub ($a, $b)",
  "$t = Mul ($a, $b)\n $y = Sin ($t)",
  "$t = Mul ($a, $a)\n $y = Tanh ($t)",
  "$y = Max ($a, $b)",
  "$y = Mean ($a, $b, $c)",
  "$s = Mul ($b, $b)\n $t = Add ($s, one)\n $y = Div ($a, $t)",
  "$s = Mul ($b, $b)\n $t = Add ($s, one)\n $y = Sqrt ($t)",
  "$c0 = Less ($a, $b)\n $y = Where ($c0, $b, $c)",
  "$t = Add ($a, b)\n $y = Cos ($t)",
  "$y = Mul ($a, b)",
  "$t = Transpose ($a)\n $s = MatMul ($t, $b)\n $r = Tanh ($s)\n $y = MatMul ($c, $r)",
  "$t = ReduceMean ($a, axis0)\n $y = Add ($b, $t)",
  "$t = ReduceMax ($a, axis1)\n $y = Sub ($b, $t)",
  "$t = ReduceL2 ($a, axis1)\n $y = Mul ($b, $t)",
  "$y = Gather <axis = 0> ($a, rows)",
  "$y = Gather <axis = 1> ($a, columns)",
  "$t = Concat <axis = 0> ($a, $b)\n $y = Slice ($t, axis1, three, axis0)",
  "$s, $t = Split <axis = 1> ($a, parts)\n $y = Concat <axis = 1> ($t, $s)",
  "$y = LayerNormalization <epsilon = 0.1> ($a, b)",
  "$t = CumSum ($a, zero)\n $y = Sin ($t)",
  "$t = Clip ($a, low, one)\n $y = Mul ($t, $b)",
  "$o = Optional ($a)\n $p = OptionalGetElement ($o)\n $y = Sin ($p)",
  "$q = SequenceConstruct ($a, $b)\n $r = SequenceInsert ($q, $c, zero)\n $s = SequenceAt ($r, minus)\n $t = "
  "SequenceErase ($r)\n $u = ConcatFromSequence <axis = 0, new_axis = 1> ($t)\n $v = ReduceSum <keepdims = 0> ($u, axis0)\n "
  "$w = Add ($v, $s)\n $y = Sin ($w)",
  "$q = SplitToSequence <axis = 1> ($a, parts)\n $r = ConcatFromSequence <axis = 1> ($q)\n $y = Mul ($r, $b)",
};

/* -- drawing -- */

static GPtrArray *draw_block (GradientProgram *program, guint depth, guint most);

static void
statement_free (gpointer data)
{
  Statement *statement = data;

  for (guint i = 0; i < MAX_BLOCKS; i++)
    g_clear_pointer (&statement->blocks[i], g_ptr_array_unref);
  g_free (statement);
}

static guint
below (GradientProgram *program, guint n)
{
  return (guint) g_rand_int_range (program->rand, 0, (gint32) n);
}

static Statement *
draw_statement (GradientProgram *program, guint depth)
{
  Statement *statement = g_new0 (Statement, 1);
  const guint n_blocks[N_KINDS] = {
    [BRANCH] = 2, [LOOP] = 1, [GROWING_LOOP] = 1, [SEQUENCE_LOOP] = 1, [SCAN] = 1, [MAP] = 1
  };

  g_ptr_array_add (program->all, statement);
  statement->kind = depth < MAX_DEPTH && below (program, 5) < 2 ? 1 + below (program, N_KINDS - 1)
                                                                : PLAIN;
  statement->line = lines[below (program, G_N_ELEMENTS (lines))];
  for (guint i = 0; i < N_PICKS; i++)
    statement->picks[i] = g_rand_int (program->rand);
  statement->number = below (program, 60);
  statement->flag = below (program, 2);
  for (guint i = 0; i < n_blocks[statement->kind]; i++)
    statement->blocks[i] = draw_block (program, depth + 1, 2);
  return statement;
}

static GPtrArray *
draw_block (GradientProgram *program, guint depth, guint most)
{
  GPtrArray *block = g_ptr_array_new_with_free_func (statement_free);
  const guint n = 1 + below (program, most);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add (block, draw_statement (program, depth));
  return block;
}

GradientProgram *
gradient_program_new (guint32 seed)
{
  GradientProgram *program = g_new0 (GradientProgram, 1);

  program->rand = g_rand_new_with_seed (seed);
  program->all = g_ptr_array_new ();
  program->main = draw_block (program, 0, 4);
  return program;
}

void
gradient_program_free (GradientProgram *program)
{
  g_rand_free (program->rand);
  g_ptr_array_unref (program->main);
  g_ptr_array_unref (program->all);
  g_free (program);
}

guint
gradient_program_n (const GradientProgram *program)
{
  return program->all->len;
}

gboolean
gradient_program_drop (GradientProgram *program, guint i, gboolean drop)
{
  Statement *statement = program->all->pdata[i];
  gboolean was = statement->dropped;

  statement->dropped = drop;
  return was != drop;
}

/* -- writing -- */

typedef struct
{
  GString *text;
  GPtrArray *names; /* (owned) of values that can be read here */
  guint n;          /* numbers used so far */
} Writer;

/* The newest ones most often */
static const char *
picked (const Writer *w, guint32 pick)
{
  const guint n = w->names->len, back = pick % 3 != 0 ? pick / 3 % MIN (n, 3) : pick / 3 % n;

  return w->names->pdata[n - 1 - back];
}

static void
offer (Writer *w, const char *name)
{
  g_ptr_array_add (w->names, g_strdup (name));
}

static void
write_line (Writer *w, const Statement *statement, const char *line, guint id)
{
  for (const char *c = line; *c != '\0'; c++)
    if (*c == '$' && (c[1] == 'a' || c[1] == 'b' || (c[1] == 'c' && c[2] != '0')))
      g_string_append (w->text, picked (w, statement->picks[*++c - 'a']));
    else if (*c == '$')
      g_string_append_printf (w->text, "%c%u_", *++c, id);
    else
      g_string_append_c (w->text, *c);
  g_string_append_c (w->text, '\n');
}

static void write_statement (Writer *w, const Statement *statement);

/* The statements of @block; what it gives is the newest value, called @result. */
static void
write_block (Writer *w, const GPtrArray *block, const char *result)
{
  const guint n = w->names->len;

  for (guint i = 0; i < block->len; i++)
    write_statement (w, block->pdata[i]);
  g_string_append_printf (w->text, "%s = Identity (%s)\n", result,
                          (const char *) w->names->pdata[w->names->len - 1]);
  g_ptr_array_set_size (w->names, (gint) n);
}

/* With further values that can be read in it, with spaces between */
static void
write_block_with (Writer *w, const GPtrArray *block, const char *result, const char *more)
{
  const guint n = w->names->len;
  g_auto (GStrv) names = g_strsplit (more, " ", -1);

  for (guint i = 0; names[i] != NULL; i++)
    offer (w, names[i]);
  write_block (w, block, result);
  g_ptr_array_set_size (w->names, (gint) n);
}

#define ADD(...) g_string_append_printf (w->text, __VA_ARGS__)

static void
write_branch (Writer *w, const Statement *s, guint id)
{
  if (s->flag)
    ADD ("m%u_ = ReduceSum <keepdims = 0> (%s)\n d%u_ = Greater (m%u_, nought)\n", id,
         picked (w, s->picks[0]), id, id);
  else
    ADD ("d%u_ = Constant <value = bool {%u}> ()\n", id, s->number % 2);
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *result = g_strdup_printf ("%c%u_", i == 0 ? 'e' : 'f', id);
      if (i == 0)
        ADD ("y%u_ = If (d%u_) <then_branch = then%u () => (double[2,3] %s) {\n", id, id, id,
             result);
      else
        ADD ("}, else_branch = else%u () => (double[2,3] %s) {\n", id, result);
      write_block (w, s->blocks[i], result);
    }
  ADD ("}>\n");
}

/* What goes round is made small at its end. */
static void
write_loop (Writer *w, const Statement *s, guint id)
{
  g_autofree char *carried = g_strdup_printf ("v%u_ h%u_", id, id);
  g_autofree char *result = g_strdup_printf ("r%u_", id);

  ADD ("n%u_ = Constant <value = int64 {%u}> ()\n", id, s->number % 4);
  ADD ("p%u_, o%u_, q%u_ = Loop (n%u_, , %s, %s) <body = body%u (int64 i%u_, bool go%u_, "
       "double[2,3] v%u_, double[2,3] h%u_) => (bool on%u_, double[2,3] x%u_, double[2,3] g%u_, "
       "double[2,3] s%u_) {\n",
       id, id, id, id, picked (w, s->picks[0]), picked (w, s->picks[1]), id, id, id, id, id, id, id,
       id, id);
  write_block_with (w, s->blocks[0], result, carried);
  ADD ("x%u_ = Tanh (r%u_)\n g%u_ = Identity (v%u_)\n s%u_ = Mul (r%u_, h%u_)\n", id, id, id, id,
       id, id, id);
  if (s->flag)
    ADD ("z%u_ = ReduceSum <keepdims = 0> (x%u_)\n on%u_ = Less (z%u_, one)\n", id, id, id, id);
  else
    ADD ("on%u_ = Identity (go%u_)\n", id, id);
  ADD ("}>\n t%u_ = ReduceSum <keepdims = 0> (q%u_, axis0)\n u%u_ = Add (p%u_, t%u_)\n"
       "w%u_ = Sub (u%u_, o%u_)\n y%u_ = Tanh (w%u_)\n",
       id, id, id, id, id, id, id, id, id, id);
}

/* Its states grow by two rows in each round. */
static void
write_growing_loop (Writer *w, const Statement *s, guint id)
{
  g_autofree char *row = g_strdup_printf ("e%u_", id), *result = g_strdup_printf ("r%u_", id);

  ADD ("n%u_ = Constant <value = int64 {%u}> ()\n", id, s->number % 4);
  ADD (
      "p%u_, q%u_ = Loop (n%u_, , %s) <body = body%u (int64 i%u_, bool go%u_, double[M%u,3] v%u_) => "
      "(bool on%u_, double[N%u,3] x%u_, double[1,3] s%u_) {\n on%u_ = Identity (go%u_)\n"
      " m%u_ = ReduceMean (v%u_, axis0)\n e%u_ = Add (m%u_, %s)\n",
      id, id, id, picked (w, s->picks[0]), id, id, id, id, id, id, id, id, id, id, id, id, id, id,
      id, picked (w, s->picks[1]));
  write_block_with (w, s->blocks[0], result, row);
  ADD (
      "k%u_ = Sin (v%u_)\n x%u_ = Concat <axis = 0> (k%u_, r%u_)\n s%u_ = ReduceSum (x%u_, axis0)\n}>\n",
      id, id, id, id, id, id, id);
  ADD ("t%u_ = ReduceSum <keepdims = 0> (q%u_, axis0)\n u%u_ = ReduceMean (p%u_, axis0)\n"
       "w%u_ = Add (u%u_, t%u_)\n z%u_ = Tanh (w%u_)\n y%u_ = Add (z%u_, %s)\n",
       id, id, id, id, id, id, id, id, id, id, id, picked (w, s->picks[2]));
}

/* A loop that fills a sequence, and reads another. */
static void
write_sequence_loop (Writer *w, const Statement *s, guint id)
{
  g_autofree char *item = g_strdup_printf ("e%u_ v%u_", id, id);
  g_autofree char *result = g_strdup_printf ("r%u_", id);

  ADD ("n%u_ = Constant <value = int64 {%u}> ()\n g%u_ = SequenceConstruct (%s, %s, %s)\n"
       "f%u_ = SequenceConstruct (%s)\n",
       id, s->number % 4, id, picked (w, s->picks[0]), picked (w, s->picks[1]),
       picked (w, s->picks[2]), id, picked (w, s->picks[2]));
  ADD (
      "p%u_, q%u_ = Loop (n%u_, , %s, f%u_) <body = body%u (int64 i%u_, bool go%u_, double[2,3] v%u_, "
      "seq(double[2,3]) h%u_) => (bool on%u_, double[2,3] x%u_, seq(double[2,3]) k%u_) {\n "
      "on%u_ = Identity (go%u_)\n e%u_ = SequenceAt (g%u_, i%u_)\n",
      id, id, id, picked (w, s->picks[1]), id, id, id, id, id, id, id, id, id, id, id, id, id, id);
  write_block_with (w, s->blocks[0], result, item);
  ADD ("x%u_ = Sin (r%u_)\n", id, id);
  if (s->flag)
    ADD ("k%u_ = SequenceInsert (h%u_, r%u_)\n}>\n", id, id, id);
  else
    ADD ("k%u_ = SequenceInsert (h%u_, r%u_, zero)\n}>\n", id, id, id);
  ADD (
      "t%u_ = ConcatFromSequence <axis = 0, new_axis = 1> (q%u_)\n u%u_ = ReduceMean <keepdims = 0> "
      "(t%u_, axis0)\n y%u_ = Add (p%u_, u%u_)\n",
      id, id, id, id, id, id, id);
}

static void
write_scan (Writer *w, const Statement *s, guint id)
{
  g_autofree char *carried = g_strdup_printf ("v%u_ e%u_", id, id);
  g_autofree char *result = g_strdup_printf ("r%u_", id);

  ADD (
      "p%u_, q%u_ = Scan <num_scan_inputs = 1, scan_input_directions = [%u], scan_output_axes = [%u], "
      "scan_output_directions = [%u], body = body%u (double[2,3] v%u_, double[3] l%u_) => "
      "(double[2,3] x%u_, double[2,3] s%u_) {\n e%u_ = Add (v%u_, l%u_)\n",
      id, id, s->flag, s->number % 3, s->number / 3 % 2, id, id, id, id, id, id, id, id);
  write_block_with (w, s->blocks[0], result, carried);
  ADD ("x%u_ = Tanh (r%u_)\n s%u_ = Mul (r%u_, l%u_)\n}> (%s, %s)\n", id, id, id, id, id,
       picked (w, s->picks[0]), picked (w, s->picks[1]));
  ADD ("k%u_ = Constant <value_ints = [%u]> ()\n t%u_ = ReduceSum <keepdims = 0> (q%u_, k%u_)\n"
       "u%u_ = Sin (t%u_)\n y%u_ = Add (p%u_, u%u_)\n",
       id, s->number % 3, id, id, id, id, id, id, id, id);
}

static void
write_map (Writer *w, const Statement *s, guint id)
{
  g_autofree char *items = g_strdup_printf ("v%u_ e%u_", id, id);
  g_autofree char *result = g_strdup_printf ("r%u_", id);

  ADD ("g%u_ = SequenceConstruct (%s, %s)\n", id, picked (w, s->picks[0]), picked (w, s->picks[1]));
  ADD ("q%u_ = SequenceMap (g%u_, %s) <body = body%u (double[2,3] v%u_, double[2,3] e%u_) => "
       "(double[2,3] r%u_) {\n",
       id, id, picked (w, s->picks[2]), id, id, id, id);
  write_block_with (w, s->blocks[0], result, items);
  ADD ("}>\n t%u_ = ConcatFromSequence <axis = 1, new_axis = 1> (q%u_)\n "
       "u%u_ = ReduceMean <keepdims = 0> (t%u_, axis1)\n y%u_ = Identity (u%u_)\n",
       id, id, id, id, id, id);
}

/* Two steps of a recurrent layer over one sequence; its two directions have half of the units each. */
static void
write_layer (Writer *w, const Statement *s, guint id)
{
  static const char *const kinds[] = { "RNN", "GRU", "LSTM" };
  static const guint n_gates[] = { 1, 3, 4 };
  static const char *const directions[] = { "forward", "reverse" };
  const guint kind = s->number % 3, n = n_gates[kind];

  ADD ("n%u_ = Constant <value_ints = [%u]> ()\n l%u_ = Constant <value_ints = [1]> ()\n", id, n,
       id);
  ADD ("x%u_ = Unsqueeze (%s, l%u_)\n t%u_ = Transpose (%s)\n s%u_ = MatMul (t%u_, %s)\n", id,
       picked (w, s->picks[0]), id, id, picked (w, s->picks[1]), id, id, picked (w, s->picks[1]));
  ADD (
      "m%u_ = Constant <value_ints = [%u, 1]> ()\n g%u_ = Tile (s%u_, m%u_)\n k%u_ = Unsqueeze (g%u_, "
      "zero1)\n",
      id, n, id, id, id, id, id);
  ADD ("q%u_ = %s <hidden_size = 3, direction = \"%s\"> (x%u_, k%u_, k%u_)\n"
       "o%u_ = Constant <value_ints = [2, 3]> ()\n y%u_ = Reshape (q%u_, o%u_)\n",
       id, kinds[kind], directions[s->flag], id, id, id, id, id, id, id);
}

static void
write_statement (Writer *w, const Statement *statement)
{
  static void (*const writers[N_KINDS]) (Writer * w, const Statement *s, guint id) = {
    [BRANCH] = write_branch,
    [LOOP] = write_loop,
    [GROWING_LOOP] = write_growing_loop,
    [SEQUENCE_LOOP] = write_sequence_loop,
    [SCAN] = write_scan,
    [MAP] = write_map,
    [LAYER] = write_layer,
  };
  const guint id = w->n++;
  g_autofree char *name = g_strdup_printf ("y%u_", id);

  if (statement->dropped)
    return;
  if (statement->kind == PLAIN)
    write_line (w, statement, statement->line, id);
  else
    writers[statement->kind](w, statement, id);
  offer (w, name);
}

char *
gradient_program_text (const GradientProgram *program)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  Writer writer = { .text = g_string_new (NULL), .names = names }, *w = &writer;

  ADD ("<ir_version: 9, opset_import: [\"\" : 18]>\n"
       "g (double[2,3] a, double[3] b, double[2,3] ta, double[3] tb) => (double loss) {\n"
       "one = Constant <value = double {1}> ()\n nought = Constant <value = double {0}> ()\n"
       "low = Constant <value = double {-0.5}> ()\n zero = Constant <value = int64 {0}> ()\n"
       "minus = Constant <value = int64 {-1}> ()\n zero1 = Constant <value_ints = [0]> ()\n"
       "axis0 = Constant <value_ints = [0]> ()\n axis1 = Constant <value_ints = [1]> ()\n"
       "three = Constant <value_ints = [3]> ()\n parts = Constant <value_ints = [1, 2]> ()\n"
       "rows = Constant <value_ints = [1, 1]> ()\n columns = Constant <value_ints = [2, 0, 2]> ()\n"
       "ab = Add (a, b)\n");
  offer (w, "a");
  offer (w, "ab");
  write_block (w, program->main, "end");
  ADD (
      "sine = Sin (end)\n product = Mul (sine, end)\n loss = ReduceSum <keepdims = 0> (product)\n}\n");
  return g_string_free (writer.text, FALSE);
}
