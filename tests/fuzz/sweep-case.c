#include "config.h"

#include "tests/fuzz/sweep-case.h"

#define MOST 5 /* inputs or outputs of an operator that takes any number are tried up to it */

static const char *const sources[SWEEP_N_SOURCES] = { "value",   "constant", "empty", "unknown",
                                                      "nothing", "short",    "bytes" };

static const struct
{
  const char *type, *values, *few;
} shapes[] = {
  { "float[2,3]", "1,-2,3,0.5,5,6", "1,2" },
  { "float[1,2,2,2]", "1,-2,3,0.5,5,6,7,8", "1,2" },
  { "int64[2]", "1,0", "1" },
};

/* Before an input and behind an output. */
static const struct
{
  const char *op, *attrs, *second; /* (nullable) second input */
} around[] = {
  { NULL, "", NULL },
  { "Relu", "", NULL },
  { "Transpose", "", NULL },
  { "Reshape", "", "shape" },
};

static guint
most_of (IrArity arity)
{
  return MIN (arity.max < 0 ? (guint) arity.min + 1 : (guint) arity.max, MOST) + 1;
}

/* What stands around and of which type, one after the other, as not everything can be combined. */
static void
add (GArray *cases, SweepCase one)
{
  one.around = cases->len % G_N_ELEMENTS (around);
  one.shapes = cases->len / G_N_ELEMENTS (around) % G_N_ELEMENTS (shapes);
  g_array_append_val (cases, one);
}

static void
add_of_op (GArray *cases, const IrOp *op)
{
  guint most_out = MAX (most_of (op->out), most_of ((IrArity){ op->out.min, op->out.min }));

  for (guint n_in = 0; n_in <= most_of (op->in); n_in++)
    for (guint n_out = 0; n_out <= most_out; n_out++)
      for (SweepSource others = SWEEP_VALUE; others <= SWEEP_CONSTANT; others++)
        {
          add (cases, (SweepCase){ op, n_in, n_out, others, others, G_MAXUINT, 0, 0 });
          for (guint at = 0; at < n_in; at++)
            for (SweepSource odd = SWEEP_CONSTANT; odd < SWEEP_N_SOURCES; odd++)
              if (odd != others && (n_out == 1 || odd == SWEEP_EMPTY || odd == SWEEP_NOTHING))
                add (cases, (SweepCase){ op, n_in, n_out, others, odd, at, 0, 0 });
        }
}

GArray *
sweep_cases (void)
{
  GArray *cases = g_array_new (FALSE, FALSE, sizeof (SweepCase));

  for (guint i = 1; i < ir_op_n (); i++)
    add_of_op (cases, ir_op_by_id (i));
  return cases;
}

static SweepSource
source_of (const SweepCase *self, guint slot)
{
  return slot == self->at ? self->odd : self->others;
}

/* -- JSON -- */

static void
append_node (GString *nodes,
             const char *op,
             const char *domain,
             const char *inputs,
             const char *outputs,
             const char *attrs)
{
  g_string_append_printf (nodes,
                          "%s{\"op_type\":\"%s\",\"domain\":\"%s\",\"name\":\"n%" G_GSIZE_FORMAT
                          "\",\"inputs\":[%s],\"outputs\":[%s],\"attributes\":[%s]}",
                          nodes->len > 0 ? "," : "", op, domain, nodes->len, inputs, outputs,
                          attrs);
}

static void
append_attrs (GString *attrs, const IrOp *op)
{
  static const struct
  {
    IrAttrKind kind;
    const char *name, *value;
  } kinds[] = { { IR_ATTR_INT, "int", "1" },
                { IR_ATTR_INTS, "ints", "[1,0]" },
                { IR_ATTR_FLOAT, "float", "0.5" },
                { IR_ATTR_FLOATS, "floats", "[0.5,2]" },
                { IR_ATTR_STRING, "string", "\"a\"" } };

  for (const IrAttrSpec *spec = op->attrs; spec != NULL && spec->name != NULL; spec++)
    for (guint i = 0; spec->required && i < G_N_ELEMENTS (kinds); i++)
      if (kinds[i].kind == spec->kind)
        g_string_append_printf (attrs, "%s{\"name\":\"%s\",\"kind\":\"%s\",\"value\":%s}",
                                attrs->len > 0 ? "," : "", spec->name, kinds[i].name,
                                kinds[i].value);
}

static void
append_initializer (GString *list, const SweepCase *self, guint slot)
{
  const char *type = shapes[self->shapes].type;

  g_string_append_printf (list, "%s{\"name\":\"c%u\",\"tensor\":{\"type\":\"%s\"",
                          list->len > 0 ? "," : "", slot, type);
  switch ((guint) source_of (self, slot))
    {
    case SWEEP_CONSTANT:
      g_string_append_printf (list, ",\"values\":[%s]", shapes[self->shapes].values);
      break;
    case SWEEP_SHORT:
      g_string_append_printf (list, ",\"values\":[%s]", shapes[self->shapes].few);
      break;
    case SWEEP_BYTES:
      g_string_append (list, ",\"base64\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"");
      break;
    default:
      break;
    }
  g_string_append (list, "}}");
}

typedef struct
{
  GString *inputs, *outputs, *initializers, *nodes;
} Parts;

static const char *
separator (const GString *list)
{
  return list->len > 0 ? "," : "";
}

/* The name of input @slot as JSON; what it comes from is added. */
static char *
make_input (const SweepCase *self, guint slot, Parts *parts)
{
  SweepSource source = source_of (self, slot);
  g_autofree char *from = g_strdup_printf (
      around[self->around].second != NULL ? "\"x%u\",\"shape\"" : "\"x%u\"", slot);
  g_autofree char *to = g_strdup_printf ("\"v%u\"", slot);

  if (source == SWEEP_EMPTY)
    return g_strdup ("\"\"");
  if (source == SWEEP_UNKNOWN)
    return g_strdup ("\"nowhere\"");
  if (source != SWEEP_VALUE)
    {
      append_initializer (parts->initializers, self, slot);
      return g_strdup_printf ("\"c%u\"", slot);
    }
  g_string_append_printf (parts->inputs, "%s{\"name\":\"x%u\",\"type\":\"%s\"}",
                          separator (parts->inputs), slot, shapes[self->shapes].type);
  if (around[self->around].op == NULL)
    return g_strdup_printf ("\"x%u\"", slot);
  append_node (parts->nodes, around[self->around].op, "", from, to, "");
  return g_steal_pointer (&to);
}

static void
make_output (const SweepCase *self, guint slot, Parts *parts)
{
  g_autofree char *from = g_strdup_printf (
      around[self->around].second != NULL ? "\"y%u\",\"shape\"" : "\"y%u\"", slot);
  g_autofree char *to = g_strdup_printf ("\"z%u\"", slot);

  if (around[self->around].op != NULL)
    append_node (parts->nodes, around[self->around].op, "", from, to, "");
  g_string_append_printf (parts->outputs, "%s{\"name\":\"%c%u\"}", separator (parts->outputs),
                          around[self->around].op != NULL ? 'z' : 'y', slot);
}

static void
make_node (const SweepCase *self, Parts *parts)
{
  g_autoptr (GString) in = g_string_new (NULL);
  g_autoptr (GString) out = g_string_new (NULL);
  g_autoptr (GString) attrs = g_string_new (NULL);

  for (guint i = 0; i < self->n_inputs; i++)
    {
      g_autofree char *name = make_input (self, i, parts);
      g_string_append_printf (in, "%s%s", separator (in), name);
    }
  for (guint i = 0; i < self->n_outputs; i++)
    g_string_append_printf (out, "%s\"y%u\"", separator (out), i);
  append_attrs (attrs, self->op);
  append_node (parts->nodes, self->op->name, self->op->domain != NULL ? self->op->domain : "",
               in->str, out->str, attrs->str);
  for (guint i = 0; i < self->n_outputs; i++)
    make_output (self, i, parts);
}

char *
sweep_case_to_json (const SweepCase *self)
{
  g_autoptr (GString) inputs = g_string_new ("{\"name\":\"x\",\"type\":\"float[2,3]\"}");
  g_autoptr (GString) outputs = g_string_new ("{\"name\":\"good\"}");
  g_autoptr (GString) initializers = g_string_new (
      "{\"name\":\"shape\",\"tensor\":{\"type\":\"int64[1]\",\"values\":[-1]}}");
  g_autoptr (GString) nodes = g_string_new (NULL);
  Parts parts = { inputs, outputs, initializers, nodes };
  const char *domain = self->op->domain != NULL ? self->op->domain : "";

  append_node (nodes, "Sigmoid", "", "\"x\"", "\"good\"", ""); /* can always be had */
  make_node (self, &parts);
  return g_strdup_printf (
      "{\"format\":\"irscope-model-1\",\"ir_version\":8,\"opset_imports\":[{\"domain\":\"\","
      "\"version\":%d}%s%s%s],\"graph\":{\"name\":\"g\",\"inputs\":[%s],\"outputs\":[%s],"
      "\"initializers\":[%s],\"values\":[],\"nodes\":[%s]},\"functions\":[]}",
      (int) MAX (self->op->until > 0 ? self->op->until - 1 : 21, *domain != '\0' ? 17 : 1),
      *domain != '\0' ? ",{\"domain\":\"" : "", domain, *domain != '\0' ? "\",\"version\":1}" : "",
      inputs->str, outputs->str, initializers->str, nodes->str);
}

char *
sweep_case_to_string (const SweepCase *self)
{
  g_autofree char *odd = self->at < self->n_inputs
                             ? g_strdup_printf (", input %u: %s", self->at, sources[self->odd])
                             : g_strdup ("");

  return g_strdup_printf ("%s%s%s, %u inputs (%s)%s, %u outputs, of %s, within %s",
                          self->op->domain != NULL ? self->op->domain : "",
                          self->op->domain != NULL ? "." : "", self->op->name, self->n_inputs,
                          sources[self->others], odd, self->n_outputs, shapes[self->shapes].type,
                          around[self->around].op != NULL ? around[self->around].op : "nothing");
}
