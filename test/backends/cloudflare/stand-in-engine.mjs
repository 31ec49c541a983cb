/**
 * Stands in for a container engine: one container, whose processes are real ones in a folder of the test. It can be killed,
 * paused, and stopped by its activity timer, as spec/sandbox.md and runs against a real engine showed.
 */

import { spawn, spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const tagName = 'STAND_IN_CONTAINER'

export class StandInEngine {
  #folder = mkdtempSync(join(tmpdir(), 'talaria-container-'))
  #tag = crypto.randomUUID()
  #hasDisk = false
  root = join(this.#folder, 'fs/workspace')
  state = join(this.#folder, 'fs/.talaria')
  temporary = join(this.#folder, 'fs/tmp')
  /** What the platform says. `isAlive` is the truth, which it may learn later. */
  running = false
  isAlive = false
  starts = 0
  destroyed = 0
  kills = 0
  #unpaused = Promise.resolve()
  #unpause = undefined
  /** Called when the container ends. */
  onEnd = () => {}
  #timer

  /** Starts a container from its image, in which the workspace is empty. */
  start() {
    if (this.running) throw new Error('start() cannot be called on a container that is already running.')
    for (const path of [this.root, this.temporary]) mkdirSync(path, { recursive: true })
    this.running = this.isAlive = true
    this.starts++
  }

  /** Gives the container a disk of a size and a number of files. False where this process may not mount one. */
  limitDisk(options) {
    const at = join(this.#folder, 'fs')
    mkdirSync(at, { recursive: true })
    return (this.#hasDisk = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', at]).status === 0)
  }

  /** Runs a process in the container. It waits while the container is paused. */
  async spawn([program, ...words], { cwd, env = {}, signal, stdin = 'pipe' }) {
    await this.untilUnpaused()
    if (!this.isAlive) throw new Error('The container is not running.')
    if (!existsSync(cwd)) throw new Error(`ENOENT: no such file or directory, posix_spawn '${program}'`)
    return spawn(program, words, {
      cwd,
      env: { PATH: process.env.PATH, HOME: this.inside('/'), ...env, [tagName]: this.#tag },
      stdio: [stdin, 'pipe', 'pipe'],
      ...(signal && { signal }),
    })
  }

  /** The process ids of the container. */
  processes() {
    const mark = `${tagName}=${this.#tag}\0`
    return readdirSync('/proc').filter((name) => {
      try {
        return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'utf8').includes(mark)
      } catch {
        return false
      }
    })
  }

  /** The container dies, and its files with it. The platform learns it at once, or with the next request. */
  kill({ isNoticed = true } = {}) {
    this.kills++
    this.#end()
    if (isNoticed) this.running = false
  }

  async destroy() {
    this.destroyed++
    this.#end()
    this.running = false
  }

  #end() {
    clearTimeout(this.#timer)
    this.isAlive = false
    for (let pids = this.processes(); pids.length; pids = this.processes()) this.#signal(pids, 'SIGKILL')
    this.unpause()
    this.#dropMemory()
    if (this.#hasDisk) spawnSync('umount', ['--lazy', join(this.#folder, 'fs')])
    this.#hasDisk = false
    rmSync(join(this.#folder, 'fs'), { recursive: true, force: true, maxRetries: 5 })
    this.onEnd()
  }

  /** What is in the memory of a container ends with it. */
  #dropMemory() {
    if (!existsSync(this.state) || !statSync(this.state).isDirectory()) return
    for (const entry of readdirSync(this.state, { withFileTypes: true }))
      if (entry.isSymbolicLink())
        rmSync(readlinkSync(join(this.state, entry.name)), { recursive: true, force: true, maxRetries: 5 })
  }

  get isPaused() {
    return this.#unpause !== undefined
  }

  pause() {
    if (this.#unpause || !this.isAlive) return
    this.#unpaused = new Promise((resolve) => (this.#unpause = resolve))
    this.#signal(this.processes(), 'SIGSTOP')
  }

  untilUnpaused() {
    return this.#unpaused
  }

  unpause() {
    if (!this.#unpause) return
    this.#signal(this.processes(), 'SIGCONT')
    this.#unpause()
    this.#unpause = undefined
  }

  #signal(pids, signal) {
    for (const pid of pids)
      try {
        process.kill(Number(pid), signal)
      } catch {
        // It has ended.
      }
  }

  /** Stops the container after this time, unless it is set again. */
  setTimer(ms) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.kill(), ms)
  }

  /** Writes a file into the container, as the platform does with its certificate. */
  put(path, text) {
    mkdirSync(dirname(this.inside(path)), { recursive: true })
    writeFileSync(this.inside(path), text)
  }

  /** The real path of a path in the container. */
  inside(path) {
    return join(this.#folder, 'fs', path)
  }

  has(path) {
    return existsSync(this.inside(path))
  }

  /** A file that outlives the container, as a server that commands reach would. */
  outside(name) {
    return join(this.#folder, name)
  }

  read(path) {
    return readFileSync(path, 'utf8')
  }

  drop() {
    this.#end()
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }
}
