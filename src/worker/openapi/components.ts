/** Converts zod schemas to JSON Schema and collects the named ones as components of the OpenAPI document. */

import * as z from 'zod'

export type Json = { readonly [key: string]: unknown }
type SchemaDirection = 'input' | 'output'

const local = '#/$defs/'
const schemaPrefix = '#/components/schemas/'
export const refTo = (name: string): Json => ({ $ref: `${schemaPrefix}${name}` })
const referencedName = (schema: unknown): string | undefined => {
  const ref = (schema as { $ref?: unknown } | undefined)?.$ref
  return typeof ref === 'string' && ref.startsWith(schemaPrefix) ? ref.slice(schemaPrefix.length) : undefined
}

/**
 * Convert all schemas of responses first: a schema that requests read in another way than responses show it then gets
 * the suffix `Input`.
 */
export class Components {
  readonly #schemas = new Map<string, Json>()
  readonly #named = new Map<string, WeakMap<z.ZodType, string>>([
    ['input', new WeakMap()],
    ['output', new WeakMap()],
  ])

  /** Returns the schema, with references to the named ones inside. */
  convert(schema: z.ZodType, io: SchemaDirection): Json {
    const { $schema: _, $defs = {}, ...root } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json
    const inside = new Map(Object.entries($defs as Record<string, Json>).map(([id, one]) => [id, simplify(one, io)]))
    const names = this.#chooseNames(inside)
    for (const [id, one] of inside) this.#schemas.set(names.get(id) ?? id, withNames(one, names) as Json)
    return withNames(simplify(root, io), names) as Json
  }

  /** Like `convert`; an object without a name becomes a component with the given one. */
  convertAs(name: string, schema: z.ZodType, io: SchemaDirection): Json {
    const before = this.#named.get(io)?.get(schema)
    if (before !== undefined) return refTo(before)
    const converted = this.convert(schema, io)
    if (converted['type'] !== 'object' && !converted['oneOf'] && !converted['anyOf']) return converted
    const chosen = this.add(nameOfList(converted) ?? name, converted, name)
    this.#named.get(io)?.set(schema, chosen)
    return refTo(chosen)
  }

  /** Adds a component. Another schema of the same name makes it use the other name. */
  add(name: string, schema: Json, otherName = name): string {
    const known = this.#schemas.get(name)
    const chosen = known && JSON.stringify(known) !== JSON.stringify(schema) ? otherName : name
    this.#schemas.set(chosen, schema)
    return chosen
  }

  get(name: string): Json | undefined {
    return this.#schemas.get(name)
  }

  resolve(schema: Json): Json {
    const name = referencedName(schema)
    return name === undefined ? schema : (this.#schemas.get(name) ?? {})
  }

  /** The example values that a named schema gives for its fields. */
  knownFields({ examples }: Json): Json {
    return Array.isArray(examples) ? (examples[0] as Json) : {}
  }

  /** All components by name. Unions of components that differ in one constant get a discriminator. */
  render(): Json {
    const sorted = [...this.#schemas].toSorted(([one], [other]) => (one < other ? -1 : 1))
    return Object.fromEntries(sorted.map(([name, schema]) => [name, this.#discriminate(schema)]))
  }

  #discriminate({ examples, ...schema }: Json): Json {
    void examples
    const { oneOf } = schema
    if (!Array.isArray(oneOf)) return schema
    const members = oneOf.map((one: Json) => ({ ref: one['$ref'], properties: this.resolve(one)['properties'] }))
    if (!members.every(({ ref }) => ref)) return schema
    for (const propertyName of ['type', 'role']) {
      const values = members.map(({ properties }) => (properties as Record<string, Json> | undefined)?.[propertyName])
      if (!values.every((value) => typeof value?.['const'] === 'string')) continue
      const mapping = Object.fromEntries(members.map(({ ref }, i) => [values[i]?.['const'], ref]))
      return { ...schema, discriminator: { propertyName, mapping } }
    }
    return schema
  }

  /** A definition that differs from the component of its name, or refers to such a one, gets another name. */
  #chooseNames(definitions: ReadonlyMap<string, Json>): ReadonlyMap<string, string> {
    const plain = new Map([...definitions].map(([id]) => [id, id]))
    const changed = new Set<string>()
    for (let size = -1; size !== changed.size;) {
      size = changed.size
      for (const [id, one] of definitions) {
        const known = this.#schemas.get(id)
        const text = JSON.stringify(one)
        const differs = known !== undefined && JSON.stringify(known) !== JSON.stringify(withNames(one, plain))
        if (differs || [...changed].some((other) => text.includes(`"${local}${other}"`))) changed.add(id)
      }
    }
    return new Map([...definitions].map(([id]) => [id, changed.has(id) ? `${id}Input` : id]))
  }
}

/** A page of sessions is a SessionList. */
function nameOfList({ properties = {} }: Json): string | undefined {
  const { data } = properties as { data?: { items?: unknown } }
  const item = referencedName(data?.items)
  return item === undefined ? undefined : `${item}List`
}

function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  return mapDeep(value, (node) => {
    const { $ref, ...rest } = node
    if (typeof $ref !== 'string' || !$ref.startsWith(local)) return node
    const id = $ref.slice(local.length)
    return { ...rest, ...refTo(names.get(id) ?? id) }
  })
}

function mapDeep(value: unknown, change: (node: Json) => Json): unknown {
  if (Array.isArray(value)) return value.map((one) => mapDeep(one, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(change(value as Json)).map(([key, one]) => [key, mapDeep(one, change)]))
}

/** Shortens what zod writes. Responses may get fields in later versions, so their objects are open. */
const simplify = (schema: Json, io: SchemaDirection): Json =>
  mapDeep(schema, (node) => withoutNoise(joinNull(node), io)) as Json

function withoutNoise(node: Json, io: SchemaDirection): Json {
  const { additionalProperties, minimum, maximum, pattern, ...rest } = node
  const isDated = typeof rest['format'] === 'string' && rest['format'].startsWith('date')
  return {
    ...rest,
    ...(pattern !== undefined && !isDated && { pattern }),
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    ...(additionalProperties !== undefined &&
      !(additionalProperties === false && io === 'output') && { additionalProperties }),
  }
}

/** `{type: [T, 'null']}` instead of a union of a plain type and null. */
function joinNull(node: Json): Json {
  const { anyOf, ...rest } = node
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return node
  const [one, other] = anyOf as [Json, Json]
  const isPlain = typeof one['type'] === 'string' && !('enum' in one) && !('const' in one) && one['type'] !== 'object'
  return other['type'] === 'null' && isPlain ? { ...one, ...rest, type: [one['type'], 'null'] } : node
}
