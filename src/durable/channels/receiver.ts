/**
 * Holds what the receivers of a connection share, however their messages arrive: whose they are, how long they pause after
 * failures, and how a socket is opened. Outgoing sockets cannot hibernate, so each receiver has an alarm that starts it again.
 */

import { clock } from '#durable/platform/clock.ts'
import { loadConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'

export type ReceiverOwner = { readonly id: string; readonly tenantId: string }

/** The storage of a receiver, and its alarm. Several receivers may share the object behind it. */
export type ReceiverState = {
  readonly read: <Stored>() => Stored | undefined
  readonly write: (stored: unknown) => void
  readonly setAlarm: (at: number) => Promise<void>
  readonly deleteAlarm: () => Promise<void>
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** `isOpen`: messages arrive now. `detail` says why they do not. */
export type ReceiverStatus = {
  readonly status: 'running' | 'stopped'
  readonly detail: string
  readonly isOpen: boolean
}

/** The alarm looks after a receiver so often. */
export const watchMs = 25_000
const maxPauseMs = 30_000
const upgradeTimeoutMs = 10_000

/** `failures`: in a row, from 1 on. */
export const pauseAfter = (failures: number): number => Math.min(1_000 * 2 ** (failures - 1), maxPauseMs)

/** Undefined for a connection that was removed, belongs to another tenant, or whose secrets cannot be opened. */
export async function loadOwn(env: Env, owner: ReceiverOwner | undefined): Promise<LoadedConnection | undefined> {
  const connection = owner && (await loadConnection(env, owner.id, clock.now()))
  const isOwn = connection && !('refused' in connection) && connection.tenantId === owner.tenantId
  return isOwn ? connection : undefined
}

/** Rejects when no socket opens. The timeout ends with the upgrade: an abort would close the socket, too. */
export async function openSocket(address: string): Promise<WebSocket> {
  const timeout = new AbortController()
  const cancelTimeout = clock.schedule(upgradeTimeoutMs, () => timeout.abort())
  try {
    const { webSocket, status } = await fetch(address, { headers: { upgrade: 'websocket' }, signal: timeout.signal })
    if (!webSocket) throw new Error(`The platform answered ${status} and opened no socket.`)
    return webSocket
  } finally {
    cancelTimeout()
  }
}

/** Closes a socket that may be closed already. */
export function closeQuietly(socket: WebSocket | undefined, code: number): void {
  try {
    socket?.close(code, '')
  } catch {
    // It is closed already.
  }
}
