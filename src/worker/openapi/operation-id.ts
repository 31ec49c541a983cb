/** Derives the id of an operation, which generated clients use as the name of a method: the verb first. */

/** Ids that the rules below do not give. */
const exceptions: Readonly<Record<string, string>> = {
  'get /health': 'getHealth',
  'get /v1/health': 'getApiHealth',
  'get /health/detailed': 'getHealthDetails',
  'get /openapi.json': 'getOpenapiDocument',
  'get /docs': 'getReferencePage',
  'get /files/{id}': 'getLinkedFile',
  'post /webhooks/{platform}/{connection}': 'receiveWebhook',
  'get /webhooks/{platform}/{connection}': 'verifyWebhook',
  'get /v1/files/{id}/content': 'getFileContent',
  'post /v1/runs/{id}/approval': 'decideRunApproval',
  'post /v1/conversations/{id}/items': 'createConversationItems',
  'post /v1/responses/compact': 'compactResponse',
  'post /v1/responses/input_tokens': 'countResponseInputTokens',
  'post /v1/audio/transcriptions': 'createTranscription',
  'post /v1/audio/speech': 'createSpeech',
  'post /v1/images/generations': 'createImage',
  'post /v1/images/edits': 'createImageEdit',
  'get /v1/capabilities': 'getCapabilities',
  'post /api/sessions/{id}/chat': 'sendMessage',
  'post /api/sessions/{id}/chat/stream': 'streamMessage',
  'post /api/sessions/{id}/retry': 'retryLastTurn',
  'post /api/sessions/{id}/undo': 'undoTurns',
  'get /api/sessions/{id}/checkpoints/{n}/diff': 'getCheckpointDiff',
  'get /api/sessions/{id}/tree': 'getSubagentTree',
  'get /api/sessions/{id}/files/{path}': 'getSessionFile',
  'put /api/sessions/{id}/files/{path}': 'writeSessionFile',
  'post /api/sessions/{id}/files/{path}/move': 'moveSessionFile',
  'post /api/sessions/import': 'importSession',
  'post /api/sessions/delete': 'deleteSessions',
  'post /api/approvals/{id}': 'decideApproval',
  'post /api/questions/{id}': 'answerQuestion',
  'post /api/login': 'createSignIn',
  'delete /api/login': 'deleteSignIn',
  'get /api/events': 'streamTenantEvents',
  'get /api/settings': 'getSettings',
  'get /api/settings/models': 'listModelFacts',
  'get /api/search': 'searchMessages',
  'get /api/usage': 'getUsage',
  'get /api/keys': 'listOwnKeys',
  'post /api/keys': 'createOwnKey',
  'delete /api/keys/{id}': 'deleteOwnKey',
  'get /api/usage/hosts': 'listCalledHosts',
  'get /api/audit': 'listAuditEntries',
  'get /api/memory': 'getMemory',
  'put /api/memory': 'replaceMemory',
  'patch /api/memory': 'updateMemory',
  'get /api/memory/pending': 'listPendingMemory',
  'post /api/memory/pending/{id}': 'decidePendingMemory',
  'get /v1/skills': 'listOfferedSkills',
  'patch /api/skills/{name}': 'updateSkill',
  'put /api/skills/{name}': 'replaceSkill',
  'post /api/skills/import': 'importSkill',
  'get /api/skills/{name}/export': 'getSkillArchive',
  'get /api/skills/{name}/update': 'getSkillUpdate',
  'post /api/skills/{name}/update': 'importSkillUpdate',
  'get /api/skills/{name}/files/{path}': 'getSkillFile',
  'put /api/skills/{name}/files/{path}': 'writeSkillFile',
  'delete /api/skills/{name}/files/{path}': 'deleteSkillFile',
  'post /api/secrets': 'storeSecret',
  'post /api/jobs/{id}/run': 'runJob',
  'post /api/jobs/{id}/pause': 'pauseJob',
  'post /api/jobs/{id}/resume': 'resumeJob',
  'get /api/pairing': 'listPairedPeople',
  'post /api/pairing/approve': 'approvePairing',
  'delete /api/pairing/{id}': 'deletePairedPerson',
  'post /api/admin/tenants/{id}/rotate-key': 'rotateTenantKey',
}

const verbs: Readonly<Record<string, string>> = { post: 'create', put: 'replace', patch: 'update', delete: 'delete' }

/** `path` in OpenAPI's syntax. `streams`: the only answer is a stream of events. */
export function resolveOperationId(method: string, path: string, streams: boolean): string {
  const exception = exceptions[`${method} ${path}`]
  if (exception) return exception
  const parts = path.split('/').slice(path.startsWith('/api/admin/') ? 3 : 2)
  const words = parts.filter((part) => !part.startsWith('{'))
  const last = words.at(-1) ?? ''
  const parents = words.slice(0, -1).map(singularOf).map(toPascalCase).join('')
  const isItem = parts.at(-1) !== last
  const isPlural = singularOf(last) !== last
  // An action on one object: POST /v1/runs/{id}/stop.
  if (method === 'post' && !isItem && !isPlural && words.length > 1) return `${toCamelCase(last)}${parents}`
  const verb = streams ? 'stream' : chooseVerb(method, isItem, isPlural)
  const noun = isItem || method === 'post' ? singularOf(last) : last
  return `${verb}${parents}${toPascalCase(noun)}`
}

function chooseVerb(method: string, isItem: boolean, isPlural: boolean): string {
  if (method === 'get') return isPlural && !isItem ? 'list' : 'get'
  return (isItem && method === 'post' ? 'update' : verbs[method]) ?? method
}

export const singularOf = (word: string): string => {
  if (/(ss|status|usage)$/.test(word)) return word
  return word
    .replace(/ies$/, 'y')
    .replace(/(ch|x)es$/, '$1')
    .replace(/s$/, '')
}

export const toPascalCase = (word: string): string =>
  word.replace(/(?:^|[^A-Za-z0-9]+)(\w?)/g, (_, letter: string) => letter.toUpperCase())

const toCamelCase = (word: string): string => {
  const pascal = toPascalCase(word)
  return pascal.slice(0, 1).toLowerCase() + pascal.slice(1)
}
