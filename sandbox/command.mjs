// Builds the process of a command: launch.sh, bubblewrap, and inside a shell that reports its last directory and
// exported variables. The command is passed through a file descriptor, so that it is not visible in process lists and
// not limited by the length of arguments.

import { fileURLToPath } from 'node:url'
import { inside } from './egress.mjs'
import { bareEnvironment, baseEnvironment } from './isolation.mjs'
import { ProtocolError } from './protocol-error.mjs'

const launcher = fileURLToPath(new URL('launch.sh', import.meta.url))
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Setting one is an error of bash. */
const readonlyVariables = ['UID', 'EUID', 'PPID', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO']
/** Variables that every shell sets anew. */
const shellVariables = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', 'HOME', 'TMPDIR', 'TALARIA_PIPES', ...readonlyVariables])

/** Exit code when the working directory does not exist. */
export const noDirectoryCode = 115

/**
 * Descriptor 3 receives the report, descriptor 4 has the command. The trap also runs after `exit` and `set -e`, and works with
 * any options, aliases, functions and variables of the command.
 */
const reportTrap = `trap '{ \\builtin set +ex -- "$?"; } 2>/dev/null; { \\builtin printf "\\0\\0"; \\builtin pwd -P; /usr/bin/env -0; } >&3 2>/dev/null; \\builtin exit "$1"' EXIT`
const shell = `cd -- "$1" 2>/dev/null || { echo "No such directory: $1" >&2; exit ${noDirectoryCode}; }
${reportTrap}
__talaria=$(cat <&4); exec 4<&-; set --
eval "unset __talaria; $__talaria"`

/** For jobs, which report only their exit code. */
const jobShell = `cd -- "$1" 2>/dev/null || { echo "No such directory: $1" >&2; exit ${noDirectoryCode}; }
__talaria=$(cat <&4); exec 4<&-; set --
eval "unset __talaria; $__talaria"`

/** Returns when the forwarder listens. It must not hold the descriptors of the command open. */
const startForwarder = `/usr/bin/perl ${inside.folder}/forward.pl ${inside.port} ${inside.folder}/egress/proxy.sock </dev/null >/dev/null 2>&1 3>&- 4<&- 5<&-`

export function checkEnvironment(given = {}) {
  for (const [name, value] of Object.entries(given)) {
    if (!variablePattern.test(name)) throw new ProtocolError('invalid', `This is not a valid variable name: ${name}`)
    if (typeof value !== 'string' || value.includes('\0') || value.length > 128 * 1024)
      throw new ProtocolError('invalid', `The variable ${name} must be text without NUL, below 128 KiB.`)
  }
  return given
}

/**
 * Returns file, arguments and environment for `spawn`, and the options of bubblewrap for descriptor 5. `allFiles`: the
 * command is ours, and reads and replaces also files without permissions. `isFull`: it may remove files, and write none.
 */
export function commandLine({ workspace, tenant, sandbox, limits, env, cwd, ms, ...kind }) {
  const { job = false, allFiles = false, isFull = false } = kind
  const environment = { ...baseEnvironment(workspace, sandbox), ...env }
  const { args, prefix } = sandbox.wrap(workspace, environment, allFiles)
  const groups = sandbox.cgroups?.enter(workspace.name, tenant).join(' ') ?? ''
  const alone = sandbox.limiting === 'rlimits'
  const memoryKiB = alone ? Math.ceil(limits.MEMORY_BYTES / 1024) : 0
  // RLIMIT_NPROC counts all processes of the user, including the server, so it only prevents an endless flood.
  const processes = alone ? limits.PROCESSES + 512 : 0
  const seconds = Math.ceil((ms / 1000) * 2) + 1
  const script = sandbox.egress === 'filtered' ? `${startForwarder}\n` : ''
  // Bash takes the socket of its input for a remote shell, and would run the workspace's `.bashrc` before each command.
  const inner = ['/bin/bash', '--norc', '-c', script + (job ? jobShell : shell), 'bash', toReal(cwd, workspace, sandbox)]
  return {
    file: '/bin/bash',
    args: [
      ...[
        launcher,
        String(isFull ? 0 : Math.ceil(limits.FILE_BYTES / 1024)),
        String(seconds),
        String(memoryKiB),
        String(processes),
        groups,
      ],
      ...prefix,
      ...(args ? ['bwrap', '--args', '5', '--', ...inner] : inner),
    ],
    env: { ...(args ? bareEnvironment : environment), ...(!job && { TALARIA_PIPES: '1' }) },
    options: args ? args.map((argument) => `${argument}\0`).join('') : '',
    environment,
  }
}

/** Parses the report of descriptor 3: the directory, new or changed variables, and unset ones. */
export function parseReport(bytes, { workspace, sandbox, environment, given, cwd }) {
  const text = bytes.toString('utf8')
  const start = text.lastIndexOf('\0\0')
  if (start < 0) return { cwd, env: {}, unset: [] }
  const rest = text.slice(start + 2)
  const line = rest.indexOf('\n')
  const pairs = rest
    .slice(line + 1)
    .split('\0')
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair])
  const env = pairs
    .filter(
      ([name, pair]) =>
        variablePattern.test(name) && !shellVariables.has(name) && environment[name] !== valueOf(name, pair),
    )
    .map(([name, pair]) => [name, valueOf(name, pair)])
  const names = new Set(pairs.map(([name]) => name))
  const unset = Object.keys(given).filter((name) => !shellVariables.has(name) && !names.has(name))
  const directory = rest.slice(0, Math.max(0, line))
  return {
    cwd: directory.startsWith('/') ? toInside(directory, workspace, sandbox) : cwd,
    env: Object.fromEntries(env),
    unset,
  }
}

const valueOf = (name, pair) => pair.slice(name.length + 1)

/** Without isolation, maps /workspace and /tmp to the real folders. */
function toReal(path, workspace, { isolation }) {
  if (isolation !== 'none') return path
  if (path === '/workspace' || path.startsWith('/workspace/')) return workspace.home + path.slice('/workspace'.length)
  if (path === '/tmp' || path.startsWith('/tmp/')) return workspace.tmp + path.slice('/tmp'.length)
  return path
}

function toInside(path, workspace, { isolation }) {
  if (isolation !== 'none') return path
  if (path === workspace.home || path.startsWith(`${workspace.home}/`))
    return `/workspace${path.slice(workspace.home.length)}`
  if (path === workspace.tmp || path.startsWith(`${workspace.tmp}/`)) return `/tmp${path.slice(workspace.tmp.length)}`
  return path
}

/** Resolves a path against the workspace and removes dots. */
export function absolute(path = '/workspace') {
  if (typeof path !== 'string' || path.includes('\0') || path.length > 4096)
    throw new ProtocolError('invalid', 'A path must be text without NUL, below 4096 characters.')
  const parts = []
  for (const part of (path.startsWith('/') ? path : `/workspace/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}
