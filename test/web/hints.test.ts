/** Tests that the page can say in German what every platform asks for. */

import { expect, it } from 'vitest'
import { listPlatforms, loadChannel } from '#channels/channels.ts'
import { germanHints } from '../../web/words/hints-de.ts'

it('has German words for the hint of every secret', async () => {
  const channels = await Promise.all(listPlatforms().map((name) => loadChannel(name)))
  const hints = channels.flatMap((channel) => Object.values(channel?.secrets ?? {}).map(({ hint }) => hint))
  expect(hints.length).toBeGreaterThan(15)
  expect(hints.filter((hint) => !Object.hasOwn(germanHints, hint))).toEqual([])
})
