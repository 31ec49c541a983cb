/** Parses the arguments of a tool call. It repairs careless JSON, and never completes truncated JSON. */

import { parseJson } from '#agent/core/parse-json.ts'
import { isTooDeeplyNested } from './nesting.ts'
import { parseLenientJson } from './lenient-json.ts'

/** `raw`: the original text, when it is not a valid arguments object. */
export type CallArguments = { readonly input: unknown } | { readonly input: unknown; readonly raw: string }

export function parseCallArguments(text: string): CallArguments {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed === 'null' || trimmed === 'None') return { input: {} }
  const isEnded = /[}\]]$/.test(trimmed)
  const input = parseJson(trimmed) ?? (isEnded ? (parseRepeated(trimmed) ?? parseLenientJson(trimmed)) : undefined)
  return isJsonObject(input) && !isTooDeeplyNested(input) ? { input } : { input: {}, raw: text }
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
