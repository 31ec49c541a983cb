// The way out of the local browser: a proxy that reaches public addresses only. It also covers what no call of a session
// watches: sockets, workers, and pages between two calls.
import { lookup } from 'node:dns/promises'
import { createServer, request as sendRequest } from 'node:http'
import { connect, isIPv6 } from 'node:net'
import { checkPublicAddress } from '../../src/agent/policy/network/network-address.ts'

/** Resolves a name once, so that the address that was judged is the one that is called. */
async function findAddress({ hostname, port, protocol }) {
  const reason = checkPublicAddress(`${protocol}//${hostname}${port && `:${port}`}/`)
  if (reason !== undefined) throw new Error(reason)
  const host = hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, { all: true })
  const isPrivate = found.some(({ address }) =>
    checkPublicAddress(`http://${isIPv6(address) ? `[${address}]` : address}/`),
  )
  if (!found.length || isPrivate) throw new Error('its name resolves to a private address')
  return found[0].address
}

/** Starts the proxy on a free port of the loopback interface and returns the port. */
export async function startBrowserProxy() {
  const server = createServer(async (request, response) => {
    try {
      const url = new URL(request.url)
      if (url.protocol !== 'http:') throw new Error('only http is called')
      const host = await findAddress(url)
      const { 'proxy-connection': _proxy, ...headers } = request.headers
      const upstream = sendRequest(
        { host, port: url.port || 80, method: request.method, path: `${url.pathname}${url.search}`, headers },
        (answer) => {
          response.writeHead(answer.statusCode, answer.headers)
          answer.pipe(response)
        },
      )
      upstream.on('error', () => response.destroy())
      request.pipe(upstream)
    } catch {
      response.writeHead(403).end()
    }
  })
  server.on('connect', async ({ url = '' }, socket, head) => {
    socket.on('error', () => socket.destroy())
    try {
      const target = new URL(`https://${url}/`)
      const host = await findAddress(target)
      const upstream = connect(Number(target.port || 443), host, () => {
        socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
        upstream.write(head)
        socket.pipe(upstream).pipe(socket)
      })
      upstream.on('error', () => socket.destroy())
      socket.once('close', () => upstream.destroy())
    } catch {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    }
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  server.unref()
  return server.address().port
}
