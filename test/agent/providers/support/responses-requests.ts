/** Requests and transcripts for the Responses API, and request bodies as text and as JSON. */

import type OpenAI from 'openai'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type AssistantMessage, type ProviderData, userText } from '#agent/core/message.ts'
import { renderResponsesBody } from '#agent/providers/openai/responses.ts'
import { tools } from './requests.ts'

export type InputItem = OpenAI.Responses.ResponseInputItem
type SentBody = OpenAI.Responses.ResponseCreateParamsStreaming & { readonly input: readonly InputItem[] }

export const helloMessage = userText('hello')
const createRequest = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt',
  system: 'Be kind.',
  transcript: [helloMessage],
  tools,
  ...more,
})
export const renderText = (more: Partial<ModelRequest> = {}, quirks?: Quirks) =>
  new TextDecoder().decode(renderResponsesBody(createRequest(more), quirks))
export const renderJson = (more: Partial<ModelRequest> = {}, quirks?: Quirks) =>
  JSON.parse(renderText(more, quirks)) as SentBody

export const reasoningItem = (id: string) =>
  ({
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: `gAAAA${id}`,
  }) satisfies OpenAI.Responses.ResponseReasoningItem
export const sealed = (data: unknown): ProviderData => ({ by: 'openai-responses', data })
export const sealedThinking = (id: string) =>
  ({ type: 'thinking', text: 'hm', sealed: sealed(reasoningItem(id)) }) as const
export const phaseMarker = (phase: 'commentary' | 'final_answer') =>
  ({ type: 'thinking', text: '', sealed: sealed({ type: 'message', phase }) }) as const
export const assistant = (...content: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content,
  stop: 'end',
})
export const textPart = (text: string) => ({ type: 'text', text }) as const
export const callPart = (id: string, input: unknown = {}) => ({ type: 'call', id, name: 'look', input }) as const
