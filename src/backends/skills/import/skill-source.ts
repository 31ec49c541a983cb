/** Tells what an address of skills leads to: a repository, an archive, a file, an index, or a site. */

export type SkillSourceAddress =
  /** `path`: a folder of the repository. */
  | { readonly kind: 'github'; readonly archive: string; readonly path: string }
  | { readonly kind: 'archive' | 'file' | 'index' | 'site'; readonly url: string }

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
