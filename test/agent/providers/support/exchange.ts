/** A provider for one exchange: a server on this machine that keeps what it is asked and sends recorded bytes. */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type Buffer, Buffer as Bytes } from 'node:buffer'
import type { Delta, Dialect } from '../../../../src/agent/model/dialect.ts'
import type { RecordedResponse, Exchange, DialectHarness } from './conformance.ts'

type HttpOptions = {
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
  readonly contentType?: string
  /** The base address, made from that of the server. */
  readonly toBaseUrl?: (origin: string) => string
}

export const exchangeOverHttp =
  (dialect: Dialect, place: HttpOptions = {}): DialectHarness['exchange'] =>
  async (request, answer, { quirks, onDelta, isAborted } = {}) => {
    const asked: { path: string; headers: Record<string, string>; text: string }[] = []
    const server = createServer(async (incoming, response) => {
      asked.push({ path: incoming.url ?? '', headers: toHeaderRecord(incoming), text: await readText(incoming) })
      const isError = (answer.status ?? 200) >= 400
      const type = isError ? 'application/json' : (place.contentType ?? 'text/event-stream')
      response.writeHead(answer.status ?? 200, { 'content-type': type, ...answer.headers })
      if (answer.body.length) await new Promise<void>((done) => response.write(answer.body, done))
      else response.flushHeaders()
      if (answer.ending === 'breaks') response.socket?.destroy()
      else if (answer.ending === undefined) response.end()
    })
    const origin = await listen(server)
    const heard: Delta[] = []
    const controller = new AbortController()
    if (isAborted) controller.abort()
    let pulses = 0
    const outcome = await dialect
      .call(
        request,
        {
          id: 'k',
          baseUrl: place.toBaseUrl?.(origin) ?? origin,
          key: place.key ?? 'key-1',
          headers: place.headers ?? {},
          ...(quirks && { quirks }),
        },
        {
          signal: controller.signal,
          onDelta: (delta) => {
            heard.push(delta)
            onDelta?.(() => controller.abort())
          },
          onActivity: () => pulses++,
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
    return {
      path,
      headers,
      text,
      body: JSON.parse(text) as unknown,
      deltas: heard,
      pulses,
      ...outcome,
    } satisfies Exchange
  }

const toHeaderRecord = ({ headers }: IncomingMessage) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

const readText = (incoming: IncomingMessage): Promise<string> =>
  new Promise((whole, failed) => {
    const parts: Buffer[] = []
    incoming.on('data', (part) => parts.push(part))
    incoming.on('end', () => whole(Bytes.concat(parts).toString('utf8')))
    incoming.on('error', () => failed(new Error('the request broke off')))
  })

const listen = (server: Server): Promise<string> =>
  new Promise((ready, failed) => {
    server.on('error', failed)
    server.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${server.address().port}`))
  })

export const sseResponse = (...events: readonly object[]): RecordedResponse => ({
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
})
