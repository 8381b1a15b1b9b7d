#include "config.h"

#include "core/graphviz/graphviz.h"
#include "tests/fuzz/fuzz.h"
#include "tests/io/models.h"

#include <string.h>

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const IrGraphvizLimits limits = { (gsize) 128 * 1024 * 1024, 2, (gsize) 8 * 1024 * 1024 };
  g_autofree char *text = g_memdup2 (data, size);
  g_autoptr (GPtrArray) problems = ir_problems_new ();
  g_autoptr (GError) error = NULL;
  g_autoptr (IrModel) model = ir_dot_read (text != NULL ? text : "", (gssize) size, &limits,
                                           problems, NULL, &error);

  g_assert_true ((model == NULL) == (error != NULL));
  if (model != NULL)
    {
      g_autofree char *written = ir_dot_write (model);

      g_assert_true (g_utf8_validate (written, -1, NULL));
    }
  return 0;
}

GPtrArray *
fuzz_seeds (void)
{
  static const char small[] =
      "digraph g { node [shape=box]; subgraph cluster_a { label=\"a\"; x -> y:n [name=\"v\"] }"
      " \"odd \\\" name\" -> x; y -> <b>html</b>; a -- b; /* no */ }";
  GPtrArray *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  g_autoptr (IrModel) model = test_read_text (test_rich_text);
  char *dot = ir_dot_write (model);

  g_ptr_array_add (seeds, g_bytes_new_take (dot, strlen (dot)));
  g_ptr_array_add (seeds, g_bytes_new_static (small, strlen (small)));
  return seeds;
}
