/** Renders tools as typed functions, so that a program can look up what it may pass. */

import type { ProgramFunction } from '#agent/core/program.ts'

type Schema = {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** How a language writes types. */
type Dialect = {
  readonly names: Readonly<Record<string, string>>
  readonly any: string
  /** An object of unknown fields. */
  readonly record: string
  readonly list: (item: string) => string
  readonly literals: (values: readonly string[]) => string
  readonly object: (fields: readonly Field[]) => string
}
type Field = { readonly name: string; readonly type: string; readonly isRequired: boolean }

const typescript: Dialect = {
  names: { string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null' },
  any: 'unknown',
  record: 'object',
  list: (item) => `readonly (${item})[]`,
  literals: (values) => values.join(' | '),
  object: (fields) => `{ ${fields.map(renderField).join('; ')} }`,
}

const python: Dialect = {
  names: { string: 'str', number: 'float', integer: 'int', boolean: 'bool', null: 'None' },
  any: 'Any',
  record: 'dict',
  list: (item) => `list[${item}]`,
  literals: (values) => `Literal[${values.join(', ')}]`,
  object: () => 'dict',
}

const maxDepth = 4
const maxLiterals = 20
const identifier = /^[A-Za-z_]\w*$/

const renderField = ({ name, type, isRequired }: Field): string =>
  `${identifier.test(name) ? name : JSON.stringify(name)}${isRequired ? '' : '?'}: ${type}`

function renderType(schema: Schema, dialect: Dialect, depth = 0): string {
  if (depth > maxDepth || typeof schema !== 'object' || schema === null) return dialect.any
  const texts = listTexts(schema)
  if (texts) return dialect.literals(texts)
  const choices = listChoices(schema)
  if (choices) return join(choices.map((choice) => renderType(choice, dialect, depth + 1)))
  return renderNamed(schema, dialect, depth + 1)
}

/** The values of a schema that allows a few texts alone. */
function listTexts(schema: Schema): readonly string[] | undefined {
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const])
  const isShort = values.length > 0 && values.length <= maxLiterals
  if (!isShort || !values.every((value) => typeof value === 'string')) return undefined
  return values.map((value) => JSON.stringify(value))
}

function listChoices(schema: Schema): readonly Schema[] | undefined {
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return choices as readonly Schema[]
  return Array.isArray(schema.type) ? schema.type.map((type: unknown) => ({ ...schema, type })) : undefined
}

function renderNamed({ type, items, properties, required }: Schema, dialect: Dialect, depth: number): string {
  const { any, names, list, object, record } = dialect
  if (type === 'array') return list(items ? renderType(items, dialect, depth) : any)
  if (type !== 'object') return names[String(type)] ?? any
  return properties ? object(listFields({ properties, ...(required && { required }) }, dialect, depth)) : record
}

const join = (types: readonly string[]): string => [...new Set(types)].join(' | ') || 'never'

function listFields({ properties = {}, required = [] }: Schema, dialect: Dialect, depth: number): Field[] {
  const fields = Object.entries(properties).map(([name, schema]) => ({
    name,
    type: renderType(schema, dialect, depth),
    isRequired: required.includes(name),
  }))
  return fields.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired))
}

/** The declaration that `String(tool)` shows in a JavaScript program. */
export const renderTypescript = ({ name, inputSchema }: ProgramFunction): string =>
  `function ${name}(input: ${typescript.object(listFields(inputSchema, typescript, 0))}): Promise<object>`

const pythonKeywords = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
)
const isPythonName = (name: string): boolean => identifier.test(name) && !pythonKeywords.has(name) && name !== '_more'

/** Values of parameters whose names Python does not allow are given as `**{"name": value}`. */
export function renderPython({ name, description, inputSchema }: ProgramFunction): string {
  const fields = listFields(inputSchema, python, 0).filter((field) => isPythonName(field.name))
  const parameters = fields.map((field) => `${field.name}: ${field.type}${field.isRequired ? '' : ' = None'}`)
  const own = name.replaceAll(/\W/g, '_')
  return `def ${own}(${[...parameters, '**_more'].join(', ')}) -> dict:
    ${JSON.stringify(description)}
    return _call(${JSON.stringify(name)}, locals())
`
}

const maxChars = 65_536

/** The texts of the first tools, as many as a program can carry; it calls the others by their names. */
export function renderSome(
  tools: readonly ProgramFunction[],
  render: (tool: ProgramFunction) => string,
): readonly (string | undefined)[] {
  let chars = 0
  return tools.map((tool) => {
    const text = chars < maxChars ? render(tool) : ''
    chars += text.length
    return chars < maxChars ? text : undefined
  })
}
