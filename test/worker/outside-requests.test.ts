/** Tests the harness: what no stand-in answers reaches no network, and stand-ins keep nothing for the next file. */

import { expect, it } from 'vitest'
import { endFile } from '../support/file-end.ts'
import { vendors } from '../support/media-vendors.ts'

it.each([
  ['https://api.example.com/v1/models?key=x', undefined, 'GET https://api.example.com/v1/models'],
  ['http://slack.test:81/api', { method: 'post', body: 'x' }, 'POST http://slack.test:81/api'],
])('a request to %s is refused with its address', async (url, init, named) => {
  const refusal = `${named} is outside of this machine: give it a stand-in (test/support)`
  await expect(fetch(url, init)).rejects.toThrow(refusal)
  await expect(fetch(new Request(url, init))).rejects.toThrow(refusal)
  await expect(fetch(new URL(url), init)).rejects.toThrow(refusal)
})

it('what has no host is answered', async () => {
  expect(await (await fetch('data:text/plain,here')).text()).toBe('here')
})

it('vendors answer nothing more after the file that scripted them', async () => {
  const address = 'https://api.deepgram.com/v1/listen'
  vendors.begin(() => new Response('scripted'))
  expect(await (await fetch(address)).text()).toBe('scripted')
  endFile()
  const answer = await fetch(address)
  expect([answer.status, await answer.json()]).toEqual([404, { error: { message: `not scripted: ${address}` } }])
  expect(vendors.calls).toHaveLength(1)
})
