/**
 * JSON Schema as Gemini takes it for tools: a part of OpenAPI's. What it does not know is said in another way
 * where that means the same, and else left out: a wider schema is better than a refused request.
 */

type Schema = Readonly<Record<string, unknown>>

const kept = [
  'type',
  'title',
  'description',
  'nullable',
  'enum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'pattern',
] as const

/** A schema that refers to itself has to end somewhere. */
const deepest = 12

export const geminiSchema = (schema: object): object => cleaned(schema as Schema, definitionsOf(schema as Schema), 0)

const definitionsOf = ({ $defs, definitions }: Schema): Schema => ({ ...asSchema(definitions), ...asSchema($defs) })

const asSchema = (value: unknown): Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : {}

function cleaned(given: Schema, defs: Schema, depth: number): Schema {
  if (depth > deepest) return { type: 'object' }
  const schema = flattened(resolved(given, defs), defs)
  const inner = (value: unknown) => cleaned(asSchema(value), defs, depth + 1)
  return {
    ...Object.fromEntries(kept.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]]))),
    ...typeOf(schema),
    ...enumOf(schema),
    ...(schema['type'] === 'string' &&
      /^(enum|date-time)$/.test(String(schema['format'])) && { format: schema['format'] }),
    ...objectOf(schema, inner),
    ...(isType(schema, 'array') && { items: inner(schema['items']) }),
    ...anyOf(schema, inner),
  }
}

const isType = ({ type }: Schema, name: string) => type === name || (Array.isArray(type) && type.includes(name))

function resolved(schema: Schema, defs: Schema): Schema {
  const { $ref, ...rest } = schema
  if (typeof $ref !== 'string') return schema
  return { ...asSchema(defs[$ref.replace(/^#\/(\$defs|definitions)\//, '')]), ...rest }
}

/** All of several schemas at once is one schema. */
function flattened(schema: Schema, defs: Schema): Schema {
  const { allOf, ...rest } = schema
  if (!Array.isArray(allOf)) return schema
  return allOf.map((part) => flattened(resolved(asSchema(part), defs), defs)).reduce(together, rest)
}

const together = (a: Schema, b: Schema): Schema => ({
  ...b,
  ...a,
  ...((a['properties'] ?? b['properties']) !== undefined && {
    properties: { ...asSchema(a['properties']), ...asSchema(b['properties']) },
  }),
  ...((a['required'] ?? b['required']) !== undefined && {
    required: [...listOf(a['required']), ...listOf(b['required'])],
  }),
})

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** One type; that null is possible is said apart. */
function typeOf({ type }: Schema): Schema {
  if (!Array.isArray(type)) return {}
  const [first = 'string'] = type.filter((name) => name !== 'null') as readonly string[]
  return { type: first, ...(type.includes('null') && { nullable: true }) }
}

/** Only texts can be listed. */
function enumOf(schema: Schema): Schema {
  const values = schema['const'] === undefined ? listOf(schema['enum']) : [schema['const']]
  const texts = values.filter((value) => typeof value === 'string' && value !== '')
  if (!values.length) return {}
  return texts.length === values.length ? { type: 'string', enum: texts } : { enum: undefined }
}

function objectOf(schema: Schema, inner: (value: unknown) => Schema): Schema {
  const properties = Object.entries(asSchema(schema['properties']))
  if (!properties.length) return {}
  const names = new Set(properties.map(([name]) => name))
  const required = [...new Set(listOf(schema['required']).filter((name) => names.has(name as string)))]
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, value]) => [name, inner(value)])),
    ...(required.length && { required }),
  }
}

function anyOf(schema: Schema, inner: (value: unknown) => Schema): Schema {
  const choices = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
  if (!choices.length) return {}
  const real = choices.filter((choice) => asSchema(choice)['type'] !== 'null')
  const nullable = real.length < choices.length && { nullable: true }
  if (real.length === 1) return { ...inner(real[0]), ...nullable }
  return { anyOf: real.map(inner), ...nullable }
}
