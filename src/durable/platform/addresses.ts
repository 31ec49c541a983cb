/**
 * Builds the names of a tenant's objects and blobs. The prefix `t/<tenant>/` is the wall between tenants, so no other
 * file writes it. Their stubs retry calls that the platform interrupts (retry-calls.ts).
 */

import { repeatableConnectionCalls, repeatableSessionCalls, repeatableTenantCalls } from './repeatable-calls.ts'
import { retryCalls } from './retry-calls.ts'

const rootOf = (tenantId: string): string => `t/${tenantId}`

export const tenantStub = ({ TENANT }: Pick<Env, 'TENANT'>, tenantId: string) =>
  retryCalls(() => TENANT.getByName(rootOf(tenantId)), repeatableTenantCalls)

/** An object of the tenant's class that only holds sockets. A class of its own would need a migration of objects. */
export const relayStub = ({ TENANT }: Pick<Env, 'TENANT'>, tenantId: string, relayId: number) =>
  retryCalls(() => TENANT.getByName(`${rootOf(tenantId)}/r/${relayId}`), repeatableTenantCalls)

/** The inverse of the names that `tenantStub` and `relayStub` use. `id` is empty for an object without a name. */
export function parseTenantAddress(name: string | undefined) {
  const [, id = '', kind] = (name ?? '').split('/')
  return { id, isRelay: kind === 'r' }
}

/** The session's id is not checked: `addressSession` of the worker does that for ids of clients. */
export const sessionStub = ({ SESSION }: Pick<Env, 'SESSION'>, tenantId: string, sessionId: string) =>
  retryCalls(() => SESSION.getByName(`${rootOf(tenantId)}/s/${sessionId}`), repeatableSessionCalls)

export type SessionStub = ReturnType<typeof sessionStub>

/** Undefined without the binding. */
export const connectionStub = ({ CONNECTION }: Pick<Env, 'CONNECTION'>, tenantId: string, connectionId: string) =>
  CONNECTION &&
  retryCalls(() => CONNECTION.getByName(`${rootOf(tenantId)}/c/${connectionId}`), repeatableConnectionCalls)

/** An object of the same class that keeps the sockets of several bots of the tenant. */
export const gatewayBotsStub = ({ CONNECTION }: Pick<Env, 'CONNECTION'>, tenantId: string, object: number) =>
  CONNECTION && retryCalls(() => CONNECTION.getByName(`${rootOf(tenantId)}/b/${object}`), repeatableConnectionCalls)

/** An object of the same class that holds the socket of a telephone call. */
export const callStub = (
  { CONNECTION }: Pick<Env, 'CONNECTION'>,
  tenantId: string,
  { id, callSid }: { readonly id: string; readonly callSid: string },
) => CONNECTION?.getByName(`${rootOf(tenantId)}/p/${id}/${encodeURIComponent(callSid)}`)

/** In place of its id: a call that is being placed, and has none yet. */
export const waitingName = (number: string): string => `to:${number}`

export const isGatewayBots = (name: string | undefined): boolean => name?.split('/')[2] === 'b'
export const isCall = (name: string | undefined): boolean => name?.split('/')[2] === 'p'

/** `blobPrefix('a', 'uploads')` is `t/a/uploads/`. Without folders it covers all files of the tenant. */
export const blobPrefix = (tenantId: string, ...folders: readonly string[]): string =>
  [rootOf(tenantId), ...folders, ''].join('/')

/** Covers the files of all sessions; the next folder is a session's id. */
export const sessionsBlobPrefix = (tenantId: string): string => blobPrefix(tenantId, 's')

export const sessionBlobPrefix = (tenantId: string, sessionId: string, ...folders: readonly string[]): string =>
  blobPrefix(tenantId, 's', sessionId, ...folders)

/** Matches the keys of one kind of file of any session. */
export const sessionBlobPattern = (folders: readonly string[]): RegExp =>
  new RegExp(`^${rootOf('[^/]+')}/s/[^/]+/(?:${folders.join('|')})/`)

/** The inverse of the name that `sessionStub` uses. Empty texts for an object without a name. */
export function parseSessionAddress(name: string | undefined) {
  const [, tenantId = '', sessionId = ''] = /^t\/([^/]+)\/s\/([^/]+)$/.exec(name ?? '') ?? []
  return { tenantId, sessionId }
}
