/** Tests that events are read on behind the last one when a server goes away, refuses for a while, or comes back. */

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { ApiError, createClient } from '../../../cli/client.mjs'

async function serve(answers: readonly ((response: ServerResponse) => void)[]) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    answer?.(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = createClient({ url: `http://127.0.0.1:${port}`, key: 'k' })
  return { client, asked, close: () => server.close() }
}

const say = (...seqs: readonly number[]) => seqs.map((seq) => `data: ${JSON.stringify({ seq })}\n\n`).join('')
const refuse = (status: number) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end('{"error":{"message":"Refused."}}')
}

it('goes on behind the last event after a cut connection, a restart and a limit', async () => {
  const states: boolean[] = []
  const { client, asked, close } = await serve([
    (response) => response.write(say(1, 2), () => response.destroy()),
    refuse(503),
    refuse(429),
    (response) => response.end(say(3)),
  ])
  try {
    const seen: number[] = []
    const onState = (isOpen: boolean) => void states.push(isOpen)
    for await (const { seq } of client.events('ses_1', 0, undefined, onState)) {
      seen.push(seq)
      if (seq === 3) break
    }
    expect(seen).toEqual([1, 2, 3])
    expect(asked.map((path) => path.replace(/.*after=/, ''))).toEqual(['0', '2', '2', '2'])
    expect(states).toEqual([true, false, false, false, true])
  } finally {
    close()
  }
})

it.each([401, 404])('does not ask again after %d', async (status) => {
  const { client, asked, close } = await serve([refuse(status)])
  try {
    const error = await client
      .events('ses_1', 0)
      .next()
      .catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(ApiError)
    expect(asked).toHaveLength(1)
  } finally {
    close()
  }
})
