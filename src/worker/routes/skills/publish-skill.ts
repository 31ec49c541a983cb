/**
 * Offers the files of a skill to a repository on GitHub as a pull request: one commit on a branch of the repository, or of
 * a fork where the token may not push. The branch is named after the contents, so that a repetition finds what is there.
 */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import type { SkillContent } from '#agent/core/skills/skill.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

export type PublishRequest = {
  readonly guardedFetch: GuardedFetch
  readonly base: string
  /** The address comes from a variable of the deployment. */
  readonly isTrusted: boolean
  readonly token: string
  /** owner/name. */
  readonly repository: string
  /** The branch that gets it. Absent: the default one. */
  readonly into: string | undefined
  /** The folder that gets the folder of the skill; empty for the root. */
  readonly folder: string
  readonly name: string
  readonly description: string
  readonly hash: string
  readonly files: readonly SkillContent[]
  readonly wait: (ms: number) => Promise<void>
}

export type Published = { readonly url: string; readonly number: number; readonly isNew: boolean }

/** A refusal of GitHub. Its message is for people. */
export class PublishError extends Error {}

const timeoutMs = 30_000
const maxBytes = 2 * 1024 * 1024
/** A fork is made in the background. */
const forkTries = 6
const forkPauseMs = 2_000
const maxMessageChars = 200

type Answer = { readonly status: number; readonly body: unknown }
type Repository = { readonly full: string; readonly owner: string }

export async function publishSkill(request: PublishRequest): Promise<Published> {
  const api = openApi(request)
  const { repository, name, description, hash } = request
  const found = await api.need('GET', `/repos/${repository}`)
  const into = request.into ?? read(found, 'default_branch')
  const start = read(await api.need('GET', `/repos/${repository}/git/ref/heads/${escapePath(into)}`), 'object', 'sha')
  const before = read(await api.need('GET', `/repos/${repository}/git/commits/${start}`), 'tree', 'sha')
  const isOwn = pick(found, 'permissions', 'push') === true
  const head = isOwn ? toRepository(found) : toRepository(await api.need('POST', `/repos/${repository}/forks`, {}))
  const tree = await writeTree(request, { api, head, before, tries: isOwn ? 1 : forkTries })
  if (tree === before) throw new PublishError(`${repository} has these files already.`)
  const commit = read(
    await api.need('POST', `/repos/${head.full}/git/commits`, {
      message: `Add the skill ${name}`,
      tree,
      parents: [start],
    }),
    'sha',
  )
  const branch = `talaria-skill-${name}-${hash.slice(0, 12)}`
  await point(api, head, branch, commit)
  const from = `${head.owner}:${branch}`
  const pull = { title: `Skill: ${name}`, head: from, base: into, body: description }
  const opened = await api.call('POST', `/repos/${repository}/pulls`, pull)
  if (opened.status === 201) return { ...toPull(opened.body), isNew: true }
  // Another pull request of this branch is open: the same contents were offered before.
  const query = `state=open&head=${encodeURIComponent(from)}&base=${encodeURIComponent(into)}`
  const open = opened.status === 422 ? await api.need('GET', `/repos/${repository}/pulls?${query}`) : undefined
  if (!Array.isArray(open) || !open.length) throw refusal(opened)
  return { ...toPull(open[0]), isNew: false }
}

type Api = {
  readonly call: (method: string, path: string, body?: object) => Promise<Answer>
  /** Throws for an answer that is no success. */
  readonly need: (method: string, path: string, body?: object) => Promise<unknown>
}

function openApi({ guardedFetch, base, token, isTrusted }: PublishRequest): Api {
  const call: Api['call'] = async (method, path, body) => {
    const { response } = await guardedFetch({
      url: `${base.replace(/\/+$/, '')}${path}`,
      method,
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'Talaria',
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      timeoutMs,
      maxBytes,
      isTrusted,
    })
    return { status: response.status, body: await response.json().catch(() => undefined) }
  }
  const need: Api['need'] = async (...given) => {
    const answer = await call(...given)
    if (answer.status < 200 || answer.status > 299) throw refusal(answer)
    return answer.body
  }
  return { call, need }
}

type Writing = { readonly api: Api; readonly head: Repository; readonly before: string; readonly tries: number }

/** Stores the files beside those of the repository. None of its own is removed. */
async function writeTree({ files, folder, name, wait }: PublishRequest, writing: Writing): Promise<string> {
  const { api, head, before } = writing
  const entries: object[] = []
  for (const { path, bytes } of files) {
    const blob = { content: encodeBase64Bytes(bytes), encoding: 'base64' }
    const sha = read(await storeFirst(`/repos/${head.full}/git/blobs`, blob, entries.length ? 1 : writing.tries), 'sha')
    entries.push({ path: [folder, name, path].filter(Boolean).join('/'), mode: '100644', type: 'blob', sha })
  }
  const tree = { base_tree: before, tree: entries }
  return read(await api.need('POST', `/repos/${head.full}/git/trees`, tree), 'sha')

  async function storeFirst(path: string, body: object, tries: number): Promise<unknown> {
    for (let left = tries; ; left--) {
      const answer = await api.call('POST', path, body)
      const isYoung = answer.status === 404 || answer.status === 409
      if (!isYoung || left <= 1) return answer.status === 201 ? answer.body : Promise.reject(refusal(answer))
      await wait(forkPauseMs)
    }
  }
}

/** Makes the branch, or moves the one of an earlier try. */
async function point(api: Api, { full }: Repository, branch: string, sha: string): Promise<void> {
  const made = await api.call('POST', `/repos/${full}/git/refs`, { ref: `refs/heads/${branch}`, sha })
  if (made.status === 201) return
  if (made.status !== 422) throw refusal(made)
  await api.need('PATCH', `/repos/${full}/git/refs/heads/${branch}`, { sha, force: true })
}

const toRepository = (body: unknown): Repository => ({
  full: escapePath(read(body, 'full_name')),
  owner: read(body, 'owner', 'login'),
})

function toPull(body: unknown): Omit<Published, 'isNew'> {
  const number = pick(body, 'number')
  return { url: read(body, 'html_url'), number: typeof number === 'number' ? number : 0 }
}

const escapePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

function pick(body: unknown, ...names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (value, name) =>
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined,
    body,
  )
}

function read(body: unknown, ...names: readonly string[]): string {
  const value = pick(body, ...names)
  if (typeof value !== 'string' || value === '') throw new PublishError(`GitHub answered without ${names.join('.')}.`)
  return value
}

const causes: Readonly<Record<number, string>> = {
  401: 'the token is not valid',
  403: 'the token may not do this',
  404: 'it does not exist, or the token may not see it',
}

function refusal({ status, body }: Answer): PublishError {
  const said = pick(body, 'message')
  const message = typeof said === 'string' ? said.slice(0, maxMessageChars) : ''
  return new PublishError(
    `GitHub answered ${status}: ${[causes[status], message].filter(Boolean).join('; ') || 'no reason'}.`,
  )
}
