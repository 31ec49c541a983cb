/** Turns the JSON schema of the settings into fields, and changed fields into a patch. */

export type Schema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly $ref?: string
}

export type SettingField = {
  readonly path: string
  readonly kind: 'boolean' | 'number' | 'text' | 'choice' | 'json'
  readonly choices: readonly string[]
  readonly description: string
}

export type Schemas = Readonly<Record<string, Schema>>

/** Objects with named fields are groups; everything that has no simple field is JSON. `named` holds what `$ref` names. */
export function listFields(schema: Schema, named: Schemas = {}, prefix = ''): readonly SettingField[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, given]) => {
    const path = prefix ? `${prefix}.${name}` : name
    const one = { ...named[given.$ref?.replace('#/components/schemas/', '') ?? ''], ...given }
    if (one.properties) return listFields(one, named, path)
    return [{ path, ...kindOf(one), description: one.description ?? '' }]
  })
}

function kindOf(schema: Schema): Pick<SettingField, 'kind' | 'choices'> {
  if (schema.enum) return { kind: 'choice', choices: schema.enum.map(String) }
  if (schema.type === 'boolean') return { kind: 'boolean', choices: ['true', 'false'] }
  if (schema.type === 'number' || schema.type === 'integer') return { kind: 'number', choices: [] }
  return { kind: schema.type === 'string' ? 'text' : 'json', choices: [] }
}

export function valueAt(settings: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
      settings,
    )
}

export const showValue = ({ kind }: SettingField, value: unknown): string => {
  if (value === undefined || value === null) return ''
  return kind === 'json' ? JSON.stringify(value, null, 2) : String(value)
}

/** An empty field removes the setting. Throws for text that is no JSON. */
export function readValue({ kind }: SettingField, text: string): unknown {
  if (!text.trim()) return null
  if (kind === 'number') return Number(text)
  if (kind === 'boolean') return text === 'true'
  return kind === 'json' ? (JSON.parse(text) as unknown) : text
}

export function toPatch(changes: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const patch: Record<string, unknown> = {}
  for (const [path, value] of changes) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let at = patch
    for (const name of names) at = (at[name] ??= {}) as Record<string, unknown>
    at[last] = value
  }
  return patch
}
