/**
 * Runs forty MCP servers in one process: `node bench/mcp/main.ts PORT`. Server n is at `/n`. `GET /calls` returns when the
 * calls of tools arrived, and the last one of them with its stream; `DELETE /calls` forgets the times.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { answer, type Asked, eraOf } from './answer.ts'

export type Call = {
  readonly server: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
/** `stream`: the last request for a stream of questions. */
export type Calls = {
  readonly arrivals: readonly number[]
  readonly last: Call | undefined
  readonly stream: Omit<Call, 'body'> | undefined
}

/** The monotonic clock of the machine, as in the journal of the model server. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6

let arrivals: number[] = []
let last: Calls['last']
let stream: Calls['stream']

const send = (response: ServerResponse, status: number, body?: object, headers: object = {}): void => {
  const bytes = body && JSON.stringify(body)
  response.writeHead(status, { ...headers, ...(bytes && { 'content-type': 'application/json' }) }).end(bytes)
}

async function readBody(request: IncomingMessage): Promise<string> {
  let text = ''
  request.setEncoding('utf8')
  for await (const part of request) text += part
  return text
}

const headersOf = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      typeof value === 'string' && !/^(?:host|connection|content-length|transfer-encoding)$/.test(name)
        ? [[name, value]]
        : [],
    ),
  )

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrived = now()
  const path = (request.url ?? '/').slice(1)
  if (path === 'calls') {
    if (request.method === 'DELETE') arrivals = []
    send(response, 200, { arrivals, last, stream } satisfies Calls)
    return
  }
  const server = Number(path)
  if (request.method === 'GET') {
    if (eraOf(server) !== 'asking') return send(response, 405)
    stream = { server, headers: headersOf(request) }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    return
  }
  const body = await readBody(request)
  const asked = JSON.parse(body || '{}') as Asked
  if (asked.method === 'tools/call') {
    arrivals.push(arrived)
    last = { server, headers: headersOf(request), body }
  }
  const found = answer(server, asked)
  send(response, found.status, found.body, found.headers)
}

createServer((request, response) => {
  serve(request, response).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`)
    response.destroy()
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
