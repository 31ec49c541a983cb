/** Provides the tenant's skills to the tools of a session, and copies their files into its workspace. */

import { allMarks } from '#agent/core/marks.ts'
import type { FileMarks } from '#durable/workspace/file-marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Files } from '#agent/core/backend.ts'
import type { SkillMiss, Skills, SkillSource, SkillView } from '#agent/core/skills/skill.ts'
import type { Toolbox } from '#agent/core/tool.ts'
import { changedFile } from '#agent/skills/change-guard.ts'
import { skillFile } from '#agent/skills/skill-names.ts'
import { blockDangerous } from '#agent/skills/skill-verdict.ts'
import { decodeText } from '#durable/tenant/skills/check-skill.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

export type SessionSkillsOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly sessionId: string
  readonly files: () => Pick<Files, 'read' | 'write'>
  readonly fileMarks: FileMarks
  /** The absolute path of a file in the workspace. */
  readonly resolve: (path: string) => string
  /** Names of the secrets that commands of the session get. */
  readonly variables: () => readonly string[]
  /** The tools of the current turn. */
  readonly toolNames: () => Toolbox
}

/** Below the workspace. A hidden folder, so that searches and listings of the user's files leave it out. */
const workspaceFolder = '.skills'
/** Holds the hash of the skill whose files were copied. */
const markFile = '.copied'

export function createSessionSkills({
  env,
  tenantId,
  sessionId,
  files,
  fileMarks,
  resolve,
  variables,
  toolNames,
}: SessionSkillsOptions): Skills {
  /** The files that this session has read, by skill and path. An eviction forgets it: then a file has to be read again. */
  const readHashes = new Map<string, string>()
  const stub = () => tenantStub(env, tenantId).skills

  async function view(authority: Authority, name: string, path?: string): Promise<SkillView | SkillMiss> {
    const found = (await stub().view(authority, name, path)) as SkillView | SkillMiss
    if (found.kind === 'skill') readHashes.set(keyOf(name, found.path), found.fileHash)
    return found
  }

  return {
    list: async (authority) => stub().list(authority),
    search: async (authority, query) => stub().search(authority, query),
    view,
    change: async (authority, change, isCautionAccepted) => {
      const readHash = readHashes.get(keyOf(change.name, changedFile(change) ?? skillFile))
      const result = await stub().change(authority, change, { readHash, isCautionAccepted })
      forgetSnapshot(tenantId)
      return result
    },
    copyToWorkspace: async (authority, { summary, files: listed }) => {
      const { name } = summary.head
      if (listed.every(({ path }) => path === skillFile)) return undefined
      const folder = `${workspaceFolder}/${name}`
      const mark = new TextEncoder().encode(summary.hash)
      const copied = await files().read(`${folder}/${markFile}`)
      if (copied && isSame(copied, mark)) return resolve(folder)
      const exported = await stub().read(authority, name)
      if (!exported) return undefined
      for (const { path, bytes } of exported.files) {
        if (exported.summary.isForeign) fileMarks.set(resolve(`${folder}/${path}`), allMarks)
        await files().write(`${folder}/${path}`, withoutDangerous(bytes, exported.summary.source))
      }
      await files().write(`${folder}/${markFile}`, mark)
      return resolve(folder)
    },
    surroundings: () => {
      const tools = toolNames()
      return {
        tools: new Set(tools.keys()),
        toolsets: new Set([...tools.values()].map(({ toolset }) => toolset)),
        variables: new Set(variables()),
      }
    },
    sessionId,
  }
}

/** The model may read a copied file as any other. */
function withoutDangerous(bytes: Uint8Array, source: SkillSource): Uint8Array {
  const text = decodeText(bytes)
  const shown = text === undefined ? undefined : blockDangerous(text, source)
  return shown === undefined || shown === text ? bytes : new TextEncoder().encode(shown)
}

const keyOf = (name: string, path: string): string => `${name} ${path}`

const isSame = (one: Uint8Array, other: Uint8Array): boolean =>
  one.byteLength === other.byteLength && one.every((byte, index) => byte === other[index])
