/** Tests which prefixes of request bodies stay in memory, and that bodies do not depend on it. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { userText, type Message } from '#agent/core/message.ts'
import { renderMessagesBody } from '#agent/providers/anthropic/body.ts'
import { renderChatBody } from '#agent/providers/openai/chat.ts'
import { renderResponsesBody } from '#agent/providers/openai/responses.ts'
import { PrefixCache } from '#agent/providers/shared/prefix-cache.ts'
import { Utf8Builder } from '#agent/providers/shared/utf8-builder.ts'

const megabyte = 1024 * 1024

function prefixOf(bytes: number) {
  const builder = new Utf8Builder()
  builder.append('x'.repeat(bytes))
  return { bytes: builder }
}

const transcripts = (count: number): Message[][] => Array.from({ length: count }, (_, n) => [userText(`${n}`)])

function listCached(cache: PrefixCache<{ bytes: Utf8Builder }>, all: readonly Message[][]): number[] {
  return all.flatMap((transcript, n) => (cache.get(transcript) ? [n] : []))
}

describe('the budget of all prefixes', () => {
  it('drops the least recently used ones, also of another cache', () => {
    const [one, other] = [new PrefixCache(), new PrefixCache()]
    const all = transcripts(8)
    for (const transcript of all.slice(0, 4)) one.set(transcript, prefixOf(2 * megabyte))
    one.set(all[0]!, one.get(all[0]!)!)
    other.set(all[4]!, prefixOf(2 * megabyte))
    expect(listCached(one, all)).toEqual([0, 2, 3])
    expect(listCached(other, all)).toEqual([4])
  })

  it('counts a prefix that has grown', () => {
    const cache = new PrefixCache<{ bytes: Utf8Builder }>()
    const all = transcripts(3)
    for (const transcript of all) cache.set(transcript, prefixOf(2 * megabyte))
    const grown = cache.get(all[2]!)!
    grown.bytes.append('x'.repeat(4 * megabyte))
    cache.set(all[2]!, grown)
    expect(listCached(cache, all)).toEqual([1, 2])
  })

  it('does not keep one that is larger than all of it', () => {
    const cache = new PrefixCache()
    const all = transcripts(1)
    cache.set(all[0]!, prefixOf(9 * megabyte))
    expect(listCached(cache, all)).toEqual([])
  })

  itInTurn('keeps many small ones', () => {
    const cache = new PrefixCache()
    const all = transcripts(1000)
    for (const transcript of all) cache.set(transcript, prefixOf(10))
    expect(listCached(cache, all)).toEqual(Array.from({ length: 256 }, (_, n) => 744 + n))
  })
})

describe('a body whose prefix was dropped', () => {
  const request = (transcript: readonly Message[]) => ({ model: 'm', system: 's', tools: [], transcript })
  const long = (name: string): Message[] => [
    userText(`${name} ${'word '.repeat(300_000)}`),
    { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }], stop: 'end' },
  ]

  itInTurn.each([
    ['chat', renderChatBody],
    ['responses', renderResponsesBody],
    ['anthropic', renderMessagesBody],
  ])('%s: equals that of a new conversation', (_name, render) => {
    const grown = Array.from({ length: 8 }, (_, n) => long(`${n}`))
    for (const more of ['a', 'b'])
      for (const transcript of grown) {
        transcript.push(userText(more), { role: 'assistant', content: [{ type: 'text', text: more }], stop: 'end' })
        transcript.push(userText('next'))
        const whole = render(request([...transcript]))
        expect(Buffer.from(render(request(transcript))).equals(Buffer.from(whole))).toBe(true)
      }
  })
})
