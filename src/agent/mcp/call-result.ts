/** Turns the result of `tools/call`, `resources/read` or `prompts/get` into the result of a tool call. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import type { ImagePart, TextPart } from '#agent/core/message.ts'

export type CallResult = { readonly content: readonly (TextPart | ImagePart)[]; readonly failed: boolean }

const imageTypes: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
/** Characters of base64: the size that the workspace accepts for an image. */
const maxImageChars = 5_000_000
const maxImages = 8
/** Characters of base64 with the bytes that tell a format. */
const headChars = 32

/** `seesImages`: whether the model gets pictures. Fields of the protocol, such as `_meta`, are left out. */
export function convertResult(result: JsonObject, seesImages: boolean): CallResult {
  const blocks = readBlocks(result)
  if (!blocks) return failedCall(noContent)
  const shown = new Map(blocks.flatMap((block) => readImage(block)).slice(0, seesImages ? maxImages : 0))
  const images = [...shown.values()]
  const text = blocks.map((block) => renderBlock(block, shown.has(block))).join('\n')
  const structured = result['structuredContent']
  if ((result['isError'] ?? false) !== false)
    return toResult({ error: text || 'The tool failed and gave no reason.' }, [], true)
  return toResult({ result: text, ...(structured !== undefined && { structuredContent: structured }) }, images, false)
}

const noContent =
  'The server answered, and its answer has no content. The call may have taken effect: check before you repeat it.'

/** Servers that are written by hand send a text, or one block. Undefined: it is no result of a tool. */
function readBlocks({ content, structuredContent }: JsonObject): readonly JsonObject[] | undefined {
  if (content === undefined || content === null) return structuredContent === undefined ? undefined : []
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content]
  return blocks.map((block) => (typeof block === 'string' ? { type: 'text', text: block } : block)).filter(isJsonObject)
}

export const failedCall = (error: string, details: JsonObject = {}): CallResult =>
  toResult({ error, ...details }, [], true)

const toResult = (answer: JsonObject, images: readonly ImagePart[], failed: boolean): CallResult => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }, ...images],
  failed,
})

/** A picture that is none would have a provider refuse the request. Its bytes decide. */
function readImage(block: JsonObject): readonly (readonly [JsonObject, ImagePart])[] {
  const { type, data } = block
  if (type !== 'image' || typeof data !== 'string' || data.length > maxImageChars) return []
  const plain = data.replace(/\s+/g, '')
  if (plain.length < headChars || !/^[A-Za-z0-9+/]+={0,2}$/.test(plain)) return []
  const mediaType = detectMediaType(decodeBase64Bytes(plain.slice(0, headChars)))?.mime ?? ''
  return imageTypes.has(mediaType) ? [[block, { type: 'image', mediaType, data: plain }]] : []
}

function renderBlock(block: JsonObject, isShown: boolean): string {
  const { type, text, data, mimeType, uri, name, resource } = block
  const chars = typeof data === 'string' ? data.length : 0
  const mime = typeof mimeType === 'string' ? mimeType : 'unknown type'
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text : ''
    case 'image':
      return `[image, ${mime}, ${bytesOf(chars)} bytes${isShown ? '' : ', not shown'}]`
    case 'audio':
      return `[audio, ${mime}, ${bytesOf(chars)} bytes, not shown]`
    case 'resource_link':
      return `[resource ${[name, uri].filter((part) => typeof part === 'string').join(' ')}]`
    case 'resource':
      return isJsonObject(resource) ? renderResource(resource) : ''
    default:
      return `[content of the unknown type ${typeof type === 'string' ? type : typeof type}]`
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
