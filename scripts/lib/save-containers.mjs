/** Saves the workspaces of the containers of a local server, and replaces containers that have lost their network. */

import { listContainers, listCutOff, removeContainer } from './container-engine.mjs'

/** A save takes at most five minutes. */
const saveTimeoutMs = 330_000

/** `server`: its id, address and key, and the client of its engine. Returns the outcomes by container. */
export async function saveContainers(server, containers) {
  const found = containers ?? (await listContainers(server.client, server.id))
  if (!found.length) return {}
  const query = found.map(({ id }) => `id=${id}`).join('&')
  const response = await fetch(`${server.address}/sandboxes/save?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key()}` },
    signal: AbortSignal.timeout(saveTimeoutMs),
  })
  if (!response.ok) throw new Error(`POST /sandboxes/save answered ${response.status}`)
  return response.json()
}

/** Removes containers without a network, after saving them: the next command starts another one. Returns their names. */
export async function replaceCutOff(server) {
  const cutOff = await listCutOff(server.client, server.id)
  if (!cutOff.length) return []
  await saveContainers(server, cutOff)
  for (const container of cutOff) await removeContainer(server.client, container)
  return cutOff.map(({ name }) => name)
}
