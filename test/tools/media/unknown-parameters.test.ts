/** Tests that tools of media refuse parameters that would have no effect, by their names. */

import { expect, it } from 'vitest'
import imageGenerate from '#tools/media/image-generate.tool.ts'
import videoGenerate from '#tools/media/video-generate.tool.ts'

it.each([
  [videoGenerate, 'resolution', '1080p'],
  [videoGenerate, 'seed', 7],
  [videoGenerate, 'negative_prompt', 'rain'],
  [videoGenerate, 'audio', true],
  [videoGenerate, 'model', 'sora-9'],
  [videoGenerate, 'reference_image_urls', ['a.png']],
  [imageGenerate, 'upscale', true],
])('%o refuses %s', async (tool, name, value) => {
  const result = await tool.run({ prompt: 'A fox', [name]: value }, {} as never, {} as never)
  expect(result).toMatchObject({ failed: true })
  expect(JSON.stringify(result)).toContain(name)
  expect(Object.keys((tool.inputSchema as { properties: object }).properties)).not.toContain(name)
})
