/** Requests for chat completions, and their bodies as text and as JSON. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import { renderChatBody } from '#agent/providers/openai/chat.ts'

export const lookTool = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { at: { type: 'string', pattern: '^a' } } },
}
export const helloMessage = userText('hello')
export const createChatRequest = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt',
  system: 'Be kind.',
  transcript: [helloMessage],
  tools: [lookTool],
  ...more,
})
export const renderText = (request: ModelRequest, quirks?: Quirks) =>
  new TextDecoder().decode(renderChatBody(request, quirks))
export type SentBody = Record<string, unknown> & { readonly messages: readonly Record<string, unknown>[] }
export const renderJson = (more: Partial<ModelRequest> = {}, quirks?: Quirks) =>
  JSON.parse(renderText(createChatRequest(more), quirks)) as SentBody
export const assistantMessage: Message = {
  role: 'assistant',
  content: [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Let me look.' },
    { type: 'call', id: 'c1', name: 'look', input: { at: 'a' } },
  ],
  stop: 'tools',
}
export const lookResult: Message = {
  role: 'tool',
  callId: 'c1',
  name: 'look',
  content: [{ type: 'text', text: 'a tree' }],
  failed: false,
}
export const imageResult: Message = {
  ...lookResult,
  content: [
    { type: 'text', text: 'here' },
    { type: 'image', mediaType: 'image/png', data: 'AAAA' },
  ],
}
