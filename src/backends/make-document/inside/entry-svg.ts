/** Draws a Mermaid diagram as SVG, in a worker without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import { renderMermaidSVG } from 'beautiful-mermaid'
import type { DocumentBytes } from '#agent/core/media/document-writer.ts'

export class Writer extends WorkerEntrypoint {
  write(content: string): Promise<DocumentBytes> {
    const [, fenced] = /```(?:mermaid)?\n([\s\S]{0,100000}?)```/.exec(content) ?? []
    try {
      return Promise.resolve({ bytes: new TextEncoder().encode(renderMermaidSVG(fenced ?? content)) })
    } catch (error) {
      const reason = error instanceof Error ? error.message.slice(0, 300) : 'no reason'
      return Promise.resolve({ refused: `The diagram cannot be drawn: ${reason}. Write it in Mermaid.` })
    }
  }
}
