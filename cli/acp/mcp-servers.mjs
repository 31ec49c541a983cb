/**
 * Adds the MCP servers that an editor passes along, and removes them when the editor is done with its sessions. The server
 * calls them itself: programs of the editor's computer and its private addresses are out of reach.
 */

import { createHash } from 'node:crypto'

const path = '/api/mcp/servers'
const maxNameChars = 20
const digits = 6

/** The same server has the same alias in all sessions. Another key of it is another server. */
function aliasOf({ name, url, headers = [] }) {
  const hash = createHash('sha256')
    .update(JSON.stringify([url, headers]))
    .digest('hex')
    .slice(0, digits)
  return `ed-${String(name)
    .replaceAll(/[^\w-]/g, '_')
    .slice(0, maxNameChars)}-${hash}`
}

export class EditorServers {
  #client
  /** The aliases that this process has added, and the sessions that use them. */
  #added = new Map()

  constructor(client) {
    this.#client = client
  }

  /** Returns one line for each server that the session does not get. */
  async add(sessionId, servers) {
    const lines = []
    for (const server of Array.isArray(servers) ? servers : []) {
      const problem = await this.#addOne(sessionId, server).catch((error) => String(error?.message ?? error))
      if (problem) lines.push(`The MCP server ${server?.name ?? ''} of the editor is not connected: ${problem}`)
    }
    return lines
  }

  async #addOne(sessionId, server) {
    const { type, url, headers = [] } = server
    if (type !== 'http' && type !== 'sse')
      return 'it is a program of this computer, which the server of Talaria cannot start.'
    const alias = aliasOf(server)
    const row = {
      alias,
      url,
      transport: type,
      ...(headers.length && {
        auth: 'headers',
        headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      }),
    }
    const users = this.#added.get(alias)
    if (users) {
      users.add(sessionId)
      return undefined
    }
    try {
      const { body } = await this.#client.call('POST', path, row)
      this.#added.set(alias, new Set([sessionId]))
      return body.status === 'ready' ? undefined : (body.reason ?? body.status)
    } catch (error) {
      // Another editor has added the same server, or an earlier one has left it behind.
      if (error?.status === 409) return undefined
      throw error
    }
  }

  /** Removes what no other session of this process uses. Without an argument all sessions have ended. */
  async remove(sessionId) {
    for (const [alias, users] of this.#added) {
      if (sessionId !== undefined) users.delete(sessionId)
      if (sessionId !== undefined && users.size > 0) continue
      this.#added.delete(alias)
      await this.#client.call('DELETE', `${path}/${alias}`).catch((error) => {
        if (error?.status !== 404) process.stderr.write(`${error?.message ?? error}\n`)
      })
    }
  }
}
