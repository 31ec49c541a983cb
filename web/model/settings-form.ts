/** Turns the JSON schema of the settings into fields, and changed fields into a patch. */

export type Schema = {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly minimum?: number
  readonly maximum?: number
  readonly $ref?: string
}

export type SettingField = {
  readonly path: string
  /** `list`: texts, one a line. */
  readonly kind: 'boolean' | 'number' | 'text' | 'choice' | 'list' | 'json'
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
    return [{ path, ...kindOf(one, path), description: one.description ?? '' }]
  })
}

/** Settings that are any text in the schema, because models may have levels of their own. */
const commonChoices: Readonly<Record<string, readonly string[]>> = {
  'model.reasoning_effort': ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'],
}

function kindOf(schema: Schema, path: string): Pick<SettingField, 'kind' | 'choices'> {
  const common = commonChoices[path]
  if (common) return { kind: 'choice', choices: common }
  if (schema.enum) return { kind: 'choice', choices: schema.enum.map(String) }
  if (schema.type === 'boolean') return { kind: 'boolean', choices: ['true', 'false'] }
  if (schema.type === 'number' || schema.type === 'integer') return { kind: 'number', choices: [] }
  if (schema.type === 'array' && schema.items?.type === 'string') return { kind: 'list', choices: [] }
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
  if (kind === 'list' && Array.isArray(value)) return value.join('\n')
  return kind === 'json' ? JSON.stringify(value, null, 2) : String(value)
}

/** An empty field removes the setting. Throws for text that is no JSON. */
export function readValue({ kind }: SettingField, text: string): unknown {
  if (!text.trim()) return null
  if (kind === 'number') return Number(text)
  if (kind === 'boolean') return text === 'true'
  if (kind === 'list')
    return text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
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

/** The groups of the screen by the first names of paths, in its order. The last one has the rest. */
const groups: readonly (readonly [group: string, names: readonly string[]])[] = [
  ['answers', ['model', 'agent', 'instructions', 'timezone']],
  ['safety', ['approvals', 'terminal', 'roles', 'tool_loop_guardrails']],
  ['conversations', ['compression', 'session_reset', 'sessions', 'busy_input_mode', 'prompt_caching', 'delegation']],
  ['learning', ['memory', 'learning', 'skills', 'search']],
  ['tools', ['toolsets', 'tools', 'plugins', 'web', 'browser', 'image', 'tts', 'stt', 'video']],
  ['limits', ['limits']],
]

export function groupFields(
  fields: readonly SettingField[],
): readonly (readonly [group: string, fields: readonly SettingField[]])[] {
  const groupOf = ({ path }: SettingField) =>
    groups.find(([, names]) => names.includes(path.split('.')[0] ?? ''))?.[0] ?? 'others'
  const grouped = Map.groupBy(fields, groupOf)
  return [...groups.map(([name]) => name), 'others'].flatMap((name) => {
    const found = grouped.get(name)
    return found ? [[name, found] as const] : []
  })
}
