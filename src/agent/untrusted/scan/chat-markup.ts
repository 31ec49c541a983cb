/** Finds markup of chat templates and headings that pretend to be a message of the system. */

/** Delimiters of the templates of common models. They have no place in prose. */
const templateTokens =
  /<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|>|\[\/?INST\]|<<\/?SYS>>|<\/?(?:start|end)_of_turn>/i
/** A line that names the system as its speaker, and goes on with a directive. */
const systemLine =
  /^[\s>*_#<[({"'`-]{0,12}(?:system|developer)(?:\s(?:message|prompt|notice|override|instruction|instructions|alert|note))?[\]>)}*_"']{0,4}\s{0,3}[:>\]-][\s*_>]{0,6}(?:you\b|your\b|ignore\b|disregard\b|forget\b|new\b|from now\b|the assistant\b|override\b|all\b|do not\b|always\b|never\b|reveal\b|execute\b)/i
const systemTag =
  /<\/?(?:system|system-prompt|system_prompt|system-message|system_instruction|sys)>\s{0,10}(?:you\b|your\b|ignore\b|disregard\b|forget\b|new\b|from\b|the assistant\b|override\b|do\b|always\b|never\b|$)/i
const quotedToken = /`[^`\n]{0,200}$/

/** Whether the line has such markup. In explaining files it may be quoted as code. */
export function hasChatMarkup(line: string, { mayQuote }: { readonly mayQuote: boolean }): boolean {
  const token = templateTokens.exec(line)
  if (token && !(mayQuote && quotedToken.test(line.slice(Math.max(0, token.index - 200), token.index)))) return true
  return systemLine.test(line) || systemTag.test(line)
}
