// Searches in a worker thread, so that a regular expression that never ends blocks only that thread.

import { Worker } from 'node:worker_threads'
import { absolute } from './command.mjs'
import { ProtocolError } from './protocol-error.mjs'
import { withRealPath } from './paths.mjs'

const maxLimit = 1_000
const maxContext = 50

export function openSearch({ workspaces, limits, slots }) {
  return async function search(name, query) {
    const checkedQuery = checkQuery(query)
    const workspace = await workspaces.open(name)
    const release = await slots.acquire(name)
    try {
      return await withRealPath(workspace, checkedQuery.path, {}, ({ real, path, isRoot }) =>
        inThread({ ...checkedQuery, real: isRoot ? `${real}/` : real, path }, limits.SEARCH_MS),
      )
    } catch (error) {
      if (error.code === 'missing') return { hits: [], total: 0, truncated: false }
      throw error
    } finally {
      release()
    }
  }
}

function checkQuery({ pattern, target, path, glob, exclude = [], context = 0, limit = 50, offset = 0 }) {
  const isCount = (value, max) => Number.isSafeInteger(value) && value >= 0 && value <= max
  if (typeof pattern !== 'string' || pattern.length > 4_000 || (glob !== undefined && typeof glob !== 'string'))
    throw new ProtocolError('invalid', '`pattern` and `glob` must be text, the pattern below 4000 characters.')
  if (!Array.isArray(exclude) || exclude.some((file) => typeof file !== 'string'))
    throw new ProtocolError('invalid', '`exclude` must be a list of paths.')
  if (!['content', 'files'].includes(target))
    throw new ProtocolError('invalid', '`target` must be `content` or `files`.')
  if (!isCount(limit, maxLimit) || !isCount(offset, 1_000_000) || !isCount(context, maxContext))
    throw new ProtocolError('invalid', `\`limit\` may be at most ${maxLimit}, \`context\` at most ${maxContext}.`)
  return { pattern, target, path: absolute(path), glob, exclude, context, limit, offset }
}

function inThread(query, timeoutMs) {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('search-thread.mjs', import.meta.url), {
      workerData: query,
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    const timer = setTimeout(() => {
      void thread.terminate()
      reject(
        new ProtocolError('invalid', 'The search took too long.', 'Search a smaller part, or write a simpler pattern.'),
      )
    }, timeoutMs)
    thread.once('message', ({ result, invalid }) => {
      clearTimeout(timer)
      if (invalid) reject(new ProtocolError('invalid', ...invalid))
      else resolve(result)
    })
    thread.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
  })
}
