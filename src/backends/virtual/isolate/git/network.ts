/** Implements git clone, fetch, pull and push over the shell's fetch. */

import * as git from 'isomorphic-git'
import { type CommandContext, pathIn } from '../commands/io.ts'
import type { Arguments } from './arguments.ts'
import type { GitOutput } from './branches.ts'
import { branchOf, type GitCall, fatal, getIdentity, type Repository, repositoryAt } from './repository.ts'

const noNetwork = (url: string) => fatal(`unable to access '${url}': this host has no network`)

/** Makes an HTTP client of the shell's fetch, which checks addresses. */
function createHttp({ fetch: shellFetch }: CommandContext, url: string): git.HttpClient {
  if (!shellFetch) throw noNetwork(url)
  return {
    async request({ url: address, method = 'GET', headers = {}, body }) {
      const parts: Uint8Array[] = []
      if (body) for await (const part of body as AsyncIterable<Uint8Array>) parts.push(part)
      // The shell's fetch accepts bytes as well, although its type says text.
      const sent = parts.length > 0 ? { body: new Uint8Array(Buffer.concat(parts)) as unknown as string } : {}
      const answer = await shellFetch(address, { method, headers, ...sent })
      const whole = answer.body
      return {
        url: answer.url,
        method,
        statusCode: answer.status,
        statusMessage: answer.statusText,
        headers: { ...answer.headers },
        body: (async function* () {
          yield whole
        })(),
      }
    },
  }
}

export async function clone(context: CommandContext, options: Arguments): Promise<string> {
  const [url, directory] = options.rest
  if (url === undefined) throw fatal('You must specify a repository to clone.')
  const http = createHttp(context, url)
  const name =
    directory ??
    url
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
      .replace(/^.*[/:]/, '')
  const repository = repositoryAt(context, pathIn(context, name))
  if ((await context.fs.exists(repository.dir)) && (await context.fs.readdir(repository.dir)).length > 0)
    throw fatal(`destination path '${name}' already exists and is not an empty directory.`)
  await context.fs.mkdir(repository.dir, { recursive: true })
  const branch = options.value('b', 'branch')
  const depth = options.value('depth')
  await git.clone({
    ...repository,
    http,
    url,
    singleBranch: depth !== undefined || options.flag('single-branch'),
    ...(branch !== undefined && { ref: branch }),
    ...(depth !== undefined && { depth: Number(depth) }),
  })
  return ''
}

async function getRemote(repository: Repository, name: string | undefined): Promise<{ remote: string; url: string }> {
  const remote = name ?? 'origin'
  const configured = (await git.listRemotes({ ...repository })).find((one) => one.remote === remote)
  if (!configured) throw fatal(`'${remote}' does not appear to be a git repository`)
  return configured
}

export async function fetch({ context, repository }: GitCall, options: Arguments): Promise<GitOutput> {
  const { remote, url } = await getRemote(repository, options.rest[0])
  await git.fetch({
    ...repository,
    http: createHttp(context, url),
    remote,
    prune: options.flag('p', 'prune'),
    tags: options.flag('tags'),
  })
  return { stderr: options.flag('q', 'quiet') ? '' : `From ${url}\n` }
}

export async function pull(call: GitCall, options: Arguments): Promise<GitOutput> {
  const { context, repository } = call
  const { remote, url } = await getRemote(repository, options.rest[0])
  const ref = options.rest[1] ?? (await branchOf(repository))
  const before = await git.resolveRef({ ...repository, ref: 'HEAD' }).catch(() => undefined)
  await git.pull({
    ...repository,
    http: createHttp(context, url),
    remote,
    ...(ref !== undefined && { ref, remoteRef: ref }),
    fastForwardOnly: options.flag('ff-only'),
    author: await getIdentity(call, 'AUTHOR'),
    committer: await getIdentity(call, 'COMMITTER'),
  })
  const after = await git.resolveRef({ ...repository, ref: 'HEAD' })
  return {
    stdout:
      before === after ? 'Already up to date.\n' : `Updating ${before?.slice(0, 7) ?? ''}..${after.slice(0, 7)}\n`,
  }
}

export async function push({ context, repository }: GitCall, options: Arguments): Promise<GitOutput> {
  const { remote, url } = await getRemote(repository, options.rest[0])
  const ref = options.rest[1] ?? (await branchOf(repository))
  const http = createHttp(context, url)
  const result = await git.push({
    ...repository,
    http,
    remote,
    force: options.flag('f', 'force'),
    ...(ref !== undefined && { ref }),
  })
  if (!result.ok) throw fatal(`failed to push some refs to '${url}': ${result.error ?? 'rejected'}`)
  return { stderr: `To ${url}\n` }
}
