/** A provider for one exchange: a server on this machine that keeps what it is asked and sends recorded bytes. */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type Buffer, Buffer as Bytes } from 'node:buffer'
import type { Delta, Dialect } from '../../../../src/agent/model/dialect.ts'
import type { Answer, Exchange, Wire } from './conformance.ts'

type Place = {
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
  readonly type?: string
  /** The base address, made from that of the server. */
  readonly base?: (origin: string) => string
}

export const overHttp =
  (dialect: Dialect, place: Place = {}): Wire['exchange'] =>
  async (request, answer, { quirks, onHear, isGivenUp } = {}) => {
    const asked: { path: string; headers: Record<string, string>; text: string }[] = []
    const server = createServer(async (incoming, response) => {
      asked.push({ path: incoming.url ?? '', headers: flat(incoming), text: await textOf(incoming) })
      const isError = (answer.status ?? 200) >= 400
      const type = isError ? 'application/json' : (place.type ?? 'text/event-stream')
      response.writeHead(answer.status ?? 200, { 'content-type': type, ...answer.headers })
      if (answer.body.length) await new Promise<void>((done) => response.write(answer.body, done))
      else response.flushHeaders()
      if (answer.after === 'breaks') response.socket?.destroy()
      else if (answer.after === undefined) response.end()
    })
    const origin = await listening(server)
    const heard: Delta[] = []
    const controller = new AbortController()
    if (isGivenUp) controller.abort()
    let pulses = 0
    const outcome = await dialect
      .call(
        request,
        {
          id: 'k',
          baseUrl: place.base?.(origin) ?? origin,
          key: place.key ?? 'key-1',
          headers: place.headers ?? {},
          ...(quirks && { quirks }),
        },
        {
          signal: controller.signal,
          hear: (delta) => {
            heard.push(delta)
            onHear?.(() => controller.abort())
          },
          pulse: () => pulses++,
          sleep: () => Promise.resolve(),
        },
      )
      .then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      )
    server.closeAllConnections()
    await new Promise<void>((closed) => server.close(closed))
    const { path = '', headers = {}, text = 'null' } = asked[0] ?? {}
    return { path, headers, text, body: JSON.parse(text) as unknown, heard, pulses, ...outcome } satisfies Exchange
  }

const flat = ({ headers }: IncomingMessage) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

const textOf = (incoming: IncomingMessage): Promise<string> =>
  new Promise((whole, failed) => {
    const parts: Buffer[] = []
    incoming.on('data', (part) => parts.push(part))
    incoming.on('end', () => whole(Bytes.concat(parts).toString('utf8')))
    incoming.on('error', () => failed(new Error('the request broke off')))
  })

const listening = (server: Server): Promise<string> =>
  new Promise((ready, failed) => {
    server.on('error', failed)
    server.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${server.address().port}`))
  })

export const sse = (...events: readonly object[]): Answer => ({
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
})
