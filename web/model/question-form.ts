/** Reads the form that an MCP server asks people to fill in, and turns what was written into the answer. */

export type FormField = {
  readonly name: string
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices'
  /** The type of the field of the browser. */
  readonly type: FieldType
  /** The value that is sent, and the words that are shown for it. */
  readonly options: readonly (readonly [value: string, shown: string])[]
  readonly limits: Readonly<Record<string, number | undefined>>
  readonly step: string
  readonly initial: FieldValue
}
type FieldType = 'text' | 'number' | 'email' | 'url' | 'date' | 'datetime-local'
export type FieldValue = string | boolean | readonly string[]
export type FormValues = Readonly<Record<string, FieldValue>>

type Json = Readonly<Record<string, unknown>>
const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)

/** The server that runs the agent has checked that the form is a flat object of plain fields. */
export function readForm(schema: Json): readonly FormField[] {
  const needed: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(isJson(schema['properties']) ? schema['properties'] : {}).flatMap(([name, field]) =>
    isJson(field) ? [readField(name, field, needed.includes(name))] : [],
  )
}

const types: Readonly<Record<string, FieldType>> = {
  email: 'email',
  uri: 'url',
  date: 'date',
  'date-time': 'datetime-local',
}

function readField(name: string, schema: Json, isRequired: boolean): FormField {
  const { title, description, type, format, items } = schema
  const kind = kindOf(schema)
  return {
    name,
    label: textOf(title) || name,
    description: textOf(description),
    isRequired,
    kind,
    type: kind === 'number' ? 'number' : (types[textOf(format)] ?? 'text'),
    options: listOptions(kind === 'choices' && isJson(items) ? items : schema),
    limits: {
      min: numberOf(schema['minimum']),
      max: numberOf(schema['maximum']),
      minLength: numberOf(schema['minLength']),
      maxLength: numberOf(schema['maxLength']),
    },
    step: type === 'integer' ? '1' : 'any',
    initial: initialOf(kind, schema['default'], textOf(format)),
  }
}

function kindOf(schema: Json): FormField['kind'] {
  const { type } = schema
  if (type === 'array') return 'choices'
  if (listOptions(schema).length) return 'choice'
  if (type === 'boolean') return 'boolean'
  return type === 'number' || type === 'integer' ? 'number' : 'text'
}

/** The choices in the forms that the revisions of MCP write. */
function listOptions({ enum: values, enumNames: names, oneOf, anyOf }: Json): FormField['options'] {
  if (Array.isArray(values))
    return values.map((value, at) => [String(value), textOf(Array.isArray(names) ? names[at] : '') || String(value)])
  const list = oneOf ?? anyOf
  if (!Array.isArray(list)) return []
  return list.flatMap((one: unknown) => {
    const value = isJson(one) ? textOf(one['const']) : ''
    return value && isJson(one) ? [[value, textOf(one['title']) || value] as const] : []
  })
}

function initialOf(kind: FormField['kind'], preset: unknown, format: string): FieldValue {
  if (kind === 'boolean') return preset === true
  if (kind === 'choices') return Array.isArray(preset) ? preset.map(String) : []
  if (preset === undefined || preset === null) return ''
  return format === 'date-time' ? toLocalTime(String(preset)) : String(preset)
}

const pad = (value: number): string => String(value).padStart(2, '0')

/** As fields of the browser write a time. */
function toLocalTime(text: string): string {
  const at = new Date(text)
  if (Number.isNaN(at.getTime())) return ''
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}`
}

export const initialValues = (fields: readonly FormField[]): FormValues =>
  Object.fromEntries(fields.map(({ name, initial }) => [name, initial]))

/** The answer. An empty field is left out, or sent as it is when it replaces a default. */
export function contentOf(fields: readonly FormField[], values: FormValues): Readonly<Record<string, unknown>> {
  const written = fields.map((field) => [field.name, valueOf(field, values[field.name] ?? field.initial)] as const)
  return Object.fromEntries(written.filter(([, value]) => value !== undefined))
}

function valueOf({ kind, type, initial, isRequired }: FormField, value: FieldValue): unknown {
  if (typeof value === 'boolean') return value
  const isPreset = typeof initial !== 'boolean' && initial.length > 0
  if (typeof value !== 'string') return value.length || isRequired || isPreset ? value : undefined
  const text = value.trim()
  if (!text) return isPreset ? '' : undefined
  if (kind === 'number') return Number(text)
  return type === 'datetime-local' ? new Date(text).toISOString() : text
}
