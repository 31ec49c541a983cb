/** Tests the import of skills from files, archives, repositories and sites, with hostile ones. */

import { describe, expect, it } from 'vitest'
import { loadSkillModule } from '#backends/modules.ts'
import { readArchive } from '#backends/skills/import/read-archive.ts'
import { listIndexAddresses, resolveSkillSource } from '#backends/skills/import/import-skill.ts'
import type { SnapshotEntry } from '#backends/virtual/snapshot.ts'
import { pack, toStream } from '#backends/tar.ts'
import { zip } from '../support/zip.ts'

const { importSkill, searchSources } = await loadSkillModule()

const skill = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\n\n# Steps\n`
const bytesOf = (text: string) => new TextEncoder().encode(text)
const file = (path: string, text: string): SnapshotEntry => ({
  kind: 'file',
  path,
  mode: 0o644,
  modified: 0,
  bytes: bytesOf(text),
})
const link = (path: string, target: string): SnapshotEntry => ({ kind: 'link', path, mode: 0o777, modified: 0, target })
const tar = async (...entries: SnapshotEntry[]) =>
  new Uint8Array(await new Response(toStream(pack(entries))).arrayBuffer())
const gzip = async (bytes: Uint8Array) =>
  new Uint8Array(
    await new Response(
      new Response(bytes as Uint8Array<ArrayBuffer>).body?.pipeThrough(new CompressionStream('gzip')) ?? null,
    ).arrayBuffer(),
  )
const digestOf = async (bytes: Uint8Array) => {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return `sha256:${[...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

type Site = Readonly<Record<string, Uint8Array | string>>
const asked: string[] = []
const fetchFrom = (site: Site) => async (url: string, maxBytes: number) => {
  asked.push(url)
  const found = site[url]
  const bytes = typeof found === 'string' ? bytesOf(found) : (found ?? new Uint8Array())
  if (bytes.byteLength > maxBytes) throw new Error('too large')
  return { status: found === undefined ? 404 : 200, url, contentType: '', bytes }
}

async function load(url: string, site: Site, name?: string) {
  const outcome = await importSkill({ url, name, fetch: fetchFrom(site) })
  if (outcome.kind !== 'found') return outcome
  return Object.fromEntries(outcome.files.map(({ path, bytes }) => [path, new TextDecoder().decode(bytes)]))
}

describe('an address', () => {
  it.each([
    ['https://github.com/o/r', { kind: 'github', archive: 'https://codeload.github.com/o/r/tar.gz/HEAD', path: '' }],
    [
      'https://github.com/o/r.git',
      { kind: 'github', archive: 'https://codeload.github.com/o/r/tar.gz/HEAD', path: '' },
    ],
    [
      'https://github.com/o/r/tree/v2/skills/a%20b',
      { kind: 'github', archive: 'https://codeload.github.com/o/r/tar.gz/v2', path: 'skills/a b' },
    ],
    [
      'https://github.com/o/r/blob/main/skills/a/SKILL.md',
      { kind: 'github', archive: 'https://codeload.github.com/o/r/tar.gz/main', path: 'skills/a' },
    ],
    ['https://x.org/a.tar.gz?v=1', { kind: 'archive', url: 'https://x.org/a.tar.gz?v=1' }],
    ['https://x.org/a.skill', { kind: 'archive', url: 'https://x.org/a.skill' }],
    ['https://x.org/SKILL.md', { kind: 'file', url: 'https://x.org/SKILL.md' }],
    [
      'https://x.org/.well-known/skills/index.json',
      { kind: 'index', url: 'https://x.org/.well-known/skills/index.json' },
    ],
    ['https://x.org/docs', { kind: 'site', url: 'https://x.org/docs' }],
    ['file:///etc/passwd', undefined],
    ['nothing', undefined],
  ])('%s', (address, source) => {
    expect(resolveSkillSource(address)).toEqual(source)
  })

  it('of a site has its index below the page, or at the top', () => {
    expect(listIndexAddresses('https://x.org/docs/')).toEqual([
      'https://x.org/docs/.well-known/agent-skills/index.json',
      'https://x.org/docs/.well-known/skills/index.json',
      'https://x.org/.well-known/agent-skills/index.json',
      'https://x.org/.well-known/skills/index.json',
    ])
  })
})

describe('an import', () => {
  const repository = async () =>
    gzip(
      await tar(
        file('r-abc/README.md', 'x'),
        file('r-abc/skills/one/SKILL.md', skill('one')),
        file('r-abc/skills/one/references/a.md', 'A'),
        file('r-abc/skills/one/.gitignore', 'x'),
        file('r-abc/skills/two/SKILL.md', skill('second')),
      ),
    )
  const archive = 'https://codeload.github.com/o/r/tar.gz/main'

  it('takes a file', async () => {
    const url = 'https://x.org/SKILL.md'
    expect(await load(url, { [url]: skill('a') })).toEqual({ 'SKILL.md': skill('a') })
  })

  it('takes a folder of a repository', async () => {
    const url = 'https://github.com/o/r/tree/main/skills/one'
    expect(await load(url, { [archive]: await repository() })).toEqual({
      'SKILL.md': skill('one'),
      'references/a.md': 'A',
    })
  })

  it('takes one of several by the name of its folder or of the skill, and else lists them', async () => {
    const url = 'https://github.com/o/r/tree/main'
    const site = { [archive]: await repository() }
    expect(await load(url, site)).toEqual({ kind: 'choose', names: ['one', 'two'] })
    expect(await load(url, site, 'second')).toEqual({ 'SKILL.md': skill('second') })
    expect(await load(url, site, 'two')).toEqual({ 'SKILL.md': skill('second') })
    expect(await load(url, site, 'three')).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('It has: one, two'),
    })
  })

  it('takes a zip archive', async () => {
    const url = 'https://x.org/a.zip'
    const site = { [url]: await zip({ 'a/SKILL.md': skill('a'), 'a/scripts/x.sh!': 'echo 1' }) }
    expect(await load(url, site)).toEqual({ 'SKILL.md': skill('a'), 'scripts/x.sh': 'echo 1' })
  })

  it('takes a skill of an index with digests, and refuses one that differs', async () => {
    const packed = await gzip(await tar(file('SKILL.md', skill('b')), file('assets/t.txt', 'T')))
    const index = (digest: string) =>
      JSON.stringify({
        $schema: 'https://schemas.agentskills.io/discovery/0.2.0/schema.json',
        skills: [
          { name: 'a', type: 'skill-md', description: 'x', url: 'a/SKILL.md', digest },
          { name: 'b', type: 'archive', description: 'x', url: 'https://cdn.example.com/b.tgz' },
        ],
      })
    const base = 'https://x.org/.well-known/agent-skills'
    const site = {
      [`${base}/index.json`]: index(await digestOf(bytesOf(skill('a')))),
      [`${base}/a/SKILL.md`]: skill('a'),
      'https://cdn.example.com/b.tgz': packed,
    }
    expect(await load('https://x.org/', site)).toEqual({ kind: 'choose', names: ['a', 'b'] })
    expect(await load('https://x.org/', site, 'a')).toEqual({ 'SKILL.md': skill('a') })
    expect(await load('https://x.org/', site, 'b')).toEqual({ 'SKILL.md': skill('b'), 'assets/t.txt': 'T' })
    const changed = { ...site, [`${base}/a/SKILL.md`]: skill('a').replace('Steps', 'Other steps') }
    expect(await load('https://x.org/', changed, 'a')).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('SHA-256'),
    })
  })

  it('takes the files that an older index lists', async () => {
    const base = 'https://x.org/docs/.well-known/skills'
    const site = {
      [`${base}/index.json`]: JSON.stringify({
        skills: [{ name: 'a', description: 'x', files: ['SKILL.md', 'references/r.md'] }],
      }),
      [`${base}/a/SKILL.md`]: skill('a'),
      [`${base}/a/references/r.md`]: 'R',
    }
    expect(await load('https://x.org/docs', site)).toEqual({ 'SKILL.md': skill('a'), 'references/r.md': 'R' })
  })

  it.each<[string, () => Promise<Site>, string]>([
    ['a page', async () => ({ 'https://x.org/a.tar': '<html>' }), 'cannot be read'],
    [
      'an archive without a skill',
      async () => ({ 'https://x.org/a.tar': await tar(file('a.md', 'x')) }),
      'no SKILL.md',
    ],
    ['a missing file', async () => ({}), 'status 404'],
    [
      'a link',
      async () => ({
        'https://x.org/a.tar': await tar(file('a/SKILL.md', skill('a')), link('a/references/x', '/etc/passwd')),
      }),
      'is a link',
    ],
    [
      'a path that leaves the folder',
      async () => ({ 'https://x.org/a.tar': await tar(file('a/SKILL.md', skill('a')), file('a/../../x.md', 'x')) }),
      'not a path inside',
    ],
    [
      'too many files',
      async () => ({
        'https://x.org/a.tar': await tar(
          file('SKILL.md', skill('a')),
          ...Array.from({ length: 50 }, (_, n) => file(`references/${n}.md`, 'x')),
        ),
      }),
      'at most 50',
    ],
    [
      'a large file',
      async () => ({
        'https://x.org/a.tar': await tar(file('SKILL.md', skill('a')), file('assets/a', 'x'.repeat(256 * 1024 + 1))),
      }),
      'at most 256 KiB',
    ],
    [
      'too many bytes',
      async () => ({
        'https://x.org/a.tar': await tar(
          file('SKILL.md', skill('a')),
          ...Array.from({ length: 5 }, (_, n) => file(`assets/${n}`, 'x'.repeat(250 * 1024))),
        ),
      }),
      'at most 1 MiB',
    ],
    [
      'a bomb',
      async () => ({
        'https://x.org/a.tar': await gzip(
          await tar(file('SKILL.md', skill('a')), file('assets/a', '0'.repeat(33 * 1024 * 1024))),
        ),
      }),
      'more than 32 MiB',
    ],
  ])('refuses %s', async (_, site, error) => {
    expect(await load('https://x.org/a.tar', await site())).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining(error),
    })
  })

  it('refuses paths of an index that leave the folder, before it asks for them', async () => {
    const url = 'https://x.org/.well-known/skills/index.json'
    const site = {
      [url]: JSON.stringify({ skills: [{ name: 'a', files: ['SKILL.md', '../../secret.md'] }] }),
      'https://x.org/.well-known/skills/a/SKILL.md': skill('a'),
    }
    asked.length = 0
    expect(await load(url, site)).toMatchObject({ kind: 'failed' })
    expect(asked.some((one) => one.includes('secret'))).toBe(false)
  })

  it('sees links in zip archives of Unix', async () => {
    const bytes = await zip({ 'SKILL.md': skill('a'), 'references/x!': '/etc/passwd' })
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    const directory: number[] = []
    for (let at = 0; at + 4 <= bytes.byteLength; at++) if (view.getUint32(at, true) === 0x02014b50) directory.push(at)
    view.setUint32((directory[1] ?? 0) + 38, 0o120777 * 0x10000, true)
    expect((await readArchive(bytes)).map((one) => [one.path, one.bytes === undefined])).toEqual([
      ['SKILL.md', false],
      ['references/x', true],
    ])
  })
})

describe('a search', () => {
  const described = (name: string, description: string) =>
    `---\nname: ${name}\ndescription: ${description}\n---\n\n# Steps\n`
  const repository = 'https://github.com/o/r'
  const site = 'https://skills.example.org'
  const search = async (sources: readonly string[], files: Site, query = 'fill pdf forms') =>
    searchSources({ query, sources, fetch: fetchFrom(files) })

  it('asks repositories, sites and the registry, and interleaves what they offer', async () => {
    const archive = await gzip(
      await tar(
        file('r-1/skills/forms/SKILL.md', described('forms', 'Fill PDF forms.')),
        file('r-1/skills/forms/references/a.md', 'a'),
        file('r-1/skills/pages/SKILL.md', described('pages', 'Split a PDF.')),
        file('r-1/skills/cake/SKILL.md', described('cake', 'Bake.')),
        file('r-1/skills/broken/SKILL.md', 'fill pdf forms'),
      ),
    )
    const index = {
      skills: [
        { name: 'pdf-form', description: 'Forms of authorities.' },
        { name: '../pdf', description: 'fill pdf forms' },
        { name: 'soup', description: 'Cook.' },
      ],
    }
    const listed = [
      { skillId: 'pdf-kit', name: 'PDF Kit', source: 'acme/skills', installs: 3 },
      { name: 'pdf', source: 'https://evil.example/pdf' },
    ]
    const files = {
      'https://codeload.github.com/o/r/tar.gz/HEAD': archive,
      [`${site}/.well-known/skills/index.json`]: JSON.stringify(index),
      'https://skills.sh/api/search?q=fill+pdf+forms&limit=20': JSON.stringify({ skills: listed }),
    }
    const { skills, failed } = await search([repository, site, 'https://skills.sh', 'https://none.example.org'], files)
    expect(skills).toEqual([
      { name: 'forms', description: 'Fill PDF forms.', url: repository, source: repository },
      {
        name: 'pdf-form',
        description: 'Forms of authorities.',
        url: `${site}/.well-known/skills/index.json`,
        source: site,
      },
      { name: 'pdf-kit', description: '', url: 'https://github.com/acme/skills', source: 'https://skills.sh' },
      { name: 'pages', description: 'Split a PDF.', url: repository, source: repository },
    ])
    expect(failed).toEqual([{ source: 'https://none.example.org', error: 'It has no index of skills.' }])
    expect(await load(repository, files, 'forms')).toMatchObject({ 'references/a.md': 'a' })
  })

  it.each([
    ['a file', 'https://x.org/SKILL.md', {}, 'A place is a repository'],
    ['a damaged archive', repository, { 'https://codeload.github.com/o/r/tar.gz/HEAD': 'no archive' }, 'archive'],
    [
      'an answer of the registry in another form',
      'https://skills.sh',
      { 'https://skills.sh/api/search?q=fill+pdf+forms&limit=20': '[]' },
      'not known',
    ],
    ['a repository that is gone', repository, {}, 'status 404'],
  ])('names %s among what failed', async (_name, source, files, error) => {
    expect(await search([source], files as Site)).toEqual({
      skills: [],
      failed: [{ source, error: expect.stringContaining(error) }],
    })
  })
})
