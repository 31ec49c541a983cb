// Listens on the address of `npm start` and forwards connections to the runtime. A closed connection becomes a reset one:
// the runtime notices a reset at once, but a plain end only when it writes.
import { connect, createServer } from 'node:net'

const retryMs = 100
/** A runtime that restarts is back after seconds, on a busy machine after half a minute. */
const lostMs = 120_000

/**
 * `getTarget` returns the address of the runtime, or none yet. While the runtime restarts, connections wait for it.
 * `onLost` is called when it has refused all connections for `lostMs`.
 */
export function startFront({ host, port }, getTarget, { onLost = () => {}, lostAfterMs = lostMs } = {}) {
  const front = { getTarget, onLost, lostAfterMs, refusedSince: undefined }
  const server = createServer({ noDelay: true }, (client) => {
    client.on('error', () => {})
    forward(client, front)
  })
  return new Promise((listening, failed) => {
    server.once('error', failed)
    server.listen({ host, port }, () => listening(server))
  })
}

function forward(client, front) {
  const target = front.getTarget()
  if (!target) return tryLater(client, front)
  const upstream = connect({ ...target, noDelay: true })
  const refuse = () => waitForRestart(client, front)
  upstream.once('error', refuse)
  upstream.once('connect', () => {
    front.refusedSince = undefined
    upstream.off('error', refuse)
    join(client, upstream)
  })
}

function join(client, upstream) {
  const leave = () => upstream.resetAndDestroy()
  if (client.destroyed) return leave()
  upstream.on('error', () => client.resetAndDestroy())
  upstream.pipe(client)
  client.pipe(upstream, { end: false })
  client.on('end', leave).on('close', leave)
}

/** Not through the proxy of wrangler: after a restart of its own it answers nothing until the code changes. */
function waitForRestart(client, front) {
  front.refusedSince ??= Date.now()
  if (Date.now() - front.refusedSince < front.lostAfterMs) return tryLater(client, front)
  client.resetAndDestroy()
  front.onLost()
}

const tryLater = (client, front) => void setTimeout(() => client.destroyed || forward(client, front), retryMs)
