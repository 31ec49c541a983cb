/** Lists the images of the page. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'
import { browserTool, runBrowser } from './run-browser.ts'

export default defineTool({
  ...browserTool,
  name: 'browser_get_images',
  description: 'List the images of the page with their addresses and texts. vision_analyze looks at one.',
  input: z.object({}),
  needs: ['browser'],
  effect: 'pure',
  run: (_input, context) => runBrowser({ kind: 'images' }, context),
})
