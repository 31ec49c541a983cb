/** Runs `talaria` for tests, with a home of its own. */

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import { compileCache } from '../../support/compile-cache.mjs'
import { root } from './server.ts'

export type Result = { readonly code: number | null; readonly out: string; readonly err: string }
type Environment = Readonly<Record<string, string>>

export function openCommandLine(home: string, server: () => Environment) {
  const environment = (more: Environment) => ({
    PATH: process.env['PATH'] ?? '',
    HOME: home,
    ...compileCache,
    ...server(),
    ...more,
  })
  let runner: ChildProcess | undefined
  let isBusy = false

  const start = (args: readonly string[], more: Environment = {}): ChildProcess =>
    spawn(process.execPath, [join(root, 'bin/talaria.mjs'), ...args], { env: environment(more), cwd: home })

  function runAlone(args: readonly string[], input: string, more: Environment): Promise<Result> {
    const child = start(args, more)
    let [out, err] = ['', '']
    child.stdout?.on('data', (text: Buffer) => void (out += text.toString()))
    child.stderr?.on('data', (text: Buffer) => void (err += text.toString()))
    // A command that ends before it reads its input closes the pipe.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
    return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
  }

  async function runHere(args: readonly string[], more: Environment): Promise<Result> {
    runner ??= fork(join(import.meta.dirname, 'command-runner.mjs'), [], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const child = runner
    isBusy = true
    try {
      return await new Promise<Result>((resolve, reject) => {
        child.once('message', (result) => resolve(result as Result))
        child.once('exit', (code) => reject(new Error(`The commands ended with ${code}.`)))
        child.send({ args, env: environment(more), cwd: home })
      })
    } finally {
      isBusy = false
      child.removeAllListeners()
    }
  }

  return {
    start,
    /** A command with input, or beside another one, is a process of its own. */
    run: (args: readonly string[], input = '', more: Environment = {}): Promise<Result> =>
      input !== '' || isBusy ? runAlone(args, input, more) : runHere(args, more),
    close: () => void runner?.kill(),
  }
}
