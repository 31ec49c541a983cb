/** Saves the workspaces of the containers of a local server, and replaces containers that have lost their network. */

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { copyWorkspace, listContainers, listCutOff, removeContainer } from './container-engine.mjs'

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

/**
 * Removes containers without a network, after saving them: the next command starts another one. A workspace that its object
 * cannot save any more is copied to a folder of the server. Returns their names, and the folders of the copies.
 */
export async function replaceCutOff(server) {
  const cutOff = await listCutOff(server.client, server.id)
  if (!cutOff.length) return []
  const outcomes = await saveContainers(server, cutOff)
  const replaced = []
  for (const container of cutOff) {
    const isSaved = ['saved', 'nothing'].includes(outcomes[container.id])
    const copy = isSaved ? undefined : join(server.unsaved, `${container.name}-${Date.now()}`)
    if (copy) {
      mkdirSync(copy, { recursive: true })
      await copyWorkspace(server.client, container, copy)
    }
    await removeContainer(server.client, container)
    replaced.push({ name: container.name, ...(copy && { copy }) })
  }
  return replaced
}
