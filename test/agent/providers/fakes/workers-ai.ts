/** The `AI` binding for one exchange, and what the models behind it would refuse. */

import type { Delta } from '../../../../src/agent/model/dialect.ts'
import { type AiBinding, workersAi } from '../../../../src/agent/providers/workers-ai/workers-ai.ts'
import type { RecordedResponse, Exchange, DialectHarness } from '../support/conformance.ts'
import { findChatViolations } from './openai-chat.ts'

export type BindingRun = {
  readonly model: string
  readonly inputs: Readonly<Record<string, unknown>>
  readonly options: Parameters<AiBinding['run']>[2]
}

/** Throws what the binding throws, and streams what the model says. */
export function createFakeBinding(
  answer: RecordedResponse | { readonly object: unknown },
  runs: BindingRun[],
): AiBinding {
  return {
    run: (model, inputs, options) => {
      // The binding sends JSON: what is none does not arrive.
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
      else if (after === 'breaks') controller.error(new Error('Network connection lost.'))
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
  const heard: Delta[] = []
  const controller = new AbortController()
  if (isAborted) controller.abort()
  let pulses = 0
  const outcome = await workersAi(createFakeBinding(answer, runs))
    .call(
      request,
      { id: '', baseUrl: '', key: '', headers: {}, ...(quirks && { quirks }) },
      {
        signal: controller.signal,
        onDelta: (delta) => {
          heard.push(delta)
          onDelta?.(() => controller.abort())
        },
        onActivity: () => pulses++,
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
  return { path: '', headers, text, body: JSON.parse(text), deltas: heard, pulses, ...outcome } satisfies Exchange
}

type Body = { readonly messages?: readonly Readonly<Record<string, unknown>>[]; readonly [field: string]: unknown }

/** As chat completions, but for the names of results and for content that is always there. */
export function findWorkersAiViolations(value: unknown): readonly string[] {
  const { messages = [], ...body } = value as Body
  const plain = messages.map(({ name: _name, ...message }) => message)
  const faults = messages.flatMap((message, at) => {
    if (message['content'] === null || message['content'] === undefined) return [`message ${at} has no content`]
    return message['role'] === 'tool' && !message['name'] ? [`message ${at} does not name its tool`] : []
  })
  const efforts = ['low', 'medium', 'high', undefined]
  if (!efforts.includes(body['reasoning_effort'] as string | undefined)) faults.push('an effort that is none')
  return [...faults, ...findChatViolations({ ...body, messages: plain, stream_options: { include_usage: true } })]
}
