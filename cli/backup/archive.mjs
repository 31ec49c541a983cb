/**
 * A backup of one tenant as a folder: a description, a list of entries and one sealed file for each. The list grows line by
 * line, so an interrupted backup goes on behind the last complete entry. Its last line authenticates the list.
 */

import { createHash } from 'node:crypto'
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { UsageError } from '../exits.mjs'
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
    writeFileSync(file, `${JSON.stringify({ format, version: 1, tenant, salt, check }, null, 2)}\n`, { mode: 0o600 })
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
    this.isComplete = false
    for (const line of readLines(this.#list)) this.#note(line)
  }

  #note(line) {
    if (line.name !== 'end') {
      this.isComplete = false
      return void this.entries.set(line.name, line)
    }
    const wanted = new Set(line.names)
    for (const name of this.entries.keys()) if (!wanted.has(name)) this.entries.delete(name)
    this.isComplete = line.mac === this.#mac(line.names)
  }

  /** Covers the hash of every entry. A list whose entries are not all there has none. */
  #mac(names) {
    const hashes = names.map((name) => `${name} ${this.entries.get(name)?.sha256}`)
    return authenticate(this.#key, hashes.join('\n'))
  }

  /** Seals the bytes under the name. `mark`: by which a later backup knows that nothing has changed. */
  async store(name, mark, bytes) {
    const file = `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.sealed`
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

  /** Ends the backup with these entries. Others are of what no longer exists, and are removed. */
  end(names) {
    for (const [name, { file }] of this.entries)
      if (!names.includes(name)) rmSync(join(this.#folder, file), { force: true })
    this.#append({ name: 'end', at: new Date().toISOString(), names, mac: this.#mac(names) })
  }

  /** The bytes of an entry, checked. */
  read(name) {
    const { file, sha256 } = this.entries.get(name)
    const bytes = unseal(readFileSync(join(this.#folder, file)), this.#key, name)
    if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw new Error(`${name} is not what was stored.`)
    return bytes
  }

  #append(line) {
    writeFileSync(this.#list, `${JSON.stringify(line)}\n`, { flag: 'a', mode: 0o600 })
    this.#note(line)
  }

  /** Remembers for one server what was restored, so that an interrupted restore goes on. */
  journalFor(url) {
    const file = join(this.#folder, `restored-${createHash('sha256').update(url).digest('hex').slice(0, 8)}.jsonl`)
    const names = new Set(readLines(file).map(({ name }) => name))
    return {
      exists: existsSync(file),
      has: (name) => names.has(name),
      add: (name) => writeFileSync(file, `${JSON.stringify({ name })}\n`, { flag: 'a', mode: 0o600 }),
      remove: () => rmSync(file, { force: true }),
    }
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
