/** Saves the page as a PDF in the workspace. */

import * as z from 'zod'
import { assessWrites } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { browserTool } from './run-browser.ts'

const input = z.object({
  path: z
    .string()
    .min(1)
    .regex(/\.pdf$/i)
    .describe('Such as invoice.pdf.'),
})

export default defineTool({
  ...browserTool,
  name: 'browser_pdf',
  description: 'Save the page as a PDF in the workspace.',
  input,
  needs: ['browser', 'backend'],
  effect: 'keyed',
  assess: ({ path }, { backend }) => assessWrites([path], backend),
  touches: ({ path }, { backend }) => ['browser:', backend.resolve(path)],
  run: async ({ path }, context) => (await import('./browser-files.ts')).savePdf(path, context),
})
