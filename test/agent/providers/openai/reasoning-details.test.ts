import { describe, expect, it } from 'vitest'
import { choiceEvent, doneEvent, readStream } from '../support/chat-streams.ts'

const readEvents = (...events: readonly string[]) => readStream([...events, doneEvent].join(''))

describe('reasoning details', () => {
  it('are joined by index and kept as sealed thinking', async () => {
    const text = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 }
    const { message } = await readEvents(
      choiceEvent({ delta: { reasoning: 'I ', reasoning_details: [{ ...text, text: 'I ' }] } }),
      choiceEvent({ delta: { reasoning: 'see.', reasoning_details: [{ ...text, text: 'see.', signature: null }] } }),
      choiceEvent({ delta: { reasoning_details: [{ ...text, signature: 'sig' }] } }),
      choiceEvent({ delta: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'abc', id: 'r1', index: 1 }] } }),
      choiceEvent({ delta: { content: 'A tree.' }, finish_reason: 'stop' }),
    )
    expect(message.content).toEqual([
      {
        type: 'thinking',
        text: 'I see.',
        sealed: {
          by: 'openai-chat',
          data: [
            { ...text, text: 'I see.', signature: 'sig' },
            { type: 'reasoning.encrypted', data: 'abc', id: 'r1', index: 1 },
          ],
        },
      },
      { type: 'text', text: 'A tree.' },
    ])
  })

  it('without an index are separate', async () => {
    const piece = { type: 'reasoning.encrypted', data: 'abc' }
    const { message } = await readEvents(
      choiceEvent({ delta: { reasoning_details: [piece] } }),
      choiceEvent({ delta: { reasoning_details: [piece], content: 'hm' }, finish_reason: 'stop' }),
    )
    expect(message.content[0]).toMatchObject({ text: '', sealed: { data: [piece, piece] } })
  })
})
