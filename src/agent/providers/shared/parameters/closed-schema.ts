/**
 * Converts a JSON schema to the subset that Claude's structured output enforces. Limits that it lacks are left out,
 * because the answer is validated against the original schema anyway.
 */

type ClosedSchema = Readonly<Record<string, unknown>>

const keptKeywords = ['type', 'title', 'description', 'enum', 'const', 'required', '$ref', 'default'] as const
/** Keywords with a list or an object of schemas. `oneOf` becomes `anyOf`. */
const groups = { anyOf: 'anyOf', oneOf: 'anyOf', allOf: 'allOf', $defs: '$defs', definitions: 'definitions' } as const
const keptFormats: ReadonlySet<unknown> = new Set(
  'date-time time date duration email hostname uri ipv4 ipv6 uuid'.split(' '),
)
const maxDepth = 64

class Inexpressible extends Error {}

/**
 * Returns undefined for schemas that the subset cannot express: with open objects, tuples, recursion or no type. An
 * object that says nothing about further properties is closed.
 */
export function toClosedSchema(schema: ClosedSchema): ClosedSchema | undefined {
  try {
    if (isRecursive(schema)) return undefined
    return closeSchema(schema, 0)
  } catch (error) {
    if (error instanceof Inexpressible) return undefined
    throw error
  }
}

const toSchema = (value: unknown): ClosedSchema => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Inexpressible()
  return value as ClosedSchema
}

function closeSchema(schema: ClosedSchema, depth: number): ClosedSchema {
  if (depth > maxDepth || isOpen(schema)) throw new Inexpressible()
  const closeAll = (schemas: unknown) => mapSchemas(schemas, (one) => closeSchema(one, depth + 1))
  const { properties, items, format, minItems } = schema
  return {
    ...Object.fromEntries(keptKeywords.flatMap((key) => (key in schema ? [[key, schema[key]]] : []))),
    ...Object.fromEntries(
      Object.entries(groups).flatMap(([key, name]) => (key in schema ? [[name, closeAll(schema[key])]] : [])),
    ),
    ...(isObjectSchema(schema) && { properties: closeAll(properties), additionalProperties: false }),
    ...(items !== undefined && { items: closeSchema(toSchema(items), depth + 1) }),
    ...(keptFormats.has(format) && { format }),
    ...((minItems === 0 || minItems === 1) && { minItems }),
  }
}

/** Maps the schemas of a list, or the values of an object. */
function mapSchemas(schemas: unknown, change: (schema: ClosedSchema) => ClosedSchema): unknown {
  if (Array.isArray(schemas)) return schemas.map((one) => change(toSchema(one)))
  return Object.fromEntries(Object.entries(toSchema(schemas)).map(([name, one]) => [name, change(toSchema(one))]))
}

const isObjectSchema = ({ type, properties }: ClosedSchema): boolean =>
  properties !== undefined || type === 'object' || (Array.isArray(type) && type.includes('object'))

const structural = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'enum', 'const', 'properties'] as const

/** Whether the schema accepts what a closed schema cannot list, or says nothing about the type. */
function isOpen(schema: ClosedSchema): boolean {
  const { additionalProperties: more, patternProperties, prefixItems, items } = schema
  if (patternProperties !== undefined || prefixItems !== undefined || Array.isArray(items)) return true
  if (more !== undefined && more !== false) return true
  if (isObjectSchema(schema) && schema['properties'] === undefined) return true
  return !structural.some((key) => key in schema)
}

/** Whether a definition leads back to itself, or a reference names something else than a definition. */
function isRecursive(schema: ClosedSchema): boolean {
  const targets = new Map<string, readonly string[]>()
  for (const group of ['$defs', 'definitions'] as const)
    for (const [name, definition] of Object.entries(schema[group] ?? {}))
      targets.set(`#/${group}/${name}`, listRefs(definition))
  const { $defs: _defs, definitions: _definitions, ...root } = schema
  const leadsBack = (ref: string, path: readonly string[]): boolean =>
    path.includes(ref) || !targets.has(ref) || path.length > maxDepth
      ? true
      : (targets.get(ref) ?? []).some((next) => leadsBack(next, [...path, ref]))
  return listRefs(root).some((ref) => leadsBack(ref, []))
}

function listRefs(value: unknown): readonly string[] {
  const refs = new Set<string>()
  JSON.stringify(value, (key, inner: unknown) => {
    if (key === '$ref' && typeof inner === 'string') refs.add(inner)
    return inner
  })
  return [...refs]
}
