/** Tests the address of `npm start`: connections wait for a runtime that restarts, and its loss is noticed. */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { startFront } from '../../scripts/lib/front.mjs'

const open: Server[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

const portOf = (server: Server) => (server.address() as AddressInfo).port

/** A runtime that answers with the words that it gets. */
async function startRuntime(port = 0): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (words) => socket.end(`heard ${String(words)}`))
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  open.push(server)
  return portOf(server)
}

async function stopRuntime(): Promise<void> {
  const server = open.shift()
  server?.close()
  if (server) await once(server, 'close')
}

type Options = Parameters<typeof startFront>[2]

async function start(getTarget: () => { host: string; port: number } | undefined, options?: Options) {
  const front = await startFront({ host: '127.0.0.1', port: 0 }, getTarget, options)
  const ask = async (words: string) => {
    const socket = connect(portOf(front), '127.0.0.1')
    socket.write(words)
    return text(socket)
  }
  return { front, ask }
}

it('keeps a connection until there is a runtime, and until one that restarts is back', async () => {
  let target: { host: string; port: number } | undefined
  const { front, ask } = await start(() => target)
  const first = ask('one')
  const port = await startRuntime()
  target = { host: '127.0.0.1', port }
  expect(await first).toBe('heard one')
  await stopRuntime()
  const second = ask('two')
  await new Promise((resolve) => setTimeout(resolve, 150))
  await startRuntime(port)
  expect(await second).toBe('heard two')
  front.close()
})

it('says when the runtime does not come back', async () => {
  const port = await startRuntime()
  let lost = 0
  const { front, ask } = await start(() => ({ host: '127.0.0.1', port }), {
    onLost: () => void lost++,
    lostAfterMs: 150,
  })
  expect(await ask('one')).toBe('heard one')
  await stopRuntime()
  await expect(ask('two')).rejects.toThrow('ECONNRESET')
  expect(lost).toBe(1)
  front.close()
})
