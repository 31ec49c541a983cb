/**
 * Reads the questions that an MCP server asks people while one of its tools runs, refuses those that phish, and checks
 * the answers. A server is a stranger: its text is shown as its own, and it gets no secret.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { Continuation, Elicitation, ElicitationAnswer } from '#agent/core/pending-request.ts'
import { showHidden } from '#agent/core/visible-text.ts'

const maxMessageChars = 2_000
const maxFields = 30
const maxSchemaChars = 16 * 1024
const maxTextChars = 10_000
const maxUrlChars = 4_000

export type ReadElicitation =
  | { readonly elicitation: Elicitation; readonly question: string; readonly choices: readonly string[] }
  /** Nobody is asked. `reason` is for the log and the model. */
  | { readonly declined: string }

/** Reads the parameters of `elicitation/create`. */
export function readElicitation(server: string, params: JsonObject): ReadElicitation {
  const { mode = 'form', message = '', requestedSchema: schema, url } = params
  const said = showHidden(typeof message === 'string' ? message.slice(0, maxMessageChars) : '').trim()
  if (mode === 'url') return readUrl(server, url, said)
  if (mode !== 'form') return { declined: `its mode ${JSON.stringify(mode).slice(0, 40)} is not known` }
  const problem = findFormProblem(schema, said)
  if (problem !== undefined) return { declined: problem }
  const fields = listFields(schema as JsonObject)
  const shown = fields.map(describeField)
  return {
    elicitation: { server, message: said, mode: 'form', form: JSON.stringify(schema) },
    question: [
      `The MCP server ${server} asks: ${said}`,
      ...(shown.length ? [shown.join('\n'), explainForm(fields)] : []),
    ].join('\n\n'),
    choices: [...listChoices(fields), ...refusals],
  }
}

const visited = 'Done'
const refusals = ['Decline'] as const

function readUrl(server: string, given: unknown, said: string): ReadElicitation {
  const url = typeof given === 'string' && given.length <= maxUrlChars ? URL.parse(given) : null
  if (!url || url.protocol !== 'https:') return { declined: 'its page has no https address' }
  if (url.username || url.password) return { declined: 'the address of its page hides its host behind a name' }
  const { host, href } = url
  return {
    elicitation: { server, message: said, mode: 'url', url: href, host },
    question: `The MCP server ${server} asks you to visit a page on ${host}. Open it only if you know this host.\n\n${href}\n\n${said}`,
    choices: [visited, ...refusals],
  }
}

// Forms: a flat object of plain fields.

type Field = { readonly name: string; readonly schema: JsonObject; readonly isRequired: boolean }

function listFields({ properties, required }: JsonObject): readonly Field[] {
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  return Object.entries(isJsonObject(properties) ? properties : {}).flatMap(([name, schema]) =>
    isJsonObject(schema) ? [{ name, schema, isRequired: needed.includes(name) }] : [],
  )
}

/** Credentials and numbers that open an account. Harmless forms that mention them are declined too. */
const secretWords =
  /pass[\s_-]?(?:word|phrase|code)|passwd|\bpwd\b|secret|\btokens?\b|[_-]token|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key|credential|\b(?:pin|otp|cvv|cvc|ssn|iban)\b|one[\s_-]?time|two[\s_-]?factor|2fa|\bmfa\b|(?:card|account|social[\s_-]?security)[\s_-]?(?:number|no\b)|seed[\s_-]?phrase|recovery[\s_-]?(?:code|phrase|key)|mnemonic|passwort|kennwort|geheim/i

function findFormProblem(schema: unknown, said: string): string | undefined {
  if (!isJsonObject(schema) || schema['type'] !== 'object') return 'its form does not describe an object'
  if (JSON.stringify(schema).length > maxSchemaChars) return 'its form is larger than 16 KiB'
  const fields = listFields(schema)
  if (fields.length > maxFields) return `its form has more than ${maxFields} fields`
  const odd = fields.find((field) => kindOf(field.schema) === undefined)
  if (odd) return `its field ${JSON.stringify(odd.name)} is no plain value`
  // camelCase names are split, so that "apiKey" and "userPin" are found.
  const texts = [said, ...fields.flatMap(({ name, schema: field }) => [splitWords(name), ...textsOf(field)])]
  return texts.some((text) => secretWords.test(text)) ? 'it asks for a secret' : undefined
}

const splitWords = (name: string): string => name.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[_-]+/g, ' ')
const textsOf = ({ title, description, format }: JsonObject): readonly string[] =>
  [title, description, format].filter((text) => typeof text === 'string')

type Kind = 'string' | 'number' | 'integer' | 'boolean' | 'choice' | 'choices'

function kindOf(schema: JsonObject): Kind | undefined {
  const { type, items } = schema
  if (type === 'array') return isJsonObject(items) && optionsOf(items).length ? 'choices' : undefined
  if (optionsOf(schema).length) return 'choice'
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean' ? type : undefined
}

/** The values to choose from, in the forms that the revisions write. */
function optionsOf(schema: JsonObject): readonly string[] {
  const { enum: values } = schema
  if (Array.isArray(values)) return values.map(String).slice(0, 200)
  const list = schema['oneOf'] ?? schema['anyOf']
  if (!Array.isArray(list)) return []
  return list.flatMap((one) => (isJsonObject(one) && typeof one['const'] === 'string' ? [one['const']] : []))
}

function describeField({ name, schema, isRequired }: Field): string {
  const { title, description, items, default: preset } = schema
  const options = optionsOf(kindOf(schema) === 'choices' && isJsonObject(items) ? items : schema)
  const words = [title, description].filter((text) => typeof text === 'string' && text !== '')
  const facts = [
    ...(options.length ? [options.join(' | ')] : []),
    ...(isRequired ? [] : ['optional']),
    ...(preset === undefined ? [] : [`default: ${String(preset)}`]),
  ]
  return showHidden(`- ${[name, ...words].join(': ')}${facts.length ? ` (${facts.join('; ')})` : ''}`).slice(0, 500)
}

const explainForm = (fields: readonly Field[]): string =>
  fields.length === 1
    ? 'The next message is the answer. `decline` refuses it.'
    : 'Answer with one line for each field, such as `name: value`. `decline` refuses it.'

function listChoices(fields: readonly Field[]): readonly string[] {
  const [field] = fields
  if (!field) return ['Accept']
  if (fields.length > 1) return []
  if (kindOf(field.schema) === 'boolean') return ['true', 'false']
  return kindOf(field.schema) === 'choice' ? optionsOf(field.schema).slice(0, 20) : []
}

// Answers.

type ReadAnswer = { readonly answer: ElicitationAnswer } | { readonly error: string }

/** Reads an answer in words or fields. `error` says to a person what does not fit. */
export function readElicitationAnswer(
  elicitation: Elicitation,
  given: NonNullable<Continuation['answer']>,
): ReadAnswer {
  const action = 'text' in given ? readRefusal(given.text) : given.action
  if (action !== 'accept') return { answer: { action } }
  if (elicitation.mode === 'url') return readVisit(given)
  const fields = listFields(JSON.parse(elicitation.form) as JsonObject)
  return checkContent(fields, 'text' in given ? parseText(fields, given.text.trim()) : (given.content ?? {}))
}

function readRefusal(text: string): ElicitationAnswer['action'] {
  const [, word] = /^\s*\/?(decline|cancel)\.?\s*$/i.exec(text) ?? []
  return word === undefined ? 'accept' : word.toLowerCase() === 'cancel' ? 'cancel' : 'decline'
}

const readVisit = (given: NonNullable<Continuation['answer']>): ReadAnswer =>
  'action' in given || /^\s*(?:done|yes|accept|ok|ready|fertig)\.?\s*$/i.test(given.text)
    ? { answer: { action: 'accept' } }
    : { error: 'Write "done" when you have been there, or "decline".' }

function parseText(fields: readonly Field[], text: string): JsonObject {
  const [only] = fields
  if (!only) return {}
  const object = /^\s*\{/.test(text) ? tryParse(text) : undefined
  if (object) return object
  const lines = text.split('\n').flatMap((line) => {
    const at = line.search(/[:=]/)
    const name = line.slice(0, Math.max(0, at)).trim().replace(/^[-*]/, '').trim().toLowerCase()
    const field = fields.find((one) => one.name.toLowerCase() === name)
    return field ? [[field.name, line.slice(at + 1).trim()] as const] : []
  })
  if (lines.length) return Object.fromEntries(lines)
  return fields.length === 1 ? { [only.name]: text } : {}
}

function tryParse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function checkContent(fields: readonly Field[], content: JsonObject): ReadAnswer {
  const unknown = Object.keys(content).find((name) => !fields.some((field) => field.name === name))
  if (unknown !== undefined) return { error: `The form has no field ${JSON.stringify(unknown)}.` }
  const values: Record<string, unknown> = {}
  for (const field of fields) {
    const { name, schema, isRequired } = field
    const given = content[name] ?? schema['default']
    if (given === undefined || given === null || given === '') {
      if (isRequired) return { error: `The field ${JSON.stringify(name)} is missing.` }
      continue
    }
    const value = convert(kindOf(schema), given)
    const error = checkValue(schema, value)
    if (error !== undefined) return { error: `The field ${JSON.stringify(name)} ${error}.` }
    values[name] = value
  }
  return { answer: { action: 'accept', content: values } }
}

/** Texts become the type of their field. */
function convert(kind: Kind | undefined, given: unknown): unknown {
  if (typeof given !== 'string') return given
  const text = given.trim()
  if (kind === 'number' || kind === 'integer') return /^[-+]?[\d.]+(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : given
  if (kind === 'boolean') return /^(?:true|yes|y)$/i.test(text) ? true : /^(?:false|no|n)$/i.test(text) ? false : given
  return kind === 'choices' ? text.split(',').map((part) => part.trim()) : text
}

function checkValue(schema: JsonObject, value: unknown): string | undefined {
  switch (kindOf(schema)) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'number':
    case 'integer':
      return checkNumber(schema, value)
    case 'choice':
      return optionsOf(schema).includes(String(value)) ? undefined : `must be one of ${optionsOf(schema).join(', ')}`
    case 'choices':
      return checkChoices(schema, value)
    default:
      return checkText(schema, value)
  }
}

function checkNumber({ type, minimum, maximum }: JsonObject, value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number'
  if (type === 'integer' && !Number.isInteger(value)) return 'must be a whole number'
  if (typeof minimum === 'number' && value < minimum) return `must be at least ${minimum}`
  return typeof maximum === 'number' && value > maximum ? `must be at most ${maximum}` : undefined
}

function checkChoices({ items, minItems, maxItems }: JsonObject, value: unknown): string | undefined {
  const options = optionsOf(isJsonObject(items) ? items : {})
  if (!Array.isArray(value) || value.some((one) => !options.includes(String(one))))
    return `must be some of ${options.join(', ')}`
  if (typeof minItems === 'number' && value.length < minItems) return `needs at least ${minItems} of them`
  return typeof maxItems === 'number' && value.length > maxItems ? `takes at most ${maxItems} of them` : undefined
}

/** A pattern of a server is never compiled, because it may take for ever. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => /^[^\s@]{1,200}@[^\s@]{1,200}$/.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/.test(text),
  'date-time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i.test(text),
}

function checkText({ minLength, maxLength, format }: JsonObject, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a text'
  const { length } = value
  if (typeof minLength === 'number' && length < minLength) return `needs at least ${minLength} characters`
  const most = typeof maxLength === 'number' ? Math.min(maxLength, maxTextChars) : maxTextChars
  if (length > most) return `may have at most ${most} characters`
  const fits = typeof format === 'string' ? formats[format] : undefined
  return fits?.(value) === false ? `must be a valid ${String(format)}` : undefined
}
