import * as z from 'zod'
import { searchAvailability } from '#agent/routing/search-choice.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'
import { assessSecrets } from './assess-secrets.ts'

const defaultLimit = 5

export default defineTool({
  name: 'web_search',
  toolset: 'web',
  description:
    'Search the web. Returns titles, addresses and descriptions; read pages with web_extract. ' +
    'Operators such as site:, "exact phrase" and -word work with most engines. Never put secrets into a query.',
  input: z.object({
    query: z.string().trim().min(1).max(2_000),
    limit: z.int().min(1).max(100).optional().describe(`Default: ${defaultLimit}.`),
  }),
  needs: ['web'],
  availability: searchAvailability,
  effect: 'pure',
  risk: () => 'net',
  assess: ({ query }) => assessSecrets([query], 'the query'),
  run: async ({ query, limit = defaultLimit }, { web, signal }) => {
    const found = await web.search(query, limit, signal)
    if (found.kind === 'failed') return fail(found.error)
    return { success: true, data: { web: found.hits }, served_by: found.servedBy }
  },
})
