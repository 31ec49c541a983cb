/** Gives families of models the advice that their weaknesses call for. */

export const modelFamilies = ['gpt', 'claude', 'gemini', 'grok', 'open'] as const
export type ModelFamily = (typeof modelFamilies)[number]

/** By the name of the model after the last slash. The first match decides. */
const patterns: readonly (readonly [RegExp, ModelFamily])[] = [
  [/^(?:chat)?gpt-oss/, 'open'],
  [/^(?:chatgpt|gpt|codex|o[1-9])(?:[-.]|\d|$)/, 'gpt'],
  [/claude/, 'claude'],
  [/^gemini/, 'gemini'],
  [/^grok/, 'grok'],
  [
    /^(?:llama|meta-llama|qwen|qwq|gemma|mistral|ministral|mixtral|codestral|devstral|deepseek|kimi|glm|minimax|phi|hermes|nemotron|granite|command|olmo)/,
    'open',
  ],
]

const advice: Readonly<Partial<Record<ModelFamily, string>>> = {
  gpt: 'Keep going until the request is settled: a plan, a first part or an offer to continue is no answer. Count, compute and look up with tools instead of from memory. Do not ask whether you may take a harmless step; take it.',
  gemini:
    'Name files by their absolute paths. Read a file before you change it, and look at what its neighbours do before you add something new. Give commands the flags that keep them from asking (such as -y). Keep going until the request is settled.',
  grok: 'Keep going until the request is settled: a plan or a first part is no answer. Check what you remember with a tool where it matters.',
  open: 'Call tools only through the interface for calls, never as text in an answer, and only those that are listed, with all required fields. Do not say that you will call a tool; call it. After a result, either call the next tool or give the answer.',
}

/** `modelId`: `provider/model`, where the model may have slashes of its own. Undefined for an unknown family. */
export function findModelFamily(modelId: string): ModelFamily | undefined {
  const name = modelId.slice(modelId.lastIndexOf('/') + 1).toLowerCase()
  return patterns.find(([pattern]) => pattern.test(name))?.[1]
}

/** Undefined for a model that needs no advice. */
export function renderModelGuidance(modelId: string): string | undefined {
  const family = findModelFamily(modelId)
  return family && advice[family]
}
