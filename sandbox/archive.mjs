// Reads and writes a folder of a workspace as a tar stream. `tar` runs inside the sandbox, so that paths and links of
// an archive cannot reach outside of the workspace.

import { pipeline } from 'node:stream/promises'
import { killGroup } from './exec.mjs'
import { ProtocolError } from './protocol-error.mjs'

/**
 * The POSIX format, in which a time before 1970 becomes 0 instead of a binary number. Clients do not read hard links, so
 * that each is a file.
 */
const format = '--format=posix --pax-option=delete=atime,delete=ctime,delete=mtime --hard-dereference'
const namePattern = /^[\w.@+ -]{1,100}$/

export function openArchive({ workspaces, own, limits, slots }) {
  /** Sends an archive. When it is incomplete, the connection is broken, so that the client notices. */
  async function read(name, { path, exclude }, response) {
    for (const each of exclude)
      if (!namePattern.test(each)) throw new ProtocolError('invalid', `This name cannot be excluded: ${each}`)
    const release = await slots.acquire(name)
    try {
      const excluded = exclude.map((each) => `--exclude='${each}'`).join(' ')
      const { child, ended } = await own.launch(name, { path, command: `tar ${format} ${excluded} -cf - .` })
      response.on('close', () => response.writableFinished || killGroup(child.pid))
      child.stdin.end()
      response.writeHead(200, { 'content-type': 'application/x-tar' })
      child.stdout.pipe(response, { end: false })
      const { code } = await ended
      // tar exits with 1 when a file changed while it was read.
      if (code === 0 || code === 1) response.end()
      else response.destroy()
    } finally {
      release()
    }
  }

  async function write(name, { path, body, length }) {
    const release = await slots.acquire(name)
    try {
      const workspace = await workspaces.open(name)
      if (length > limits.DISK_BYTES)
        throw new ProtocolError('too_large', 'The archive is larger than a workspace may be.')
      await workspaces.requireSpace(workspace, length)
      const { child, ended } = await own.launch(name, { path, command: 'tar --no-same-owner -xf -' })
      child.stdout.resume()
      await pipeline(body, child.stdin).catch(() => killGroup(child.pid))
      const { code, errorText } = await ended
      workspaces.changed(workspace)
      if (code !== 0) throw new ProtocolError('invalid', `The archive could not be unpacked. ${errorText}`)
      return {}
    } finally {
      release()
    }
  }

  return { read, write }
}
