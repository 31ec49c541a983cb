// Listens on the address of `npm start` and forwards connections to the runtime. A closed connection becomes a reset one:
// the runtime notices a reset at once, but a plain end only when it writes.
import { connect, createServer } from 'node:net'

/** `listTargets` returns the addresses to try, best first: the runtime, then the proxy of wrangler while it restarts. */
export function startFront({ host, port }, listTargets) {
  const server = createServer({ noDelay: true }, (client) => forward(client, listTargets()))
  return new Promise((listening, failed) => {
    server.once('error', failed)
    server.listen({ host, port }, () => listening(server))
  })
}

function forward(client, [target, ...others]) {
  if (!target) return client.destroy()
  const upstream = connect({ ...target, noDelay: true })
  const leave = () => upstream.resetAndDestroy()
  const tryOthers = () => {
    client.off('end', leave).off('close', leave)
    forward(client, others)
  }
  upstream.once('error', tryOthers)
  upstream.once('connect', () => {
    upstream.off('error', tryOthers)
    upstream.on('error', () => client.resetAndDestroy())
    upstream.pipe(client)
    client.pipe(upstream, { end: false })
    if (client.destroyed) leave()
  })
  client.on('error', () => {})
  client.on('end', leave).on('close', leave)
}
