/**
 * Keeps the marks of the files of a session. A file that is not listed has the default: private, and foreign once a command
 * may have written foreign text anywhere. A session that is older than marks has no record, and
 * then every file counts as foreign.
 */

import { type FileMarksRecord, foreignMarks, joinMarks, type Marks, noMarks, privateMarks } from '#agent/core/marks.ts'

export type FileMarks = {
  readonly of: (path: string) => Marks
  /** Of the file, or of all files below the folder. */
  readonly below: (path: string) => Marks
  /** Of all files. */
  readonly all: () => Marks
  readonly set: (path: string, marks: Marks) => void
  /** A person has written the file, or a command may have copied private data into any file but stored results. */
  readonly setPrivate: (path?: string) => void
  /** A file, or a folder with its files, gets another name. */
  readonly copy: (from: string, to: string) => void
  /** A command may have written foreign text into any file. `isDictated`: a turn with foreign marks chose the command. */
  readonly setAllForeign: (isDictated?: boolean) => void
  /** Whether a file but stored results may hold foreign text. */
  readonly hasForeign: () => boolean
  /** Whether somebody else may have dictated a file but stored results. What was only fetched does not count. */
  readonly hasDictated: () => boolean
}

type MarkedMetadata = {
  readonly meta: () => { readonly fileMarks?: FileMarksRecord }
  readonly updateMeta: (change: { readonly fileMarks: FileMarksRecord }) => void
}

/** The record is a part of the session's metadata. Beyond this the oldest paths are dropped, and all files count as foreign. */
const maxPaths = 200
/** Full texts of long results. Commands have no reason to write there; with foreign marks they count anyway. */
const resultFolder = '/tmp/results/'

export function openFileMarks({ meta, updateMeta }: MarkedMetadata): FileMarks {
  const record = (): FileMarksRecord => meta().fileMarks ?? { isForeign: true }
  const fallback = () => joinMarks(privateMarks, record().isForeign ? foreignMarks : noMarks)
  const listed = () => Object.entries(record().files ?? {})
  const hasListed = () => listed().some(([name, marks]) => !name.startsWith(resultFolder) && decode(marks)?.isForeign)
  return {
    of: (path) => findMarks(record(), path) ?? fallback(),
    below(path) {
      const folder = normalize(path)
      const inside = listed().filter(
        ([name]) => normalize(name) === folder || normalize(name).startsWith(folder === '/' ? '/' : `${folder}/`),
      )
      return joinMarks(findMarks(record(), path) ?? fallback(), ...inside.map(([, marks]) => decode(marks)))
    },
    all: () => joinMarks(fallback(), ...listed().map(([, marks]) => decode(marks))),
    set(path, marks) {
      const before = record()
      const encoded = encode(marks)
      const isDefault = encoded === encode(fallback())
      const known = before.files?.[path]
      if (known === encoded || (isDefault && known === undefined)) return
      const { [path]: _dropped, ...others } = before.files ?? {}
      updateMeta({ fileMarks: withinLimit({ ...before, files: isDefault ? others : { ...others, [path]: encoded } }) })
    },
    setPrivate(path) {
      const before = record()
      const isChanged = (name: string) =>
        path === undefined ? !name.startsWith(resultFolder) : normalize(name) === normalize(path)
      const changed = listed().filter(([name, marks]) => isChanged(name) && !decode(marks)?.isPrivate)
      if (!changed.length) return
      const files = { ...before.files, ...Object.fromEntries(changed.map(([name]) => [name, 'fp'])) }
      updateMeta({ fileMarks: { ...before, files } })
    },
    copy(from, to) {
      const before = record()
      const source = normalize(from)
      const moved = listed()
        .filter(([name]) => normalize(name) === source || normalize(name).startsWith(`${source}/`))
        .map(([name]) => [`${to}${normalize(name).slice(source.length)}`, before.files?.[name] ?? 'fp'])
      if (moved.length)
        updateMeta({ fileMarks: withinLimit({ ...before, files: { ...before.files, ...Object.fromEntries(moved) } }) })
    },
    setAllForeign(isDictated = false) {
      const before = record()
      const dictated = (isDictated || before.isDictated) && { isDictated: true as const }
      const kept = listed().filter(([, marks]) => decode(marks)?.isForeign)
      const isKnown = Boolean(dictated) === (before.isDictated ?? false)
      if (before.isForeign && isKnown && kept.length === listed().length) return
      // Text that a person or a clean turn has written since may have been replaced.
      const files = Object.fromEntries(kept.map(([path]) => [path, encode({ isForeign: true, isPrivate: true })]))
      updateMeta({ fileMarks: { isForeign: true, ...dictated, ...(kept.length && { files }) } })
    },
    hasForeign: () => record().isForeign === true || hasListed(),
    hasDictated: () => record().isDictated === true || meta().fileMarks === undefined || hasListed(),
  }
}

/**
 * Two files may have names that differ only in their Unicode form, and a tool may name one by the other form. So each has an
 * entry of its own, and what one of them holds counts for both.
 */
function findMarks({ files = {} }: FileMarksRecord, path: string): Marks | undefined {
  const form = normalize(path)
  const marks = Object.entries(files).flatMap(([name, each]) => (normalize(name) === form ? [decode(each)] : []))
  return marks.length ? joinMarks(...marks) : undefined
}

function withinLimit(record: FileMarksRecord): FileMarksRecord {
  const all = Object.entries(record.files ?? {})
  if (all.length <= maxPaths) return record
  return { isForeign: true, isDictated: true, files: Object.fromEntries(all.slice(-maxPaths)) }
}

const normalize = (path: string): string => path.normalize('NFC')

const encode = ({ isForeign, isPrivate }: Marks): string => `${isForeign ? 'f' : ''}${isPrivate ? 'p' : ''}`

const decode = (text: string | undefined): Marks | undefined =>
  text === undefined
    ? undefined
    : { ...(text.includes('f') && { isForeign: true }), ...(text.includes('p') && { isPrivate: true }) }
