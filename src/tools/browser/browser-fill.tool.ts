/** Fills in values of the vault. The model names an entry and its fields, and never sees a value. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

const input = z.object({
  entry: z.string().max(100).optional().describe('Absent: lists the entries.'),
  origin: z.string().max(300).optional().describe('Of the page, such as https://shop.example.com.'),
  fields: z
    .array(z.object({ ref: z.string().max(50), field: z.string().max(50) }))
    .max(20)
    .default([]),
})

export default defineTool({
  ...browserTool,
  name: 'browser_fill',
  description:
    'Fill in a login, one-time code or address of the vault: name the entry, the origin of the page, and a field for each reference. You never see the values. Without an entry it lists what there is.',
  input,
  needs: ['browser'],
  effect: 'effect',
  risk: ({ entry }) => (entry === undefined ? 'read' : 'send'),
  assess: async (given, { browser }) => (await import('./ask-person.ts')).assessFill(given, browser),
  run: ({ entry, origin = '', fields }, context) =>
    runBrowser(entry === undefined ? { kind: 'vault' } : { kind: 'fill', entry, origin, fields }, context),
})
