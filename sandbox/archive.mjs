// A folder of a workspace as a tar stream, out and in. `tar` runs inside the sandbox: whatever an archive says about
// paths and links, it can touch nothing but the workspace.

import { spawn } from 'node:child_process'
import { pipeline } from 'node:stream/promises'
import { absolute, commandLine } from './command.mjs'
import { killGroup } from './exec.mjs'
import { Refusal } from './refusal.mjs'

const patienceMs = 600_000
const complaintBytes = 2_000
/** Readers of the protocol need no more than the plain format; a time before 1970 becomes 0 instead of a binary number. */
const format = '--format=posix --pax-option=delete=atime,delete=ctime,delete=mtime'
const nameShape = /^[\w.@+ -]{1,100}$/

export function openArchive({ workspaces, box, limits, takePlace }) {
  async function launch(name, { path, command }) {
    const workspace = await workspaces.open(name)
    const cwd = absolute(path)
    const line = commandLine({ workspace, box, limits, env: {}, cwd, ms: patienceMs })
    const child = spawn(line.file, line.args, {
      cwd: '/',
      env: line.env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'ignore', 'pipe', 'pipe'],
    })
    for (const stream of child.stdio) stream?.on('error', () => {})
    child.stdio[4].end(command)
    child.stdio[5].end(line.options)
    let complaint = ''
    child.stderr.on('data', (chunk) => {
      if (complaint.length < complaintBytes) complaint += chunk
    })
    const timer = setTimeout(() => killGroup(child.pid), patienceMs)
    const ended = new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code) => resolve({ code, complaint: complaint.trim().slice(0, complaintBytes) }))
    }).finally(() => clearTimeout(timer))
    return { child, ended, workspace }
  }

  /** Into a response. An archive that could not be completed ends in a broken connection, never as if it were whole. */
  async function read(name, { path, exclude }, response) {
    for (const each of exclude)
      if (!nameShape.test(each)) throw new Refusal('invalid', `This cannot be excluded: ${each}`)
    const free = takePlace(name)
    try {
      const excluded = exclude.map((each) => `--exclude='${each}'`).join(' ')
      const { child, ended } = await launch(name, { path, command: `tar ${format} ${excluded} -cf - .` })
      response.on('close', () => response.writableFinished || killGroup(child.pid))
      child.stdin.end()
      response.writeHead(200, { 'content-type': 'application/x-tar' })
      child.stdout.pipe(response, { end: false })
      const { code } = await ended
      // 1: a file changed while it was read.
      if (code === 0 || code === 1) response.end()
      else response.destroy()
    } finally {
      free()
    }
  }

  async function write(name, { path, body, length }) {
    const free = takePlace(name)
    try {
      const workspace = await workspaces.open(name)
      if (length > limits.DISK_BYTES) throw new Refusal('too_large', 'The archive is larger than a workspace may be.')
      await workspaces.requireSpace(workspace, length)
      const { child, ended } = await launch(name, { path, command: 'tar --no-same-owner -xf -' })
      child.stdout.resume()
      await pipeline(body, child.stdin).catch(() => killGroup(child.pid))
      const { code, complaint } = await ended
      workspaces.changed(workspace)
      if (code !== 0) throw new Refusal('invalid', `The archive could not be unpacked. ${complaint}`)
      return {}
    } finally {
      free()
    }
  }

  return { read, write }
}
