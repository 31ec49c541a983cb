/** Stands in for Discord on a local port: the calls of its API that a bot needs, and the gateway as a real socket. */

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

export type Frame = { readonly op: number; readonly d?: unknown; readonly s?: number; readonly t?: string }

/** One socket of the bot. */
export type GatewayLink = {
  readonly received: readonly Frame[]
  readonly send: (frame: Frame) => void
  /** Ends the connection without a word, as a broken network does. */
  readonly drop: () => void
}

type Posted = { readonly channel: string; readonly content: string }

export async function startDiscord(token: string, onPort = 0) {
  const posted: Posted[] = []
  const links: GatewayLink[] = []
  const refused: string[] = []
  const nonces = new Map<string, string>()
  const http = createServer((request, response) => void answer(request, response))

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { status, body } = handle(request, await readBody(request))
    if (status >= 400) refused.push(`${request.method} ${request.url}`)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status === 204 ? undefined : JSON.stringify(body))
  }

  function handle({ method, url = '', headers }: IncomingMessage, body: Record<string, unknown>) {
    const call = `${method} ${url}`
    if (headers.authorization !== `Bot ${token}`)
      return { status: 401, body: { code: 0, message: '401: Unauthorized' } }
    const { port } = http.address() as AddressInfo
    if (call === 'GET /gateway/bot')
      return { status: 200, body: { url: `ws://127.0.0.1:${port}/socket`, session_start_limit: { remaining: 5 } } }
    if (/^(POST \/applications\/999\/commands|PATCH \/applications\/@me|GET \/users\/@me)$/.test(call))
      return { status: 200, body: { id: '999', username: 'talaria' } }
    if (/^POST \/channels\/\d+\/typing$/.test(call)) return { status: 204, body: {} }
    const [, channel] = /^POST \/channels\/(\d+)\/messages$/.exec(call) ?? []
    return channel === undefined ? { status: 404, body: { code: 0, message: 'Unknown' } } : post(channel, body)
  }

  function post(channel: string, { content, nonce, enforce_nonce: isEnforced }: Record<string, unknown>) {
    const isLegal = typeof content === 'string' && content && content.length <= 2_000
    if (!isLegal || typeof nonce !== 'string' || nonce.length > 25 || isEnforced !== true)
      return { status: 400, body: { code: 50_035, message: 'Invalid Form Body' } }
    const id = nonces.get(nonce) ?? String(500 + posted.length)
    if (!nonces.has(nonce)) posted.push({ channel, content })
    nonces.set(nonce, id)
    return { status: 200, body: { id } }
  }

  http.on('upgrade', (request, socket) => {
    socket.on('error', () => undefined)
    socket.write(acceptUpgrade(request))
    const link = openLink(socket)
    links.push(link)
    link.send({ op: 10, d: { heartbeat_interval: 41_250 } })
  })
  await new Promise<void>((resolve) => http.listen(onPort, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    posted,
    links,
    refused,
    close: () => {
      for (const link of links) link.drop()
      http.close()
    },
  }
}

async function readBody(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString()
  return text ? (JSON.parse(text) as Record<string, unknown>) : {}
}

function acceptUpgrade({ headers }: IncomingMessage): string {
  const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
  const key = createHash('sha1').update(`${headers['sec-websocket-key']}${guid}`).digest('base64')
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  return `${lines.join('\r\n')}\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`
}

function openLink(socket: Duplex): GatewayLink {
  const received: Frame[] = []
  let rest: Buffer = Buffer.alloc(0)
  const send = (frame: Frame) => void socket.write(encodeText(JSON.stringify(frame)))
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (let read = decodeFrame(rest); read; read = decodeFrame(rest)) {
      rest = rest.subarray(read.size)
      if (read.opcode === 8) return void socket.end()
      if (read.opcode !== 1) continue
      const frame = JSON.parse(read.text) as Frame
      if (frame.op === 1) send({ op: 11 })
      else received.push(frame)
    }
  })
  return { received, send, drop: () => socket.destroy() }
}

/** Messages here are shorter than 64 KiB. */
function encodeText(text: string): Buffer {
  const body = Buffer.from(text)
  const head = body.length < 126 ? [0x81, body.length] : [0x81, 126, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from(head), body])
}

/** Clients mask their frames. Undefined while a frame is not complete. */
function decodeFrame(bytes: Buffer) {
  if (bytes.length < 2) return undefined
  const short = bytes[1]! & 0x7f
  const at = short === 126 ? 4 : 2
  if (bytes.length < at + 4) return undefined
  const length = short === 126 ? bytes.readUInt16BE(2) : short
  const size = at + 4 + length
  if (bytes.length < size) return undefined
  const mask = bytes.subarray(at, at + 4)
  const text = Buffer.from(bytes.subarray(at + 4, size).map((byte, n) => byte ^ mask[n % 4]!)).toString()
  return { opcode: bytes[0]! & 0x0f, size, text }
}
