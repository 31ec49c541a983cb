/** Lists the skills that a session can load. */

import * as z from 'zod'
import { isOffered } from '#agent/skills/readiness.ts'
import { describeSkill } from '#agent/skills/skill-verdict.ts'
import { defineTool } from '../define-tool.ts'

const input = z.object({
  query: z.string().max(500).optional().describe('Words of the task. The best ones come first.'),
  category: z.string().optional(),
})
const maxFound = 10

export default defineTool({
  name: 'skills_list',
  toolset: 'skills',
  description: 'Skills with name, description and category: instructions for kinds of work, loaded with skill_view.',
  input,
  needs: ['skills'],
  effect: 'pure',
  risk: () => 'read',
  timeoutMs: () => 30_000,
  run: async ({ query, category }, { skills, authority }) => {
    const has = skills.surroundings()
    const all = await skills.list(authority)
    const offered = all.filter(({ head, archivedAt }) => archivedAt === undefined && isOffered(head, has))
    const wanted = category?.trim().toLowerCase()
    const inCategory = wanted ? offered.filter(({ head }) => head.category === wanted) : offered
    const ranked = query?.trim() ? await skills.search(authority, query) : undefined
    const listed = ranked
      ? ranked.flatMap((name) => inCategory.find(({ head }) => head.name === name) ?? []).slice(0, maxFound)
      : inCategory
    const categories = [...new Set(offered.map(({ head }) => head.category))].toSorted()
    return {
      success: true,
      skills: listed.map(({ head, source, isPinned, isStale, isForeign }) => ({
        name: head.name,
        description: describeSkill({ head, source, isForeign }),
        category: head.category,
        source,
        ...(isPinned && { pinned: true }),
        ...(isStale && { stale: true }),
      })),
      categories,
      count: listed.length,
      hint: listed.length
        ? 'Load one with skill_view.'
        : `No skills here. Categories: ${categories.join(', ') || 'none'}.`,
    }
  },
})
