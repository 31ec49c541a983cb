// Runs wrangler with the Node of the project: offline, without prompts, telemetry and update checks.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { root } from './root.mjs'

/** The main script of wrangler. Its `bin` would start a second Node, which would have to forward every signal. */
const entry = createRequire(import.meta.url).resolve('wrangler')

/** Variables of the system that wrangler needs. The rest of the environment stays away from the worker. */
const machine = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'NODE_COMPILE_CACHE',
  'XDG_CONFIG_HOME',
  'USERPROFILE',
  'APPDATA',
  'SystemRoot',
  'TEMP',
]
/** Names of a container engine and its images, for `npm run dev:sandbox`. */
const engine = [
  'WRANGLER_DOCKER_BIN',
  'WRANGLER_DOCKER_HOST',
  'DOCKER_HOST',
  'DOCKER_CONTEXT',
  'DOCKER_CONFIG',
  'MINIFLARE_CONTAINER_EGRESS_IMAGE',
]
const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: 'true',
  // These would add two disk writes per request.
  X_LOCAL_OBSERVABILITY: 'false',
  X_LOCAL_EXPLORER: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
}

export const machineEnvironment = (environment = process.env) =>
  Object.fromEntries([...machine, ...engine].flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))

export const wrangler = (args, { env = {}, stdio, preload = [] }) =>
  spawn(process.execPath, ['--no-warnings', ...preload, entry, ...args], {
    cwd: root,
    stdio,
    env: { ...machineEnvironment(), ...quiet, ...env },
  })

/**
 * Runs `wrangler dev` with these settings. They are passed as environment variables: arguments are visible in the list
 * of processes, and files stay on the disk. The empty env file keeps wrangler from reading `.dev.vars` itself, which would
 * override the environment.
 */
export const wranglerDev = (args, settings) =>
  wrangler(['dev', ...args, '--env-file', devNull, '--show-interactive-dev-session=false'], {
    env: { ...settings, CLOUDFLARE_INCLUDE_PROCESS_ENV: 'true' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    preload: ['--require', join(root, 'scripts/lib/report-runtime.mjs')],
  })
