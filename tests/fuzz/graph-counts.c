#include "config.h"

#include "tests/fuzz/graph-counts.h"

#include <string.h>

static guint
index_of_way (const Way *way)
{
  guint n;
  return (guint) (way - graph_ways (&n));
}

static guint
index_of_family (const GraphFamily *family)
{
  guint n;
  return (guint) (family - graph_families (&n));
}

void
graph_counts_count (GraphCounts *counts, const GraphTrial *trial, const GraphJudgement *judgement)
{
  counts->graphs++;
  counts->nodes += ir_model_n_counted_nodes (trial->graph.model);
  counts->close += judgement->n_close;
  counts->disturbed += judgement->n_disturbed;
  counts->sensitive += judgement->n_sensitive;
  counts->family[index_of_family (trial->graph.family)]++;
  counts->pipeline[trial->pipeline] += judgement->optimized;
  for (guint i = 0; i < GRAPH_WAYS; i++)
    {
      guint a = index_of_way (trial->ways[i]);
      counts->way[a]++;
      for (guint k = 0; k < i; k++)
        {
          guint b = index_of_way (trial->ways[k]);
          counts->pair[MIN (a, b)][MAX (a, b)]++;
        }
    }
}

/* All members are counts. */
void
graph_counts_add (GraphCounts *counts, const GraphCounts *more)
{
  guint64 *to = (guint64 *) counts;
  const guint64 *from = (const guint64 *) more;

  for (gsize i = 0; i < sizeof *counts / sizeof *to; i++)
    to[i] += from[i];
}

/* -- text -- */

typedef void (*EachCount) (const char *key, guint64 *count, gpointer data);

static void
each_pair (GraphCounts *counts, EachCount each, gpointer data)
{
  guint n;
  const Way *ways = graph_ways (&n);

  for (guint i = 0; i < n; i++)
    for (guint k = i + 1; k < n; k++)
      {
        g_autofree char *key = g_strdup_printf ("pair %s %s", ways[i].name, ways[k].name);
        each (key, &counts->pair[i][k], data);
      }
}

static void
each_count (GraphCounts *counts, EachCount each, gpointer data)
{
  guint n_families, n_ways;
  const GraphFamily *families = graph_families (&n_families);
  const Way *ways = graph_ways (&n_ways);

  each ("graphs", &counts->graphs, data);
  each ("findings", &counts->findings, data);
  each ("nodes", &counts->nodes, data);
  each ("outputs close", &counts->close, data);
  each ("outputs disturbed", &counts->disturbed, data);
  each ("outputs sensitive", &counts->sensitive, data);
  for (guint i = 0; i < n_families; i++)
    {
      g_autofree char *key = g_strdup_printf ("family %s", families[i].name);
      each (key, &counts->family[i], data);
    }
  for (guint i = 0; i < n_ways; i++)
    {
      g_autofree char *key = g_strdup_printf ("way %s", ways[i].name);
      each (key, &counts->way[i], data);
    }
  for (guint i = 0; i < GRAPH_N_PIPELINES; i++)
    {
      g_autofree char *key = g_strdup_printf ("pipeline %s",
                                              graph_pipeline_name ((GraphPipeline) i));
      each (key, &counts->pipeline[i], data);
    }
  each_pair (counts, each, data);
}

static void
write_count (const char *key, guint64 *count, gpointer data)
{
  g_string_append_printf (data, "%s %" G_GUINT64_FORMAT "\n", key, *count);
}

char *
graph_counts_to_text (const GraphCounts *counts)
{
  GString *text = g_string_new (NULL);
  GraphCounts copy = *counts;

  each_count (&copy, write_count, text);
  return g_string_free (text, FALSE);
}

/* What a file says of @key; 0 where it says nothing. */
static guint64
number_of (const char *text, const char *key)
{
  gsize length = strlen (key);

  for (const char *line = text; line != NULL && *line != '\0';)
    {
      if (strncmp (line, key, length) == 0 && line[length] == ' ')
        return g_ascii_strtoull (line + length, NULL, 10);
      line = strchr (line, '\n');
      line = line != NULL ? line + 1 : NULL;
    }
  return 0;
}

static void
read_count (const char *key, guint64 *count, gpointer data)
{
  *count += number_of (data, key);
}

gboolean
graph_counts_save (const GraphCounts *counts, guint64 next_seed, const char *path, GError **error)
{
  GraphCounts all = *counts;
  g_autofree char *old = NULL, *lines = NULL, *text = NULL;

  if (g_file_get_contents (path, &old, NULL, NULL))
    each_count (&all, read_count, old);
  lines = graph_counts_to_text (&all);
  text = g_strdup_printf ("next-seed %" G_GUINT64_FORMAT "\n%s", next_seed, lines);
  return g_file_set_contents (path, text, -1, error);
}

guint64
graph_counts_next_seed (const char *path, guint64 otherwise)
{
  g_autofree char *text = NULL;

  if (path == NULL || !g_file_get_contents (path, &text, NULL, NULL) ||
      strncmp (text, "next-seed ", 10) != 0)
    return otherwise;
  return number_of (text, "next-seed");
}
