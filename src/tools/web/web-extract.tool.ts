import * as z from 'zod'
import type { PageResult } from '#agent/core/vendor/web.ts'
import { extractAvailability } from '#agent/routing/search-choice.ts'
import { defineTool } from '../define-tool.ts'
import { assessSecrets } from './assess-secrets.ts'

const defaultChars = 15_000
/** The characters that JSON adds to the text of a page. */
const overhead = 0.8
const minChars = 2_000

export default defineTool({
  name: 'web_extract',
  toolset: 'web',
  description:
    'Read up to 5 addresses: pages as Markdown, PDF and office documents as text, JSON and other text as it is. ' +
    'A long page is shortened, or answered for your question, and its end names a file with the full text.',
  input: z.object({
    urls: z.array(z.string().trim().min(1).max(4_000)).min(1).max(5),
    question: z.string().min(1).max(2_000).optional().describe('What you want to know from them.'),
    char_limit: z.int().min(minChars).max(500_000).optional().describe(`Of each page. Default: ${defaultChars}.`),
  }),
  needs: ['web', 'backend'],
  availability: extractAvailability,
  // A hostile page may have stopped the runtime.
  effect: 'once',
  risk: () => 'net',
  assess: ({ urls }) => assessSecrets(urls, 'the address'),
  maxResultChars: Infinity,
  timeoutMs: () => 180_000,
  run: async ({ urls, question, char_limit: limit = defaultChars }, { web, signal, maxResultChars = Infinity }) => {
    const chars = Math.max(minChars, Math.min(limit, Math.floor((maxResultChars * overhead) / urls.length)))
    const pages = await Promise.all(urls.map((url) => web.extract(url, chars, signal, question)))
    return { results: pages.map(toResult) }
  },
})

const toResult = ({ url, title, content, error, isBlocked }: PageResult) => ({
  url,
  title,
  content,
  ...(error !== undefined && { error }),
  ...(isBlocked && { blocked_by_policy: true }),
})
