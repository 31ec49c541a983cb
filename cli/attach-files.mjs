/** Reads files of this computer that go with a message. */

import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { UsageError } from './exits.mjs'

const maxFileBytes = 5_000_000
/** A request has at most 10 MB, and base64 takes a third more. */
const maxBytes = 7_000_000
const maxFiles = 20

/** Throws when one cannot be read or is too large. */
export function readAttachments(paths) {
  if (paths.length > maxFiles) throw new UsageError(`A message has at most ${maxFiles} files.`)
  let bytes = 0
  return paths.map((path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (!stat?.isFile()) throw new UsageError(`There is no file ${path}.`)
    bytes += stat.size
    if (stat.size > maxFileBytes) throw new UsageError(`${path} is larger than 5 MB. Send it with talaria files put.`)
    if (bytes > maxBytes)
      throw new UsageError('The files are larger than 7 MB together. Send some with talaria files put.')
    return { type: 'file', name: basename(path), data: readFileSync(path).toString('base64') }
  })
}

/** The files of this computer that a text names by @. `others`: names that mean something else, as files of the workspace. */
export function findMentioned(text, others = new Set()) {
  const named = [...text.matchAll(/(?:^|\s)@(?:"([^"\n]{1,1000})"|(\S{1,1000}))/gu)]
  const paths = named.map(([, quoted, plain]) => quoted ?? findFile(plain))
  return [...new Set(paths)].filter((path) => path !== undefined && !others.has(path) && isFile(path))
}

/** A sentence may end behind a name. */
function findFile(name) {
  const bare = name.replace(/[.,;:!?)]{1,3}$/u, '')
  return isFile(name) || !bare ? name : bare
}

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true
