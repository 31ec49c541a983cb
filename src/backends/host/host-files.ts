/** Implements the files of a host with `find`, `grep` and the reading and writing of its port. */

import {
  BackendError,
  type Files,
  type FileStat,
  type FileHit,
  type FileQuery,
  type FileSearchResult,
} from '#agent/core/backend.ts'
import { parseSearchPattern } from '../virtual/search-pattern.ts'
import { glob } from '../virtual/glob.ts'
import type { TreeEntry } from '../portable-backend.ts'
import type { ScriptHost } from './exec.ts'
import {
  badPatternCode,
  directoryCode,
  fullDiskCode,
  listFilesBelow,
  searchLines,
  printLines,
  listFolder,
  listLinks,
  parseLinks,
  lockedType,
  measureFile,
  notRegularCode,
  prepareFile,
  removeUpload,
  replaceFile,
  maxListedBytes,
  maxTreeBytes,
  quote,
} from './scripts.ts'
import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import { readChangingFile } from './read-changing-file.ts'

const fullDiskHint = 'Remove files that are not needed.'
const maxLineChars = 2_000
const byPath = (a: { readonly path: string }, b: { readonly path: string }) => (a.path < b.path ? -1 : 1)

export function hostFiles(host: ScriptHost, resolve: (path: string) => string): Files {
  const { scripts, port } = host
  const stat = async (path: string) => (await listEntries(host, listFolder(path, 0)))[0]
  return {
    async read(path) {
      const at = resolve(path)
      const measure = async () => {
        const { code, output } = await scripts.run(measureFile(at))
        if (code !== 0) throw fileError(code, at)
        return output.trim() === '' ? undefined : Number(output)
      }
      return readChangingFile(at, measure, () => port.read(at))
    },
    write: (path, bytes) => writeFile(host, resolve(path), bytes),
    stat: (path) => stat(resolve(path)),
    async list(path) {
      const at = resolve(path)
      if ((await stat(at))?.type !== 'directory') throw new BackendError('invalid', `This is not a directory: ${at}`)
      return (await listEntries(host, listFolder(at, 1))).toSorted(byPath)
    },
    async remove(path) {
      const at = resolve(path)
      const { code, output } = await scripts.run(
        `f=${quote(at)}; [ -e "$f" ] || [ -L "$f" ] || exit 0; rm -rf -- "$f" && echo gone`,
      )
      if (code !== 0) throw new BackendError('invalid', `This cannot be removed: ${at}`)
      return output.includes('gone')
    },
    async move(from, to) {
      const [source, target] = [resolve(from), resolve(to)]
      const script = `t=${quote(target)}; [ -d "$t" ] && exit 21; mkdir -p -- "$(dirname -- "$t")" && mv -T -- ${quote(source)} "$t"`
      const { code } = await scripts.run(script)
      if (code !== 0) throw new BackendError('invalid', `${source} cannot be moved to ${target}`)
    },
    links: async (isDeep) => parseLinks((await scripts.run(listLinks([host.root, host.temporary], isDeep))).output),
    search: (query) => search(host, { ...query, path: resolve(query.path ?? '.') }),
  }
}

/** Files up to this size are sent within the script. */
const maxInlineBytes = 20_000

/** Replaces a file in one step. A larger one is sent to our own folder first. */
async function writeFile({ scripts, port }: ScriptHost, at: string, bytes: Uint8Array): Promise<{ created: boolean }> {
  const id = crypto.randomUUID()
  if (bytes.byteLength <= maxInlineBytes) {
    const { code, output } = await scripts.run(replaceFile(at, id, { base64: encodeBase64Bytes(bytes) }))
    if (code !== 0) throw fileError(code, at)
    return { created: !output.includes('there') }
  }
  const { code: refused } = await scripts.run(prepareFile(at))
  if (refused !== 0) throw fileError(refused, at)
  const upload = `${scripts.state}/w-${id}`
  try {
    await port.write(upload, bytes)
    const { code, output } = await scripts.run(replaceFile(at, id, { upload }))
    if (code !== 0) throw fileError(code, at)
    return { created: !output.includes('there') }
  } catch (error) {
    const { output } = await scripts.run(removeUpload(upload)).catch(() => ({ output: '' }))
    throw output.includes('full') ? fileError(fullDiskCode, at) : error
  }
}

function fileError(code: number | null, path: string): BackendError {
  if (code === fullDiskCode)
    return new BackendError('full', `The disk of the host is full: ${path} was not written.`, fullDiskHint)
  if (code === directoryCode) return new BackendError('invalid', `This is a directory: ${path}`)
  if (code === notRegularCode) return new BackendError('invalid', `This is not a regular file: ${path}`)
  return new BackendError('invalid', `A part of the path is not a directory, or is not writable: ${path}`)
}

const findTypes: Readonly<Record<string, FileStat['type']>> = { d: 'directory', l: 'link' }

async function listEntries({ scripts }: ScriptHost, script: string): Promise<readonly FileStat[]> {
  return splitEntries(await scripts.readBytes(script)).map(parseEntry)
}

/** Parses the output of `listTree`. The workspace is partial when the list is truncated. */
export function parseTree(listed: Uint8Array, root: string): readonly TreeEntry[] {
  const lines = splitEntries(listed)
  const isTruncated = listed.length >= maxTreeBytes
  const entries = (isTruncated ? lines.slice(0, -1) : lines).map((line): TreeEntry => {
    const entry = parseEntry(line)
    return line.startsWith(lockedType) ? { ...entry, type: 'directory', size: 0, isPartial: true } : entry
  })
  return isTruncated ? [{ path: root, type: 'directory', size: 0, modified: 0, isPartial: true }, ...entries] : entries
}

const splitEntries = (listed: Uint8Array): string[] => new TextDecoder().decode(listed).split('\0').filter(Boolean)

/** Parses a line of `find`: type, bytes, time, path. */
function parseEntry(line: string): FileStat {
  const [kind = '', size = '0', time = '0', ...path] = line.split('\t')
  const type = findTypes[kind] ?? 'file'
  return {
    path: path.join('\t'),
    type,
    size: type === 'directory' ? 0 : Number(size),
    modified: Math.round(Number(time) * 1000),
  }
}

async function search(host: ScriptHost, query: FileQuery & { readonly path: string }): Promise<FileSearchResult> {
  const { pattern, target, path: root, limit, offset } = query
  if (target === 'content') parseSearchPattern(pattern)
  const listed = await readParts(host, listFilesBelow(root), '\0')
  const below = (path: string) =>
    path === root ? path.slice(path.lastIndexOf('/') + 1) : path.slice(root === '/' ? 1 : root.length + 1)
  const isWanted = target === 'files' ? glob(pattern) : query.glob === undefined ? () => true : glob(query.glob)
  const excluded = new Set(target === 'content' ? query.exclude : [])
  const paths = listed.parts.filter((path) => path !== '' && !excluded.has(path) && isWanted(below(path))).toSorted()
  const page = <T>(all: readonly T[], isTruncated: boolean) => ({
    hits: all.slice(offset, offset + limit),
    total: all.length,
    truncated: isTruncated || all.length > offset + limit,
  })
  if (target === 'files')
    return page(
      paths.map((path) => ({ path })),
      listed.isTruncated,
    )
  const found = paths.length ? await findLines(host, paths, pattern) : { hits: [], isTruncated: false }
  const shown = page(found.hits, listed.isTruncated || found.isTruncated)
  return query.context ? { ...shown, hits: await withContext(host, shown.hits, query.context) } : shown
}

/** Runs a script and splits its output. The last part of a truncated list is incomplete and is dropped. */
async function readParts({ scripts }: ScriptHost, script: string, end: string) {
  const { code, output } = await scripts.run(script)
  const bytes = decodeBase64Bytes(output.trim())
  if (code === badPatternCode) throw invalidPattern(new TextDecoder().decode(bytes))
  const isTruncated = bytes.length >= maxListedBytes
  const parts = new TextDecoder().decode(bytes).split(end)
  return { parts: isTruncated ? parts.slice(0, -1) : parts, isTruncated }
}

const invalidPattern = (words: string): BackendError =>
  new BackendError('invalid', words.replace(/^grep: /, ''), 'Patterns are searched with grep -P on this host.')

/** Replaces numeric escapes of JavaScript by their characters: PCRE writes them differently, or reads them as bytes. */
const toPcre = (pattern: string): string =>
  pattern.replace(
    /\\(?:u([0-9a-fA-F]{4})|x([89a-fA-F][0-9a-fA-F])|[\s\S])/g,
    (escape, ...codes: (string | undefined)[]) => {
      const code = Number.parseInt(codes[0] ?? codes[1] ?? '', 16)
      if (Number.isNaN(code)) return escape
      return code < 128 ? `\\x${code.toString(16).padStart(2, '0')}` : String.fromCharCode(code)
    },
  )

const clamp = (line: string): string => line.slice(0, maxLineChars).replace(/\r$/, '')

type Hit = FileHit & { readonly line: number }

async function findLines(host: ScriptHost, paths: readonly string[], pattern: string) {
  const { scripts, port } = host
  const list = `${scripts.state}/l-${crypto.randomUUID()}`
  await port.write(list, new TextEncoder().encode(paths.map((path) => `${path}\0`).join('')))
  const insensitive = pattern.startsWith('(?i)')
  const script = searchLines(list, toPcre(insensitive ? pattern.slice(4) : pattern), insensitive)
  const { parts, isTruncated } = await readParts(host, script, '\n')
  const hits = parts.flatMap((line): Hit[] => {
    const [, path = '', number, text = ''] = /^([^\0]*)\0(\d+):(.*)$/s.exec(line) ?? []
    return number === undefined ? [] : [{ path, line: Number(number), text: clamp(text) }]
  })
  return { hits, isTruncated }
}

/** Number of files whose lines one script prints. */
const filesPerScript = 50

/** Fetches only the needed lines, because a file may be of any size. */
async function withContext(host: ScriptHost, hits: readonly Hit[], context: number): Promise<readonly FileHit[]> {
  const around = new Map<string, Map<number, string>>()
  const paths = [...new Set(hits.map(({ path }) => path))]
  for (let i = 0; i < paths.length; i += filesPerScript) {
    const some = paths.slice(i, i + filesPerScript).map((path) => ({
      path,
      ranges: mergeRanges(
        hits.filter((hit) => hit.path === path).map(({ line }) => line),
        context,
      ),
    }))
    const script = some.map(({ path, ranges }) => printLines(path, ranges, maxLineChars * 4)).join('\n')
    const printed = (await host.scripts.run(script)).output.split('\n')
    for (const [at, { path, ranges }] of some.entries())
      around.set(path, numberLines(new TextDecoder().decode(decodeBase64Bytes(printed[at] ?? '')), ranges))
  }
  return hits.map((hit) => {
    const existing = around.get(hit.path)
    const between = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, i) => existing?.get(from + i)).flatMap((line) => line ?? [])
    const { line } = hit
    return { ...hit, before: between(line - context, line - 1), after: between(line + 1, line + context) }
  })
}

type ByteSpan = readonly [from: number, to: number]

function mergeRanges(lineNumbers: readonly number[], context: number): readonly ByteSpan[] {
  const ranges: [number, number][] = []
  for (const line of lineNumbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1)
    const [from, to] = [Math.max(1, line - context), line + context]
    if (last && from <= last[1] + 1) last[1] = to
    else ranges.push([from, to])
  }
  return ranges
}

function numberLines(text: string, ranges: readonly ByteSpan[]): Map<number, string> {
  const all = text.split('\n')
  if (all.at(-1) === '') all.pop()
  const numbers = ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i))
  return new Map(all.map((line, i) => [numbers[i] ?? 0, clamp(line)]))
}
