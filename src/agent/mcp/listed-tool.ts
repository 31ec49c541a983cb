/**
 * Reads the tools that a server lists and judges their texts. A tool that cannot be called, or whose texts look like an
 * attack, is listed with the reason and never offered.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { scan } from '#agent/untrusted/injection-scan.ts'
import type { ListedTool, ToolTexts } from './tool-texts.ts'

export const maxTools = 1_000
export const maxPages = 50
const maxSchemaChars = 32 * 1024
const maxNesting = 40
const maxNameChars = 128

/** Characters that the tools of one server may have together. All servers of a tenant reach its sessions in one value. */
const maxServerChars = 2 * 1024 * 1024
export const maxTenantChars = 8 * 1024 * 1024

/** Leaves the texts out of tools that come when the room is full, so that no server takes that of the others. */
export function fitTools(tools: readonly ListedTool[], room: number): readonly ListedTool[] {
  let left = Math.min(maxServerChars, room)
  return tools.map((listed) => {
    const chars = JSON.stringify(listed).length
    if (chars <= left) {
      left -= chars
      return listed
    }
    const { tool, hash } = listed
    return { tool, hash, description: '', input_schema: {}, invalid: 'the texts of all tools before it are too large' }
  })
}

/** Reads one entry of `tools/list`. Undefined: it has no usable name. */
export function readListedTool(raw: unknown): Omit<ListedTool, 'hash'> | undefined {
  const name = isJsonObject(raw) ? raw['name'] : undefined
  if (!isJsonObject(raw) || typeof name !== 'string' || name === '') return undefined
  const texts = readTexts(raw)
  const invalid = findInvalid(name, texts, raw['inputSchema'])
  const tool = name.slice(0, maxNameChars)
  // Texts that are too large are not stored.
  if (invalid !== undefined) return { tool, description: texts.description.slice(0, 1_000), input_schema: {}, invalid }
  const attack = findAttack(name, texts)
  const { execution } = raw
  const isTask = isJsonObject(execution) && execution['taskSupport'] === 'required'
  return { tool, ...texts, ...(isTask && { is_task: true as const }), ...(attack !== undefined && { attack }) }
}

function readTexts({ title, description, inputSchema, outputSchema, annotations }: JsonObject): ToolTexts {
  return {
    ...(typeof title === 'string' && { title }),
    description: typeof description === 'string' ? description : '',
    input_schema: isJsonObject(inputSchema) ? inputSchema : { type: 'object' },
    ...(isJsonObject(outputSchema) && { output_schema: outputSchema }),
    ...(isJsonObject(annotations) && { annotations }),
  }
}

function findInvalid(name: string, texts: ToolTexts, given: unknown): string | undefined {
  if (name.length > maxNameChars) return `its name is longer than ${maxNameChars} characters`
  if (!isJsonObject(given) || given['type'] !== 'object') return 'its input schema does not describe an object'
  if (isDeeperThan(texts.input_schema, maxNesting)) return `its schema is nested more than ${maxNesting} levels deep`
  if (JSON.stringify(texts).length > maxSchemaChars) return 'its texts and schemas are larger than 32 KiB'
  return findBadHeader(texts.input_schema)
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isDeeperThan(one, levels - 1))
}

// Headers that a schema asks for: a property with `x-mcp-header` is also sent as `Mcp-Param-<name>`.

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
/** The revision forbids other numbers, because their texts differ. */
const headerTypes: readonly unknown[] = ['string', 'integer', 'boolean']

type HeaderProperty = { readonly property: string; readonly header: unknown; readonly type: unknown }

function listHeaders(schema: JsonObject): readonly HeaderProperty[] {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  return Object.entries(properties).flatMap(([property, value]) =>
    isJsonObject(value) && 'x-mcp-header' in value
      ? [{ property, header: value['x-mcp-header'], type: value['type'] }]
      : [],
  )
}

function findBadHeader(schema: JsonObject): string | undefined {
  const used = new Set<string>()
  for (const { property, header, type } of listHeaders(schema)) {
    if (typeof header !== 'string' || !headerName.test(header))
      return `x-mcp-header of "${property}" is not a header name`
    if (!headerTypes.includes(type)) return `x-mcp-header of "${property}" needs the type string, integer or boolean`
    if (used.has(header.toLowerCase())) return `two properties have the x-mcp-header "${header}"`
    used.add(header.toLowerCase())
  }
  return undefined
}

/** The values that a call repeats in headers, before they are encoded. */
export const listHeaderValues = (schema: JsonObject, input: JsonObject): readonly (readonly [string, string])[] =>
  listHeaders(schema).flatMap(({ property, header }) => {
    const value = input[property]
    const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return isPlain ? [[`mcp-param-${String(header)}`, String(value)] as const] : []
  })

// Texts that look like an attack. All strings of a tool reach the model, names of parameters and defaults too.

/** All patterns of a rule match one sentence. Each is cheap on any text. */
type PoisonRule = { readonly reason: string; readonly all: readonly RegExp[] }

/** Objects that belong to the conversation or the host, not to the service of a tool. */
const sessionData =
  /\b(?:system prompt|your (?:\w+ )?(?:prompt|instructions|rules)|(?:conversation|chat|message) history|(?:full|entire|whole|content of the) (?:conversation|context|chat)|the (?:conversation|chat)|previous messages|all messages|ssh keys?|private keys? of|printenv|all environment variables|memory entries|tools that you have|cookies of the browser|secrets of the (?:session|user|host)|(?:every|any|all)(?:thing| \w+) (?:that )?you (?:read|see|know|find|receive))\b|\b(?:api keys?|passwords?|credentials|access tokens?)\b.{0,40}\b(?:you (?:know|have|see|find)|of the (?:user|session|host)|mentioned|in the (?:conversation|context|chat))\b/i

/** Directives that only a poisoned tool gives: about other tools, about what the model knows, about keeping quiet. */
const poison: readonly PoisonRule[] = [
  {
    reason: 'it has tags that imitate the system',
    all: [
      /<\/?\s{0,4}(?:important|system|instructions?|secret|hidden|admin)\b|<\/?\w{0,20}_?(?:system|tool|user)_(?:message|prompt|description)>|^\s*\[(?:system|admin)\w*\]|^\s*#{2,}\s*(?:instruction|system)|\[\/?inst\]|^\s*(?:assistant|system)\s*:/i,
    ],
  },
  {
    reason: 'it gives orders about other tools',
    all: [
      /\b(?:before|prior to|ahead of|after|instead of|whenever|always)\b/i,
      /\b(?:using|calling|invoking|running|call|use)\b/i,
      /\b(?:any|every|all|other|another) (?:other )?(?:\w+ )?(?:tools?|functions?)\b|\bwhenever \w+_\w+ is (?:used|called|run)\b/i,
    ],
  },
  {
    reason: 'it puts itself before other tools',
    all: [
      /\b(?:always (?:invoke|call|use|run) this (?:tool|one)|(?:never|do not|don't) (?:call|use|invoke|run) (?:\w+_\w+|the tools? of \w+|any other \w+)\b(?! (?:for|with|on|in|if|when|unless)\b)|never use the tools of)/i,
    ],
  },
  {
    reason: 'it changes what other tools do',
    all: [
      /\b(?:another tool|the tool \w+_\w+|other tools)\b/i,
      /\b(?:set|change|replace|rewrite|swap|redirect|copy|record|collect)\b/i,
    ],
  },
  {
    reason: 'it hides something from the user',
    all: [
      /\b(?:do not|don't|never|without|no need to) (?:ever )?(?:tell|mention|inform|notify|show|reveal|alert|warn|ask|disclose)(?:ing)?\b|\b(?:hide|conceal)\b.{0,60}\bfrom\b|\b(?:never|not) (?:ever )?(?:finds? out|learn|learns|notice|notices)\b|\b(?:do not|don't|never) let\b|\beven (?:if|though) (?:something|it) (?:was|is|did)\b/i,
      /\b(?:user|human|person|operator)\b/i,
    ],
  },
  {
    reason: 'it acts in secret',
    all: [
      /\b(?:secretly|covertly|surreptitiously|quietly|without (?:telling|informing) (?:any(?:one|body)|them))\b/i,
      /\b(?:send|include|add|email|post|forward|copy|upload|perform|attach|record)\b/i,
    ],
  },
  {
    reason: 'it asks for what the model knows or may read',
    all: [
      /\b(?:pass|include|send|put|provide|attach|append|insert|copy|forward|paste|place|write|fill|give|add|encode|embed|transmit|repeat|reveal)\b/i,
      sessionData,
    ],
  },
  {
    reason: 'it names files that hold secrets',
    all: [
      /\.(?:ssh|aws|kube|cursor|gnupg)\/|(?<!\w)\.(?:env|netrc|git-credentials)\b|\/etc\/(?:passwd|shadow)|\bid_rsa\b/i,
    ],
  },
  {
    reason: 'it sends data to an address of its own',
    all: [
      /\b(?:send|post|forward|upload|report|copy|email|transmit)\b/i,
      /\b(?:a copy|all|also|the (?:data|results?|content|workspace|conversation|files?|mails?))\b/i,
      /https?:\/\/|[\w.+-]@[\w-]{1,64}\.\w|\bthe following address\b/i,
    ],
  },
  { reason: 'it sends data away', all: [/^\s*exfiltrate\b/i] },
  {
    reason: 'it has commands that destroy or install',
    all: [/\brm\s+-[rf]{2}\s+[~/]|\bcurl\b[^|]{0,200}\|\s{0,4}(?:ba)?sh\b/i],
  },
  {
    reason: 'it cancels instructions',
    all: [
      /\b(?:ignore|disregard|forget|override|bypass)\b/i,
      /\b(?:instructions|guidelines|safety|system prompt|your rules|approvals?)\b/i,
    ],
  },
  {
    reason: 'it lifts restrictions',
    all: [
      /\b(?:restrictions?|rules|instructions|limits|policies|guidelines)\b.{0,60}\b(?:no longer apply|do not apply|are (?:void|lifted|replaced|superseded|cancelled))\b|\b(?:act as|pretend|behave as)\b.{0,60}\b(?:no|without) (?:restrictions|limits|rules)\b|\bas if the user had (?:written|said|asked)\b/i,
    ],
  },
  {
    reason: 'it gives orders to the model',
    all: [
      /\b(?:the (?:assistant|model|agent|ai) (?:must|should always|has to)|you must always|you must never|you are required to|as an ai\b|notes? (?:to|for) (?:the )?(?:ai|model|assistant|agent|llm)\b|from now on|every time you answer|(?:immediately|now) (?:execute|run))\b/i,
      /\b(?:first|always|every|never|before|regardless|immediately|only|required|from now on|notes?)\b/i,
    ],
  },
]

const maxSentenceChars = 400

function listSentences(strings: readonly string[]): readonly string[] {
  const sentences = strings.flatMap((text) => text.normalize('NFKC').split(/[.!?]\s|\n/))
  return sentences.flatMap((sentence) =>
    Array.from({ length: Math.ceil(sentence.length / maxSentenceChars) }, (_, at) =>
      sentence.slice(at * maxSentenceChars, (at + 1) * maxSentenceChars + 100),
    ),
  )
}

/** Returns why the texts of a tool look like an attack. */
function findAttack(name: string, texts: ToolTexts): string | undefined {
  const schemas = listStrings([texts.input_schema, texts.output_schema, texts.annotations])
  const strings = [...new Set([name, texts.title ?? '', texts.description, ...schemas])]
  const [found] = scan(strings.join('\n'), 'context')
  if (found) return `its texts look like an attack (${found.kind}): ${found.excerpt}`
  for (const sentence of listSentences(strings)) {
    const rule = poison.find(({ all }) => all.every((pattern) => pattern.test(sentence)))
    if (rule) return `its texts look like an attack: ${rule.reason} ("${sentence.trim().slice(0, 100)}")`
  }
  return undefined
}

/** Keys are text too: names of parameters reach the model. */
function listStrings(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(listStrings)
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([key, one]) => [key.replaceAll('_', ' '), ...listStrings(one)])
}

/** The text that the hash of a tool covers, whatever the order of its fields. */
export const renderForHash = ({
  tool,
  title,
  description,
  input_schema,
  output_schema,
  annotations,
}: Omit<ListedTool, 'hash'>): string =>
  JSON.stringify(sortKeys([tool, title ?? null, description, input_schema, output_schema ?? null, annotations ?? null]))

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sortKeys(value[key])]),
  )
}
