// Implements a host port locally: scripts run in a real bash, files are in a folder of the test.
// `--norc`, because bash takes the socket of its input for a remote shell and would run the files of this machine's user.
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../../support/start-program.mjs'

/** Runs a script of root as any other user: without the right to read and remove all files. */
const asUser = ['--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-dac_override,-dac_read_search']

/** Whether this process may give files to other users. */
export const isPrivileged = () => process.getuid() === 0

/** Whether a path exists, without a program for the answer. */
export const isOnHost = existsSync

const programs = ['/usr', '/bin', '/sbin', '/lib', '/lib64'].filter((path) => existsSync(path))

/** `isAtRoot`: the workspace and our records are in the root directory, as in a container (needs bubblewrap). */
export function createLocalHost({ isUser = false, hasMemoryGroup = false, isAtRoot = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-host-'))
  const base = isAtRoot ? '/' : folder
  const [root, temporary] = ['workspace', 'tmp'].map((name) => join(base, name))
  /** The path of a file of the host on this machine. */
  const pathOf = (path) => (isAtRoot ? join(folder, path) : path)
  mkdirSync(pathOf(temporary))
  const group = join(folder, 'group')
  if (hasMemoryGroup) {
    mkdirSync(group)
    writeFileSync(join(group, 'memory.events'), 'oom 0\noom_kill 0\n')
  }
  const mounts = programs.flatMap((path) => ['--ro-bind', path, path])
  const within = hasMemoryGroup
    ? ['bwrap', '--dev-bind', '/', '/', '--bind', group, '/sys/fs/cgroup']
    : isAtRoot
      ? ['bwrap', '--bind', folder, '/', ...mounts, '--proc', '/proc', '--dev', '/dev']
      : []
  const port = {
    run: (script, timeout) => {
      const words = [...within, 'bash', '--norc', '-c', script]
      const [program, ...rest] = isUser && process.getuid() === 0 ? ['setpriv', ...asUser, ...words] : words
      return runProgram(program, rest, { cwd: '/', env: { PATH: process.env.PATH }, timeout })
    },
    read: async (path) => new Uint8Array(await readFile(pathOf(path))),
    write: (path, bytes) => writeFile(pathOf(path), bytes),
    destroy: () => rm(folder, { recursive: true, force: true }),
  }
  return {
    port,
    root,
    state: isAtRoot ? undefined : join(folder, 'state'),
    temporary,
    /** Replaces this host by a new one. */
    replace: async () => {
      await rm(folder, { recursive: true, force: true })
      await mkdir(pathOf(temporary), { recursive: true })
    },
    drop: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
}
