// Detects how commands can be isolated on this host. Best are bubblewrap (namespaces for users, processes, network and
// mounts) and control groups. Missing ones are replaced by weaker means, with a warning.

import { spawnSync } from 'node:child_process'
import { openCgroups } from './cgroups.mjs'

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** The environment of bubblewrap: it is visible inside the sandbox as /proc/1/environ, so it has no secrets. */
export const bareEnvironment = { PATH: searchPath }

const readOnly = ['/etc/alternatives', '/etc/ssl', '/etc/ca-certificates', '/etc/pki', '/etc/mime.types', '/opt']
const lookups = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf']

const works = (command, args) =>
  spawnSync(command, args, { env: bareEnvironment, stdio: 'ignore', timeout: 10_000 }).status === 0

/** Options that not every version or kernel allows, from strict to lenient. */
const bubblewrapVariants = [['--disable-userns'], []]

export function detectIsolation({ limits, network, plain = false }) {
  const variant = plain ? undefined : bubblewrapVariants.find((more) => works('bwrap', probe(more)))
  const cgroups = openCgroups(limits)
  const systemd = !cgroups && works('systemd-run', ['--user', '--scope', '--quiet', 'true'])
  return {
    isolation: variant ? 'bubblewrap' : 'none',
    limiting: cgroups?.level ?? (systemd ? 'systemd' : 'rlimits'),
    network: variant ? network : true,
    cgroups,
    wrap: (workspace, environment) => ({
      args: variant ? bubblewrapArgs({ workspace, environment, network, more: variant }) : undefined,
      prefix: systemd ? systemdPrefix(limits) : [],
    }),
  }
}

const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']
const probe = (more) => [
  ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', ...namespaces, '--unshare-net', ...more, 'true'],
]

function bubblewrapArgs({ workspace, environment, network, more }) {
  const bind = (paths) => paths.flatMap((path) => ['--ro-bind-try', path, path])
  return [
    ...['--ro-bind', '/usr', '/usr'],
    ...['bin', 'sbin', 'lib', 'lib64', 'lib32'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...bind(readOnly),
    ...(network ? bind(lookups) : ['--unshare-net']),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--bind', workspace.tmp, '/tmp', '--bind', workspace.home, '/workspace'],
    ...namespaces,
    ...['--hostname', 'sandbox', '--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL', '--die-with-parent'],
    ...more,
    '--clearenv',
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}

const systemdPrefix = ({ MEMORY_BYTES, PROCESSES, CPU_PERCENT }) => [
  ...['systemd-run', '--user', '--scope', '--quiet', '-p', `MemoryMax=${MEMORY_BYTES}`, '-p', 'MemorySwapMax=0'],
  ...['-p', `TasksMax=${PROCESSES}`, '-p', `CPUQuota=${CPU_PERCENT}%`],
]

/** Warnings for the operator about missing isolation or limits. */
export function warnings({ isolation, limiting }) {
  const lines = []
  if (isolation === 'none')
    lines.push(
      'NO ISOLATION: bubblewrap is missing or may not make namespaces here. Commands run as this user, with access to its files',
      'and its network. Only use this with people and models that you would give this shell. (apt-get install bubblewrap)',
    )
  if (limiting === 'rlimits')
    lines.push(
      'WEAK LIMITS: neither control groups nor systemd-run can be used here. Limits apply to each process, not to a',
      'workspace, and many processes can slow this host down.',
    )
  return lines
}

/** The environment of a command, before the variables of the request. */
export const baseEnvironment = (workspace, isolation) => ({
  PATH: searchPath,
  HOME: isolation === 'none' ? workspace.home : '/workspace',
  TMPDIR: isolation === 'none' ? workspace.tmp : '/tmp',
  LANG: 'C.UTF-8',
  SHELL: '/bin/bash',
  TERM: 'dumb',
  USER: 'sandbox',
})
