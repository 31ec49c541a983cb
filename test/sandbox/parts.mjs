/** The parts of the sandbox server that tests use without starting it. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCgroups } from '../../sandbox/cgroups.mjs'

export { createGuard, isPublicAddress } from '../../sandbox/egress.mjs'
export { openSlots } from '../../sandbox/slots.mjs'

/** Control groups in a folder. Unlike those of a kernel, a group there begins without files, and may not hold groups. */
export function openGroupTree(limits, version) {
  const mount = mkdtempSync(join(tmpdir(), 'talaria-cgroup-'))
  if (version === 2) writeFileSync(join(mount, 'cgroup.controllers'), 'memory pids cpu')
  else for (const name of ['memory', 'pids', 'cpu']) mkdirSync(join(mount, name))
  const list = (path) => readdirSync(path, { withFileTypes: true })
  const removeGroup = (path) => {
    if (list(path).some((entry) => entry.isDirectory())) throw new Error('EBUSY')
    rmSync(path, { recursive: true })
  }
  let now = Date.now()
  const groups = openCgroups(limits, { mount, removeGroup, now: () => now })
  const withProcesses = (path) => {
    for (const entry of list(path)) if (entry.isDirectory()) withProcesses(join(path, entry.name))
    if (!existsSync(join(path, 'cgroup.procs'))) writeFileSync(join(path, 'cgroup.procs'), '')
  }
  return {
    groups: { ...groups, sweep: () => (withProcesses(mount), groups.sweep()) },
    pass: (ms) => void (now += ms),
    setProcesses: (path, text) => writeFileSync(join(mount, path, 'cgroup.procs'), text),
    filesOf(path) {
      if (!existsSync(join(mount, path))) return undefined
      const files = list(join(mount, path)).filter((entry) => entry.isFile())
      return Object.fromEntries(files.map(({ name }) => [name, readFileSync(join(mount, path, name), 'utf8')]))
    },
    remove: () => rmSync(mount, { recursive: true, force: true }),
  }
}

/** A server that answers with what it was asked. */
export async function startOutside() {
  const server = createServer(({ method, url, headers }, response) => response.end(`${method} ${url} ${headers.host}`))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: server.address().port, stop: () => server.close() }
}
