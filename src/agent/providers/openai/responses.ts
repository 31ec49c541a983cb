/**
 * Dialect `openai-responses`: the Responses API, streamed, on the official SDK, without anything being kept at
 * the provider: every request carries the whole conversation, its reasoning encrypted. As in `openai-chat`
 * the body is put together here, because a long turn sends the same beginning hundreds of times.
 */

import { Bounded } from '../../model/bounded.ts'
import { cancelled } from '../shared/abort-error.ts'
import type OpenAI from 'openai'
import type { Dialect, ModelRequest, Quirks, ToolSchema } from '../../model/dialect.ts'
import type { Message } from '../../model/message.ts'
import type { Repairs } from '../../model/turn.ts'
import { cacheKey } from '../shared/prompt-cache-key.ts'
import { clampEffort } from '../shared/effort.ts'
import { GrowingBytes } from '../shared/utf8-builder.ts'
import { clientFor } from './client.ts'
import { itemsOf } from './responses-input.ts'
import { readResponse } from './responses-stream.ts'
import { behind, plain } from '../shared/request-parts.ts'
import { sanitiseGrowing, withMore } from '../shared/sanitise.ts'
import { wellFormed } from '../shared/well-formed.ts'

export const openaiResponses: Dialect = {
  async call(request, endpoint, { signal, ...listening }) {
    const host = URL.parse(endpoint.baseUrl)?.hostname
    const response = await clientFor(endpoint)
      .post('/responses', {
        body: responsesBody(request, endpoint.quirks, host),
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        stream: true,
        signal,
      })
      .asResponse()
      .catch(cancelled(signal))
    return readResponse(response, listening, host)
  },
}

type Body = Omit<OpenAI.Responses.ResponseCreateParamsStreaming, 'input' | 'tools'>

/**
 * The request as JSON, in UTF-8. Everything that stays the same from call to call stands first, byte for
 * byte, and of a transcript that grows only what is new is rendered and encoded.
 */
export function responsesBody(request: ModelRequest, quirks: Quirks = {}, host?: string): Uint8Array {
  const { transcript, repairs } = request
  const clean = sanitiseGrowing(transcript)
  const write = writerOf(repairs, host)
  const opening = openingOf(request.system, quirks)
  const kept = keptOf(`${headOf(request, quirks, clean[0])},"input":[${opening}`, opening !== '', clean, write)
  const end = withMore(clean.slice(-1), behind(request)).map(write).join('')
  return kept.bytes.with(`${kept.isBegun ? end : end.slice(1)}]}`)
}

/** All but the input, still open at its end. */
function headOf(request: ModelRequest, quirks: Quirks, first: Message | undefined): string {
  const { model, system, tools, repairs } = request
  const head: Body = {
    model,
    stream: true,
    store: false,
    ...optionsOf(request, quirks),
    ...(quirks.cacheMarks !== 'none' && { prompt_cache_key: cacheKey(system, first) }),
    ...(system && !quirks.systemRole && { instructions: wellFormed(system) }),
    ...quirks.body,
  }
  const schemas = tools.length ? `,"tools":[${tools.map(repairs?.schemas ? plainSchema : schemaOf).join(',')}]` : ''
  return `${JSON.stringify(head).slice(0, -1)}${schemas}`
}

function optionsOf(request: ModelRequest, quirks: Quirks): Partial<Body> {
  const { repairs, maxTokens = quirks.defaultMaxTokens } = request
  const temperature = temperatureOf(request, quirks)
  const isSealed = quirks.reasoning !== 'none' && repairs?.thinking === undefined
  return {
    ...(isSealed && { include: ['reasoning.encrypted_content'] }),
    ...reasoningOf(request, quirks),
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(fewestTokens, maxTokens) }),
    ...(temperature !== undefined && { temperature }),
  }
}

/** The API refuses less. */
const fewestTokens = 16

function temperatureOf({ temperature }: ModelRequest, quirks: Quirks): number | undefined {
  if (temperature === undefined || quirks.temperature === 'omitted') return undefined
  return quirks.temperature ?? temperature
}

/**
 * A summary is asked for where the model is known to think, or where somebody says how hard it shall; not where
 * thinking is left out: accounts that are not verified get no summaries, and refuse the request for one.
 */
function reasoningOf({ reasoningEffort, repairs }: ModelRequest, quirks: Quirks): Pick<Body, 'reasoning'> {
  if (quirks.reasoning === 'none' || (reasoningEffort === undefined && quirks.reasoning === undefined)) return {}
  const effort = clampEffort(reasoningEffort, quirks.efforts) as OpenAI.ReasoningEffort | undefined
  const reasoning = { ...(effort && { effort }), ...(!repairs?.thinking && { summary: 'auto' as const }) }
  return Object.keys(reasoning).length ? { reasoning } : {}
}

/** The system text stands in `instructions`, unless a server wants it as a message. */
const openingOf = (system: string, { systemRole }: Quirks): string =>
  systemRole && system ? JSON.stringify({ type: 'message', role: systemRole, content: wellFormed(system) }) : ''

type Write = (message: Message) => string
type Kept = {
  readonly start: string
  readonly write: Write
  readonly bytes: GrowingBytes
  upTo: number
  /** The next item needs its comma. */
  isBegun: boolean
}
const keptInputs = new WeakMap<readonly Message[], Kept>()

/** Everything before the last message: that does not change any more. */
function keptOf(start: string, isBegun: boolean, clean: readonly Message[], write: Write): Kept {
  let kept = keptInputs.get(clean)
  if (kept?.start !== start || kept.write !== write || kept.upTo >= clean.length) {
    kept = { start, write, bytes: new GrowingBytes(), upTo: 0, isBegun }
    kept.bytes.append(start)
    keptInputs.set(clean, kept)
  }
  for (; kept.upTo < clean.length - 1; kept.upTo++) {
    const items = write(clean[kept.upTo] as Message)
    kept.bytes.append(kept.isBegun ? items : items.slice(1))
    kept.isBegun ||= items !== ''
  }
  return kept
}

const writers = new Bounded<string, Write>(200)

/** Every item with a comma before it. One function for each way of rendering, so that it names what is kept. */
function writerOf({ images, thinking, toolContent }: Repairs = {}, host?: string): Write {
  const name = [images, thinking, toolContent, host].join()
  let write = writers.get(name)
  if (!write) {
    const repairs: Repairs = {
      ...(images && { images }),
      ...(thinking && { thinking }),
      ...(toolContent && { toolContent }),
    }
    write = (message) =>
      itemsOf(message, repairs, host)
        .map((item) => `,${JSON.stringify(item)}`)
        .join('')
    writers.set(name, write)
  }
  return write
}

const toolTexts = new WeakMap<object, string>()

function schemaOf(tool: ToolSchema): string {
  let text = toolTexts.get(tool)
  if (text === undefined) toolTexts.set(tool, (text = JSON.stringify(toolOf(tool))))
  return text
}

const plainSchema = (tool: ToolSchema): string =>
  JSON.stringify(toolOf({ ...tool, inputSchema: plain(tool.inputSchema) }))

/** Strict schemas forbid what ours allow: fields that may be absent. */
const toolOf = ({ name, description, inputSchema }: ToolSchema): OpenAI.Responses.FunctionTool => ({
  type: 'function',
  name,
  description,
  parameters: inputSchema as Record<string, unknown>,
  strict: false,
})
