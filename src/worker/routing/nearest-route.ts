/** Suggests what a request to an unknown path probably meant, from the list of routes that the OpenAPI document shows. */

import { countEdits } from '#agent/policy/slash-command/edit-distance.ts'
import type { KnownRoute } from './known-route.ts'

/** Parts of OpenAI's and other APIs that do not exist here, and what does the same. */
const replacements: readonly (readonly [pattern: RegExp, hint: string])[] = [
  [/^(\/v1)?\/(engines\/[^/]+\/)?completions$/, 'Use POST /v1/chat/completions with `messages` instead of `prompt`.'],
  [/^(\/v1)?\/moderations$/, 'There is no moderation here. The model and its provider decide what they answer.'],
  [/^(\/v1)?\/assistants(\/|$)/, 'The agent is the assistant: send `instructions` to POST /v1/responses.'],
  [/^(\/v1)?\/threads(\/|$)/, 'Use POST /v1/responses with `conversation` or `previous_response_id`.'],
  [/^(\/v1)?\/vector_stores(\/|$)/, 'Put files into the session: PUT /api/sessions/{id}/files/{path}.'],
  [/^(\/v1)?\/batches(\/|$)/, 'Start runs in the background: POST /v1/runs.'],
  [
    /^(\/v1)?\/(fine_tuning|fine-tunes|evals|containers|uploads|realtime)(\/|$)/,
    'This part of the API does not exist here.',
  ],
  [/^(\/v1)?\/messages$/, 'This is not the API of Anthropic. Use POST /v1/chat/completions or POST /v1/responses.'],
  [/^\/api\/(chat|generate|tags)$/, 'This is not the API of Ollama. Use POST /v1/chat/completions and GET /v1/models.'],
]

/** The text of the 404. Only routes that everybody can read in the OpenAPI document are named. */
export function explainUnknownPath(method: string, pathname: string, routes: readonly KnownRoute[]): string {
  const path = pathname.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, '')
  const hint = replacements.find(([pattern]) => pattern.test(path))?.[1] ?? suggest(method, path, routes)
  return ['There is nothing at this path.', hint, 'GET /openapi.json lists all routes.'].filter(Boolean).join(' ')
}

function suggest(method: string, path: string, routes: readonly KnownRoute[]): string {
  if (/^(\/v1)+$/.test(path)) return 'Add a path, for example GET /v1/models or POST /v1/chat/completions.'
  for (const candidate of [path, ...listCorrections(path)]) {
    const matching = routes.filter(({ pattern }) => pattern.test(candidate))
    const best = matching.find((one) => one.method === method) ?? matching[0]
    if (best) return `Did you mean ${best.method} ${candidate}?`
  }
  const nearest = findNearest(method, path, routes)
  return nearest ? `Did you mean ${nearest.method} ${nearest.path}?` : ''
}

/** Forgotten, repeated, confused and foreign prefixes. */
function listCorrections(path: string): readonly string[] {
  const bare = path.replace(/^(\/(openai|api|v\d+(beta)?))+(?=\/)/, '')
  return [`/v1${bare}`, `/api${bare}`, bare]
}

/** The route with the fewest different letters. A third of its letters may differ; parameters do not count. */
function findNearest(method: string, path: string, routes: readonly KnownRoute[]): KnownRoute | undefined {
  if (path.length > 200) return undefined
  const words = path.split('/')
  const rated = routes
    .filter((route) => route.path.split('/').length === words.length)
    .map((route) => ({ route, distance: rate(words, route) + (route.method === method ? 0 : 0.5) }))
    .toSorted((one, other) => one.distance - other.distance)
  const best = rated[0]
  return best && best.distance <= best.route.path.replace(/\{\w+\}|\//g, '').length / 3 ? best.route : undefined
}

const rate = (words: readonly string[], { path }: KnownRoute): number =>
  path.split('/').reduce((sum, word, at) => sum + (word.startsWith('{') ? 0 : countEdits(word, words[at] ?? '')), 0)
