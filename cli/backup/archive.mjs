/**
 * A backup of one tenant as a folder: a description, a list of entries and one sealed file for each. The list grows line by
 * line, so an interrupted backup goes on behind the last complete entry. Its last line authenticates the list. Until then
 * the files of the backup before stay, and it can be restored.
 */

import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  createWriteStream,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Failure, UsageError } from '../exits.mjs'
import { authenticate, deriveKey, newSalt, seal, unseal } from './seal.mjs'

const format = 'talaria.backup'

/**
 * Opens the archive in the folder, or creates it for the tenant. `night`: the backup of that date, of those that the server
 * has made; without it the newest, if the folder has no other.
 */
export function openArchive(folder, passphrase, { tenant, night } = {}) {
  const file = join(folder, 'archive.json')
  if (!existsSync(file)) {
    if (!tenant) throw new UsageError(`${folder} has no backup.`)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const salt = newSalt()
    const check = authenticate(deriveKey(passphrase, { version: 1, salt }), format)
    // Whole or not at all: without the salt the files cannot be opened.
    writeFileSync(`${file}.part`, `${JSON.stringify({ format, version: 1, tenant, salt, check }, null, 2)}\n`, {
      mode: 0o600,
    })
    renameSync(`${file}.part`, file)
  }
  const list = chooseList(folder, night)
  // The passphrase of an earlier night may have been another one.
  const { sealing } = readLines(list).findLast(({ name }) => name === 'end') ?? {}
  const about = { ...JSON.parse(readFileSync(file, 'utf8')), ...sealing }
  if (about.format !== format || ![1, 2].includes(about.version))
    throw new UsageError(`${file} is not a backup that I know.`)
  if (tenant && about.tenant.id !== tenant.id) throw new UsageError(`${folder} is a backup of ${about.tenant.id}.`)
  if (tenant && about.version !== 1) throw new UsageError(`${folder} has backups of the server. Choose another folder.`)
  const key = deriveKey(passphrase, about)
  if (authenticate(key, format) !== about.check) throw new UsageError('The passphrase is not that of the backup.')
  return new Archive({ folder, list, key, tenant: about.tenant })
}

const entriesFile = 'entries.jsonl'

/** Whether the folder has a backup that `talaria backup` has made itself, and not a server. */
export const hasOwnBackup = (folder) => existsSync(join(folder, entriesFile))

function chooseList(folder, night) {
  const own = join(folder, entriesFile)
  if (night === undefined && existsSync(own)) return own
  const nights = readdirSync(folder)
    .filter((name) => /^night-[0-9-]+\.jsonl$/.test(name))
    .toSorted()
  const wanted = night === undefined ? nights.at(-1) : nights.find((name) => name === `night-${night}.jsonl`)
  if (night !== undefined && !wanted)
    throw new UsageError(`${folder} has no backup of ${night}. It has: ${nights.join(', ')}`)
  return wanted ? join(folder, wanted) : own
}

class Archive {
  #folder
  #key
  #list

  constructor({ folder, list, key, tenant }) {
    this.#folder = folder
    this.#key = key
    this.#list = list
    this.tenant = tenant
    this.entries = new Map()
    /** The entries of the last complete backup. */
    this.complete = undefined
    for (const line of readLines(this.#list)) this.#note(line)
  }

  #note(line) {
    if (line.name !== 'end') return void this.entries.set(line.name, line)
    const wanted = new Set(line.names)
    for (const name of this.entries.keys()) if (!wanted.has(name)) this.entries.delete(name)
    this.complete = line.mac === this.#mac(line.names) ? new Map(this.entries) : undefined
  }

  /** Covers the hash of every entry. A list whose entries are not all there has none. */
  #mac(names) {
    const hashes = names.map((name) => `${name} ${this.entries.get(name)?.sha256}`)
    return authenticate(this.#key, hashes.join('\n'))
  }

  /** Seals the bytes under the name. `mark`: by which a later backup knows that nothing has changed. */
  async store(name, mark, bytes) {
    const file = `${randomBytes(16).toString('hex')}.sealed`
    const path = join(this.#folder, file)
    const hash = createHash('sha256')
    let count = 0
    const counted = new Transform({
      transform(part, _encoding, done) {
        hash.update(part)
        count += part.length
        done(null, part)
      },
    })
    const sealed = Readable.from(seal(Readable.fromWeb(bytes).pipe(counted), this.#key, name))
    await pipeline(sealed, createWriteStream(`${path}.part`, { mode: 0o600 }))
    renameSync(`${path}.part`, path)
    const entry = { name, file, mark, bytes: count, sha256: hash.digest('hex') }
    this.#append(entry)
    return entry
  }

  /** Whether the entry is there as it was marked. */
  has(name, mark) {
    const entry = this.entries.get(name)
    return entry?.mark === mark && existsSync(join(this.#folder, entry.file))
  }

  /** Ends the backup with these entries, and removes the files of others: of earlier backups and interrupted ones. */
  end(names) {
    this.#append({ name: 'end', at: new Date().toISOString(), names, mac: this.#mac(names) })
    const current = new Set([...this.entries.values()].map(({ file }) => file))
    for (const name of readdirSync(this.#folder))
      if (/\.(?:sealed|part)$/.test(name) && !current.has(name)) rmSync(join(this.#folder, name), { force: true })
  }

  /** The bytes of an entry of the last complete backup, checked. */
  read(name) {
    const { file, sha256 } = this.complete.get(name)
    const bytes = unseal(readFileSync(join(this.#folder, file)), this.#key, name)
    if (createHash('sha256').update(bytes).digest('hex') !== sha256)
      throw new Failure(`${name} is not what was stored.`)
    return bytes
  }

  #append(line) {
    appendLine(this.#list, line)
    this.#note(line)
  }

  /** Remembers for one server what was restored, so that an interrupted restore goes on. */
  journalFor(url) {
    const file = join(this.#folder, `restored-${createHash('sha256').update(url).digest('hex').slice(0, 8)}.jsonl`)
    const names = new Set(readLines(file).map(({ name }) => name))
    return {
      exists: existsSync(file),
      has: (name) => names.has(name),
      add: (name) => appendLine(file, { name }),
      remove: () => rmSync(file, { force: true }),
    }
  }
}

/** A line that was cut off by a crash gets an end, so that it does not spoil the next one. */
function appendLine(file, line) {
  const isCut = existsSync(file) && !endsLine(file)
  writeFileSync(file, `${isCut ? '\n' : ''}${JSON.stringify(line)}\n`, { flag: 'a', mode: 0o600 })
}

/** Lists may be long, so only the last byte is read. */
function endsLine(file) {
  const handle = openSync(file, 'r')
  try {
    const { size } = fstatSync(handle)
    const last = Buffer.alloc(1)
    return size === 0 || (readSync(handle, last, 0, 1, size - 1) === 1 && last[0] === 0x0a)
  } finally {
    closeSync(handle)
  }
}

/** A line that was cut off by a crash is left out. */
function readLines(file) {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line ? [JSON.parse(line)] : []
      } catch {
        return []
      }
    })
}
