/** Turns the blocks of a prompt into a message and its attachments. */

/** References of the editor are named; embedded texts are quoted. */
export function toMessage(blocks) {
  const parts = []
  const attachments = []
  for (const block of blocks) {
    if (block.type === 'text') parts.push(block.text)
    else if (block.type === 'resource_link') parts.push(`[${block.name ?? block.uri}](${block.uri})`)
    else if (block.type === 'resource' && typeof block.resource?.text === 'string')
      parts.push(`<file uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</file>`)
    else if (block.type === 'image')
      attachments.push({ type: 'image', url: `data:${block.mimeType};base64,${block.data}` })
  }
  return { input: parts.join('\n'), ...(attachments.length && { attachments }) }
}
