/** Many requests in the same moment: each is answered, whoever leaves while others wait. */

import { describe, expect, it } from 'vitest'
import { server } from './support/here.ts'

const ask = (content = '[[text 20]]', signal?: AbortSignal) =>
  fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'talaria', stream: true, messages: [{ role: 'user', content }] }),
    ...(signal && { signal }),
  }).then((response) => response.text())

describe('a burst of requests', () => {
  it('has all of them answered', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask()))
    for (const answer of answers) expect(answer.trimEnd().endsWith('data: [DONE]')).toBe(true)
  })

  it('has those answered that stay when others leave, and who comes after them', async () => {
    const leaving = new AbortController()
    const gone = Array.from({ length: 30 }, () => ask('[[slow ttft=5000]]', leaving.signal).catch(() => 'left'))
    const staying = Array.from({ length: 30 }, () => ask())
    await Promise.race(staying)
    leaving.abort()
    const later = await ask()
    for (const answer of [...(await Promise.all(staying)), later])
      expect(answer.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(new Set(await Promise.all(gone))).toEqual(new Set(['left']))
  })
})
