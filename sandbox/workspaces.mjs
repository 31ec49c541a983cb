// Manages workspaces. A workspace is a folder below the root: `home` is /workspace inside, `tmp` is /tmp, and `jobs` is
// only visible to the server.

import { chmod, mkdir, readdir, stat } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { execFile } from 'node:child_process'
import { removeAll } from './walk.mjs'
import { ProtocolError } from './protocol-error.mjs'

const namePattern = /^[a-z0-9][a-z0-9_-]{7,79}$/
/** A measured size is valid for this time. */
const measureMaxAgeMs = 5_000

/** `runInside` runs a command of ours in a sandbox, which reads also what a command has locked. */
export function openWorkspaces(root, limits, runInside) {
  const measured = new Map()

  function at(name) {
    if (!namePattern.test(name))
      throw new ProtocolError(
        'invalid',
        'A workspace name has 8 to 80 characters of a-z, 0-9, _ and -, and starts with a letter or digit.',
      )
    const folder = join(root, name)
    return { name, folder, home: join(folder, 'home'), tmp: join(folder, 'tmp'), jobs: join(folder, 'jobs') }
  }

  /** Returns the folders of a workspace, and creates them when they are missing. */
  async function open(name) {
    const workspace = at(name)
    await Promise.all([workspace.home, workspace.tmp, workspace.jobs].map(prepareFolder))
    return workspace
  }

  /** Measures disk usage with `du`. When it fails, the last result is used. */
  async function usedBytes(workspace, maxAgeMs = measureMaxAgeMs) {
    const last = measured.get(workspace.name)
    if (last && Date.now() - last.at < maxAgeMs) return last.bytes
    if (!existsSync(workspace.folder)) return 0
    const bytes = (await diskUsage(workspace)) ?? (await diskUsageInside(workspace)) ?? last?.bytes ?? 0
    measured.set(workspace.name, { at: Date.now(), bytes })
    if (measured.size > 10_000) measured.clear()
    return bytes
  }

  async function diskUsageInside({ name }) {
    const measuredInside = await runInside(name, 'du -skx /workspace /tmp')
    return measuredInside && sumOf(measuredInside.output)
  }

  async function requireSpace(workspace, newBytes = 0) {
    const used = await usedBytes(workspace)
    if (used + newBytes <= limits.DISK_BYTES) return
    throw new ProtocolError(
      'quota',
      `The workspace has ${used} of ${limits.DISK_BYTES} bytes; there is not enough space.`,
      'Remove files that are not needed.',
    )
  }

  return {
    at,
    open,
    usedBytes,
    requireSpace,
    /** Invalidates the measured size. */
    changed: (workspace) => measured.delete(workspace.name),
    exists: (name) => existsSync(at(name).folder),
    async remove(name) {
      measured.delete(name)
      if (existsSync(at(name).folder)) await removeAll(root, name, name)
    },
    async names() {
      return (await readdir(root).catch(() => [])).filter((name) => namePattern.test(name))
    },
  }
}

const ofOwner = 0o700

/** A command may have taken the permissions of its owner away, without which no other command can start there. */
async function prepareFolder(path) {
  await mkdir(path, { recursive: true, mode: ofOwner })
  const { mode } = await stat(path)
  if ((mode & ofOwner) !== ofOwner) await chmod(path, (mode & 0o7777) | ofOwner)
}

/** Undefined when it was not measured, or not completely: this user may not look into folders that a command has locked. */
function diskUsage({ home, tmp }) {
  return new Promise((resolve) => {
    const options = { timeout: 20_000, env: { PATH: process.env.PATH, LC_ALL: 'C' } }
    execFile('du', ['-skx', home, tmp], options, (_, output, errors) =>
      resolve(/Permission denied/.test(errors) ? undefined : sumOf(String(output))),
    )
  })
}

function sumOf(output) {
  const lines = output.trim().split('\n')
  const sum = lines.reduce((bytes, line) => bytes + Number.parseInt(line, 10) * 1024, 0)
  return lines.length === 2 && Number.isFinite(sum) ? sum : undefined
}
