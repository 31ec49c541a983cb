// Runs commands of the server itself inside a sandbox, so that paths and links cannot reach outside of the workspace. They
// read and replace also files whose permissions a command has taken away.

import { spawn } from 'node:child_process'
import { absolute, commandLine } from './command.mjs'
import { killGroup } from './exec.mjs'

const timeoutMs = 600_000
const maxErrorChars = 2_000

export function openOwnCommands({ workspaces, sandbox, limits, tenants }) {
  /** `ended` resolves with the exit code and the beginning of the error output. */
  async function launch(name, { path = '/workspace', command }) {
    const workspace = await workspaces.open(name)
    const cwd = absolute(path)
    const tenant = tenants.of(name)
    const line = commandLine({ workspace, tenant, sandbox, limits, env: {}, cwd, ms: timeoutMs, allFiles: true })
    const child = spawn(line.file, line.args, {
      cwd: '/',
      env: line.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'ignore', 'pipe', 'pipe'],
    })
    for (const stream of child.stdio) stream?.on('error', () => {})
    child.stdio[4].end(command)
    child.stdio[5].end(line.options)
    let errorText = ''
    child.stderr.on('data', (chunk) => {
      if (errorText.length < maxErrorChars) errorText += chunk
    })
    const timer = setTimeout(() => killGroup(child.pid), timeoutMs)
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => resolve({ code, errorText: errorText.trim().slice(0, maxErrorChars) }))
    }).finally(() => clearTimeout(timer))
    return { child, ended }
  }

  /** Returns the exit code and the output. Undefined without isolation, where the paths of a sandbox do not exist. */
  async function run(name, command) {
    if (sandbox.isolation === 'none') return undefined
    const { child, ended } = await launch(name, { command })
    const chunks = []
    child.stdin.end()
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    const { code } = await ended
    return { code, output: Buffer.concat(chunks).toString('utf8') }
  }

  return { launch, run }
}

/** Quotes any text as one word of the shell. */
export const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`
