/** Tests what is special in the Gemini API: signatures, calls without ids, blocks, thinking, files and choices. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import { createGemini } from '#agent/providers/gemini/gemini.ts'
import { answerOf, geminiRecordings } from '../fixtures/gemini.ts'
import { exchangeOverHttp, sseResponse } from '../support/exchange.ts'
import { tools } from '../support/requests.ts'

const exchange = exchangeOverHttp(createGemini((request) => fetch(request)))
const request = (transcript: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gemini-3.5-flash',
  system: 'Be kind.',
  transcript,
  tools,
  ...more,
})
type Sent = {
  readonly contents: readonly { readonly role: string; readonly parts: readonly Record<string, unknown>[] }[]
  readonly generationConfig: Record<string, unknown>
  readonly toolConfig?: object
}
const send = async (transcript: readonly Message[], more: Partial<ModelRequest> = {}) =>
  (await exchange(request(transcript, more), geminiRecordings.text)).body as Sent
const ask = userText('look')
const result = (callId: string, name = 'look'): Message => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text: 'found' }],
  failed: false,
})

describe('the dialect gemini', () => {
  it('streams from the documented address, with the key in its header', async () => {
    const { path, headers } = await exchange(request([ask]), geminiRecordings.text)
    expect(path).toBe('/models/gemini-3.5-flash:streamGenerateContent?alt=sse')
    expect(headers['x-goog-api-key']).toBe('key-1')
  })

  it('sends the signature of a call back on that call', async () => {
    const { reply } = await exchange(request([ask]), geminiRecordings.thoughtfulCall)
    const { contents } = await send([ask, reply!.message, result('call_9')])
    expect(contents[1]?.parts).toEqual([
      { functionCall: { id: 'call_9', name: 'look', args: { at: 'z' } }, thoughtSignature: 'c2ln' },
    ])
    expect(contents[2]?.parts).toEqual([
      { functionResponse: { id: 'call_9', name: 'look', response: { output: 'found' } } },
    ])
  })

  it('sends the signature of a text back, also when it came in an empty part', async () => {
    const answer = sseResponse(
      answerOf([{ text: 'Hi.' }]),
      answerOf([{ text: '', thoughtSignature: 'dGV4dA' }], 'STOP'),
    )
    const { reply } = await exchange(request([ask]), answer)
    const { contents } = await send([ask, reply!.message, ask])
    expect(contents[1]?.parts).toEqual([{ text: 'Hi.' }, { text: '', thoughtSignature: 'dGV4dA' }])
  })

  it.each([
    ['gemini-3.5-flash', ['skip_thought_signature_validator', undefined]],
    ['gemini-2.5-flash', [undefined, undefined]],
  ])('gives the first of the calls of another model the placeholder that %s needs', async (model, signatures) => {
    const calls: Message = {
      role: 'assistant',
      stop: 'tools',
      content: ['a', 'b'].map((id) => ({ type: 'call', id, name: 'look', input: {} }) as const),
    }
    const { contents } = await send([ask, calls, result('a'), result('b')], { model })
    expect(contents[1]?.parts.map((part) => part['thoughtSignature'])).toEqual(signatures)
  })

  it('names calls that have no id, each differently', async () => {
    const call = { functionCall: { name: 'look', args: {} } }
    const { reply } = await exchange(request([ask]), sseResponse(answerOf([call, call], 'STOP')))
    const ids = reply!.message.content.flatMap((part) => (part.type === 'call' ? [part.id] : []))
    expect(new Set(ids).size).toBe(2)
  })

  it('reports a blocked prompt as a refusal with its reason', async () => {
    const blocked = sseResponse({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: {} })
    const { reply } = await exchange(request([ask]), blocked)
    expect(reply?.message).toMatchObject({
      stop: 'refused',
      content: [{ type: 'text', text: 'The request was blocked (PROHIBITED_CONTENT).' }],
    })
  })

  it('retries a call that the model has not finished writing', async () => {
    const { error } = await exchange(request([ask]), sseResponse(answerOf([], 'MALFORMED_FUNCTION_CALL')))
    expect((error as Error).name).toBe('StreamBroken')
  })

  it('counts thinking as output', async () => {
    const { reply } = await exchange(request([ask]), geminiRecordings.usage)
    expect(reply?.usage).toMatchObject({ input: 70, cachedRead: 30, output: 20, reasoning: 5 })
  })

  it.each([
    ['gemini-3.5-flash', 'none', { includeThoughts: true, thinkingLevel: 'low' }],
    ['gemini-3.5-flash', 'xhigh', { includeThoughts: true, thinkingLevel: 'high' }],
    ['gemini-2.5-flash', 'none', { includeThoughts: false, thinkingBudget: 0 }],
    ['gemini-2.5-flash', 'medium', { includeThoughts: true, thinkingBudget: 8_192 }],
  ])('asks %s for the effort %s', async (model, reasoningEffort, thinkingConfig) => {
    const { generationConfig } = await send([ask], { model, reasoningEffort })
    expect(generationConfig).toEqual({ thinkingConfig })
  })

  it('sends pictures and PDF files as data, and forces a call by name', async () => {
    const files: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'the text of it', pdf: { name: 'a.pdf', pages: 1, data: 'JVBERi0=' } },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    }
    const { contents, toolConfig } = await send([files], { toolChoice: { name: 'look' } })
    expect(contents[0]?.parts).toEqual([
      { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } },
      { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
    ])
    expect(toolConfig).toEqual({ functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['look'] } })
  })
})
