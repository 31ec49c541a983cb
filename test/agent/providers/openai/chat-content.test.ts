import { describe, expect, it } from 'vitest'
import { deltaEvent, finish, readStream } from '../support/chat-streams.ts'

describe('content in parts', () => {
  const thinkingPart = (words: string) => ({ type: 'thinking', thinking: [{ type: 'text', text: words }] })

  it('is separated into text and thinking', async () => {
    const { message, deltas, activities } = await readStream(
      deltaEvent({ content: [thinkingPart('hm ')] }) +
        deltaEvent({ content: [thinkingPart('yes'), { type: 'text', text: 'Hel' }] }) +
        deltaEvent({ content: 'lo' }) +
        deltaEvent({
          content: [{ type: 'reference', reference_ids: [1] }, { type: 'thinking', thinking: '.' }, null],
        }) +
        deltaEvent({ content: [] }) +
        finish('stop'),
    )
    expect(message.content).toEqual([
      { type: 'thinking', text: 'hm yes.' },
      { type: 'text', text: 'Hello' },
    ])
    expect(deltas).toEqual(['thinking: hm ', 'thinking: yes', 'text: Hel', 'text: lo', 'thinking: .'])
    expect(activities.slice(0, 5)).toEqual(['answer', 'answer', 'answer', 'answer', 'keep-alive'])
  })

  it('is serialised when it is not a text', async () => {
    const { message } = await readStream(
      deltaEvent({ content: { at: 1 } }) + deltaEvent({ content: 2 }) + finish('stop'),
    )
    expect(message.content).toEqual([{ type: 'text', text: '{"at":1}2' }])
  })
})
