/** Turns the result of `tools/call`, `resources/read` or `prompts/get` into the result of a tool call. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { ImagePart, TextPart } from '#agent/core/message.ts'

export type CallResult = { readonly content: readonly (TextPart | ImagePart)[]; readonly failed: boolean }

const imageTypes: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** Characters of base64: the size that the workspace accepts for an image. */
const maxImageChars = 5_000_000
const maxImages = 8

/** `seesImages`: whether the model gets pictures. Fields of the protocol, such as `_meta`, are left out. */
export function convertResult(result: JsonObject, seesImages: boolean): CallResult {
  const blocks = Array.isArray(result['content']) ? result['content'].filter(isJsonObject) : []
  const images = seesImages ? blocks.flatMap(readImage).slice(0, maxImages) : []
  const text = blocks.map((block) => renderBlock(block, images.length > 0)).join('\n')
  const structured = result['structuredContent']
  if (result['isError'] === true) return toResult({ error: text || 'The tool failed and gave no reason.' }, [], true)
  return toResult({ result: text, ...(structured !== undefined && { structuredContent: structured }) }, images, false)
}

export const failedCall = (error: string, details: JsonObject = {}): CallResult =>
  toResult({ error, ...details }, [], true)

const toResult = (answer: JsonObject, images: readonly ImagePart[], failed: boolean): CallResult => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }, ...images],
  failed,
})

function readImage({ type, data, mimeType }: JsonObject): readonly ImagePart[] {
  const isShown =
    type === 'image' && typeof data === 'string' && data.length <= maxImageChars && imageTypes.has(mimeType)
  return isShown ? [{ type: 'image', mediaType: String(mimeType), data }] : []
}

function renderBlock(block: JsonObject, hasImages: boolean): string {
  const { type, text, data, mimeType, uri, name, resource } = block
  const chars = typeof data === 'string' ? data.length : 0
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : ''
    case 'image':
      return `[image, ${String(mimeType)}, ${bytesOf(chars)} bytes${hasImages ? '' : ', not shown'}]`
    case 'audio':
      return `[audio, ${String(mimeType)}, ${bytesOf(chars)} bytes, not shown]`
    case 'resource_link':
      return `[resource ${String(name ?? '')} ${String(uri)}]`
    case 'resource':
      return isJsonObject(resource) ? renderResource(resource) : ''
    default:
      return `[content of the unknown type ${String(type)}]`
  }
}

const bytesOf = (chars: number): number => Math.floor((chars * 3) / 4)

export function renderResource({ uri, text, blob, mimeType }: JsonObject): string {
  if (typeof text === 'string') return text
  const chars = typeof blob === 'string' ? blob.length : 0
  return `[resource ${String(uri)}, ${String(mimeType ?? 'unknown type')}, ${bytesOf(chars)} bytes, not shown]`
}

/**
 * Checks the arguments of a call against the outermost level of a foreign schema: required fields and plain types. Deeper
 * levels are for the server, because a foreign schema may not be compiled without bounds.
 */
export function checkArguments(schema: JsonObject, input: JsonObject): string | undefined {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  const missing = required.filter((name) => typeof name === 'string' && input[name] === undefined)
  if (missing.length) return `missing: ${missing.join(', ')}`
  for (const [name, value] of Object.entries(input)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const type = isJsonObject(property) ? property['type'] : undefined
    if (typeof type === 'string' && !hasType(value, type)) return `"${name}" must be of the type ${type}`
    if (property === undefined && schema['additionalProperties'] === false) return `there is no parameter "${name}"`
  }
  return undefined
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return typeof value === type
    case 'integer':
      return Number.isInteger(value)
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    case 'null':
      return value === null
    default:
      return true
  }
}
