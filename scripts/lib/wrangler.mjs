// How wrangler is run: offline, without questions, telemetry or a search for updates, in the Node of the project.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { devNull } from 'node:os'
import { root } from './root.mjs'

/** wrangler's own entry: its `bin` starts a second Node around it, which would have to pass on every signal. */
const entry = createRequire(import.meta.url).resolve('wrangler')

/** What the machine needs to know; the rest of the environment is nobody's business, least of all the worker's. */
const machine = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'XDG_CONFIG_HOME', 'USERPROFILE', 'APPDATA', 'SystemRoot', 'TEMP']
const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: 'true',
  // Two extra disk writes per request otherwise.
  X_LOCAL_OBSERVABILITY: 'false',
  X_LOCAL_EXPLORER: 'false',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
}

const machineEnvironment = () =>
  Object.fromEntries(machine.filter((name) => process.env[name]).map((name) => [name, process.env[name]]))

export const wrangler = (args, { env = {}, stdio }) =>
  spawn(process.execPath, ['--no-warnings', entry, ...args], {
    cwd: root,
    stdio,
    env: { ...machineEnvironment(), ...quiet, ...env },
  })

/**
 * `wrangler dev` with these settings. They travel in the environment of the process: an argument would be in the list
 * of processes, a file on the disk. An empty env file keeps wrangler from reading `.dev.vars` by itself, which it
 * would prefer to the environment.
 */
export const wranglerDev = (args, settings) =>
  wrangler(['dev', ...args, '--env-file', devNull, '--show-interactive-dev-session=false'], {
    env: { ...settings, CLOUDFLARE_INCLUDE_PROCESS_ENV: 'true' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })

/** Runs to the end, for at most `patience` ms; what it said is shown only when it failed. */
export const wranglerQuietly = (args, patience = 180_000) =>
  new Promise((resolve, reject) => {
    const child = wrangler(args, { env: { CI: 'true' }, stdio: ['ignore', 'pipe', 'pipe'] })
    const name = `wrangler ${args.slice(0, 3).join(' ')}`
    let said = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${name} did not end within ${patience / 1000} seconds:\n${said}`))
    }, patience)
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (said += part))
    child.on('error', reject)
    child.on('exit', (code) => {
      clearTimeout(timer)
      if (code === 0) resolve(said)
      else reject(new Error(`${name} failed:\n${said}`))
    })
  })
