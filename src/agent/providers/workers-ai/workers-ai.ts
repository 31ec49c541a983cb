/**
 * Implements the dialect `workers-ai`: models behind the `AI` binding, which needs no key and no HTTP request. The binding
 * takes objects, so rendered messages are cached instead of bytes.
 */

import type { Dialect, ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import {
  type AssistantMessage,
  callsIn,
  type ImagePart,
  type Message,
  textIn,
  type UserMessage,
} from '#agent/core/message.ts'
import { parseWithText } from '../shared/json-slices.ts'
import { derivePromptCacheKey } from '../shared/prompt-cache-key.ts'
import type { AnswerFormat, ModelParameters } from '#agent/core/request/model-parameters.ts'
import { renderSamplingFields, renderToolRules } from '../openai/sampling-fields.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { clampEffort } from '../shared/effort.ts'
import { type ChatChunk, readChatStream } from '../openai/chat-stream.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { createTrailingMessages } from '../shared/trailing-messages.ts'
import { appendMessages, sanitiseIncrementally } from '../shared/sanitise.ts'
import { toWellFormed } from '../shared/well-formed.ts'
import { createAbortError, isAbortError } from '../shared/abort-error.ts'
import { toText } from '../openai/chat-content.ts'
import { renderCallArguments } from '../shared/call-arguments.ts'
import { encodeCallId, encodeToolName } from '../shared/call-id.ts'
import { omittedImageText, toImageContent } from '../shared/images/image-content.ts'
import { ErrorInBody } from '../shared/error-in-body.ts'

/** The part of the `AI` binding that we use. */
export type AiBinding = {
  readonly run: (model: string, inputs: Readonly<Record<string, unknown>>, options: BindingOptions) => Promise<unknown>
}
type BindingOptions = {
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
    const options: BindingOptions = { ...resolveRunOptions(request, quirks, gateway), signal }
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

const renderedMessages = new WeakMap<Message, BindingMessage>()

function renderMessages(request: ModelRequest): readonly BindingMessage[] {
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
  function: { name: encodeToolName(name), description, parameters: inputSchema },
})

const toSimplifiedTool = (tool: ToolSchema) => toTool({ ...tool, inputSchema: simplifySchema(tool.inputSchema) })

/** Session affinity sends the requests of a conversation to the instance that has cached their prefix. */
function resolveRunOptions(
  { system, transcript }: ModelRequest,
  { body, cacheMarks }: Quirks,
  defaultGateway?: string,
): BindingOptions {
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

// Parses the stream of the `AI` binding. Newer models send chunks of chat completions. Older models have a native
// format: text in `response`, complete calls in `tool_calls`, and often no finish reason.

type NativeToolCall = {
  readonly id?: string | null
  readonly name?: string | null
  readonly arguments?: unknown
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown }
}
type NativeChunk = {
  readonly response?: unknown
  readonly tool_calls?: readonly NativeToolCall[] | null
  readonly finish_reason?: string | null
  readonly usage?: ChatChunk['usage']
  readonly errors?: readonly { readonly message?: string; readonly code?: number }[]
}

/**
 * Creates the parser of one stream. `maxTokens`: the requested limit; a reply that reaches it is truncated.
 */
function createChunkParser(maxTokens?: number): (data: string) => ChatChunk {
  let callCount = 0
  return (data) => {
    const parsed = parseWithText(data, 'arguments') as ChatChunk & NativeChunk
    const error = parsed.error ?? parsed.errors?.[0]
    if (error) throw toProviderError(error)
    if (parsed.choices) return parsed
    const chunk = convertNativeChunk(parsed, callCount, maxTokens)
    callCount += parsed.tool_calls?.length ?? 0
    return chunk
  }
}

/** Converts a complete answer, which some models send although a stream was requested. */
function toChatChunk(answer: unknown): ChatChunk {
  const parsed = (typeof answer === 'object' && answer !== null ? answer : { response: answer }) as ChatChunk &
    NativeChunk
  if (parsed.choices) return parsed
  const { choices, usage } = convertNativeChunk(parsed, 0)
  return { choices: (choices ?? []).map((choice) => ({ finish_reason: 'stop', ...choice })), ...(usage && { usage }) }
}

function convertNativeChunk(parsed: NativeChunk, previousCalls: number, maxTokens?: number): ChatChunk {
  const { response, tool_calls: calls, usage } = parsed
  const isTruncated = maxTokens !== undefined && (usage?.completion_tokens ?? 0) >= maxTokens
  const finishReason = parsed.finish_reason ?? (isTruncated ? 'length' : undefined)
  const delta = {
    content: toText(response),
    ...(calls?.length && { tool_calls: calls.map((call, at) => toCallFragment(call, previousCalls + at)) }),
  }
  return { choices: [{ delta, ...(finishReason && { finish_reason: finishReason }) }], ...(usage && { usage }) }
}

/** A native call is complete but often has no id. Its position in the reply becomes the id. */
function toCallFragment({ id, name, arguments: args, function: calledFunction }: NativeToolCall, index: number) {
  const json = calledFunction?.arguments ?? args ?? {}
  return {
    index,
    id: id || `call_${index + 1}`,
    function: {
      name: calledFunction?.name ?? name ?? '',
      arguments: typeof json === 'string' ? json : JSON.stringify(json),
    },
  }
}

type ChatPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
type FunctionCall = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

type BindingMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly ChatPart[] }
  | { readonly role: 'assistant'; readonly content: string; readonly tool_calls?: readonly FunctionCall[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly name: string; readonly content: string }

/**
 * Renders messages for the models behind the `AI` binding. The format is that of chat completions, restricted to what
 * the oldest models support.
 */
function renderChatMessage(message: Message, shouldOmitImages = false): BindingMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: renderUserContent(message, shouldOmitImages) }
    case 'assistant':
      return renderAssistant(message)
    case 'tool': {
      const text = message.content
        .map((part) => (part.type === 'text' ? part.text : '[an image, not shown]'))
        .join('\n')
      // Models with their own prompt template match results by tool name, the others by id.
      return {
        role: 'tool',
        tool_call_id: encodeCallId(message.callId),
        name: encodeToolName(message.name),
        content: toWellFormed(text),
      }
    }
  }
}

/** Content is always a string, because several models refuse null. */
function renderAssistant(message: AssistantMessage): BindingMessage {
  const calls = callsIn(message)
  const content = toWellFormed(textIn(message))
  if (!calls.length) return { role: 'assistant', content }
  return {
    role: 'assistant',
    content,
    tool_calls: calls.map((call) => ({
      id: encodeCallId(call.id),
      type: 'function',
      function: { name: encodeToolName(call.name), arguments: renderCallArguments(call) },
    })),
  }
}

const maxImageBytes = 10 * 1024 * 1024

function renderUserContent({ content }: UserMessage, shouldOmitImages: boolean): string | readonly ChatPart[] {
  const parts = content.map((part): ChatPart =>
    part.type === 'text' ? createTextPart(part.text) : renderImage(part, shouldOmitImages),
  )
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('')
  return parts.filter((part) => part.type !== 'text' || /\S/.test(part.text))
}

const createTextPart = (text: string): ChatPart => ({ type: 'text', text: toWellFormed(text) })

function renderImage(part: ImagePart, shouldOmitImages: boolean): ChatPart {
  if (shouldOmitImages) return createTextPart(omittedImageText)
  const image = toImageContent(part, maxImageBytes)
  if (image.kind === 'text') return createTextPart(image.text)
  const url = image.kind === 'url' ? image.url : `data:image/${image.format};base64,${image.data}`
  return { type: 'image_url', image_url: { url } }
}

// Converts errors of the `AI` binding. The binding throws a number and a text ("3040: Capacity temporarily exceeded")
// without a status: https://developers.cloudflare.com/workers-ai/platform/errors/. The table maps each number to the
// status and code that the classifier reads.

type StatusAndCode = { readonly status: number; readonly code?: string }

const errorNumbers: Readonly<Record<number, StatusAndCode>> = {
  3003: { status: 400 }, // missing headers or body
  3006: { status: 413 }, // request too large
  3007: { status: 408 }, // timeout
  3008: { status: 408 }, // aborted by Workers AI
  3023: { status: 403 }, // account blocked
  3036: { status: 429, code: 'insufficient_quota' }, // daily allocation of neurons used up
  3039: { status: 400 }, // missing fine-tune files
  // Documented as 429, but the limit is the capacity of Workers AI, not the rate of this account.
  3040: { status: 503, code: 'overloaded_error' },
  3041: { status: 403 }, // private model of another account
  3042: { status: 404, code: 'model_not_found' },
  3043: { status: 500 }, // internal error
  4006: { status: 429, code: 'insufficient_quota' }, // daily allocation of neurons used up
  5004: { status: 400 }, // invalid data
  5005: { status: 405 }, // model does not support fine-tunes
  5007: { status: 404, code: 'model_not_found' },
  5016: { status: 403 }, // model terms not accepted
  5018: { status: 403 }, // private model of another account
  5019: { status: 405 }, // SDK version too old
  // AI Gateway guardrails: prompt blocked, response blocked.
  2016: { status: 400, code: 'content_policy_violation' },
  2017: { status: 400, code: 'content_policy_violation' },
}

/** Adds the status and code for the number of the error. Returns other errors unchanged. */
function toProviderError(error: unknown): Error {
  const text = getMessage(error)
  const number = findErrorNumber(error, text)
  const mapped = number === undefined ? recognizeHtmlPage(text) : errorNumbers[number]
  if (!mapped) return error instanceof Error ? error : new ErrorInBody({ ...(error as object), message: text })
  const converted = new ErrorInBody({ message: text, ...mapped, number })
  return error instanceof Error ? Object.assign(converted, { cause: error }) : converted
}

/** An HTML page comes from a proxy, not from a model. */
const recognizeHtmlPage = (text: string): StatusAndCode | undefined =>
  /^\s*<(!doctype|html)/i.test(text) ? { status: 502 } : undefined

function getMessage(error: unknown): string {
  if (typeof error === 'string') return error
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' && message ? message : 'The AI binding failed.'
}

/** Finds the first documented number before a colon. Other numbers may precede it. */
function findErrorNumber(error: unknown, text: string): number | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? Number(error.code) : NaN
  if (code in errorNumbers) return code
  for (const [, digits] of text.matchAll(/\b(\d{4})\s*:/g)) if (Number(digits) in errorNumbers) return Number(digits)
  return undefined
}
