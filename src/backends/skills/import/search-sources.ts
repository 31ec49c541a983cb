/**
 * Searches places that offer skills: repositories on GitHub, sites with an index, and the registry skills.sh. Each result
 * has what an import needs. A place that does not answer hides the others from nobody.
 */

import * as z from 'zod'
import { parseJson } from '#agent/core/parse-json.ts'
import { parseSkill } from '#agent/skills/parse-skill.ts'
import { searchSkills } from '#agent/skills/search-skills.ts'
import { explainBadSkillName, skillFile } from '#agent/skills/skill-names.ts'
import { parseYaml } from '../parse-yaml.ts'
import type { FetchBytes, FoundSkill, SearchOutcome, SearchRequest } from '../protocol.ts'
import { type ArchiveEntry, listSkillFolders } from './collect-files.ts'
import { listIndexAddresses, readRepository, resolveSkillSource } from './import-skill.ts'
import { readIndex, requireFound } from './read-index.ts'

/** Of each place. */
const maxFound = 20
const maxDescriptionChars = 1024
const maxAnswerBytes = 256 * 1024

type Offered = FoundSkill & { readonly tags: readonly string[]; readonly text: string }

export async function searchSources({ query, sources, fetch }: SearchRequest): Promise<SearchOutcome> {
  const ask = async (source: string) => {
    try {
      return { source, found: await searchSource(source, query, fetch) }
    } catch (error) {
      return { source, found: [], error: error instanceof Error ? error.message : String(error) }
    }
  }
  // One after the other: a repository is held whole while it is searched.
  const answers: Awaited<ReturnType<typeof ask>>[] = []
  for (const source of sources) answers.push(await ask(source))
  // The best of each place come first: a score of one place says nothing beside that of another.
  const longest = Math.max(0, ...answers.map(({ found }) => found.length))
  return {
    skills: Array.from({ length: longest }, (_none, place) =>
      answers.flatMap(({ found }) => found[place] ?? []),
    ).flat(),
    failed: answers.flatMap(({ source, error }) => (error === undefined ? [] : [{ source, error }])),
  }
}

async function searchSource(source: string, query: string, fetch: FetchBytes): Promise<readonly FoundSkill[]> {
  const place = resolveSkillSource(source)
  if (!place) throw new Error('The address of a place begins with https://.')
  if (place.kind === 'site' && isRegistry(place.url)) return askRegistry(source, query, fetch)
  if (place.kind === 'github') return rank(listRepository(source, await readRepository(place, fetch)), query)
  if (place.kind !== 'site' && place.kind !== 'index')
    throw new Error('A place is a repository on GitHub, a site with an index, or https://skills.sh.')
  for (const address of place.kind === 'index' ? [place.url] : listIndexAddresses(place.url)) {
    const index = await readIndex(address, fetch)
    if (!index) continue
    const offered = index.entries.map(({ name, description = '' }) =>
      describe({ name, description, url: address }, source),
    )
    return rank(offered, query)
  }
  throw new Error('It has no index of skills.')
}

/** Files that are no valid skills are left out: they could not be imported. */
function listRepository(source: string, entries: readonly ArchiveEntry[]): readonly Offered[] {
  return listSkillFolders(entries).flatMap((folder) => {
    const bytes = entries.find(({ path }) => path === (folder === '' ? skillFile : `${folder}/${skillFile}`))?.bytes
    if (!bytes) return []
    const parsed = parseSkill(new TextDecoder().decode(bytes), parseYaml)
    if (!parsed.ok) return []
    const { name, description, tags } = parsed.head
    return [{ ...describe({ name, description, url: source }, source), tags, text: parsed.body }]
  })
}

const describe = (found: Omit<FoundSkill, 'source'>, source: string): Offered => ({
  ...found,
  description: found.description.slice(0, maxDescriptionChars),
  source,
  tags: [],
  text: '',
})

function rank(offered: readonly Offered[], query: string): readonly FoundSkill[] {
  const byName = new Map(
    offered.flatMap((one) => (explainBadSkillName(one.name) === undefined ? [[one.name, one] as const] : [])),
  )
  const searchable = [...byName.values()].map(({ name, description, tags, text }) => ({
    head: { name, description, tags, category: '' },
    text,
  }))
  return searchSkills(searchable, query)
    .slice(0, maxFound)
    .flatMap((name) => {
      const one = byName.get(name)
      return one ? [{ name, description: one.description, url: one.url, source: one.source }] : []
    })
}

const isRegistry = (address: string): boolean => /^(?:www\.)?skills\.sh$/.test(new URL(address).hostname)

const registryAnswer = z.object({
  skills: z.array(
    z.object({ skillId: z.string().max(200).optional(), name: z.string().max(200), source: z.string().max(200) }),
  ),
})

/** The registry ranks by itself, and names a repository for each skill. It has no descriptions. */
async function askRegistry(registry: string, query: string, fetch: FetchBytes): Promise<readonly FoundSkill[]> {
  const address = new URL('/api/search', registry)
  address.searchParams.set('q', query)
  address.searchParams.set('limit', String(maxFound))
  const { bytes } = requireFound(await fetch(address.href, maxAnswerBytes))
  const answer = registryAnswer.safeParse(parseJson(bytes)).data
  if (!answer) throw new Error('The registry answered in a form that is not known.')
  return answer.skills.slice(0, maxFound).flatMap(({ skillId, name: title, source }) => {
    const name = skillId ?? title
    const isUsable = explainBadSkillName(name) === undefined && /^[\w.-]+\/[\w.-]+$/.test(source)
    return isUsable ? [{ name, description: '', url: `https://github.com/${source}`, source: registry }] : []
  })
}
