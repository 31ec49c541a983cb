/** Tests when the delta buffer emits, and that it neither loses, mixes nor reorders deltas. */

import { describe, expect, it } from 'vitest'
import { DeltaBuffer } from '#durable/turn/delta-buffer.ts'
import { createTestClock } from '../../support/clock.ts'

function createBuffer() {
  const time = createTestClock()
  const emitted: string[] = []
  const buffer = new DeltaBuffer((kind, text) => emitted.push(`${kind}:${text}`), time)
  const appendText = (text: string) => buffer.append({ of: 'text', text })
  const appendThinking = (text: string) => buffer.append({ of: 'thinking', text })
  return { emitted, buffer, appendText, appendThinking, pass: time.pass }
}

describe('the delta buffer', () => {
  it('emits the first delta at once and the rest on flush', () => {
    const { emitted, buffer, appendText } = createBuffer()
    appendText('a')
    expect(emitted).toEqual(['m:a'])
    appendText('b')
    appendText('c')
    expect(emitted).toEqual(['m:a'])
    buffer.flush()
    expect(emitted).toEqual(['m:a', 'm:bc'])
  })

  it('emits the buffered deltas with the first delta after the interval', async () => {
    const { emitted, buffer, appendText, pass } = createBuffer()
    appendText('a')
    appendText('b')
    await pass(45)
    appendText('c')
    expect(emitted).toEqual(['m:a', 'm:bc'])
    buffer.flush()
  })

  it('emits buffered deltas after a while when no delta follows', async () => {
    const { emitted, appendText, pass } = createBuffer()
    appendText('a')
    appendText('b')
    await pass(400)
    expect(emitted).toEqual(['m:a', 'm:b'])
  })

  it('does not delay deltas beyond their interval when an older timer fires', async () => {
    const { emitted, appendText, pass } = createBuffer()
    appendText('a')
    appendText('b')
    await pass(60)
    appendText('c')
    appendText('d')
    expect(emitted).toEqual(['m:a', 'm:bc'])
    await pass(400)
    expect(emitted).toEqual(['m:a', 'm:bc', 'm:d'])
  })

  it('keeps thinking and answer apart and in order', () => {
    const { emitted, buffer, appendText, appendThinking } = createBuffer()
    appendThinking('a')
    appendThinking('b')
    appendText('c')
    appendThinking('d')
    buffer.flush()
    expect(emitted).toEqual(['r:a', 'r:b', 'm:c', 'r:d'])
  })

  it('drops the deltas of a discarded call and emits the first one of the next call at once', async () => {
    const { emitted, buffer, appendText, pass } = createBuffer()
    appendText('a')
    appendText('b')
    buffer.discard()
    appendText('c')
    expect(emitted).toEqual(['m:a', 'm:c'])
    await pass(200)
    expect(emitted).toEqual(['m:a', 'm:c'])
    buffer.flush()
  })
})
