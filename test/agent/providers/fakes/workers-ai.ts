/** A fake `AI` binding for one exchange, and a validator for what its models would reject. */

import type { Delta } from '#agent/core/dialect.ts'
import { type AiBinding, workersAi } from '#agent/providers/workers-ai/workers-ai.ts'
import type { RecordedResponse, Exchange, DialectHarness } from '../support/conformance.ts'
import { findChatViolations } from './openai-chat.ts'

export type BindingRun = {
  readonly model: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly options: Parameters<AiBinding['run']>[2]
}

/** Throws or streams the recorded response, as the binding does. */
export function createFakeBinding(
  answer: RecordedResponse | { readonly object: unknown },
  runs: BindingRun[],
): AiBinding {
  return {
    run: (model, inputs, options) => {
      // The binding sends JSON, so inputs must be cloneable data.
      runs.push({ model, inputs: structuredClone(inputs), options })
      if ('object' in answer) return Promise.resolve(answer.object)
      return (answer.status ?? 200) >= 400
        ? Promise.reject(createBindingError(answer.body))
        : Promise.resolve(streamResponse(answer))
    },
  }
}

function createBindingError(body: RecordedResponse['body']): Error {
  const { internalCode, description, name } = JSON.parse(body as string) as Record<string, string>
  const words = internalCode ? `${internalCode}: ${description}` : description
  return Object.assign(new Error(words), { name: name ?? 'InferenceUpstreamError' })
}

function streamResponse({ body, ending: after }: RecordedResponse): ReadableStream<Uint8Array> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  let isSent = false
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isSent && bytes.length) controller.enqueue(bytes)
      else if (after === 'disconnects') controller.error(new Error('Network connection lost.'))
      else if (after === undefined) controller.close()
      else return new Promise(() => undefined)
      isSent = true
      return undefined
    },
  })
}

export const exchangeOverBinding: DialectHarness['exchange'] = async (
  request,
  answer,
  { quirks, onDelta, isAborted } = {},
) => {
  const runs: BindingRun[] = []
  const deltas: Delta[] = []
  const written: Record<string, string> = {}
  const controller = new AbortController()
  if (isAborted) controller.abort()
  let activityCount = 0
  const outcome = await workersAi(createFakeBinding(answer, runs))
    .call(
      request,
      { id: '', baseUrl: '', key: '', headers: {}, ...(quirks && { quirks }) },
      {
        signal: controller.signal,
        onDelta: (delta) => {
          deltas.push(delta)
          onDelta?.(() => controller.abort())
        },
        onActivity: () => activityCount++,
        onArguments: (tool, piece) => void (written[tool] = (written[tool] ?? '') + piece),
        sleep: () => Promise.resolve(),
      },
    )
    .then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error }),
    )
  const { model, inputs = {}, options } = runs[0] ?? {}
  const text = JSON.stringify({ model, ...inputs })
  const headers = { ...options?.extraHeaders }
  return {
    path: '',
    headers,
    text,
    body: JSON.parse(text),
    deltas,
    written,
    activityCount,
    ...outcome,
  } satisfies Exchange
}

type Body = { readonly messages?: readonly Readonly<Record<string, unknown>>[]; readonly [field: string]: unknown }

/** Validates like chat completions, except that results need a tool name and all messages need content. */
export function findWorkersAiViolations(value: unknown): readonly string[] {
  const { messages = [], ...body } = value as Body
  const plain = messages.map(({ name: _name, ...message }) => message)
  const violations = messages.flatMap((message, at) => {
    if (message['content'] === null || message['content'] === undefined) return [`message ${at} has no content`]
    return message['role'] === 'tool' && !message['name'] ? [`message ${at} does not name its tool`] : []
  })
  const efforts = ['low', 'medium', 'high', undefined]
  if (!efforts.includes(body['reasoning_effort'] as string | undefined)) violations.push('an unknown effort')
  return [...violations, ...findChatViolations({ ...body, messages: plain, stream_options: { include_usage: true } })]
}
