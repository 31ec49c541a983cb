// How a command line becomes a process: launch.sh outside, bubblewrap around it, and inside a shell that tells at its
// end where it stood and what was exported. The command itself comes through a descriptor, so that no list of
// processes shows it and no length of arguments limits it.

import { fileURLToPath } from 'node:url'
import { bareEnvironment, baseEnvironment } from './isolation.mjs'
import { Refusal } from './refusal.mjs'

const launcher = fileURLToPath(new URL('launch.sh', import.meta.url))
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/
/** Change with every shell and mean nothing to the next one. */
const fleeting = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', 'HOME', 'TMPDIR', 'TALARIA_PIPES'])

export const noDirectory = 115

/** 3: where the end is told. 4: where the command comes from. The trap also runs after `exit` and `set -e`. */
const told = `trap '__talaria=$?; { printf "\\0\\0"; pwd -P; /usr/bin/env -0; } >&3 2>/dev/null; exit $__talaria' EXIT`
const shell = `cd -- "$1" 2>/dev/null || { echo "No such directory: $1" >&2; exit ${noDirectory}; }
${told}
__talaria=$(cat <&4); exec 4<&-; set --
eval "unset __talaria; $__talaria"`

/** For jobs, where nobody asks how it ended but for the code: the command comes in a variable of the shell. */
const jobShell = `cd -- "$1" 2>/dev/null || { echo "No such directory: $1" >&2; exit ${noDirectory}; }
__talaria=$(cat <&4); exec 4<&-; set --
eval "unset __talaria; $__talaria"`

export function checkEnvironment(given = {}) {
  for (const [name, value] of Object.entries(given)) {
    if (!variable.test(name)) throw new Refusal('invalid', `This is not a name of a variable: ${name}`)
    if (typeof value !== 'string' || value.includes('\0') || value.length > 128 * 1024)
      throw new Refusal('invalid', `The variable ${name} has to be text without NUL, below 128 KiB.`)
  }
  return given
}

/** File, arguments and environment for `spawn`, and what goes through descriptor 5 when there is bubblewrap. */
export function commandLine({ workspace, box, limits, env, cwd, ms, job = false }) {
  const environment = { ...baseEnvironment(workspace, box.isolation), ...env }
  const { args, prefix } = box.wrap(workspace, environment)
  const groups = box.cgroups?.enter(workspace.name).join(' ') ?? ''
  const alone = box.limiting === 'rlimits'
  const memoryKiB = alone ? Math.ceil(limits.MEMORY_BYTES / 1024) : 0
  // This one counts everything of the user, the server included: it only keeps a flood from being endless.
  const processes = alone ? limits.PROCESSES + 512 : 0
  const seconds = Math.ceil((ms / 1000) * 2) + 1
  const inner = ['/bin/bash', '-c', job ? jobShell : shell, 'bash', toReal(cwd, workspace, box)]
  return {
    file: '/bin/bash',
    args: [
      ...[
        launcher,
        String(Math.ceil(limits.FILE_BYTES / 1024)),
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

/** What was written to descriptor 3: the directory, and variables that are new or changed; of those given, what is gone. */
export function readEnd(bytes, { workspace, box, environment, given, cwd }) {
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
    .filter(([name, pair]) => variable.test(name) && !fleeting.has(name) && environment[name] !== valueOf(name, pair))
    .map(([name, pair]) => [name, valueOf(name, pair)])
  const names = new Set(pairs.map(([name]) => name))
  const unset = Object.keys(given).filter((name) => !fleeting.has(name) && !names.has(name))
  const ended = rest.slice(0, Math.max(0, line))
  return { cwd: ended.startsWith('/') ? toInside(ended, workspace, box) : cwd, env: Object.fromEntries(env), unset }
}

const valueOf = (name, pair) => pair.slice(name.length + 1)

/** Without isolation the folders are where they are; clients speak of /workspace and /tmp all the same. */
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

/** Absolute, without dots; relative ones start in the workspace. */
export function absolute(path = '/workspace') {
  if (typeof path !== 'string' || path.includes('\0') || path.length > 4096)
    throw new Refusal('invalid', 'A path is text without NUL, below 4096 characters.')
  const parts = []
  for (const part of (path.startsWith('/') ? path : `/workspace/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}
