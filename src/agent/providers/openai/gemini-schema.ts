/**
 * Converts JSON Schema to the subset of OpenAPI that Gemini accepts for tools. Unsupported parts are rewritten if an
 * equivalent exists, otherwise removed: a wider schema is better than a refused request.
 */

type GeminiSchema = Readonly<Record<string, unknown>>

const supportedKeywords = [
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

/** Ends the expansion of recursive schemas. */
const maxDepth = 12

export const toGeminiSchema = (schema: object): object =>
  convertSchema(schema as GeminiSchema, getDefinitions(schema as GeminiSchema), 0)

const getDefinitions = ({ $defs, definitions }: GeminiSchema): GeminiSchema => ({
  ...toSchema(definitions),
  ...toSchema($defs),
})

const toSchema = (value: unknown): GeminiSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as GeminiSchema) : {}

function convertSchema(source: GeminiSchema, defs: GeminiSchema, depth: number): GeminiSchema {
  if (depth > maxDepth) return { type: 'object' }
  const schema = mergeAllOf(resolveRef(source, defs), defs)
  const convertInner = (value: unknown) => convertSchema(toSchema(value), defs, depth + 1)
  return {
    ...Object.fromEntries(
      supportedKeywords.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])),
    ),
    ...convertType(schema),
    ...convertEnum(schema),
    ...(schema['type'] === 'string' &&
      /^(enum|date-time)$/.test(String(schema['format'])) && { format: schema['format'] }),
    ...convertObject(schema, convertInner),
    ...(isType(schema, 'array') && { items: convertInner(schema['items']) }),
    ...convertAnyOf(schema, convertInner),
  }
}

const isType = ({ type }: GeminiSchema, name: string) => type === name || (Array.isArray(type) && type.includes(name))

function resolveRef(schema: GeminiSchema, defs: GeminiSchema): GeminiSchema {
  const { $ref, ...rest } = schema
  if (typeof $ref !== 'string') return schema
  return { ...toSchema(defs[$ref.replace(/^#\/(\$defs|definitions)\//, '')]), ...rest }
}

/** Merges the schemas of `allOf` into one. */
function mergeAllOf(schema: GeminiSchema, defs: GeminiSchema): GeminiSchema {
  const { allOf, ...rest } = schema
  if (!Array.isArray(allOf)) return schema
  return allOf.map((part) => mergeAllOf(resolveRef(toSchema(part), defs), defs)).reduce(mergeSchemas, rest)
}

const mergeSchemas = (a: GeminiSchema, b: GeminiSchema): GeminiSchema => ({
  ...b,
  ...a,
  ...((a['properties'] ?? b['properties']) !== undefined && {
    properties: { ...toSchema(a['properties']), ...toSchema(b['properties']) },
  }),
  ...((a['required'] ?? b['required']) !== undefined && {
    required: [...toList(a['required']), ...toList(b['required'])],
  }),
})

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Gemini accepts one type. Null becomes `nullable`. */
function convertType({ type }: GeminiSchema): GeminiSchema {
  if (!Array.isArray(type)) return {}
  const [first = 'string'] = type.filter((name) => name !== 'null') as readonly string[]
  return { type: first, ...(type.includes('null') && { nullable: true }) }
}

/** Gemini accepts only strings in an enum. */
function convertEnum(schema: GeminiSchema): GeminiSchema {
  const values = schema['const'] === undefined ? toList(schema['enum']) : [schema['const']]
  const texts = values.filter((value) => typeof value === 'string' && value !== '')
  if (!values.length) return {}
  return texts.length === values.length ? { type: 'string', enum: texts } : { enum: undefined }
}

function convertObject(schema: GeminiSchema, convertInner: (value: unknown) => GeminiSchema): GeminiSchema {
  const properties = Object.entries(toSchema(schema['properties']))
  if (!properties.length) return {}
  const names = new Set(properties.map(([name]) => name))
  const required = [...new Set(toList(schema['required']).filter((name) => names.has(name as string)))]
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map(([name, value]) => [name, convertInner(value)])),
    ...(required.length && { required }),
  }
}

function convertAnyOf(schema: GeminiSchema, convertInner: (value: unknown) => GeminiSchema): GeminiSchema {
  const choices = [...toList(schema['anyOf']), ...toList(schema['oneOf'])]
  if (!choices.length) return {}
  const nonNull = choices.filter((choice) => toSchema(choice)['type'] !== 'null')
  const nullable = nonNull.length < choices.length && { nullable: true }
  if (nonNull.length === 1) return { ...convertInner(nonNull[0]), ...nullable }
  return { anyOf: nonNull.map(convertInner), ...nullable }
}
