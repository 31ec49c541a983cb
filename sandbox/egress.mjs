// The only way out of a sandbox with network: a proxy behind a Unix socket. It takes CONNECT and plain HTTP requests,
// resolves names itself, refuses private addresses, and connects to the address that it judged.

import { lookup } from 'node:dns/promises'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, request as sendRequest } from 'node:http'
import { BlockList, connect, isIP } from 'node:net'
import { join } from 'node:path'

/** Inside a sandbox: the folder with the socket, the port of the forwarder, and its script. */
export const inside = { folder: '/run/talaria', port: 3128 }
const idleTimeoutMs = 120_000
const connectTimeoutMs = 15_000
const maxConnections = 1_000

/** Special ranges of IANA: loopback, private, link-local, shared, documentation, multicast, reserved. */
const reserved4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 ' +
  '192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 ' +
  '224.0.0.0/4 240.0.0.0/4'
/** Public IPv6 addresses are in 2000::/3, without tunnels, which lead to IPv4 addresses, and documentation. */
const reserved6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20'

const listOf = (ranges, family) => {
  const list = new BlockList()
  for (const range of ranges.split(' ')) {
    const [address, bits] = range.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
const [blocked4, blocked6, global6] = [listOf(reserved4, 'ipv4'), listOf(reserved6, 'ipv6'), listOf('2000::/3', 'ipv6')]

export function isPublicAddress(address) {
  const family = isIP(address)
  if (family === 4) return !blocked4.check(address, 'ipv4')
  return family === 6 && global6.check(address, 'ipv6') && !blocked6.check(address, 'ipv6')
}

const namePattern = /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const privateNames = /(?:^|\.)(?:localhost|local|internal|lan|intranet|home\.arpa|onion|test|invalid)$/

/**
 * `ports` may be reached; `hosts` are patterns like `*.example.com`, undefined allows all; `map` sends a name elsewhere
 * after it was judged, which is how an operator opens an intranet.
 */
export function createGuard({ ports, hosts, map = {}, resolve = (name) => lookup(name, { all: true }) }) {
  const isAllowed = (name) => !hosts || hosts.some((pattern) => matches(pattern, name))

  /** Returns address and port to connect to, or a reason to refuse. */
  return async function judge(host, port) {
    const name = host.toLowerCase().replace(/^\[|\]$/g, '').replace(/\.$/, '')
    if (!ports.includes(port)) return { refused: `Port ${port} is not open.` }
    if (!isAllowed(name)) return { refused: `The host ${name} is not allowed here.` }
    if (isIP(name)) return isPublicAddress(name) ? { address: name, port } : { refused: privateText }
    if (!namePattern.test(name) || privateNames.test(name)) return { refused: privateText }
    if (Object.hasOwn(map, name)) {
      const { hostname, port: mapped } = new URL(map[name])
      return { address: hostname, port: Number(mapped) || port }
    }
    const found = await resolve(name).catch(() => [])
    if (found.length === 0) return { refused: `The name ${name} does not resolve.` }
    return found.every(({ address }) => isPublicAddress(address))
      ? { address: found[0].address, port }
      : { refused: privateText }
  }
}

const privateText = 'Only public addresses can be reached.'

const matches = (pattern, name) =>
  pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1 : pattern === name

/** Starts the proxy on `ROOT/.egress/proxy.sock`. A sandbox binds the folder, so it finds the proxy of a later server. */
export function startEgress(root, guard) {
  const folder = join(root, '.egress')
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  const path = join(folder, 'proxy.sock')
  if (existsSync(path)) rmSync(path)
  const server = createServer({ maxHeaderSize: 16_384 })
  server.maxConnections = maxConnections
  server.on('connect', (request, socket, head) => void openTunnel(guard, request, socket, head))
  server.on('request', (request, response) => void relayRequest(guard, request, response))
  server.on('clientError', (_, socket) => socket.destroy())
  server.listen(path)
  server.unref()
  return { folder, close: () => server.close() }
}

async function openTunnel(guard, request, socket, head) {
  socket.on('error', () => socket.destroy())
  const [, host, port] = /^(\[[0-9A-Fa-f:.]+\]|[^:]+):(\d{1,5})$/.exec(request.url ?? '') ?? []
  const target = host ? await guard(host, Number(port)) : { refused: 'Write it as host:port.' }
  if (target.refused) return refuse(socket, target.refused)
  const upstream = connect({ host: target.address, port: target.port, timeout: connectTimeoutMs })
  upstream.on('error', () => (upstream.connecting ? refuse(socket, 'The host cannot be reached.') : socket.destroy()))
  upstream.on('timeout', () => upstream.destroy())
  upstream.once('connect', () => {
    for (const each of [upstream, socket]) each.setTimeout(idleTimeoutMs, () => each.destroy())
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    upstream.write(head)
    upstream.pipe(socket).pipe(upstream)
  })
  socket.once('close', () => upstream.destroy())
  upstream.once('close', () => socket.end())
}

function refuse(socket, reason) {
  socket.end(`HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n${reason}\n`)
}

async function relayRequest(guard, request, response) {
  const url = URL.canParse(request.url ?? '') ? new URL(request.url) : undefined
  const target =
    url?.protocol === 'http:' && !url.username
      ? await guard(url.hostname, Number(url.port) || 80)
      : { refused: 'Only http and https addresses can be reached.' }
  if (target.refused) return response.writeHead(403, { 'content-type': 'text/plain' }).end(`${target.refused}\n`)
  const { 'proxy-authorization': _, 'proxy-connection': __, ...headers } = request.headers
  const outgoing = sendRequest({
    host: target.address,
    port: target.port,
    method: request.method,
    path: url.pathname + url.search,
    headers: { ...headers, host: url.host, connection: 'close' },
    timeout: idleTimeoutMs,
  })
  outgoing.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  outgoing.on('timeout', () => outgoing.destroy())
  outgoing.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
  response.on('close', () => outgoing.destroy())
  request.pipe(outgoing)
}
