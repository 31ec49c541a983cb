/**
 * Dialect `workers-ai`: models behind the `AI` binding, without a key and without a request over the network
 * of ours. The binding takes objects, so nothing is kept as bytes here; renderings are kept by message.
 */

import type { Dialect, ModelRequest, Quirks, ToolSchema } from '../../model/dialect.ts'
import type { Message } from '../../model/message.ts'
import { cacheKey } from '../shared/prompt-cache-key.ts'
import { clampEffort } from '../shared/effort.ts'
import { readChat } from '../openai/chat-stream.ts'
import { behind, plain } from '../shared/request-parts.ts'
import { sanitiseGrowing, withMore } from '../shared/sanitise.ts'
import { wellFormed } from '../shared/well-formed.ts'
import { workersAiFailure } from './binding-error.ts'
import { type ChatMessage, chatMessage } from './messages.ts'
import { chunkReader, wholeAnswer } from './stream.ts'
import { isAbort } from '../shared/abort-error.ts'

/** What we need of the binding. */
export type AiBinding = {
  readonly run: (model: string, inputs: Readonly<Record<string, unknown>>, options: RunOptions) => Promise<unknown>
}
type RunOptions = {
  readonly gateway?: Gateway
  readonly extraHeaders?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}
export type Gateway = { readonly id: string; readonly [option: string]: unknown }

/** `gateway`: the AI Gateway that calls go through, unless the quirks of a model name another. */
export const workersAi = (ai: AiBinding, gateway?: string): Dialect => ({
  async call(request, { quirks = {}, headers }, { signal, ...listening }) {
    const inputs = workersAiInputs(request, quirks)
    const limit = inputs[tokensField(quirks)]
    const options: RunOptions = { ...optionsOf(request, quirks, gateway), signal }
    const answer = await firstOf(
      signal,
      ai.run(request.model, inputs, {
        ...options,
        extraHeaders: { ...headers, ...options.extraHeaders },
      }),
    ).catch((error: unknown) => {
      throw isAbort(error) ? error : workersAiFailure(error)
    })
    if (!(answer instanceof ReadableStream)) return readChat(Response.json(wholeAnswer(answer)), listening)
    const read = chunkReader(typeof limit === 'number' ? limit : undefined)
    return readChat(new Response(abortable(answer as ReadableStream<Uint8Array>, signal)), listening, read)
  },
})

/** Unless a number is asked for, many models stop after 256 tokens. */
const tokensAskedFor = 4_096

const tokensField = ({ maxTokensField }: Quirks) => maxTokensField ?? 'max_tokens'

export function workersAiInputs(request: ModelRequest, quirks: Quirks = {}): Readonly<Record<string, unknown>> {
  const { tools, repairs, maxTokens = quirks.defaultMaxTokens ?? tokensAskedFor } = request
  const { gateway: _gateway, ...body } = quirks.body ?? {}
  return {
    ...(tools.length && { tools: tools.map(repairs?.schemas ? plainTool : toolOf) }),
    stream: true,
    [tokensField(quirks)]: maxTokens,
    ...temperatureOf(request, quirks),
    ...effortOf(request, quirks),
    ...body,
    messages: messagesOf(request),
  }
}

function temperatureOf({ temperature }: ModelRequest, quirks: Quirks): object {
  if (temperature === undefined || quirks.temperature === 'omitted') return {}
  return { temperature: quirks.temperature ?? temperature }
}

/** What the binding documents for models that think. */
const usualEfforts = ['low', 'medium', 'high']

function effortOf({ reasoningEffort }: ModelRequest, { reasoning, efforts = usualEfforts }: Quirks): object {
  if (reasoningEffort === undefined || reasoning === 'none') return {}
  return { reasoning_effort: clampEffort(reasoningEffort, efforts) }
}

const rendered = new WeakMap<Message, ChatMessage>()

function messagesOf(request: ModelRequest): readonly ChatMessage[] {
  const { system, transcript, repairs } = request
  const clean = withMore(sanitiseGrowing(transcript), behind(request))
  const messages = clean.map((message) => {
    if (repairs?.images) return chatMessage(message, true)
    let known = rendered.get(message)
    if (!known) rendered.set(message, (known = chatMessage(message)))
    return known
  })
  return system ? [{ role: 'system', content: wellFormed(system) }, ...messages] : messages
}

const toolOf = ({ name, description, inputSchema }: ToolSchema) => ({
  type: 'function',
  function: { name, description, parameters: inputSchema },
})

const plainTool = (tool: ToolSchema) => toolOf({ ...tool, inputSchema: plain(tool.inputSchema) })

/** Requests of one conversation go to the instance that still has its beginning. */
function optionsOf({ system, transcript }: ModelRequest, { body, cacheMarks }: Quirks, usual?: string): RunOptions {
  const gateway = gatewayOf(body?.['gateway']) ?? gatewayOf(usual)
  return {
    ...(gateway && { gateway }),
    ...(cacheMarks !== 'none' && { extraHeaders: { 'x-session-affinity': cacheKey(system, transcript[0]) } }),
  }
}

function gatewayOf(said: unknown): Gateway | undefined {
  if (typeof said === 'string') return said.trim() ? { id: said.trim() } : undefined
  return typeof said === 'object' && said !== null && 'id' in said ? (said as Gateway) : undefined
}

/** The binding may not know how to give up a call; then nobody waits for what still comes. */
async function firstOf<T>(signal: AbortSignal, running: Promise<T>): Promise<T> {
  let giveUp: (() => void) | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(abortion())
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp)
  })
  try {
    return await Promise.race([running, aborted])
  } catch (error) {
    if (signal.aborted) void running.then(discard, () => undefined)
    throw signal.aborted ? abortion() : error
  } finally {
    if (giveUp) signal.removeEventListener('abort', giveUp)
  }
}

const abortion = (): Error => Object.assign(new Error('The call was given up.'), { name: 'AbortError' })

function discard(answer: unknown): void {
  if (answer instanceof ReadableStream) void answer.cancel().catch(() => undefined)
}

/** The same bytes, until the call is given up. */
function abortable(stream: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  const leave = (reason: unknown) => void reader.cancel(reason).catch(() => undefined)
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const giveUp = () => {
        const reason = abortion()
        controller.error(reason)
        leave(reason)
      }
      if (signal.aborted) giveUp()
      else signal.addEventListener('abort', giveUp, { once: true })
    },
    async pull(controller) {
      const { done, value } = await reader.read()
      if (signal.aborted) return
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: leave,
  })
}
