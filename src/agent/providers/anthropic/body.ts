/**
 * The body of a request to the Messages API. What stays the same from call to call stands first, byte for
 * byte; marks for the cache stand at the end of the tools, of the system, and in the last messages.
 */

import type { ModelRequest, Quirks, ToolSchema } from '../../model/dialect.ts'
import type { Message } from '../../model/message.ts'
import { type Marks, alternatingBody } from '../shared/alternating-body.ts'
import { writerFor } from './blocks.ts'
import { optionsOf, takesThinking } from './options.ts'
import { fewerImages, type ImageLimits, widest } from '../shared/image-limits.ts'
import { wholeJson } from '../shared/json.ts'
import { behind, namesOfCalls, plain } from '../shared/request-parts.ts'
import { sanitiseGrowing } from '../shared/sanitise.ts'
import { wellFormed } from '../shared/well-formed.ts'

type Mark = (json: string) => string

/** https://platform.claude.com/docs/en/build-with-claude/vision: windows of 200 000 tokens take no more than a hundred. */
const imageLimits: ImageLimits = { count: 100, side: widest, crowd: { count: 20, side: 2_000 } }

/** `by`: who will read it, as `sealerOf` says. */
export function bodyOf(request: ModelRequest, quirks: Quirks = {}, by = 'anthropic'): Uint8Array {
  const clean = fewerImages(sanitiseGrowing(request.transcript), imageLimits)
  const mark = request.cache && quirks.cacheMarks !== 'none' ? markOf(request.cache) : undefined
  const options = optionsOf(request, quirks, clean, by)
  const head = headOf(request, { ...options, ...quirks.body }, clean, mark)
  // Four marks are allowed: where there are no tools, one more message has its own.
  const marks: Marks | undefined = mark && { mark, count: request.tools.length ? 2 : 3 }
  const writer = writerFor(request.repairs, takesThinking(request.model, quirks, options) ? by : undefined)
  return alternatingBody({ head, foot: ']}', clean, behind: behind(request), marks }, writer)
}

const markOf =
  (ttl: '5m' | '1h'): Mark =>
  (json) =>
    `${json.slice(0, -1)},"cache_control":{"type":"ephemeral"${ttl === '1h' ? ',"ttl":"1h"' : ''}}}`

const unmarked: Mark = (json) => json

/** Up to the first message. */
function headOf(request: ModelRequest, options: object, clean: readonly Message[], mark: Mark = unmarked): string {
  const { model, system } = request
  const text = wellFormed(system)
  const opening = /\S/.test(text) ? `,"system":[${mark(JSON.stringify({ type: 'text', text }))}]` : ''
  const beginning = JSON.stringify({ model, stream: true, ...options }).slice(0, -1)
  return `${beginning}${toolsOf(request, clean, mark)}${opening},"messages":[`
}

function toolsOf({ tools, repairs }: ModelRequest, clean: readonly Message[], mark: Mark): string {
  const schema = repairs?.schemas ? plainSchemaOf : schemaOf
  if (tools.length) {
    const written = tools.map(schema)
    return `,"tools":[${written.map((json, at) => (at === written.length - 1 ? mark(json) : json)).join(',')}]`
  }
  // Calls that were made must be known to the provider, also when none may be made any more.
  const known = namesOfCalls(clean).map((name) => ({ name, description: '', inputSchema: { type: 'object' } }))
  return known.length ? `,"tools":[${known.map(schema).join(',')}],"tool_choice":{"type":"none"}` : ''
}

const schemas = new WeakMap<object, string>()

function schemaOf(tool: ToolSchema): string {
  let json = schemas.get(tool)
  if (json === undefined) schemas.set(tool, (json = wholeJson(asTool(tool))))
  return json
}

const plainSchemaOf = (tool: ToolSchema): string => wholeJson(asTool({ ...tool, inputSchema: plain(tool.inputSchema) }))

const asTool = ({ name, description, inputSchema }: ToolSchema) => ({
  name,
  ...(description && { description }),
  input_schema: inputSchema,
})
