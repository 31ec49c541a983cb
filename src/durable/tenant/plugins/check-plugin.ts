/** Checks code and grants of a plugin before they are stored, and makes the version that a person approves. */

import { readListedTool } from '#agent/mcp/listed-tool.ts'
import {
  maxCodeBytes,
  type PluginGrants,
  type PluginManifest,
  readManifest,
  renderForHash,
} from '#agent/plugins/plugin.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { describePlugin } from '#backends/plugins/plugins.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import type { PluginVersion } from './plugin-row.ts'

export type PluginSource = { readonly code: string; readonly grants: PluginGrants }

type Checked = { readonly version: PluginVersion } | { readonly param: 'code' | 'grants'; readonly reason: string }

/** The module is evaluated once, without anything that it could reach, to find out what it exports. */
export async function checkPlugin(
  loader: WorkerLoader,
  tenantId: string,
  { code, grants }: PluginSource,
): Promise<Checked> {
  const problem = findGrantProblem(grants)
  if (problem !== undefined) return { param: 'grants', reason: problem }
  if (new TextEncoder().encode(code).byteLength > maxCodeBytes)
    return { param: 'code', reason: `The code is larger than ${maxCodeBytes / 1024} KiB.` }
  const hash = await sha256Hex(renderForHash(code, grants), 16)
  const described = await describePlugin({ loader, tenantId, hash, source: code })
  if (!described.ok) return { param: 'code', reason: described.error }
  const read = readManifest(described.value)
  if ('error' in read) return { param: 'code', reason: read.error }
  const attack = findAttack(read.manifest)
  if (attack !== undefined) return { param: 'code', reason: attack }
  return { version: { hash, code, grants, manifest: read.manifest } }
}

function findGrantProblem({ fetch = [], secrets = [] }: PluginGrants): string | undefined {
  for (const host of fetch) {
    const reason = checkPublicAddress(`https://${host}/`)
    if (URL.parse(`https://${host}/`)?.host !== host || reason !== undefined)
      return `fetch takes public hosts such as api.example.com, not ${host}${reason ? `: ${reason}` : '.'}`
  }
  const other = secrets.find(({ host }) => !fetch.includes(host))
  return other && `The secret ${other.name} is for ${other.host}, which fetch does not name.`
}

/** The same rules as for tools of servers: descriptions reach the model. */
function findAttack({ tools }: PluginManifest): string | undefined {
  for (const { name, description, input_schema } of tools) {
    const { attack, invalid } = readListedTool({ name, description, inputSchema: input_schema }) ?? {}
    const reason = invalid ?? attack
    if (reason !== undefined) return `The tool ${name} cannot be offered: ${reason}.`
  }
  return undefined
}
