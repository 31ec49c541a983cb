/**
 * Stands in for a container behind the SDK. Scripts run in a real bash, in a folder of the test. It behaves as
 * spec/sandbox.md and runs against a real engine showed: output is cut while files stream out, copies queue behind one that
 * hangs, and closed egress refuses `curl` inside of the container.
 */

import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLocalHost } from '../host/local-host.mjs'

export class StandInSandbox {
  local = createLocalHost()
  #archives = join(tmpdir(), `talaria-copies-${crypto.randomUUID()}`)
  /** Keys of the bucket. */
  objects = new Set()
  /** Called by tests to end an exec that hangs because the container cannot be reached. */
  isUnreachable = false
  destroyed = 0
  /** Removing its session folder lets a copy hang. */
  hasSessionFolder = true
  isExpired = false
  /** Cuts this many outputs while a copy streams out. */
  cuts = 0
  #outputs = 0
  #streaming = 0
  #queue = Promise.resolve()

  async execWithSessionToken(script, _session, { timeout }) {
    if (this.isUnreachable) return new Promise(() => {})
    const { code, output } = await this.local.port.run(script, timeout)
    return { exitCode: code ?? 1, stdout: this.#cut(output) }
  }

  #cut(output) {
    // Every second output, so that fetching the rest meets cuts too.
    if (!this.#streaming || output.length < 1_000 || ++this.#outputs % 2) return output
    this.cuts++
    return output.slice(0, Math.floor(output.length * 0.6))
  }

  async readFile(path) {
    const bytes = await this.local.port.read(path)
    const content = Buffer.from(bytes).toString('base64')
    return {
      content: this.#streaming ? content.slice(0, 4 * Math.floor(content.length / 8)) : content,
      size: bytes.length,
    }
  }

  async writeFile(path, content) {
    await this.local.port.write(path, Uint8Array.from(Buffer.from(content, 'base64')))
  }

  createBackup({ localBucket }) {
    return this.#enqueue(async () => {
      if (!localBucket) throw fail('BACKUP_CREATE_FAILED', 'curl: (7) Failed to connect: egress is closed')
      if (!this.hasSessionFolder) return new Promise(() => {})
      const id = crypto.randomUUID()
      await this.stream(async () => {
        mkdirSync(this.#archives, { recursive: true })
        if (existsSync(this.local.root)) cpSync(this.local.root, join(this.#archives, id), { recursive: true })
        else mkdirSync(join(this.#archives, id))
        await new Promise((resolve) => setTimeout(resolve, 20))
      })
      this.objects.add(`backups/${id}/data.sqsh`).add(`backups/${id}/meta.json`)
      return { id, dir: '/workspace' }
    })
  }

  restoreBackup({ id }) {
    return this.#enqueue(async () => {
      if (this.isExpired) throw fail('BACKUP_EXPIRED', `Backup ${id} has expired`)
      if (!this.objects.has(`backups/${id}/data.sqsh`)) throw fail('BACKUP_NOT_FOUND', `Backup not found: ${id}`)
      cpSync(join(this.#archives, id), this.local.root, { recursive: true })
    })
  }

  /** Output is cut while this runs. */
  async stream(work) {
    this.#streaming++
    await work().finally(() => this.#streaming--)
  }

  #enqueue(work) {
    const next = this.#queue.then(work)
    this.#queue = next.catch(() => undefined)
    return next
  }

  abandonCopy() {
    this.#queue = Promise.resolve()
  }

  bucket = {
    delete: async (keys) => {
      for (const key of [keys].flat()) this.objects.delete(key)
    },
  }

  async destroy() {
    this.destroyed++
    this.isUnreachable = false
    await this.local.replace()
  }

  /** The container sleeps or crashes: the next request finds a new one. */
  replace = () => this.local.replace()

  setAllowedHosts = async () => {}
  setOutboundByHosts = async () => {}

  drop() {
    this.local.drop()
    rmSync(this.#archives, { recursive: true, force: true })
  }
}

const fail = (code, message) => Object.assign(new Error(message), { errorResponse: { code } })
