// Runs wrangler without prompts and keeps its output, which is shown when it fails.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { stripVTControlCharacters } from 'node:util'
import { root } from '../lib/root.mjs'

const entry = createRequire(import.meta.url).resolve('wrangler')
const endWithCommand = new URL('end-with-command.mjs', import.meta.url).href
const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_NO_SKILLS_UPDATE_PROMPTS: 'true',
  NO_COLOR: '1',
  FORCE_COLOR: '0',
}

/** Rejects with the output if wrangler fails. The login of wrangler comes from the environment or from its own files. */
export function runWrangler(args) {
  const child = spawn(process.execPath, ['--no-warnings', '--import', endWithCommand, entry, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...quiet },
  })
  let [output, printed] = ['', '']
  child.stdout.on('data', (part) => ((output += part), (printed += part)))
  child.stderr.on('data', (part) => (output += part))
  return new Promise((done, failed) => {
    child.on('error', failed)
    child.on('close', (code) => (code === 0 ? done(printed) : failed(new WranglerError(args, output))))
  })
}

export class WranglerError extends Error {
  constructor(args, output) {
    const words = args.slice(
      0,
      args.findIndex((word) => word.startsWith('-')),
    )
    super(`"wrangler ${words.join(' ')}" failed:\n${errorOf(stripVTControlCharacters(output))}`)
    this.code = Number(/\[code: (\d+)\]/.exec(output)?.[1]) || undefined
    this.output = output
  }
}

/** The lines of the error, else the last ones. */
function errorOf(text) {
  const lines = text
    .split('\n')
    .filter((line) => line.trim() && !/Logs were written|open an issue|workers-sdk\/issues/.test(line))
  const at = lines.findIndex((line) => line.includes('[ERROR]'))
  return (at < 0 ? lines.slice(-maxShownLines) : lines.slice(at, at + maxShownLines)).join('\n')
}

const maxShownLines = 12
