/**
 * Fetches the files of a skill: from a SKILL.md, an archive, a repository on GitHub, or a site with an index. Nothing is
 * run, and nothing is stored here.
 */

import type { SkillContent } from '#agent/core/skills/skill.ts'
import { explainBadSkillName, skillFile } from '#agent/skills/skill-names.ts'
import { splitFrontMatter } from '#agent/skills/split-front-matter.ts'
import type { FetchBytes, ImportOutcome, ImportRequest } from '../protocol.ts'
import { type ArchiveEntry, listSkillFolders, requireSize, takeSkill } from './collect-files.ts'
import { ImportError } from './import-error.ts'
import { readArchive } from './read-archive.ts'
import { fetchEntry, maxArchiveBytes, readIndex, requireFound, type SkillIndex } from './read-index.ts'

const maxFileBytes = 256 * 1024

export async function importSkill(request: ImportRequest): Promise<ImportOutcome> {
  try {
    return await importFrom(request)
  } catch (error) {
    if (error instanceof ImportError) return { kind: 'failed', error: error.message }
    throw error
  }
}

async function importFrom({ url, name, fetch }: ImportRequest): Promise<ImportOutcome> {
  const source = resolveSkillSource(url)
  if (!source) throw new ImportError('The address of a skill begins with https://.')
  switch (source.kind) {
    case 'github':
      return chooseSkill(await readRepository(source, fetch), name)
    case 'archive':
      return chooseSkill(await readArchive(requireFound(await fetch(source.url, maxArchiveBytes)).bytes), name)
    case 'file':
      return { kind: 'found', files: await fetchFile(source.url, fetch) }
    case 'index': {
      const index = await readIndex(source.url, fetch)
      if (!index) throw new ImportError(`${source.url} is no index of skills.`)
      return chooseEntry(index, name, fetch)
    }
    case 'site':
      return importFromSite(source.url, name, fetch)
  }
}

/** The files of a repository, or of the folder that the address names. */
export async function readRepository(
  { archive, path }: RepositoryAddress,
  fetch: FetchBytes,
): Promise<readonly ArchiveEntry[]> {
  const entries = await readArchive(requireFound(await fetch(archive, maxArchiveBytes)).bytes)
  return belowFolder(withoutFirstPart(entries), path)
}

async function fetchFile(url: string, fetch: FetchBytes): Promise<readonly SkillContent[]> {
  const { bytes } = requireFound(await fetch(url, maxFileBytes))
  if (!splitFrontMatter(new TextDecoder().decode(bytes)))
    throw new ImportError(`${url} is no ${skillFile}: it does not begin with front matter.`)
  return [{ path: skillFile, bytes }]
}

async function importFromSite(url: string, name: string | undefined, fetch: FetchBytes): Promise<ImportOutcome> {
  for (const address of listIndexAddresses(url)) {
    const index = await readIndex(address, fetch)
    if (index) return chooseEntry(index, name, fetch)
  }
  const { bytes, status } = await fetch(url, maxFileBytes)
  if (status === 200 && splitFrontMatter(new TextDecoder().decode(bytes)))
    return { kind: 'found', files: [{ path: skillFile, bytes }] }
  throw new ImportError(
    `${url} has no skills: it is no ${skillFile} and has no /.well-known/agent-skills/index.json. Give the address of a ${skillFile}, of an archive, or of a folder on GitHub.`,
  )
}

async function chooseEntry(index: SkillIndex, name: string | undefined, fetch: FetchBytes): Promise<ImportOutcome> {
  const names = index.entries.map((entry) => entry.name).filter((one) => explainBadSkillName(one) === undefined)
  const chosen = name ?? (names.length === 1 ? names[0] : undefined)
  const entry = index.entries.find((one) => one.name === chosen)
  if (!entry || !names.includes(entry.name)) return choose(names, name, index.url)
  return { kind: 'found', files: await fetchEntry(index, entry, fetch) }
}

function chooseSkill(entries: readonly ArchiveEntry[], name: string | undefined): ImportOutcome {
  const folders = listSkillFolders(entries)
  const [only] = folders
  if (only === undefined) throw new ImportError(`There is no ${skillFile} at this address.`)
  const top = folders.includes('') ? '' : undefined
  const folder =
    name === undefined
      ? folders.length === 1
        ? only
        : top
      : folders.find((one) => one.split('/').at(-1) === name || nameIn(entries, one) === name)
  if (folder === undefined)
    return choose(
      folders.map((one) => one.split('/').at(-1) ?? one),
      name,
      'The archive',
    )
  const files = takeSkill(entries, folder)
  requireSize(files)
  return { kind: 'found', files }
}

function choose(names: readonly string[], name: string | undefined, place: string): ImportOutcome {
  if (name !== undefined)
    throw new ImportError(`${place} has no skill ${name}. It has: ${names.slice(0, 50).join(', ') || 'none'}.`)
  if (names.length === 0) throw new ImportError(`${place} lists no skills.`)
  return { kind: 'choose', names }
}

/** The name in the front matter of the skill in a folder, as far as it can be seen without parsing it. */
function nameIn(entries: readonly ArchiveEntry[], folder: string): string | undefined {
  const path = folder === '' ? skillFile : `${folder}/${skillFile}`
  const bytes = entries.find((one) => one.path === path)?.bytes
  const head = bytes && splitFrontMatter(new TextDecoder().decode(bytes))?.head
  return head === undefined ? undefined : /^name:[ \t]*["']?([a-z0-9._-]+)/m.exec(head)?.[1]
}

/** Archives of repositories have one folder at the top, named after the commit. */
const withoutFirstPart = (entries: readonly ArchiveEntry[]): readonly ArchiveEntry[] =>
  entries.flatMap(({ path, bytes }) => (path.includes('/') ? [{ path: path.slice(path.indexOf('/') + 1), bytes }] : []))

const belowFolder = (entries: readonly ArchiveEntry[], folder: string): readonly ArchiveEntry[] =>
  folder === ''
    ? entries
    : entries.flatMap(({ path, bytes }) =>
        path.startsWith(`${folder}/`) ? [{ path: path.slice(folder.length + 1), bytes }] : [],
      )

// Resolves what an address of skills leads to: a repository, an archive, a file, an index, or a site.

type SkillSourceAddress =
  | RepositoryAddress
  | { readonly kind: 'archive' | 'file' | 'index' | 'site'; readonly url: string }

/** `path`: a folder of the repository. */
type RepositoryAddress = { readonly kind: 'github'; readonly archive: string; readonly path: string }

/** The part of a path after a repository: `/tree/<ref>/<folder>`. */
const repositoryPlaces: readonly string[] = ['tree', 'blob', 'raw']

/** Undefined for a text that is no address. */
export function resolveSkillSource(address: string): SkillSourceAddress | undefined {
  const url = URL.parse(address)
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) return undefined
  if (url.hostname === 'github.com' || url.hostname === 'www.github.com') return resolveRepository(url)
  const { pathname, href } = url
  if (/\.(?:tar\.gz|tgz|tar|zip|skill)$/i.test(pathname)) return { kind: 'archive', url: href }
  if (pathname.endsWith('/index.json')) return { kind: 'index', url: href }
  if (pathname.endsWith('.md')) return { kind: 'file', url: href }
  return { kind: 'site', url: href }
}

/** A branch with a slash in its name cannot be told from a folder: its first part is taken. */
function resolveRepository(url: URL): SkillSourceAddress | undefined {
  const [owner, repository, place, ref, ...folders] = url.pathname.split('/').filter(Boolean)
  if (owner === undefined || repository === undefined) return undefined
  const isPlace = place !== undefined && repositoryPlaces.includes(place)
  if (place !== undefined && !isPlace) return { kind: 'site', url: url.href }
  const name = repository.replace(/\.git$/, '')
  const isFile = folders.at(-1)?.endsWith('.md') === true
  return {
    kind: 'github',
    archive: `https://codeload.github.com/${owner}/${name}/tar.gz/${ref ?? 'HEAD'}`,
    path: (isFile ? folders.slice(0, -1) : folders).map(decodeURIComponent).join('/'),
  }
}

/** The addresses at which a site may have its index, in the order in which they are tried. */
export function listIndexAddresses(site: string): readonly string[] {
  const { origin, pathname } = new URL(site)
  const base = pathname.replace(/\/+$/, '')
  const bases = base === '' ? [''] : [base, '']
  return bases.flatMap((one) =>
    ['agent-skills', 'skills'].map((name) => `${origin}${one}/.well-known/${name}/index.json`),
  )
}
