/** Parses the arguments of a tool call. It repairs careless JSON, and never completes truncated JSON. */

import type { ToolCallPart } from '#agent/core/message.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { isTooDeeplyNested } from './nesting.ts'
import { parseLenientJson } from './lenient-json.ts'
import { stringifyWellFormed } from './well-formed.ts'

/** `raw` and `json`: the original text, when it is no object of JSON, or JSON that differs from that of the input. */
export type CallArguments = { readonly input: unknown; readonly raw?: string; readonly json?: string }

export function parseCallArguments(text: string): CallArguments {
  const trimmed = text.trim()
  if (nothing.test(trimmed)) return { input: {} }
  const valid = parseJson(trimmed)
  if (isJsonObject(valid) && !isTooDeeplyNested(valid)) {
    // A byte order mark before the object is white space here, and no JSON for a client.
    const json = text.startsWith('\ufeff') ? trimmed : text
    return { input: valid, ...(JSON.stringify(valid) !== json && { json }) }
  }
  const input = parseObject(trimmed) ?? parseObject(unwrap(trimmed))
  return input && !isTooDeeplyNested(input) ? { input } : { input: {}, raw: text }
}

/** Servers and models write these for a call without arguments. */
const nothing = /^(?:null|None|undefined|""|\[\])?$/

function parseObject(text: string | undefined): object | undefined {
  if (text === undefined) return undefined
  const isEnded = /[}\]]$/.test(text)
  const value = parseJson(text) ?? (isEnded ? (parseRepeated(text) ?? parseLenientJson(text)) : undefined)
  return isJsonObject(value) ? value : undefined
}

/** An object that was stringified too often: some models do it twice. */
const maxStringLevels = 3
/** A fence around the whole text. */
const fenceStart = /^(?:```|~~~)[\w-]{0,20}\s*/
/** Tags and special tokens of chat templates, before or behind the object. */
const tag = String.raw`(?:<\/?[\w:-]{1,40}>|<[|｜][\w▁-]{1,40}[|｜]>|\[\/?[A-Z_]{1,20}\])`
const tagsBefore = new RegExp(`^(?:${tag}\\s*){1,4}`)
const tagsBehind = new RegExp(`(?<=[}\\]\`~]\\s*)(?:${tag}\\s*){1,4}$`)
/** The text behind an object in which tags are looked for, so that the time is bounded. */
const maxTagChars = 200

/** Returns the object's text without the string, the fence or the tags around it; undefined when nothing is around it. */
function unwrap(text: string): string | undefined {
  let inner = text
  for (let level = 0; level < maxStringLevels && inner.startsWith('"'); level++) {
    const value = parseJson(inner)
    if (typeof value !== 'string') break
    inner = value.trim()
  }
  const tail = inner.slice(-maxTagChars)
  inner = inner.slice(0, -maxTagChars) + tail.replace(tagsBehind, '').trimEnd()
  inner = inner.replace(tagsBefore, '').replace(fenceStart, '')
  if (/(?:```|~~~)$/.test(inner)) inner = inner.slice(0, -3).trimEnd()
  const listed = inner.startsWith('[') ? parseJson(inner) : undefined
  if (Array.isArray(listed) && listed.length === 1) inner = inner.slice(1, -1).trim()
  return inner !== text && inner.startsWith('{') ? inner : undefined
}

const isJsonObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses equal objects in a row, and empty ones before them. Different objects are not guessed at. */
function parseRepeated(text: string): object | undefined {
  const objects = splitObjects(text)?.map(parseJson)
  const texts = objects?.map((object) => JSON.stringify(object))
  const distinct = [...new Set(texts)].filter((json) => json !== '{}')
  const at = distinct.length === 1 ? texts?.indexOf(distinct[0] ?? '') : undefined
  const object = at === undefined ? undefined : objects?.[at]
  return isJsonObject(object) ? object : undefined
}

/** A string, a brace, or what is between them. No part of a text is read twice. */
const jsonToken = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}]|[^"{}]+/sy

/** Splits a text of two or more objects with nothing between them. */
function splitObjects(text: string): readonly string[] | undefined {
  const objects: string[] = []
  let [depth, start] = [0, 0]
  for (let at = 0; at < text.length;) {
    jsonToken.lastIndex = at
    const [token] = jsonToken.exec(text) ?? []
    if (token === undefined || (depth === 0 && /[^{\s]/.test(token))) return undefined
    if (token === '{' && depth++ === 0) start = at
    at += token.length
    if (token === '}' && --depth === 0) objects.push(text.slice(start, at))
  }
  return depth === 0 && objects.length > 1 ? objects : undefined
}

type WrittenArguments = Pick<ToolCallPart, 'input' | 'json' | 'raw'>

/**
 * Renders the arguments of a call as JSON for a provider: as they were written, unless they are no JSON or hold lone
 * surrogates, which providers refuse.
 */
export function renderCallArguments({ input, json, raw }: WrittenArguments): string {
  if (raw !== undefined) return '{}'
  const rendered = stringifyWellFormed(input)
  return json === undefined || rendered !== JSON.stringify(input) ? rendered : json
}

/** Returns the input with its numbers as they were written, for requests that hold the arguments as an object. */
export function renderCallInput({ input, json }: WrittenArguments): object {
  if (!isJsonObject(input)) return {}
  return json === undefined ? input : (JSON.parse(json, keepNumber as Reviver) as object)
}

type Reviver = (key: string, value: unknown) => unknown

/** 1234567890123456789 and 1e400 are not the numbers of JavaScript that they are parsed to. */
const keepNumber = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown =>
  typeof value === 'number' && source !== undefined && String(value) !== source
    ? (JSON as unknown as { readonly rawJSON: (text: string) => object }).rawJSON(source)
    : value
