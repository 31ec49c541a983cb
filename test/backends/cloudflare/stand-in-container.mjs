/**
 * Stands in for `ctx.container`. Processes are real ones in a folder of the test; snapshots are copies of that folder.
 */

import { spawn } from 'node:child_process'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createLocalHost } from '../host/local-host.mjs'

export class StandInContainer {
  local = createLocalHost()
  #snapshots = join(tmpdir(), `talaria-snapshots-${crypto.randomUUID()}`)
  #folder = join(this.local.root, '..')
  running = false
  starts = 0
  intercepted = 0

  start({ containerSnapshot }) {
    if (this.running) throw new Error('The container is running already.')
    if (containerSnapshot) {
      const from = join(this.#snapshots, containerSnapshot.id)
      if (!existsSync(from)) throw new Error(`The snapshot ${containerSnapshot.id} was not found.`)
      cpSync(from, this.#folder, { recursive: true })
    }
    this.running = true
    this.starts++
  }

  async destroy() {
    this.running = false
    await this.local.replace()
  }

  async exec(command, { cwd, stdin, signal }) {
    if (!this.running) throw new Error('The container is not running.')
    const [program = '', ...words] = command
    const child = spawn(program, words, { cwd, env: { PATH: process.env.PATH }, ...(signal && { signal }) })
    const exitCode = new Promise((resolve) => {
      child.on('error', () => resolve(137))
      child.on('close', (code) => resolve(code ?? 137))
    })
    child.stderr.resume()
    if (stdin) Readable.fromWeb(stdin).pipe(child.stdin)
    else child.stdin.end()
    return { stdout: Readable.toWeb(child.stdout), exitCode }
  }

  async snapshotContainer() {
    const id = crypto.randomUUID()
    cpSync(this.#folder, join(this.#snapshots, id), { recursive: true })
    return { id }
  }

  setInactivityTimeout = async () => {}
  interceptOutboundHttps = async () => void this.intercepted++
  interceptAllOutboundHttp = async () => void this.intercepted++

  /** The platform stops the container: a new one starts with the next request. */
  async replace() {
    await this.destroy()
  }

  drop() {
    this.local.drop()
    rmSync(this.#snapshots, { recursive: true, force: true })
  }
}
