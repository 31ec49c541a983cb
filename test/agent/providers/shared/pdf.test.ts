/** Tests in which form a PDF file reaches the models of each dialect. */

import { describe, expect, it } from 'vitest'
import type { Message, TextPart } from '#agent/core/message.ts'
import { renderMessagesBody } from '#agent/providers/anthropic/body.ts'
import { renderConverseBody } from '#agent/providers/bedrock/body.ts'
import { lookUpModel } from '#agent/providers/catalog/model-lookup.ts'
import { parseModelsDev } from '#agent/providers/catalog/models-dev.ts'
import { parseOpenRouter } from '#agent/providers/catalog/openrouter.ts'
import { renderChatBody } from '#agent/providers/openai/chat.ts'
import { renderResponsesBody } from '#agent/providers/openai/responses.ts'
import { takesPdfs } from '#agent/providers/shared/pdf.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'

const data = 'JVBERi0xLjcK'
const read: TextPart = { type: 'text', text: '[bill.pdf contains: 42]' }
const messageWith = (part: TextPart): Message => ({ role: 'user', content: [{ type: 'text', text: 'Sum?' }, part] })
const loaded = messageWith({ ...read, pdf: { name: 'bill.pdf', pages: 1, data } })
const stored = messageWith({ ...read, pdf: { name: 'bill.pdf', pages: 1, data: 'blob:t/one/x.12' } })

const requestOf = (message: Message) => ({ model: 'm', system: '', transcript: [message], tools: [], maxTokens: 10 })
const parse = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes)) as never
const dialects = {
  anthropic: (message: Message) => parse(renderMessagesBody(requestOf(message))),
  'openai-responses': (message: Message) => parse(renderResponsesBody(requestOf(message))),
  'openai-chat': (message: Message) => parse(renderChatBody(requestOf(message), { fileParts: true })),
}

describe('a loaded PDF', () => {
  it.each([
    [
      'anthropic',
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data }, title: 'bill.pdf' },
    ],
    [
      'openai-responses',
      { type: 'input_file', filename: 'bill.pdf', file_data: `data:application/pdf;base64,${data}` },
    ],
    ['openai-chat', { type: 'file', file: { filename: 'bill.pdf', file_data: `data:application/pdf;base64,${data}` } }],
  ] as const)('takes the place of its text in %s', (dialect, part) => {
    const body = JSON.stringify(dialects[dialect](loaded))
    expect(body).toContain(JSON.stringify(part))
    expect(body).not.toContain('42')
    expect(body).toContain('Sum?')
  })

  it('is valid for the Messages API', () => {
    expect(findAnthropicViolations(dialects.anthropic(loaded))).toEqual([])
  })

  it('goes as its text to APIs without parts for files', () => {
    for (const bytes of [renderChatBody(requestOf(loaded)), renderConverseBody(requestOf(loaded))]) {
      expect(JSON.stringify(parse(bytes))).toContain('42')
      expect(JSON.stringify(parse(bytes))).not.toContain(data)
    }
  })
})

describe('a PDF that was not loaded', () => {
  it.each(Object.keys(dialects) as (keyof typeof dialects)[])('goes as its text in %s', (dialect) => {
    const body = JSON.stringify(dialects[dialect](stored))
    expect(body).toContain('42')
    expect(body).not.toContain('blob:')
    expect(body).not.toContain('bill.pdf"')
  })
})

describe('takesPdfs', () => {
  const model = { dialect: 'anthropic', facts: { pdf: true }, quirks: {}, repairs: {} } as const

  it('asks the dialect, the model and the repairs of the turn', () => {
    expect(takesPdfs(model)).toBe(true)
    expect(takesPdfs({ ...model, dialect: 'openai-responses' })).toBe(true)
    expect(takesPdfs({ ...model, dialect: 'openai-chat' })).toBe(false)
    expect(takesPdfs({ ...model, dialect: 'openai-chat', quirks: { fileParts: true } })).toBe(true)
    expect(takesPdfs({ ...model, dialect: 'bedrock-converse' })).toBe(false)
    expect(takesPdfs({ ...model, facts: {} })).toBe(false)
    expect(takesPdfs({ ...model, repairs: { pdfs: 'text' } })).toBe(false)
  })

  it('knows models by the built-in list and the catalogs', () => {
    const pdfOf = (provider: string, name: string) => lookUpModel({ provider, model: name }).pdf
    expect(pdfOf('anthropic', 'claude-sonnet-5')).toBe(true)
    expect(pdfOf('openai', 'gpt-5.4-mini')).toBe(true)
    expect(pdfOf('openai', 'gpt-oss-120b')).toBeUndefined()
    const listed = (input: string[]) => ({ p: { models: { m: { modalities: { input } } } } })
    expect(parseModelsDev(listed(['text', 'pdf']), 'p')?.['m']?.pdf).toBe(true)
    expect(parseModelsDev(listed(['text']), 'p')?.['m']?.pdf).toBe(false)
    const routed = { data: [{ id: 'm', architecture: { input_modalities: ['text', 'file'] } }] }
    expect(parseOpenRouter(routed)['m']?.pdf).toBe(true)
  })
})
