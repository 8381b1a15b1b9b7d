/* Types: interning, merging, text. */
#include "config.h"

#include "core/ir/type.h"

static const IrType *
parse (IrContext *context, const char *text)
{
  g_autoptr (GError) error = NULL;
  const IrType *type = ir_type_parse (context, text, &error);
  g_assert_no_error (error);
  g_assert_nonnull (type);
  return type;
}

static void
test_interning (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  const IrDim dims[] = { 2, ir_dim_symbol (context, "n") };
  const char *names[] = { "DATA_BATCH", NULL };
  const IrType *type = ir_type_tensor (context, IR_DTYPE_FLOAT, 2, dims);
  const IrType *noted = ir_type_with_denotation (context, type, "IMAGE", names);

  g_assert_true (ir_type_tensor (context, IR_DTYPE_FLOAT, 2, dims) == type);
  g_assert_true (ir_type_tensor (context, IR_DTYPE_FLOAT, 1, dims) != type);
  g_assert_true (ir_type_sparse_tensor (context, IR_DTYPE_FLOAT, 2, dims) != type);
  g_assert_true (noted != type);
  g_assert_cmpstr (noted->dim_denotations[0], ==, "DATA_BATCH");
  g_assert_null (noted->dim_denotations[1]);
  g_assert_true (ir_type_with_denotation (context, type, "IMAGE", names) == noted);
  g_assert_true (ir_type_with_denotation (context, noted, NULL, NULL) == type);
  g_assert_true (ir_type_sequence (context, type) == ir_type_sequence (context, type));
  g_assert_true (ir_type_sequence (context, type) != ir_type_optional (context, type));
  g_assert_cmpint (ir_type_tensor (context, IR_DTYPE_FLOAT, 1000, NULL)->rank, ==, IR_RANK_UNKNOWN);
}

static void
test_text (void)
{
  static const char *const texts[] = { "float[batch,3,?,224]",
                                       "int64[]",
                                       "undefined[...]",
                                       "bfloat16[...]",
                                       "float[2*n + 1,floor(n/2),max(n, 1)]",
                                       "seq(float[2])",
                                       "optional(seq(int4[...]))",
                                       "optional(?)",
                                       "map(int64, float[...])",
                                       "sparse_tensor(double[3,n])",
                                       "opaque(com.example/Tree)",
                                       "float[p2o.DynamicDimension.0,unk__12]",
                                       "float['a,b]']" };
  g_autoptr (IrContext) context = ir_context_new ();

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      const IrType *type = parse (context, texts[i]);
      g_autofree char *text = ir_type_to_string (context, type);
      g_assert_cmpstr (text, ==, texts[i]);
    }
  g_assert_true (parse (context, " float [ n , 2 ] ") == parse (context, "float[n,2]"));
}

static void
test_bad_text (void)
{
  static const char *const texts[] = { "",           "flaot[2]", "float",       "float[2",
                                       "float[2] x", "seq(",     "seq(float[)", "map(int64)",
                                       "float[,",    "opaque(x", "seq(float[2]" };
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GString) deep = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (ir_type_parse (context, texts[i], &error));
      g_assert_nonnull (error);
    }
  for (guint i = 0; i < 100000; i++)
    g_string_append (deep, "seq(");
  g_assert_null (ir_type_parse (context, deep->str, NULL));
}

static const char *
merged (IrContext *context, const char *a, const char *b)
{
  const IrType *type = ir_type_merge (context, parse (context, a), parse (context, b));
  g_autofree char *text = type != NULL ? ir_type_to_string (context, type) : NULL;
  return text != NULL ? ir_context_intern (context, text) : NULL;
}

static void
test_merging (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  const IrType *type = parse (context, "float[2]");

  g_assert_cmpstr (merged (context, "float[n,?]", "float[?,3]"), ==, "float[n,3]");
  g_assert_cmpstr (merged (context, "float[n]", "float[5]"), ==, "float[5]");
  g_assert_cmpstr (merged (context, "float[...]", "float[5]"), ==, "float[5]");
  g_assert_cmpstr (merged (context, "undefined[5]", "int8[...]"), ==, "int8[5]");
  g_assert_cmpstr (merged (context, "float[n]", "float[m]"), ==, "float[n]");
  g_assert_cmpstr (merged (context, "seq(float[...])", "seq(float[2])"), ==, "seq(float[2])");
  g_assert_null (merged (context, "float[4]", "float[5]"));
  g_assert_null (merged (context, "float[4]", "float[4,1]"));
  g_assert_null (merged (context, "float[]", "float[4]"));
  g_assert_null (merged (context, "float[4]", "float[]"));
  g_assert_cmpstr (merged (context, "float[]", "float[...]"), ==, "float[]");
  g_assert_null (merged (context, "float[4]", "double[4]"));
  g_assert_null (merged (context, "float[4]", "seq(float[4])"));
  g_assert_null (merged (context, "seq(float[4])", "seq(float[5])"));
  g_assert_null (merged (context, "float[n + 6]", "float[5]"));
  g_assert_true (ir_type_merge (context, NULL, type) == type);
  g_assert_null (ir_type_merge (context, NULL, NULL));
}

static void
test_at_least (void)
{
  g_autoptr (IrContext) context = ir_context_new ();

  g_assert_true (ir_type_at_least (parse (context, "float[2]"), parse (context, "float[n]")));
  g_assert_true (ir_type_at_least (parse (context, "float[2]"), parse (context, "float[...]")));
  g_assert_true (ir_type_at_least (parse (context, "float[n]"), parse (context, "float[?]")));
  g_assert_false (ir_type_at_least (parse (context, "float[?]"), parse (context, "float[n]")));
  g_assert_false (ir_type_at_least (parse (context, "float[...]"), parse (context, "float[2]")));
  g_assert_false (ir_type_at_least (parse (context, "float[2]"), parse (context, "int8[2]")));
  g_assert_true (ir_type_at_least (parse (context, "float[2]"), NULL));
  g_assert_false (ir_type_at_least (NULL, parse (context, "float[2]")));
}

static void
test_sizes (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  guint64 n;
  gsize bytes;

  g_assert_true (ir_type_n_elements (parse (context, "float[2,3]"), &n));
  g_assert_cmpuint (n, ==, 6);
  g_assert_true (ir_type_n_bytes (parse (context, "int4[2,3]"), &bytes));
  g_assert_cmpuint (bytes, ==, 3);
  g_assert_true (ir_type_n_elements (parse (context, "float[0,n]"), &n));
  g_assert_cmpuint (n, ==, 0);
  g_assert_false (ir_type_n_elements (parse (context, "float[1,n]"), &n));
  g_assert_false (
      ir_type_n_elements (parse (context, "float[9223372036854775807,9223372036854775807]"), &n));
  g_assert_false (ir_type_n_elements (NULL, &n));
  g_assert_true (ir_type_is_static (parse (context, "float[]")));
  g_assert_false (ir_type_is_static (parse (context, "float[n]")));
  g_assert_false (ir_type_is_static (parse (context, "undefined[2]")));
}

static void
test_substitution (void)
{
  g_autoptr (IrContext) context = ir_context_new ();
  g_autoptr (GHashTable) bindings = g_hash_table_new (g_str_hash, g_str_equal);
  gint64 n = 4;

  g_hash_table_insert (bindings, (char *) "n", &n);
  g_assert_true (ir_type_substitute (context, parse (context, "seq(float[2*n + 1,m])"), bindings) ==
                 parse (context, "seq(float[9,m])"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/type/equal types are one pointer, denotations included", test_interning);
  g_test_add_func ("/type/text is read back", test_text);
  g_test_add_func ("/type/bad text gives an error", test_bad_text);
  g_test_add_func ("/type/merging takes what both say", test_merging);
  g_test_add_func ("/type/one type is at least as specific as another", test_at_least);
  g_test_add_func ("/type/sizes are checked", test_sizes);
  g_test_add_func ("/type/numbers replace symbols", test_substitution);
  return g_test_run ();
}
