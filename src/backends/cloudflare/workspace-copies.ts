/**
 * Saves the workspace of a container as archives in a bucket, and restores it. The archives are the same for every container
 * API, so that a session keeps its files when the API changes. The last two copies are kept: when the last one is damaged,
 * the one before it is restored.
 */

import type { RestoreOutcome, ScriptResult } from '../host/host-port.ts'
import { cleanMemory, type HostFolders, judgeWorkspace, movedWorkspace, quote } from '../host/scripts.ts'
import { withTimeout } from '#durable/platform/timeout.ts'
import { createFailure } from './container-failure.ts'
import { within } from './within.ts'

/** One copy. Those of earlier versions have only an id: they are squashfs files that the SDK made. */
export type WorkspaceCopy = { readonly id: string } & Partial<Packed>

export type StoredCopies = {
  /** Newest first. */
  readonly copies: readonly WorkspaceCopy[]
  /** A copy whose upload has begun. Its objects are deleted when it does not end. */
  readonly uploading?: string | undefined
}

export type CopyRecord = {
  readonly get: () => Promise<unknown>
  readonly put: (stored: StoredCopies) => Promise<void>
}

/** Runs scripts and transfers whole files in the container. */
export type ContainerFiles = {
  readonly run: (script: string, timeoutMs: number) => Promise<ScriptResult>
  readonly read: (path: string) => Promise<Uint8Array>
  readonly write: (path: string, bytes: Uint8Array) => Promise<void>
}

export type CopyBucket = Pick<R2Bucket, 'get' | 'put' | 'delete' | 'list'>

export type CopyOptions = {
  /** Undefined: there is no place for copies. */
  readonly bucket: CopyBucket | undefined
  readonly record: CopyRecord
  readonly files: ContainerFiles
  readonly folders: HostFolders
  readonly logError: (event: string, message: string, error: unknown) => void
  /** For tests. */
  readonly timeoutMs?: number
}

/** `nothing`: there is no prepared workspace, or no place for copies. */
export type SaveOutcome = 'saved' | 'nothing' | 'failed'

const defaultTimeoutMs = 5 * 60_000
const maxCopies = 2
/** Attempts to read an object whose content breaks off. */
const maxReads = 3
const readRetryMs = 250
/** An upload whose parts were read before the container ended takes less. */
const uploadWaitMs = 60_000

export class WorkspaceCopies {
  readonly #options: CopyOptions
  #saving: Promise<SaveOutcome> | undefined
  /** Counts removals. A save that began before one does not store its copy. */
  #removals = 0
  #begun = 0

  constructor(options: CopyOptions) {
    this.#options = options
  }

  /** Counts copies that have begun, or is undefined while one is made. */
  get begun(): number | undefined {
    return this.#saving ? undefined : this.#begun
  }

  /** Saves one copy at a time, by default through the API that also runs commands. The previous copies stay on failure. */
  save(files = this.#options.files): Promise<SaveOutcome> {
    return (this.#saving ??= this.#saveOnce(files).finally(() => (this.#saving = undefined)))
  }

  /** Restores the newest copy that is whole, unless the workspace is newer. Waits for one that is being uploaded. */
  async restore(): Promise<RestoreOutcome> {
    const { bucket, files, folders } = this.#options
    if (this.#saving) await withTimeout(this.#saving, uploadWaitMs, () => undefined)
    const { copies } = await this.#read()
    const [newest] = copies
    const { output } = await files.run(judgeWorkspace(folders, newest && (newest.at ?? '0')), 60_000)
    const found = output.trim()
    if (found === 'live' || found === 'restored' || found === 'older') return found
    if (!bucket) return 'lost'
    for (const [index, copy] of copies.entries()) {
      const outcome = index === 0 ? 'restored' : 'older'
      if (await this.#restoreCopy(bucket, copy, outcome)) return outcome
    }
    return 'lost'
  }

  /** Whether something has changed since the newest copy, as far as the container tells. */
  async areOld(): Promise<boolean> {
    const { files, folders } = this.#options
    const { copies } = await this.#read()
    // One that a job has moved is found when it is saved.
    const script = `[ -d ${quote(folders.root)} ] || exit 0\n${judgeWorkspace(folders, copies[0]?.at ?? '0')}`
    return files.run(script, 60_000).then(
      ({ output }) => output.trim() !== 'stale',
      () => true,
    )
  }

  /** The time of the newest copy, in milliseconds since 1970. */
  async savedAt(): Promise<number | undefined> {
    const at = (await this.#read()).copies[0]?.at
    return at === undefined ? undefined : Math.floor(Number(at) * 1_000)
  }

  /** Deletes all copies, and one that is being made. */
  async removeAll(): Promise<void> {
    this.#removals++
    const { copies, uploading } = await this.#read()
    await this.#write({ copies: [] })
    for (const { id } of copies) await this.#remove(id)
    if (uploading !== undefined) await this.#remove(uploading)
  }

  async #read(): Promise<StoredCopies> {
    const value = (await this.#options.record.get()) as StoredCopies | WorkspaceCopy | undefined
    if (value === undefined) return { copies: [] }
    return 'copies' in value ? value : { copies: [{ id: value.id }] }
  }

  #write(stored: StoredCopies): Promise<void> {
    return this.#options.record.put(stored)
  }

  async #saveOnce(files: ContainerFiles): Promise<SaveOutcome> {
    const { bucket, logError, timeoutMs = defaultTimeoutMs } = this.#options
    if (!bucket) return 'nothing'
    this.#begun++
    const id = crypto.randomUUID()
    const attempt = { isOver: false }
    const saving = this.#createCopy(bucket, files, { id, attempt })
    try {
      return await within(saving, timeoutMs, 'The copy of the workspace')
    } catch (error) {
      logError('workspace.unsaved', 'The workspace of a container could not be saved. The previous copies stay.', error)
      return 'failed'
    } finally {
      attempt.isOver = true
      // The archive would take space in the container.
      void files.run(`rm -rf '${this.#folderOf(id)}'`, 30_000).catch(() => undefined)
    }
  }

  async #createCopy(
    bucket: CopyBucket,
    files: ContainerFiles,
    { id, attempt }: { readonly id: string; readonly attempt: { readonly isOver: boolean } },
  ): Promise<SaveOutcome> {
    const removals = this.#removals
    const at = this.#folderOf(id)
    const { code, output } = await files.run(packWorkspace(this.#options.folders, at), defaultTimeoutMs)
    if (code === nothingToSaveCode) return 'nothing'
    if (code !== 0) throw new Error(`The workspace could not be packed: ${output.trim() || `code ${code}`}`)
    const packed = parsePacked(output)
    const before = await this.#read()
    if (before.uploading !== undefined) await this.#remove(before.uploading)
    await this.#write({ ...before, uploading: id })
    for (let part = 0; part < packed.parts; part++)
      await bucket.put(keyOf(id, part), await files.read(`${at}/${partName(part)}`))
    if (attempt.isOver || this.#removals !== removals) {
      await this.#remove(id)
      return 'failed'
    }
    const { copies } = await this.#read()
    await this.#write({ copies: [{ id, ...packed }, ...copies].slice(0, maxCopies) })
    for (const { id: old } of copies.slice(maxCopies - 1)) await this.#remove(old)
    return 'saved'
  }

  /**
   * False when the copy cannot be used: the next one is tried. One that is damaged is deleted. Throws when the container
   * has no place for it: it is whole, and commands in an empty workspace would soon replace it by copies of that.
   */
  async #restoreCopy(bucket: CopyBucket, copy: WorkspaceCopy, outcome: 'restored' | 'older'): Promise<boolean> {
    const { files, folders, logError } = this.#options
    const at = this.#folderOf(copy.id)
    try {
      await files.run(`rm -rf '${at}'; mkdir -p '${at}'`, 60_000)
      const isWhole = copy.parts === undefined ? this.#fetchSquashfs : this.#fetchParts
      const { code, output } = (await isWhole.call(this, bucket, copy, at))
        ? await files.run(unpackWorkspace({ ...folders, at, copy, outcome }), defaultTimeoutMs)
        : { code: damagedCode, output: 'Objects are missing in the bucket.' }
      if (code === 0) return true
      if (code !== damagedCode && code !== unusableCode) throw createFailure('RESTORE', notRestored(output))
      logError('workspace.copy_unusable', 'A copy of a workspace cannot be used.', new Error(output.trim()))
      if (code === damagedCode) await this.#forget(copy.id)
      return false
    } finally {
      await files.run(`rm -rf '${at}'`, 60_000).catch(() => undefined)
    }
  }

  async #fetchParts(bucket: CopyBucket, { id, parts = 0 }: WorkspaceCopy, at: string): Promise<boolean> {
    for (let part = 0; part < parts; part++) {
      const read = await readObject(bucket, keyOf(id, part))
      if (!read) return false
      await this.#options.files.write(`${at}/${partName(part)}`, read.bytes)
    }
    return true
  }

  async #fetchSquashfs(bucket: CopyBucket, { id }: WorkspaceCopy, at: string): Promise<boolean> {
    const key = `${squashfsPrefix(id)}data.sqsh`
    for (let part = 0, offset = 0; ; part++, offset += partBytes) {
      const read = await readObject(bucket, key, { range: { offset, length: partBytes } })
      if (!read) return false
      await this.#options.files.write(`${at}/${partName(part)}`, read.bytes)
      if (offset + partBytes >= read.size) return true
    }
  }

  async #forget(id: string): Promise<void> {
    const stored = await this.#read()
    await this.#write({ ...stored, copies: stored.copies.filter((copy) => copy.id !== id) })
    await this.#remove(id)
  }

  /** Deletes the objects of a copy. Those of an upload that was cut off are found by their prefix. */
  async #remove(id: string): Promise<void> {
    const { bucket, logError } = this.#options
    try {
      if (bucket) for (const prefix of [prefixOf(id), squashfsPrefix(id)]) await removeBelow(bucket, prefix)
    } catch (error) {
      logError('workspace.copy_left', 'An old copy of a workspace could not be deleted.', error)
    }
  }

  #folderOf(id: string): string {
    return `${this.#options.folders.state}/c-${id}`
  }
}

/**
 * Returns undefined when the object is missing, or when its content breaks off again and again although the bucket answers.
 * Throws when the bucket does not answer: then it may be whole.
 */
async function readObject(bucket: CopyBucket, key: string, options?: R2GetOptions) {
  for (let attempt = 1; ; attempt++) {
    const object = await bucket.get(key, options)
    if (!object) return undefined
    try {
      return { bytes: new Uint8Array(await object.arrayBuffer()), size: object.size }
    } catch (error) {
      if (attempt < maxReads) await new Promise((resolve) => setTimeout(resolve, readRetryMs * attempt))
      else if (await holdsContent(bucket, `${key}.probe`)) return undefined
      else throw error
    }
  }
}

/** Whether the bucket returns what was just written. */
async function holdsContent(bucket: CopyBucket, key: string): Promise<boolean> {
  try {
    await bucket.put(key, new Uint8Array([1]))
    const bytes = await (await bucket.get(key))?.arrayBuffer()
    await bucket.delete(key)
    return bytes?.byteLength === 1
  } catch {
    return false
  }
}

async function removeBelow(bucket: CopyBucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects, truncated } = await bucket.list({ prefix })
    if (objects.length) await bucket.delete(objects.map(({ key }) => key))
    if (!truncated) return
  }
}

const prefixOf = (id: string): string => `workspaces/${id}/`
const squashfsPrefix = (id: string): string => `backups/${id}/`
const keyOf = (id: string, part: number): string => prefixOf(id) + partName(part)

/** Parts are transferred one by one, so that neither a request nor the memory holds a whole archive. */
const partBytes = 4 * 1024 * 1024
const partName = (part: number): string => `p${String(part).padStart(5, '0')}`

/** Exit code when the container is not prepared, or its workspace was removed: the copy stays as it is. */
const nothingToSaveCode = 91
/** Exit code when an archive is not what was saved. */
const damagedCode = 90
/** Exit code when an archive without a hash cannot be unpacked although there is space: it may be damaged. */
const unusableCode = 88

const notRestored = (output: string): string =>
  `The workspace could not be restored, and nothing runs before. Its copies stay. ${output.trim() || 'Is there enough space?'}`

type Packed = {
  /** When packing began, in seconds since 1970, by the clock of the container. */
  readonly at: string
  readonly parts: number
  readonly bytes: number
  readonly sha256: string
}

/**
 * Packs the workspace into parts and prints time, number of parts, bytes and hash. Modes, owners, times, links, holes
 * and any name are kept. A workspace that was moved is moved back first. A file that changes meanwhile (code 1 of tar) is saved as it is read.
 */
const packWorkspace = (
  { state, root }: HostFolders,
  at: string,
): string => `${movedWorkspace}S=${quote(state)}; R=${quote(root)}; D=${quote(at)}; set -o pipefail
{ [ -e "$S/boot" ] && { [ -d "$R" ] || { findWorkspace > /dev/null && [ -d "$R" ]; }; }; } || exit ${nothingToSaveCode}
${cleanMemory}
mkdir -p "$D" && t=$(date +%s.%N) || exit 1
{ tar --format=posix --sparse -C "$R" -cf - . 2> "$D/error"; c=$?; [ $c -le 1 ]; } | gzip -1 | split -b ${partBytes} -d -a 5 - "$D/p" || { tail -n 1 "$D/error"; exit 1; }
h=$(cat "$D"/p* | sha256sum) || exit 1
echo "$t $(find "$D" -name 'p*' | wc -l) $(cat "$D"/p* | wc -c) \${h%% *}"`

function parsePacked(output: string): Packed {
  const [, at, parts, bytes, sha256] = /^(\d+\.\d+) (\d+) (\d+) ([0-9a-f]{64})\n$/.exec(output) ?? []
  if (at === undefined || sha256 === undefined) throw new Error('The size of the archive is unknown.')
  return { at, parts: Number(parts), bytes: Number(bytes), sha256 }
}

type UnpackOptions = HostFolders & {
  /** The folder of the parts. */
  readonly at: string
  /** A copy without a hash is a squashfs file. */
  readonly copy: { readonly sha256?: string | undefined }
  readonly outcome: string
}

/** Errors of tar that every container would have again. The other files are there. */
const permanentError =
  ': Cannot .*: (File name too long|File too large|Operation not permitted|Function not implemented)$'
/** Errors that come of those: what a folder contains that could not be created, and links to a file that is missing. */
const consequence = ': Cannot .*: No such file or directory$|Exiting with failure status|Removing leading'

/**
 * Unpacks the parts beside the workspace and replaces it when all files are there: a restore that is interrupted begins
 * again. `restoring` marks a workspace that was already judged to be older than its copy. Files that no container can
 * create are listed in a note for the next command, because otherwise no command would ever run again.
 */
function unpackWorkspace({ state, root, at, copy, outcome }: UnpackOptions): string {
  const unpack =
    copy.sha256 === undefined
      ? `cat "$D"/p* > "$D/all" && rm -f "$D"/p* && unsquashfs -no-progress -f -d "$N" "$D/all" > /dev/null 2> "$D/error"`
      : `cat "$D"/p* | gzip -dc 2> "$D/error" | tar --numeric-owner -C "$N" -xpf - 2>> "$D/error"`
  const verify =
    copy.sha256 === undefined
      ? ''
      : `h=$(cat "$D"/p* | sha256sum); [ "\${h%% *}" = ${copy.sha256} ] || { echo 'The hash is another one.'; exit ${damagedCode}; }\n`
  const unhashed =
    copy.sha256 === undefined
      ? `{ printf %65536s > "$S/full"; } 2>/dev/null && c=${unusableCode}; rm -f "$S/full"; `
      : ''
  const accepted =
    copy.sha256 === undefined
      ? 'false'
      : `grep -qE ${quote(permanentError)} "$D/error" && ! grep -qvE ${quote(`${permanentError}|${consequence}`)} "$D/error" && listMissing > "$S/note"`
  return `S=${quote(state)}; R=${quote(root)}; D=${quote(at)}; N="$S/new"; set -o pipefail; export LC_ALL=C
listMissing() { local e; mapfile -t e < <(grep -E ${quote(permanentError)} "$D/error")
echo "[\${#e[@]} paths of the last copy cannot be created, and are not in the workspace. The first ones:"; printf '%s\\n' "\${e[@]:0:5}" | sed -E 's/^(.{200}).*(.{100})$/\\1…\\2/'; echo ']'; }
${verify}rm -rf "$N"; mkdir -p "$N" && : > "$S/restoring" || exit 1
{ ${unpack}; } || { ${accepted}; } || { c=1; ${unhashed}tail -n 1 "$D/error"; rm -rf "$N"; exit $c; }
rm -rf -- "$R" 2>/dev/null
if [ ! -e "$R" ]; then mv -T "$N" "$R"; else cp -a "$N/." "$R/"; fi || exit 1
echo ${outcome} > "$S/restored"; rm -rf "$S/restoring" "$N"; :`
}
