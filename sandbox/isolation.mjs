// Detects how commands can be isolated on this host. Best are bubblewrap (namespaces for users, processes, network and
// mounts) and control groups. Missing ones are replaced by weaker means, with a warning.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openCgroups } from './cgroups.mjs'
import { inside } from './egress.mjs'

const searchPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** The environment of bubblewrap: it is visible inside the sandbox as /proc/1/environ, so it has no secrets. */
export const bareEnvironment = { PATH: searchPath }

/** All that a sandbox sees of the host beside its workspace and what SANDBOX_BIND names; read-only. */
const readOnly = ['/usr', '/etc/alternatives', '/etc/ssl', '/etc/ca-certificates', '/etc/pki', '/etc/mime.types']
const forwarder = fileURLToPath(new URL('forward.pl', import.meta.url))

const works = (command, args) =>
  spawnSync(command, args, { env: bareEnvironment, stdio: 'ignore', timeout: 10_000 }).status === 0

/** Options that not every version or kernel allows, from strict to lenient. */
const bubblewrapVariants = [['--disable-userns'], []]

/** `egressFolder` holds the socket of the proxy; `binds` are further paths of the host that commands may read. */
export function detectIsolation({ limits, network, plain = false, egressFolder, binds = [] }) {
  const variant = plain ? undefined : bubblewrapVariants.find((more) => works('bwrap', probe(more)))
  const cgroups = openCgroups(limits)
  const systemd = !cgroups && works('systemd-run', ['--user', '--scope', '--quiet', 'true'])
  return {
    isolation: variant ? 'bubblewrap' : 'none',
    limiting: cgroups?.level ?? (systemd ? 'systemd' : 'rlimits'),
    network: variant ? network : true,
    egress: variant ? (network ? 'filtered' : 'none') : 'open',
    cgroups,
    wrap: (workspace, environment, allFiles) => ({
      args: variant
        ? bubblewrapArgs({
            ...{ workspace, environment, egressFolder: network && egressFolder, binds },
            more: allFiles ? [...variant, '--cap-add', 'CAP_DAC_OVERRIDE'] : variant,
          })
        : undefined,
      prefix: systemd ? systemdPrefix(limits) : [],
    }),
  }
}

const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try']
const probe = (more) => [
  ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', ...namespaces, '--unshare-net', ...more, 'true'],
]

function bubblewrapArgs({ workspace, environment, egressFolder, binds, more }) {
  const bind = (paths) => paths.flatMap((path) => ['--ro-bind-try', path, path])
  return [
    ...['bin', 'sbin', 'lib', 'lib64', 'lib32'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...bind([...readOnly, ...binds]),
    '--unshare-net',
    ...(egressFolder ? egressBinds(egressFolder) : []),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--bind', workspace.tmp, '/tmp', '--bind', workspace.home, '/workspace'],
    ...namespaces,
    ...['--hostname', 'sandbox', '--uid', '1000', '--gid', '1000', '--cap-drop', 'ALL', '--die-with-parent'],
    ...more,
    '--clearenv',
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}

const egressBinds = (folder) => [
  ...['--ro-bind', forwarder, `${inside.folder}/forward.pl`],
  ...['--ro-bind', folder, `${inside.folder}/egress`],
]

/** Why commands cannot have a network here; undefined when they can. */
export const explainMissingForwarder = () =>
  existsSync('/usr/bin/perl') ? undefined : '--net needs /usr/bin/perl (apt-get install perl-base).'

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

const programs = { bash: 'bash', python: 'python3', node: 'node' }
const isInstalled = (name) => searchPath.split(':').some((folder) => existsSync(`${folder}/${name}`))
/** The languages whose programs commands can start. */
export const listLanguages = () => Object.keys(programs).filter((language) => isInstalled(programs[language]))

/** The environment of a command, before the variables of the request. */
export const baseEnvironment = (workspace, { isolation, egress }) => ({
  PATH: searchPath,
  HOME: isolation === 'none' ? workspace.home : '/workspace',
  TMPDIR: isolation === 'none' ? workspace.tmp : '/tmp',
  LANG: 'C.UTF-8',
  SHELL: '/bin/bash',
  TERM: 'dumb',
  USER: 'sandbox',
  ...(egress === 'filtered' && proxyEnvironment),
})

const proxy = `http://127.0.0.1:${inside.port}`
const proxyEnvironment = Object.fromEntries(
  ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
    .map((name) => [name, proxy])
    .concat(['no_proxy', 'NO_PROXY'].map((name) => [name, 'localhost,127.0.0.1,::1'])),
)
