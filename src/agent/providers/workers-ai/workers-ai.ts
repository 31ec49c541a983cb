/**
 * Implements the dialect `workers-ai`: models behind the `AI` binding, which needs no key and no HTTP request. The binding
 * takes objects, so rendered messages are cached instead of bytes.
 */

import type { Dialect, ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import type { Message } from '#agent/core/message.ts'
import { derivePromptCacheKey } from '../shared/prompt-cache-key.ts'
import type { AnswerFormat, ModelParameters } from '#agent/core/request/model-parameters.ts'
import { renderSamplingFields, renderToolRules } from '../openai/sampling-fields.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { clampEffort } from '../shared/effort.ts'
import { readChatStream } from '../openai/chat-stream.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { sanitiseIncrementally, appendMessages } from '../shared/sanitise.ts'
import { toWellFormed } from '../shared/well-formed.ts'
import { toProviderError } from './binding-error.ts'
import { type ChatMessage, renderChatMessage } from './messages.ts'
import { createChunkParser, toChatChunk } from './stream.ts'
import { createAbortError, isAbortError } from '../shared/abort-error.ts'

/** The part of the `AI` binding that we use. */
export type AiBinding = {
  readonly run: (model: string, inputs: Readonly<Record<string, unknown>>, options: RunOptions) => Promise<unknown>
}
type RunOptions = {
  readonly gateway?: Gateway
  readonly extraHeaders?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}
export type Gateway = { readonly id: string; readonly [option: string]: unknown }

/** `gateway`: the default AI Gateway. The quirks of a model can name another. */
export const workersAi = (ai: AiBinding, gateway?: string): Dialect => ({
  async call(request, { quirks = {}, headers }, { signal, ...readOptions }) {
    const inputs = renderInputs(request, quirks)
    const maxTokens = inputs[getTokensField(quirks)]
    const options: RunOptions = { ...resolveRunOptions(request, quirks, gateway), signal }
    const answer = await raceAbort(
      signal,
      ai.run(request.model, inputs, {
        ...options,
        extraHeaders: { ...headers, ...options.extraHeaders },
      }),
    ).catch((error: unknown) => {
      throw isAbortError(error) ? error : toProviderError(error)
    })
    if (!(answer instanceof ReadableStream)) return readChatStream(Response.json(toChatChunk(answer)), readOptions)
    const parseChunk = createChunkParser(typeof maxTokens === 'number' ? maxTokens : undefined)
    return readChatStream(
      new Response(failOnAbort(answer as ReadableStream<Uint8Array>, signal)),
      readOptions,
      parseChunk,
    )
  },
})

/** Without a limit in the request, many models stop after 256 tokens. */
const defaultMaxTokens = 4_096

const getTokensField = ({ maxTokensField }: Quirks) => maxTokensField ?? 'max_tokens'

export function renderInputs(request: ModelRequest, quirks: Quirks = {}): Readonly<Record<string, unknown>> {
  const { tools, repairs, maxTokens = quirks.defaultMaxTokens ?? defaultMaxTokens } = request
  const { gateway: _gateway, ...body } = quirks.body ?? {}
  const format = resolveNativeFormat(request, 'workers-ai', quirks)
  return {
    ...(tools.length && { tools: tools.map(repairs?.schemas ? toSimplifiedTool : toTool) }),
    // A format is refused together with a stream.
    stream: repairs?.stream !== 'off' && format === undefined,
    [getTokensField(quirks)]: maxTokens,
    ...renderSamplingFields(request, quirks, parameterNames),
    ...renderEffort(request, quirks),
    ...renderToolRules(request),
    ...renderResponseFormat(format),
    ...body,
    messages: renderMessages(request),
  }
}

/** The parameters that the binding documents. */
const parameterNames: readonly (keyof ModelParameters)[] = [
  'topP',
  'topK',
  'seed',
  'stop',
  'repetitionPenalty',
  'frequencyPenalty',
  'presencePenalty',
]

/** The binding takes the schema itself, without a name around it. */
function renderResponseFormat(format: AnswerFormat | undefined): object {
  if (!format) return {}
  const { type } = format
  return { response_format: type === 'json_schema' ? { type, json_schema: format.schema } : { type } }
}

/** The levels that the binding documents for models that think. */
const defaultEfforts = ['low', 'medium', 'high']

function renderEffort({ reasoningEffort }: ModelRequest, { reasoning, efforts = defaultEfforts }: Quirks): object {
  if (reasoningEffort === undefined || reasoning === 'none') return {}
  return { reasoning_effort: clampEffort(reasoningEffort, efforts) }
}

const renderedMessages = new WeakMap<Message, ChatMessage>()

function renderMessages(request: ModelRequest): readonly ChatMessage[] {
  const { system, transcript, repairs } = request
  const sanitised = appendMessages(sanitiseIncrementally(transcript), createTrailingMessages(request))
  const messages = sanitised.map((message) => {
    if (repairs?.images) return renderChatMessage(message, true)
    let rendered = renderedMessages.get(message)
    if (!rendered) renderedMessages.set(message, (rendered = renderChatMessage(message)))
    return rendered
  })
  return system ? [{ role: 'system', content: toWellFormed(system) }, ...messages] : messages
}

const toTool = ({ name, description, inputSchema }: ToolSchema) => ({
  type: 'function',
  function: { name, description, parameters: inputSchema },
})

const toSimplifiedTool = (tool: ToolSchema) => toTool({ ...tool, inputSchema: simplifySchema(tool.inputSchema) })

/** Session affinity sends the requests of a conversation to the instance that has cached their prefix. */
function resolveRunOptions(
  { system, transcript }: ModelRequest,
  { body, cacheMarks }: Quirks,
  defaultGateway?: string,
): RunOptions {
  const gateway = parseGateway(body?.['gateway']) ?? parseGateway(defaultGateway)
  return {
    ...(gateway && { gateway }),
    ...(cacheMarks !== 'none' && {
      extraHeaders: { 'x-session-affinity': derivePromptCacheKey(system, transcript[0]) },
    }),
  }
}

function parseGateway(value: unknown): Gateway | undefined {
  if (typeof value === 'string') return value.trim() ? { id: value.trim() } : undefined
  return typeof value === 'object' && value !== null && 'id' in value ? (value as Gateway) : undefined
}

/** Rejects on abort, because the binding may ignore the signal. A stream that arrives later is cancelled. */
async function raceAbort<T>(signal: AbortSignal, call: Promise<T>): Promise<T> {
  let onAbort: (() => void) | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(createAbortError())
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([call, aborted])
  } catch (error) {
    if (signal.aborted) void call.then(cancelStream, () => undefined)
    throw signal.aborted ? createAbortError() : error
  } finally {
    if (onAbort) signal.removeEventListener('abort', onAbort)
  }
}

function cancelStream(answer: unknown): void {
  if (answer instanceof ReadableStream) void answer.cancel().catch(() => undefined)
}

/** Passes the bytes on, and fails when the call is aborted. */
function failOnAbort(stream: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  const cancel = (reason: unknown) => void reader.cancel(reason).catch(() => undefined)
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const onAbort = () => {
        const reason = createAbortError()
        controller.error(reason)
        cancel(reason)
      }
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    },
    async pull(controller) {
      const { done, value } = await reader.read()
      if (signal.aborted) return
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel,
  })
}
