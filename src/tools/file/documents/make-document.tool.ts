/** Writes a document from Markdown, rows or a diagram: a file of the workspace, attached to the answer. */

import * as z from 'zod'
import { type DocumentBytes, documentKinds, type DocumentWriter } from '#agent/core/media/document-writer.ts'
import { mediaTypeOf } from '#agent/core/media/media-type.ts'
import { assessWrites } from '../../assess-paths.ts'
import { defineTool } from '../../define-tool.ts'
import { failOnBackendError } from '../../fail-on-backend-error.ts'
import { fail } from '../../tool-result.ts'
import { describeForeignChange, unclearChange } from '../foreign-change.ts'

const maxChars = 2_000_000

const input = z.object({
  kind: z.enum(documentKinds),
  path: z.string().min(1).max(1_000),
  content: z.string().min(1).max(maxChars),
  template: z
    .enum(['letter', 'minutes', 'invoice', 'report'])
    .optional()
    .describe('For docx and pdf; content: its fields as JSON.'),
})

export default defineTool({
  name: 'make_document',
  toolset: 'file',
  description:
    'Write a document and attach it to your answer. docx, pptx (a slide for each heading) and pdf from Markdown; xlsx from JSON rows, a Markdown table or CSV; svg from a Mermaid diagram; png from Mermaid or SVG.',
  input,
  needs: ['backend', 'documentWriter'],
  effect: 'keyed',
  risk: () => 'write',
  assess: ({ path }, { backend }) => assessWrites([path], backend),
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  availability: (deployment) =>
    deployment.hasBinding('LOADER') ? { by: 'isolate' } : { reason: 'The deployment has no binding LOADER.' },
  run: ({ kind, path: requested, content: given, template }, { backend, documentWriter, signal }) =>
    failOnBackendError(async () => {
      const path = requested.toLowerCase().endsWith(`.${kind}`) ? requested : `${requested}.${kind}`
      const made = await writeFrom(documentWriter, { kind, template, content: given, signal })
      if ('refused' in made) return fail(made.refused, { success: false })
      const root = backend.resolve('.')
      const absolute = backend.resolve(path)
      const change = await backend.known?.compare(absolute, await backend.files.read(absolute))
      if (change === 'changed') return fail(describeForeignChange(path), { success: false, changed_since_read: true })
      await backend.files.write(absolute, made.bytes)
      await backend.known?.see(absolute, made.bytes)
      const relative = absolute.startsWith(`${root}/`) ? absolute.slice(root.length + 1) : undefined
      const url = relative === undefined ? '' : await documentWriter.link(relative)
      const bytes = made.bytes.byteLength
      const warnings = [...(made.warnings ?? []), ...(change === 'unclear' ? [unclearChange] : [])]
      return {
        success: true,
        path: relative ?? absolute,
        mime: mediaTypeOf(path),
        bytes,
        url,
        ...(warnings.length > 0 && { warnings }),
      }
    }),
})

type Order = Omit<z.infer<typeof input>, 'path'> & { readonly signal: AbortSignal }

async function writeFrom(writer: DocumentWriter, { kind, template, content, signal }: Order): Promise<DocumentBytes> {
  if (template === undefined) return writer.write(kind, content, signal)
  if (kind !== 'docx' && kind !== 'pdf') return { refused: 'Templates are for docx and pdf.' }
  const made = (await import('./templates.ts')).renderTemplate(template, content)
  return 'text' in made ? writer.write(kind, made.text, signal) : made
}
