/** Calls the dialect `workers-ai` with a fake binding. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { userText } from '#agent/core/message.ts'
import { type AiBinding, workersAi } from '#agent/providers/workers-ai/workers-ai.ts'
import { type BindingRun, createFakeBinding } from '../fakes/workers-ai.ts'
import { sseResponse } from './exchange.ts'
import { tools } from './requests.ts'

export const createWorkersAiRequest = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: '@cf/meta/llama-3.3-70b-instruct-fp8-fast',
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  ...more,
})
const doneEvent = 'data: [DONE]\n\n'
export const nativeStream = (...events: readonly object[]) => ({
  body: `${sseResponse(...events).body as string}${doneEvent}`,
})

export type BindingOptions = {
  readonly quirks?: Quirks
  readonly gateway?: string
  readonly request?: Partial<ModelRequest>
}

export async function callBinding(
  binding: AiBinding,
  { quirks, gateway, request }: BindingOptions = {},
  signal = new AbortController().signal,
) {
  const deltas: string[] = []
  const endpoint = { id: '', baseUrl: '', key: '', headers: {}, ...(quirks && { quirks }) }
  const reply = await workersAi(binding, gateway).call(createWorkersAiRequest(request), endpoint, {
    signal,
    onDelta: ({ text }) => deltas.push(text),
    onActivity: () => {},
    sleep: () => Promise.resolve(),
  })
  return { ...reply, deltas }
}
export const readRecorded = async (response: Parameters<typeof createFakeBinding>[0], options?: BindingOptions) => {
  const runs: BindingRun[] = []
  return { ...(await callBinding(createFakeBinding(response, runs), options)), run: runs[0] as BindingRun }
}
export const helloResponse = nativeStream({ response: 'Hello' })
