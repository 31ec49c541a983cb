/** Runs one exchange of a dialect over HTTP: a local server records the request and sends a recorded response. */

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type Buffer, Buffer as Bytes } from 'node:buffer'
import type { Delta, Dialect } from '#agent/core/dialect.ts'
import type { RecordedResponse, Exchange, DialectHarness } from './conformance.ts'

type HttpOptions = {
  readonly headers?: Readonly<Record<string, string>>
  readonly key?: string
  readonly contentType?: string
  readonly region?: string
  /** Derives the base URL from the origin of the server. */
  readonly toBaseUrl?: (origin: string) => string
}

export const exchangeOverHttp =
  (dialect: Dialect, httpOptions: HttpOptions = {}): DialectHarness['exchange'] =>
  async (request, recorded, { quirks, onDelta, isAborted } = {}) => {
    const requests: { path: string; headers: Record<string, string>; text: string }[] = []
    const server = createServer(async (incoming, response) => {
      requests.push({ path: incoming.url ?? '', headers: toHeaderRecord(incoming), text: await readText(incoming) })
      const isError = (recorded.status ?? 200) >= 400
      const type = isError ? 'application/json' : (httpOptions.contentType ?? 'text/event-stream')
      response.writeHead(recorded.status ?? 200, { 'content-type': type, ...recorded.headers })
      if (recorded.body.length) await new Promise<void>((done) => void response.write(recorded.body, () => done()))
      else response.flushHeaders()
      if (recorded.ending === 'disconnects') response.socket?.destroy()
      else if (recorded.ending === undefined) response.end()
    })
    const origin = await listen(server)
    const deltas: Delta[] = []
    const written: Record<string, string> = {}
    const controller = new AbortController()
    if (isAborted) controller.abort()
    let activityCount = 0
    const outcome = await dialect
      .call(
        request,
        {
          id: 'k',
          baseUrl: httpOptions.toBaseUrl?.(origin) ?? origin,
          key: httpOptions.key ?? 'key-1',
          headers: httpOptions.headers ?? {},
          ...(httpOptions.region && { region: httpOptions.region }),
          ...(quirks && { quirks }),
        },
        {
          signal: controller.signal,
          onDelta: (delta) => {
            deltas.push(delta)
            onDelta?.(() => controller.abort())
          },
          onActivity: () => activityCount++,
          onArguments: (tool, piece) => void (written[tool] = (written[tool] ?? '') + piece),
          sleep: () => Promise.resolve(),
        },
      )
      .then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error }),
      )
    server.closeAllConnections()
    await new Promise<void>((closed) => void server.close(() => closed()))
    const { path = '', headers = {}, text = 'null' } = requests[0] ?? {}
    return {
      path,
      headers,
      text,
      body: JSON.parse(text) as unknown,
      deltas,
      written,
      activityCount,
      ...outcome,
    } satisfies Exchange
  }

const toHeaderRecord = ({ headers }: IncomingMessage) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

const readText = (incoming: IncomingMessage): Promise<string> =>
  new Promise((resolve, reject) => {
    const parts: Buffer[] = []
    incoming.on('data', (part) => parts.push(part))
    incoming.on('end', () => resolve(Bytes.concat(parts).toString('utf8')))
    incoming.on('error', () => reject(new Error('The request was interrupted.')))
  })

const listen = (server: Server): Promise<string> =>
  new Promise((ready, reject) => {
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () =>
      ready(`http://127.0.0.1:${(server.address() as { readonly port: number }).port}`),
    )
  })

export const sseResponse = (...events: readonly object[]): RecordedResponse => ({
  body: events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
})
