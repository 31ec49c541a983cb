// A workspace is a folder below the root: `home` is /workspace inside, `tmp` is /tmp, `jobs` is seen by the server alone.

import { mkdir, readdir } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { execFile } from 'node:child_process'
import { removeAll } from './descent.mjs'
import { Refusal } from './refusal.mjs'

const nameShape = /^[a-z0-9][a-z0-9_-]{7,79}$/
/** A measured size is believed for this long. */
const freshMs = 5_000

export function openWorkspaces(root, limits) {
  const measured = new Map()

  function at(name) {
    if (!nameShape.test(name))
      throw new Refusal('invalid', 'A workspace is named by 8 to 80 of a-z, 0-9, _ and -, the first no sign.')
    const folder = join(root, name)
    return { name, folder, home: join(folder, 'home'), tmp: join(folder, 'tmp'), jobs: join(folder, 'jobs') }
  }

  /** The folders of a workspace; made when they are not there. */
  async function open(name) {
    const workspace = at(name)
    await Promise.all(
      [workspace.home, workspace.tmp, workspace.jobs].map((path) => mkdir(path, { recursive: true, mode: 0o700 })),
    )
    return workspace
  }

  /** Bytes on the disk, by `du`. A tree that it cannot walk in time counts as it counted before. */
  async function usedBytes(workspace, maxAge = freshMs) {
    const last = measured.get(workspace.name)
    if (last && Date.now() - last.at < maxAge) return last.bytes
    if (!existsSync(workspace.folder)) return 0
    const bytes = await diskUsage([workspace.home, workspace.tmp], last?.bytes ?? 0)
    measured.set(workspace.name, { at: Date.now(), bytes })
    if (measured.size > 10_000) measured.clear()
    return bytes
  }

  async function requireSpace(workspace, coming = 0) {
    const used = await usedBytes(workspace)
    if (used + coming <= limits.DISK_BYTES) return
    throw new Refusal(
      'quota',
      `The workspace has ${used} of ${limits.DISK_BYTES} bytes; this does not fit any more.`,
      'Remove files that are not needed.',
    )
  }

  return {
    at,
    open,
    usedBytes,
    requireSpace,
    /** Something was removed: the next measure is taken anew. */
    changed: (workspace) => measured.delete(workspace.name),
    exists: (name) => existsSync(at(name).folder),
    async remove(name) {
      measured.delete(name)
      if (existsSync(at(name).folder)) await removeAll(root, name, name)
    },
    async names() {
      return (await readdir(root).catch(() => [])).filter((name) => nameShape.test(name))
    },
  }
}

function diskUsage(folders, otherwise) {
  return new Promise((resolve) => {
    execFile('du', ['-skx', ...folders], { timeout: 20_000, env: { PATH: process.env.PATH } }, (_, output) => {
      const lines = String(output).trim().split('\n')
      const sum = lines.reduce((bytes, line) => bytes + Number.parseInt(line, 10) * 1024, 0)
      resolve(lines.length === folders.length && Number.isFinite(sum) ? sum : otherwise)
    })
  })
}
